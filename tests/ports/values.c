/* SPDX-License-Identifier: MIT */
/* Prints a hash of every output of every view of every encoding, at many values of every parameter,
 * and of rotations, by the public headers alone: two builds of the library, for whatever machines
 * and C libraries, print the same lines. The last line counts them. */
#include <math.h>
#include <posenc/posenc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ports/hash.h"

enum { VALUES = 11, ROW_MAX = 1 << 14, PAIRS_MAX = 512, LENGTH = 5, TOKENS = 5, HEADS = 3 };
enum { WORK_MAX = 20 * 1000 * 1000 }; /* nanoseconds of a view */

static const char positions[] = "0,1,3,1000,65537";
static size_t lines;

/* What is being made, as the beginning of each line. */
struct made {
    char scheme[160];
    const char *what;
    enum pe_dtype dtype;
};

static void line_print(const struct made *made, const char *output, const void *bytes, size_t size)
{
    printf("%s %s %s %s %016llx\n", made->scheme, made->what, pe_dtype_info(made->dtype)->name,
           output, (unsigned long long)hash_of(bytes, size));
    lines++;
}

static void *memory_take(size_t size)
{
    void *memory = calloc(1, size + 1);

    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return memory;
}

/* ---- views ----------------------------------------------------------------------------------- */

static void output_hash(const struct made *made, const struct pe_view *view, size_t index)
{
    const struct pe_output *output = pe_view_output(view, index);
    const size_t size = output->rows * output->row_elements * pe_dtype_info(output->dtype)->size;
    void *values = memory_take(size);
    struct pe_error err = {0};

    if (pe_view_fill(view, index, 0, output->rows, values, NULL, &err))
        printf("%s %s failed: %s\n", made->scheme, made->what, err.detail);
    else
        line_print(made, output->name, values, size);
    free(values);
}

static void view_hash(const struct made *made, const struct pe_view *view)
{
    const struct pe_output *output;
    struct pe_scalar scalar;

    for (size_t i = 0; pe_view_scalar(view, i, &scalar); i++)
        if (scalar.name)
            line_print(made, scalar.name, &scalar.value, sizeof(scalar.value));
    if (!(pe_view_work(view) <= WORK_MAX))
        return;
    for (size_t i = 0; (output = pe_view_output(view, i)); i++)
        if (output->rows * output->row_elements <= ROW_MAX)
            output_hash(made, view, i);
}

/* At positions near and far where it takes positions; else with what it needs set to LENGTH. */
static bool view_params(struct pe_params *params, const struct pe_view_info *info, bool far)
{
    const int at = pe_params_find(params, "positions");
    struct pe_error err = {0};

    if (far && (at < 0 || pe_params_set_text(params, (size_t)at, positions, &err)))
        return false;
    for (size_t i = 0; i < info->params_count; i++)
        if (info->params[i].required)
            pe_params_infer(params, info->params[i].name, LENGTH, &err);
    if (!far)
        pe_params_infer(params, "length", LENGTH, &err);
    return !err.status && !pe_params_finish(params, &err);
}

static void view_make(struct made *made, const struct pe_scheme *scheme,
                      const struct pe_view_type *type, bool far)
{
    const struct pe_view_info *info = pe_view_info(type);
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_view *view = NULL;

    pe_params_init(&params, info->params, info->params_count);
    if (view_params(&params, info, far) &&
        !pe_view_new(&view, scheme, type, &params, made->dtype, NULL, &err)) {
        made->what = info->name;
        view_hash(made, view);
    }
    pe_view_free(view);
    pe_params_free(&params);
}

/* ---- rotations ------------------------------------------------------------------------------- */

static void rotation_make(struct made *made, const struct pe_scheme *scheme, size_t dim,
                          enum pe_layout layout)
{
    const struct pe_rotation_spec spec = {
        .size = sizeof(spec),
        .scheme = scheme,
        .layout = layout,
        .output_layout = layout,
        .positions = {.start = 1000, .step = 7, .count = TOKENS},
    };
    const struct pe_axes axes = {1, 1, TOKENS, HEADS, dim};
    const size_t count = TOKENS * HEADS * dim, size = count * pe_dtype_info(made->dtype)->size;
    double *numbers = memory_take(count * sizeof(*numbers));
    void *data = memory_take(size);
    struct pe_rotation *rotation = NULL;
    struct pe_error err = {0};

