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

/* A refusal names the model; one that the caller made has no name. */
TEST(models_without_a_name)
{
    static const int64_t grid[] = {1, 2, 2};
    size_t refused = 0;

    for (size_t i = 0; pe_ids_model_at(i); i++) {
        struct pe_ids_spec spec = SIZED(pe_ids_spec, .model = *pe_ids_model_at(i), .rows = 1,
                                        .videos = grid, .videos_count = 1);
        struct pe_error err = {0}, nameless = {0};
        double ids[12];
        if (!spec.model.needs_frame_rate)
            continue;
        spec.model.frame_rate = 0;
        spec.tokens = spec.count = 4 / spec.model.spatial_merge / spec.model.spatial_merge;
        ck_assert_int_eq(pe_ids_fill_f64(&spec, ids, NULL, NULL, &err), PE_MISSING);
        ck_assert_msg(strstr(err.detail, spec.model.name) != NULL, "%s", err.detail);
        spec.model.name = NULL;
        ck_assert_int_eq(pe_ids_fill_f64(&spec, ids, NULL, NULL, &nameless), PE_MISSING);
        ck_assert_msg(strstr(nameless.detail, "the model") != NULL, "%s", nameless.detail);
        refused++;
    }
    ck_assert_uint_gt(refused, 0);
}
