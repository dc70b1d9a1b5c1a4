/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/positions/position_ids.h"
#include "tests/check_main.h"

/* Ids of every model with each known error are explained by it, or by an error before it that gives
 * the same ids: none is right, or unknown. */

enum { TOKENS_MAX = 64, TEXT = 3 };

static const struct {
    const char *code; /* NULL: that of the error before */
    struct pe_position_error error;
} errors[] = {
#define POSITION_ERROR(code, made, explanation, fix) {code, {made}},
#define POSITION_VARIANT(made)                       {NULL, {made}},
#include "core/positions/position_errors.def"
#undef POSITION_ERROR
};

enum { ERRORS = sizeof(errors) / sizeof(errors[0]) };

static const int64_t grids[] = {2, 4, 6, 1, 2, 4};
static unsigned char kinds[TOKENS_MAX], mask[TOKENS_MAX];
static double ids[PE_IDS_AXES_MAX * TOKENS_MAX];

/* Text, a grid, text: behind padding where the model has both. */
static struct pe_ids_spec spec_of(const struct pe_ids_model *model)
{
    struct pe_ids_spec spec = {.size = sizeof(spec), .model = *model, .rows = 1};
    const size_t text = model->no_text ? 0 : TEXT;
    size_t tokens = 0;

    if (model->axes > 1) {
        spec.images = model->one_grid ? grids : grids + 3;
        spec.images_count = 1;
        ck_assert(!pe_ids_grid_tokens(&spec, &tokens, &(struct pe_error){0}));
    }
    for (int axis = 0; axis < 3; axis++)
        spec.model.base[axis] = spec.model.base[axis] ?: 2;
    if (model->coordinates == PE_IDS_SCALED)
        spec.model.frame_rate = 30;
    spec.tokens = spec.count = tokens + 2 * text;
    ck_assert(spec.tokens <= TOKENS_MAX);
    memset(kinds, PE_IDS_TEXT, sizeof(kinds));
    memset(kinds + text, PE_IDS_IMAGE, tokens);
    memset(mask, 1, sizeof(mask));
    spec.kinds = kinds;
    if (text > 0) {
        mask[0] = 0;
        spec.mask = mask;
    }
    return spec;
}

static bool ids_take(void *context, const struct pe_ids_token *token)
{
    const struct pe_ids_spec *spec = context;

    for (unsigned axis = 0; axis < spec->model.axes; axis++)
        ids[axis * spec->count + token->index] = pe_ids_coordinate(token, &spec->model, axis);
    return true;
}

/* The index of the first error of a code. */
static size_t index_of(const char *code)
{
    size_t i = 0;

    while (!errors[i].code || strcmp(errors[i].code, code) != 0)
        i++;
    return i;
}

TEST(each_error_of_each_model)
{
    const struct pe_ids_model *model;
    size_t explained = 0;

    for (size_t m = 0; (model = pe_ids_model_at(m)); m++) {
        struct pe_ids_spec spec = spec_of(model), right = spec;
        const struct pe_ids_sink sink = {ids_take, &spec, NULL};
        for (size_t i = 0; i < ERRORS; i++) {
            struct pe_ids_finding finding;
            struct pe_error err = {0};
            if (pe_ids_iterate(&spec, &errors[i].error, &sink, NULL, &err))
                continue; /* the grids do not allow this error */
            ck_assert_msg(!pe_ids_diagnose_f64(&finding, &right, ids, model->axes, NULL, &err),
                          "%s: %s", model->name, err.detail);
            if (finding.unequal == 0)
                continue; /* the model has nothing that this error changes */
            ck_assert_msg(finding.slip, "%s, error %zu", model->name, i);
            ck_assert_msg(index_of(finding.slip->code) <= i, "%s, error %zu: %s", model->name, i,
                          finding.slip->code);
            explained++;
        }
    }
    ck_assert(explained >= 300);
}

/* Without an error ids are right, also when rounded to float32. */
TEST(right_ids)
{
    static const struct pe_position_error none = {0};
    const struct pe_ids_model *model;

    for (size_t m = 0; (model = pe_ids_model_at(m)); m++) {
        struct pe_ids_spec spec = spec_of(model);
        const struct pe_ids_sink sink = {ids_take, &spec, NULL};
        struct pe_ids_finding finding;
        struct pe_error err = {0};
        ck_assert_msg(!pe_ids_iterate(&spec, &none, &sink, NULL, &err), "%s: %s", model->name,
                      err.detail);
        for (size_t i = 0; i < model->axes * spec.count; i++)
            ids[i] = (double)(float)ids[i];
        ck_assert(!pe_ids_diagnose_f64(&finding, &spec, ids, model->axes, NULL, &err));
        ck_assert_msg(finding.unequal == 0 && finding.compared > 0, "%s", model->name);
    }
}

/* Of an error the ids are what its sentence says: of text that is counted from 0 the first token
 * has the ids 0, and of images from 0 the least id along the first axis is 0. */
TEST(ids_from_zero)
{
    const struct pe_ids_model *model;
    size_t texts = 0, images = 0;

    for (size_t m = 0; (model = pe_ids_model_at(m)); m++) {
        struct pe_ids_spec spec = spec_of(model);
        const struct pe_ids_sink sink = {ids_take, &spec, NULL};
        const struct pe_position_error text = {.text_from_zero = true}, image = {.from_zero = true};
        struct pe_error err = {0};
        if (model->generator == PE_IDS_NO_GENERATOR || model->no_text)
            continue;
        ck_assert(!pe_ids_iterate(&spec, &text, &sink, NULL, &err));
        for (size_t axis = 0; axis < model->axes; axis++, texts++)
            ck_assert_msg(ids[axis * spec.count + 1] == 0, "%s", model->name);
        ck_assert(!pe_ids_iterate(&spec, &image, &sink, NULL, &err));
        for (size_t at = TEXT; at < spec.count - TEXT; at++, images++)
            ck_assert_msg(model->generator == PE_IDS_GRID || ids[at] == 0, "%s", model->name);
    }
    ck_assert_uint_gt(texts, 0);
    ck_assert_uint_gt(images, 0);
}

/* Coordinates are right within 2^-15 of their size or of 1, and whole ids are equal. */
TEST(nearness_of_coordinates)
{
    static const struct pe_position_error none = {0};
    const struct pe_ids_model *model;

    for (size_t m = 0; (model = pe_ids_model_at(m)); m++) {
        struct pe_ids_spec spec = spec_of(model);
        const struct pe_ids_sink sink = {ids_take, &spec, NULL};
        const bool is_fractional = pe_ids_is_fractional(model);
        struct pe_error err = {0};
        ck_assert(!pe_ids_iterate(&spec, &none, &sink, NULL, &err));
        for (size_t i = spec.mask != NULL; i < model->axes * spec.count; i += 5) {
            const double right = ids[i], size = fmax(1, fabs(right));
            struct pe_ids_finding finding;
            if (spec.mask && i % spec.count == 0)
                continue; /* of padding */
            for (int sign = -1; sign <= 1; sign += 2) {
                ids[i] = right + sign * 0.99 * 0x1p-15 * size;
                ck_assert(!pe_ids_diagnose_f64(&finding, &spec, ids, model->axes, NULL, &err));
                ck_assert_msg(finding.unequal == !is_fractional, "%s, %g", model->name, right);
                ids[i] = right + sign * 1.01 * 0x1p-15 * size;
                ck_assert(!pe_ids_diagnose_f64(&finding, &spec, ids, model->axes, NULL, &err));
                ck_assert_msg(finding.unequal == 1, "%s, %g", model->name, right);
            }
            ids[i] = right;
        }
    }
}