    for (size_t i = 0; i < count; i++)
        numbers[i] = (double)(i * 37 % 101) / 64 - 0.5;
    pe_from_f64(data, made->dtype, numbers, count);
    made->what = layout == PE_LAYOUT_HALF ? "rotation-half" : "rotation-interleaved";
    if (!pe_rotation_new(&rotation, &spec, made->dtype, NULL, NULL, &err) &&
        !pe_rotate(rotation, data, &axes, 0, TOKENS, NULL, &err))
        line_print(made, "data", data, size);
    pe_rotation_free(rotation);
    free(data);
    free(numbers);
}

/* ---- schemes --------------------------------------------------------------------------------- */

static void scheme_hash(struct made *made, const struct pe_scheme *scheme)
{
    const struct pe_encoding *encoding = pe_scheme_encoding(scheme);
    const size_t dim = 2 * pe_scheme_pairs(scheme);
    const struct pe_view_type *type;

    for (made->dtype = 0; pe_dtype_is_float(made->dtype); made->dtype++) {
        for (size_t i = 0; (type = pe_encoding_view_at(encoding, i)); i++) {
            view_make(made, scheme, type, false);
            view_make(made, scheme, type, true);
        }
        if (pe_encoding_has(encoding, PE_KIND_ROTARY)) {
            rotation_make(made, scheme, dim, PE_LAYOUT_HALF);
            rotation_make(made, scheme, dim, PE_LAYOUT_INTERLEAVED);
        }
    }
}

static void table_give(struct pe_scheme *scheme)
{
    static float elements[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    const struct pe_tensor table = {PE_F32, 2, {3, 4}, elements};
    struct pe_error err = {0};

    if (pe_encoding_has(pe_scheme_encoding(scheme), PE_KIND_LEARNED))
        pe_scheme_give(scheme, "table", &table, NULL, &err);
}

/* The encoding's example with one parameter set to a text, "" for none of them. */
static void scheme_make(const struct pe_encoding *encoding, size_t changed, const char *text)
{
    const struct pe_encoding_info *info = pe_encoding_info(encoding);
    const char *name = changed < info->params_count ? info->params[changed].name : "example";
    struct pe_error err = {0};
    struct pe_params params, example;
    struct pe_scheme *scheme = NULL;
    struct made made;

    snprintf(made.scheme, sizeof(made.scheme), "%s %s=%s", info->name, name, text);
    pe_params_init(&params, info->params, info->params_count);
    pe_params_parse(&example, info->name, info->example ? info->example : "", &err);
    if (changed < info->params_count)
        pe_params_set_text(&params, changed, text, &err);
    for (size_t i = 0; i < info->params_count && !err.status; i++)
        if (i != changed && example.values[i].given)
            pe_params_set_value(&params, i, &info->params[i], &example.values[i], &err);
    if (!err.status && !pe_scheme_open(&scheme, encoding, &params, NULL, &err)) {
        table_give(scheme);
        if (pe_scheme_pairs(scheme) <= PAIRS_MAX && pe_scheme_heads(scheme) <= PAIRS_MAX &&
            !pe_scheme_prepare(scheme, NULL, &err))
            scheme_hash(&made, scheme);
    }
    pe_scheme_free(scheme);
    pe_params_free(&params);
    pe_params_free(&example);
}

static void param_try(const struct pe_encoding *encoding, size_t index)
{
    const struct pe_param *param = &pe_encoding_info(encoding)->params[index];
    const double numbers[VALUES] = {param->min, param->max, 0.5,    1,       2,      3,
                                    6,          37.25,      500000, -0.1875, 0x1p-20};
    char text[64];

    for (size_t i = 0; param->type == PE_CHOICE && pe_choice_name(param, i, text, sizeof(text));
         i++)
        scheme_make(encoding, index, text);
    for (size_t i = 0; param->type != PE_CHOICE && i < VALUES; i++) {
        snprintf(text, sizeof(text), "%.17g", numbers[i]);
        scheme_make(encoding, index, text);
    }
}

int main(void)
{
    const struct pe_encoding *encoding;

    for (size_t e = 0; (encoding = pe_encoding_at(e)); e++) {
        scheme_make(encoding, SIZE_MAX, "");
        for (size_t i = 0; i < pe_encoding_info(encoding)->params_count; i++)
            param_try(encoding, i);
    }
    printf("%zu lines\n", lines);
    return 0;
}
