/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/sanitizer.h"
#include "core/golden/golden.h"
#include "posenc/rotation.h"

/* Golden tensors of one scheme: positions, shapes, inputs and outputs. */

/* Heads of q and of k: two and one, so that a kernel that pairs elements across heads, or repeats
 * positions by head, is seen. */
enum { Q_HEADS = 2, K_HEADS = 1 };

static const char *const names[PE_GOLDEN_ROLES] = {
    [PE_GOLDEN_POSITIONS] = "positions",
    [PE_GOLDEN_Q] = "q",
    [PE_GOLDEN_K] = "k",
    [PE_GOLDEN_INV_FREQ_F64] = "inv_freq_f64",
    [PE_GOLDEN_INV_FREQ] = "inv_freq",
    [PE_GOLDEN_COS] = "cos",
    [PE_GOLDEN_SIN] = "sin",
    [PE_GOLDEN_Q_ROTATED] = "q_rotated",
    [PE_GOLDEN_K_ROTATED] = "k_rotated",
    [PE_GOLDEN_ATTENTION_FACTOR] = "attention_factor",
    [PE_GOLDEN_SOFTMAX_SCALE] = "softmax_scale",
};

static bool is_role(enum pe_golden_role role)
{
    return role >= 0 && role < PE_GOLDEN_ROLES;
}

const char *pe_golden_role_name(enum pe_golden_role role)
{
    return is_role(role) ? names[role] : NULL;
}

/* ---- schemes --------------------------------------------------------------------------------- */

enum pe_status pe_golden_takes(const struct pe_encoding *encoding, struct pe_error *err)
{
    const struct pe_encoding_info *info = pe_encoding_info(encoding);
    struct pe_params params;

    pe_params_init(&params, info->params, info->params_count);
    if (pe_encoding_has(encoding, PE_KIND_ROTARY) && pe_params_find(&params, "rope_type") >= 0)
        return PE_OK;
    return pe_fail(err, PE_UNSUPPORTED, "",
                   "golden files are made for rope and mrope, whose rotation is a kernel's work; "
                   "this is %s",
                   info->name);
}

static double number_of(const struct pe_scheme *scheme, const char *name)
{
    const struct pe_params *params = pe_scheme_params(scheme);
    const int index = pe_params_find(params, name);

    return index >= 0 && params->values[index].present ? params->values[index].number : 0;
}

double pe_golden_edge(const struct pe_scheme *scheme)
{
    const double original = number_of(scheme, "original_max_position_embeddings");

    return original > 0 ? original : isinf(pe_scheme_length(scheme)) ? 0 : pe_scheme_length(scheme);
}

double pe_golden_context(const struct pe_scheme *scheme, double context)
{
    return fmax(context, number_of(scheme, "original_max_position_embeddings") *
                             number_of(scheme, "factor"));
}

/* ---- positions ------------------------------------------------------------------------------- */

