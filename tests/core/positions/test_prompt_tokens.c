/* SPDX-License-Identifier: MIT */
#include <posenc/posenc.h>

#include "tests/check_main.h"

TEST(kinds_of_tokens)
{
    const int64_t tokens[] = {5, 151655, 0, 151656, -1, 5};
    const unsigned char both[] = {0, 1, 0, 2, 0, 0}, image[] = {0, 1, 0, 0, 0, 0};
    unsigned char kinds[COUNT_OF(tokens)];

    pe_ids_kinds_fill(tokens, COUNT_OF(tokens), 151655, 151656, kinds);
    ck_assert_mem_eq(kinds, both, sizeof(both));
    pe_ids_kinds_fill(tokens, COUNT_OF(tokens), 151655, -1, kinds);
    ck_assert_mem_eq(kinds, image, sizeof(image));
}

TEST(mask_of_lengths)
{
    const int64_t lengths[] = {3, 1, 0};
    const unsigned char left[] = {1, 1, 1, 0, 0, 1, 0, 0, 0};
    const unsigned char right[] = {1, 1, 1, 1, 0, 0, 0, 0, 0};
    unsigned char mask[9];
    struct pe_error err = {0};

    ck_assert(!pe_ids_mask_fill(lengths, 3, 3, true, mask, &err));
    ck_assert_mem_eq(mask, left, sizeof(left));
    ck_assert(!pe_ids_mask_fill(lengths, 3, 3, false, mask, &err));
    ck_assert_mem_eq(mask, right, sizeof(right));
}
