/* SPDX-License-Identifier: MIT */
#include <posenc/posenc.h>
#include <stdio.h>
#include <string.h>

#include "tests/check_main.h"

/* Relations of position ids that hold for every model. */

enum { TEXT = 3, SHORT = 4, LONG = 10, TOKENS_MAX = 2 * TEXT + SHORT * LONG };

/* TEXT tokens, an image of so many merged cells, and TEXT tokens; false: the model has no such
 * prompt. */
static bool prompt_fill(const struct pe_ids_model *model, int64_t height, int64_t width,
                        double ids[4 * TOKENS_MAX], size_t *tokens)
{
    const int64_t merge = model->spatial_merge;
    const int64_t image[] = {1, height * merge, width * merge};
    unsigned char kinds[TOKENS_MAX] = {0};
    struct pe_error err = {0};
    struct pe_ids_spec spec = SIZED(pe_ids_spec, .model = *model, .rows = 1, .kinds = kinds,
                                    .images = image, .images_count = 1);

    spec.tokens = spec.count = *tokens = (size_t)(2 * TEXT + height * width);
    memset(kinds + TEXT, PE_IDS_IMAGE, (size_t)(height * width));
    return !pe_ids_fill_f64(&spec, ids, NULL, NULL, &err);
}

/* An image lying on its side leaves the ids of text as they are, before it and behind it: they
 * depend on both sides alike, or on neither. */
TEST(text_beside_turned_images)
{
    size_t compared = 0;

    for (size_t i = 0; pe_ids_model_at(i); i++) {
        const struct pe_ids_model *model = pe_ids_model_at(i);
        double high[4 * TOKENS_MAX], wide[4 * TOKENS_MAX];
        size_t tokens;
        if (!prompt_fill(model, LONG, SHORT, high, &tokens) ||
            !prompt_fill(model, SHORT, LONG, wide, &tokens))
            continue;
        for (size_t axis = 0; axis < model->axes; axis++)
            for (size_t at = 0; at < 2 * TEXT; at++) {
                const size_t token = axis * tokens + (at < TEXT ? at : tokens - 2 * TEXT + at);
                ck_assert_msg(high[token] == wide[token], "%s: %g beside an image upright, %g",
                              model->name, high[token], wide[token]);
            }
        compared++;
    }
    printf("%zu models\n", compared);
    ck_assert_uint_gt(compared, 8);
}
