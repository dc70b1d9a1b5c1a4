/* SPDX-License-Identifier: MIT */
#include "tests/api/harness.h"
#include "tests/check_main.h"

TEST(test_dtypes)
{
    OWNED_API api = api_make(NULL);
    OWNED_ANSWER answer = call(api, "GET", "/v1/dtypes", NULL, NULL);

    ck_assert_int_eq(answer.status, 200);
    ck_assert_int_eq(json_integer_value(member(&answer, "bf16")), 2);
    answer_free(&answer);
    answer = call(api, "GET", "/v1/dtypes?x=1", NULL, NULL);
    ck_assert_int_eq(answer.status, 422);
    answer_free(&answer);
    answer = call(api, "POST", "/v1/dtypes", NULL, NULL);
    ck_assert_str_eq(answer_header(&answer, "Allow"), "GET, HEAD, OPTIONS");
}
