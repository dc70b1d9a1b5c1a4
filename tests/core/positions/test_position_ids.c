/* SPDX-License-Identifier: MIT */
#include <math.h>
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

/* A grid alone, of a model that has no text or no images beside it. */
static bool grid_fill(const struct pe_ids_model *model, int64_t height, int64_t width,
                      double ids[4 * TOKENS_MAX], size_t *tokens)
{
    const int64_t grid[] = {1, height * model->spatial_merge, width * model->spatial_merge};
    struct pe_error err = {0};
    unsigned char kinds[TOKENS_MAX];
    struct pe_ids_spec spec =
        SIZED(pe_ids_spec, .model = *model, .rows = 1, .videos = grid, .videos_count = 1);

    spec.model.frame_rate = 25;
    spec.kinds = kinds;
    memset(kinds, PE_IDS_VIDEO, sizeof(kinds));
    if (pe_ids_grid_tokens(&spec, tokens, &err) || *tokens > TOKENS_MAX)
        return false;
    spec.tokens = spec.count = *tokens;
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

/* Every side of a grid may be 1: coordinates are finite then too. */
TEST(grids_of_one_row)
{
    static const int64_t sides[] = {1, 2, 3};
    size_t compared = 0;

    for (size_t i = 0; pe_ids_model_at(i); i++)
        for (unsigned k = 0; k < 3 * 3 * 2; k++) {
            const struct pe_ids_model *model = pe_ids_model_at(i);
            double ids[4 * TOKENS_MAX];
            size_t tokens;
            if (!(k / 9 ? grid_fill(model, sides[k % 3], sides[k / 3 % 3], ids, &tokens)
                        : prompt_fill(model, sides[k % 3], sides[k / 3 % 3], ids, &tokens)))
                continue;
            for (size_t at = 0; at < model->axes * tokens; at++)
                ck_assert_msg(isfinite(ids[at]), "%s: id %zu of a grid %lld x %lld is %g",
                              model->name, at, (long long)sides[k % 3], (long long)sides[k / 3 % 3],
                              ids[at]);
            compared++;
        }
    ck_assert_uint_gt(compared, 300);
}

static void expect_refused(const struct pe_ids_spec *spec, enum pe_status status, const char *where,
                           const char *says)
{
    double ids[4 * TOKENS_MAX];
    struct pe_error err = {0};

    ck_assert_msg(pe_ids_fill_f64(spec, ids, NULL, NULL, &err) == status, "%s: %s, %s", says,
                  pe_status_code(err.status), err.detail);
    ck_assert_str_eq(err.where, where);
    ck_assert_msg(strstr(err.detail, says) != NULL, "'%s' does not say '%s'", err.detail, says);
}

/* Grids and tokens that do not fit each other. */
TEST(refused)
{
    static const unsigned char text[12], images[12] = {0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0},
                                         odd[12] = {0, 3};
    static const int64_t square[] = {1, 4, 4}, row[] = {1, 1, 4}, wide[] = {1, 4, 400},
                         falling[] = {0, 5, 4, 12}, others[] = {0, 5, 11};
    const struct pe_ids_spec qwen =
        SIZED(pe_ids_spec, .model = *pe_ids_model_find("qwen2_vl"), .rows = 1, .tokens = 12,
              .count = 12, .kinds = images, .images = square, .images_count = 1);
    struct pe_ids_spec spec = qwen;

    spec.kinds = odd;
    expect_refused(&spec, PE_INVALID, "parameter:mm_token_type_ids", "got 3 at token 1");
    spec = qwen;
    spec.images = row;
    expect_refused(&spec, PE_SHAPE_MISMATCH, "parameter:mm_token_type_ids", "a grid has no tokens");
    spec = qwen;
    spec.tokens = spec.count = 3;
    expect_refused(&spec, PE_SHAPE_MISMATCH, "parameter:mm_token_type_ids",
                   "the tokens end among those of a grid");
    spec = qwen;
    spec.kinds = text;
    spec.images_count = 0;
    spec.rows = 2;
    spec.tokens = spec.count = 6;
    spec.bounds = others;
    spec.bounds_count = 3;
    expect_refused(&spec, PE_SHAPE_MISMATCH, "parameter:cu_seqlens", "here are 2");
    spec.rows = 1;
    spec.tokens = spec.count = 12;
    expect_refused(&spec, PE_INVALID, "parameter:cu_seqlens", "the number of tokens, 12");
    spec.bounds = falling;
    spec.bounds_count = 4;
    expect_refused(&spec, PE_INVALID, "parameter:cu_seqlens", "must not fall");
    spec = qwen;
    spec.model = *pe_ids_model_find("flux");
    spec.videos = square;
    spec.videos_count = 1;
    expect_refused(&spec, PE_CONFLICT, "parameter:video_grid_thw", "flux has no videos");
    spec = qwen;
    spec.model = *pe_ids_model_find("cogvideox1_5");
    spec.images_count = 0;
    spec.kinds = NULL;
    spec.videos = wide;
    spec.videos_count = 1;
    expect_refused(&spec, PE_OUT_OF_RANGE, "parameter:video_grid_thw", "at most 150 x 150");
}