static int numbers_order(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

size_t pe_golden_positions(double edge, double length, double positions[PE_GOLDEN_POSITIONS_MAX])
{
    const double first[] = {0, 1, 255, 256, 257}, around[] = {edge - 1, edge, edge + 1};
    size_t count = 0, kept = 0;

    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        if (first[i] < length)
            positions[count++] = first[i];
    for (size_t i = 0; edge > 0 && i < sizeof(around) / sizeof(around[0]); i++)
        if (around[i] >= 0 && around[i] < length)
            positions[count++] = around[i];
    if (length >= 1)
        positions[count++] = length - 1;
    qsort(positions, count, sizeof(positions[0]), numbers_order);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || positions[i] != positions[i - 1])
            positions[kept++] = positions[i];
    return kept;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static struct pe_output output_of(const struct pe_golden *golden, enum pe_golden_role role)
{
    const size_t tokens = golden->spec.positions_count;
    const size_t pairs = pe_scheme_pairs(golden->spec.scheme);
    struct pe_output output = {.name = names[role], .dtype = PE_F32, .rank = 1, .rows = 1};

    switch (role) {
    case PE_GOLDEN_POSITIONS:
        output.dtype = PE_I64;
        output.shape[0] = tokens;
        break;
    case PE_GOLDEN_INV_FREQ_F64:
        output.dtype = PE_F64;
        output.shape[0] = pairs;
        break;
    case PE_GOLDEN_INV_FREQ:
        output.shape[0] = pairs;
        break;
    case PE_GOLDEN_COS:
    case PE_GOLDEN_SIN:
        output.rank = 2;
        output.shape[0] = tokens;
        output.shape[1] = pairs;
        break;
    case PE_GOLDEN_Q:
    case PE_GOLDEN_K:
    case PE_GOLDEN_Q_ROTATED:
    case PE_GOLDEN_K_ROTATED:
        output.rank = 3;
        output.shape[0] = tokens;
        output.shape[1] = role == PE_GOLDEN_Q || role == PE_GOLDEN_Q_ROTATED ? Q_HEADS : K_HEADS;
        output.shape[2] = pe_scheme_head_dim(golden->spec.scheme);
        break;
    case PE_GOLDEN_ATTENTION_FACTOR:
    case PE_GOLDEN_SOFTMAX_SCALE:
    case PE_GOLDEN_ROLES:
        output.dtype = PE_F64;
        output.shape[0] = 1;
        break;
    }
    output.row_elements = output.shape[output.rank - 1];
    for (unsigned axis = 0; axis + 1 < output.rank; axis++)
        output.rows *= output.shape[axis];
    return output;
}

/* ---- making one ------------------------------------------------------------------------------ */

static enum pe_status spec_check(const struct pe_golden_spec *spec, struct pe_error *err)
{
    if (!spec->scheme || !spec->positions || spec->positions_count == 0 ||
        spec->positions_count > PE_GOLDEN_POSITIONS_MAX ||
        (spec->layout != PE_LAYOUT_HALF && spec->layout != PE_LAYOUT_INTERLEAVED))
        return pe_fail(err, PE_INVALID, "",
                       "golden tensors need a scheme, a layout and 1 to %d positions",
                       PE_GOLDEN_POSITIONS_MAX);
    for (size_t i = 0; i < spec->positions_count; i++)
        if (!(spec->positions[i] >= 0 && spec->positions[i] <= 0x1p53 - 1) ||
            spec->positions[i] != floor(spec->positions[i]))
            return pe_fail(err, PE_INVALID, "positions",
                           "positions are whole numbers from 0 to 2^53 - 1");
    if (pe_golden_takes(pe_scheme_encoding(spec->scheme), err))
        return err->status;
    return pe_scheme_axes(spec->scheme) == 0
               ? PE_OK
               : pe_fail(err, PE_UNSUPPORTED, "",
                         "golden tensors are of positions that are one number each");
}

enum pe_status pe_golden_new(struct pe_golden **out, const struct pe_golden_spec *given,
                             struct pe_work *work, struct pe_error *err)
{
    struct pe_allocations memory = {.work = work, .purpose = "golden tensors"};
    struct pe_golden_spec spec;
    struct pe_golden *golden;

    *out = NULL;
    if (pe_struct_read(&spec, sizeof(spec), given, err) || spec_check(&spec, err))
        return err->status;
    golden = pe_allocations_take(&memory, 1, sizeof(*golden), err);
    if (!golden)
        return err->status;
    golden->memory = memory;
    golden->spec = spec;
    memcpy(golden->positions, spec.positions, spec.positions_count * sizeof(*spec.positions));
    golden->spec.positions = golden->positions;
    for (int role = 0; role < PE_GOLDEN_ROLES; role++)
        if (role != PE_GOLDEN_SOFTMAX_SCALE || !isnan(spec.softmax_scale))
            golden->outputs[role] = output_of(golden, (enum pe_golden_role)role);
    *out = golden;
    return PE_OK;
}

void pe_golden_free(struct pe_golden *golden)
{
    if (golden) {
        struct pe_allocations memory = golden->memory; /* golden itself is one of them */
        pe_allocations_free(&memory);
    }
}

const struct pe_output *pe_golden_output(const struct pe_golden *golden, enum pe_golden_role role)
{
    return is_role(role) && golden->outputs[role].name ? &golden->outputs[role] : NULL;
}

const void *pe_golden_data(const struct pe_golden *golden, enum pe_golden_role role)
{
    return is_role(role) ? golden->data[role] : NULL;
}

/* ---- computing ------------------------------------------------------------------------------- */

/* Measured: preparing the views of a scheme, without their elements; and a rotated element. */
#define VIEWS_WORK   2e5
#define ELEMENT_WORK 30.0

double pe_golden_work(const struct pe_golden *golden)
{
    double work = VIEWS_WORK + pe_scheme_work(golden->spec.scheme);

    for (int role = 0; role < PE_GOLDEN_ROLES; role++)
        work += ELEMENT_WORK * (double)golden->outputs[role].rows *
                (double)golden->outputs[role].row_elements;
    return work;
}

static size_t elements_of(const struct pe_output *output)
{
    return output->rows * output->row_elements;
}

static enum pe_status data_take(struct pe_golden *golden, struct pe_error *err)
{
    for (int role = 0; role < PE_GOLDEN_ROLES; role++) {
        const struct pe_output *output = &golden->outputs[role];
        if (!output->name || golden->data[role])
            continue;
        golden->data[role] = pe_allocations_take(&golden->memory, elements_of(output),
                                                 pe_dtype_info(output->dtype)->size, err);
        if (!golden->data[role])
            return err->status;
    }
    return PE_OK;
}

/* Multiples of 1/64 with odd numerators below 128: f16 and bf16 have them, and none is 0. */
PE_WRAPS("a hash of the index")
static void vectors_fill(float *out, size_t count, uint32_t series)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t mixed = (uint32_t)i * UINT32_C(2654435761) + series * UINT32_C(2246822507);
        out[i] = (float)(2 * (int)(mixed >> 25) - 127) / 64;
    }
}

