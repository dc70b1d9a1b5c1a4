/* SPDX-License-Identifier: MIT */
#include "tests/core/kinds_fixture.h"

#include <stdio.h>
#include <string.h>

#include "posenc/comparison.h"

const struct pe_tensor *sample_table(void)
{
    static float values[SAMPLE_ROWS * SAMPLE_COLUMNS];
    static struct pe_tensor table = {
        .dtype = PE_F32, .rank = 2, .shape = {SAMPLE_ROWS, SAMPLE_COLUMNS}, .data = values};

    for (size_t i = 0; i < COUNT_OF(values); i++)
        values[i] = (float)((double)(i * i % 29) / 7 - 2);
    return &table;
}

/* Better parameters than those of the example. */
static const struct {
    const char *encoding, *text;
} texts[] = {
    {"shaw", "max_relative_position=4 vectors=sinusoidal dim=6"},
    {"rope", "dim=12 rope_type=yarn factor=4 original_max_position_embeddings=64"},
    {"xpos", "dim=12 t_center=2"},
    {"sandwich", "heads=2 dim=16 scales=0.3,7"},
};

static const char *text_of(const struct pe_encoding *encoding)
{
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (strcmp(texts[i].encoding, pe_encoding_info(encoding)->name) == 0)
            return texts[i].text;
    return pe_encoding_info(encoding)->example ? pe_encoding_info(encoding)->example : "";
}

static void weights_give(struct pe_scheme *scheme)
{
    const size_t buckets = scheme->encoding->bias->buckets_count(scheme);
    OWNED_MEMORY float *values = malloc(2 * buckets * sizeof(*values));
    const struct pe_tensor weights = {
        .dtype = PE_F32, .rank = 2, .shape = {buckets, 2}, .data = values};

    for (size_t i = 0; i < 2 * buckets; i++)
        values[i] = (float)((double)i * 0.37 - 3);
    ck_assert(!pe_scheme_give(scheme, "weights", &weights, NULL, &(struct pe_error){0}));
}

struct pe_scheme *catalogue_scheme(const struct pe_encoding *encoding)
{
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_params params;

    ck_assert_msg(
        !pe_params_parse(&params, pe_encoding_info(encoding)->name, text_of(encoding), &err), "%s",
        err.detail);
    ck_assert_msg(!pe_scheme_open(&scheme, encoding, &params, NULL, &err), "%s", err.detail);
    pe_params_free(&params);
    if (encoding->learned)
        ck_assert(!pe_scheme_give(scheme, "table", sample_table(), NULL, &err));
    if (encoding->bias && encoding->bias->buckets_count)
        weights_give(scheme);
    ck_assert_msg(!pe_scheme_prepare(scheme, NULL, &err), "%s", err.detail);
    return scheme;
}

const char *view_example(const struct pe_view_info *info, const struct pe_params *params)
{
    char name[40] = "";

    if (!info->example)
        return "";
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(info->example, "="), info->example);
    return pe_params_find(params, name) >= 0 ? info->example : "";
}

struct pe_view *catalogue_view(const struct pe_scheme *scheme, const char *name, const char *text,
                               enum pe_dtype dtype)
{
    const struct pe_view_type *type = pe_encoding_view(scheme->encoding, name);
    const struct pe_view_info *info = pe_view_info(type);
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_view *view;

    pe_params_init(&params, info->params, info->params_count);
    if (!text)
        text = view_example(info, &params);
    ck_assert_msg(!pe_params_set_pairs(&params, text, &err) && !pe_params_finish(&params, &err) &&
                      !pe_view_new(&view, scheme, type, &params, dtype, NULL, &err),
                  "%s %s: %s", pe_encoding_info(scheme->encoding)->name, name, err.detail);
    pe_params_free(&params);
    return view;
}

static size_t row_size_of(const struct pe_output *output)
{
    return output->row_elements * pe_dtype_info(output->dtype)->size;
}

void *catalogue_fill(const struct pe_view *view, size_t output)
{
    const struct pe_output *o = pe_view_output(view, output);
    void *data = malloc(o->rows * row_size_of(o) + 1);

    rows_fill(view, output, 0, o->rows, data);
    return data;
}

void pieces_alike(const struct pe_view *view)
{
    for (size_t output = 0; pe_view_output(view, output); output++) {
        const struct pe_output *o = pe_view_output(view, output);
        const size_t size = row_size_of(o);
        char *whole = catalogue_fill(view, output), *cut = malloc(o->rows * size + 1);
        for (size_t row = 0, piece = 1; row < o->rows; row += piece, piece++)
            rows_fill(view, output, row, row + piece < o->rows ? row + piece : o->rows,
                      cut + row * size);
        ck_assert_msg(memcmp(whole, cut, o->rows * size) == 0, "%s of %s is another one in pieces",
                      o->name, pe_encoding_info(view->scheme->encoding)->name);
        free(whole);
        free(cut);
    }
}

void dtypes_alike(const struct pe_scheme *scheme, const char *name, const char *text, size_t output)
{
    struct pe_view *exact = catalogue_view(scheme, name, text, PE_F64);
    const struct pe_output *o = pe_view_output(exact, output);
    OWNED_MEMORY double *want = catalogue_fill(exact, output);

    ck_assert_int_eq(o->dtype, PE_F64);
    for (enum pe_dtype dtype = PE_F32; dtype <= PE_BF16; dtype++) {
        struct pe_view *view = catalogue_view(scheme, name, text, dtype);
        OWNED_MEMORY char *got = catalogue_fill(view, output);
        for (size_t i = 0; i < o->rows * o->row_elements; i++) {
            double value;
            pe_to_f64(&value, got + i * pe_dtype_info(dtype)->size, dtype, 1);
            ck_assert_msg(value == pe_round_to(want[i], dtype), "%s of %s, %zu: %a is not RN(%a)",
                          o->name, pe_encoding_info(scheme->encoding)->name, i, value, want[i]);
        }
        pe_view_free(view);
    }
    pe_view_free(exact);
}

struct pe_work *ended_work(void)
{
    struct pe_work *work;

    ck_assert(!pe_work_new(&work, NULL, &(struct pe_error){0}));
    pe_work_cancel(work);
    return work;
}
