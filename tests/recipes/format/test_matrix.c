/* SPDX-License-Identifier: MIT */
#include "tests/api/harness.h"
#include "tests/check_main.h"

TEST(test_matrix)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = call(api, "GET", "/v1/encodings/sinusoidal/table?dim=2&length=3",
                               "Accept: application/x-matrix", NULL);
    uint64_t head[2];
    float row[2];

    ck_assert_uint_eq(answer.size, 16 + 3 * 2 * sizeof(float));
    memcpy(head, answer.body, sizeof(head));
    memcpy(row, answer.body + 16, sizeof(row));
    ck_assert(head[0] == 3 && head[1] == 2 && row[0] == 0 && row[1] == 1);
    ck_assert_str_eq(answer_header(&answer, "Accept-Ranges"), "bytes");
    answer_free(&answer);
    answer = call(api, "GET", "/v1/encodings/rope/table?dim=2&length=3&format=matrix", NULL, NULL);
    ck_assert_int_eq(answer.status, 406);
}