static void inputs_fill(struct pe_golden *golden)
{
    int64_t *positions = (int64_t *)golden->data[PE_GOLDEN_POSITIONS];

    for (size_t i = 0; i < golden->spec.positions_count; i++)
        positions[i] = (int64_t)golden->positions[i];
    vectors_fill((float *)golden->data[PE_GOLDEN_Q], elements_of(&golden->outputs[PE_GOLDEN_Q]), 1);
    vectors_fill((float *)golden->data[PE_GOLDEN_K], elements_of(&golden->outputs[PE_GOLDEN_K]), 2);
}

/* Fills the first outputs of a view into the tensors of two roles; second PE_GOLDEN_ROLES: of one.
 */
static enum pe_status view_fill(struct pe_golden *golden, const char *name, enum pe_dtype dtype,
                                enum pe_golden_role first, enum pe_golden_role second,
                                struct pe_work *work, struct pe_error *err)
{
    const struct pe_golden_spec *spec = &golden->spec;
    const struct pe_view_type *type = pe_encoding_view(pe_scheme_encoding(spec->scheme), name);
    struct pe_params params;
    struct pe_view *view = NULL;
    struct pe_scalar scalar;
    int index;

    pe_params_init(&params, pe_view_info(type)->params, pe_view_info(type)->params_count);
    index = pe_params_find(&params, "positions");
    if ((index >= 0 &&
         pe_params_set_list(&params, (size_t)index, spec->positions, spec->positions_count, err)) ||
        pe_params_finish(&params, err) ||
        pe_view_new(&view, spec->scheme, type, &params, dtype, work, err) ||
        pe_view_fill(view, 0, 0, golden->outputs[first].rows, golden->data[first], work, err) ||
        (second != PE_GOLDEN_ROLES &&
         pe_view_fill(view, 1, 0, golden->outputs[second].rows, golden->data[second], work, err))) {
        pe_view_free(view);
        pe_params_free(&params);
        return err->status;
    }
    for (size_t i = 0; pe_view_scalar(view, i, &scalar); i++)
        if (strcmp(scalar.name, "attention_factor") == 0)
            *(double *)golden->data[PE_GOLDEN_ATTENTION_FACTOR] = scalar.value;
    pe_view_free(view);
    pe_params_free(&params);
    return PE_OK;
}

/* Rotates in doubles, and rounds to f32. */
static enum pe_status vectors_rotate(struct pe_golden *golden, enum pe_golden_role to,
                                     struct pe_work *work, struct pe_error *err)
{
    const struct pe_output *output = &golden->outputs[to];
    const size_t count = elements_of(output);
    const struct pe_axes axes = {1, 1, output->shape[0], output->shape[1], output->shape[2]};
    const struct pe_rotation_spec spec = {
        .size = sizeof(spec),
        .scheme = golden->spec.scheme,
        .layout = golden->spec.layout,
        .output_layout = golden->spec.layout,
        .positions = {.values = golden->positions, .count = golden->spec.positions_count}};
    double *wide = pe_memory_take(work, count, sizeof(*wide), "golden tensors", err);
    struct pe_rotation *rotation = NULL;

    if (!wide)
        return err->status;
    pe_to_f64(wide, golden->data[pe_golden_source(to)], PE_F32, count);
    if (!pe_rotation_new(&rotation, &spec, PE_F64, NULL, work, err))
        pe_rotate(rotation, wide, &axes, 0, axes.sequence, work, err);
    pe_rotation_free(rotation);
    pe_from_f64(golden->data[to], PE_F32, wide, count);
    pe_memory_give(work, wide, count, sizeof(*wide));
    return err->status;
}

enum pe_status pe_golden_compute(struct pe_golden *golden, struct pe_work *work,
                                 struct pe_error *err)
{
    if (data_take(golden, err) || pe_scheme_prepare(golden->spec.scheme, work, err))
        return err->status;
    inputs_fill(golden);
    *(double *)golden->data[PE_GOLDEN_ATTENTION_FACTOR] = 1;
    if (golden->data[PE_GOLDEN_SOFTMAX_SCALE])
        *(double *)golden->data[PE_GOLDEN_SOFTMAX_SCALE] = golden->spec.softmax_scale;
    return view_fill(golden, "frequencies", PE_F64, PE_GOLDEN_INV_FREQ_F64, PE_GOLDEN_ROLES, work,
                     err) ||
                   view_fill(golden, "frequencies", PE_F32, PE_GOLDEN_INV_FREQ, PE_GOLDEN_ROLES,
                             work, err) ||
                   view_fill(golden, "table", PE_F32, PE_GOLDEN_COS, PE_GOLDEN_SIN, work, err) ||
                   vectors_rotate(golden, PE_GOLDEN_Q_ROTATED, work, err) ||
                   vectors_rotate(golden, PE_GOLDEN_K_ROTATED, work, err)
               ? err->status
               : PE_OK;
}
