/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/observations.h"
#include "core/base/sanitizer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/base/work.h"
#include "posenc/comparison.h"

enum { SAMPLES_MAX = PE_TOKEN_SAMPLES_MAX, PIECE = 512, HEADS_MAX = 16 };

/* At most ROWS_MAX rows are sampled; fewer where rows are wide, to read about ELEMENTS_MAX
 * elements; but ROWS_MIN at least. */
enum { ROWS_MAX = 256, ROWS_MIN = 16, ELEMENTS_MAX = 1 << 14 };

/* The elements of a row that one of cos and sin takes. */
struct columns {
    size_t first, step; /* pair k is element first + k * step */
    size_t count;       /* pairs from this one on are missing: NaN */
    size_t copy;        /* elements from a pair to its copy; 0: there is none */
};

/* All rows of a table as a sample interprets them: the context of its `read`. */
struct table_rows {
    struct pe_sample_rows all;
    const struct pe_tensor *cos, *sin; /* either may be NULL */
    struct columns columns[2];         /* of cos, of sin */
    size_t width, pairs;
};

struct pe_observations {
    struct pe_allocations memory;
    struct pe_observed observed;
    struct pe_sampled_rows rows;
    struct pe_row_positions positions; /* of all batch rows, one after the other */
    struct pe_precision precision;
    struct pe_not_finite skipped;
    size_t count;
    struct pe_sample samples[SAMPLES_MAX];
    struct table_rows tables[SAMPLES_MAX];
    struct pe_token_samples tokens; /* in place of `samples` and `tables`, for queries and keys */
};

/* ---- elements -------------------------------------------------------------------------------- */

enum pe_status pe_observed_refuse(const char *name, const char *expected, struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", name);
    return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s must be %s", name, expected);
}

enum pe_status pe_observed_pairs_check(const char *name, size_t pairs, struct pe_error *err)
{
    char where[sizeof(err->where)];

    if (pairs <= PE_SAMPLE_PAIRS_MAX)
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%s", name);
    return pe_fail(err, PE_TOO_LARGE, where, "a diagnosis reads at most %d pairs, %s has %zu",
                   PE_SAMPLE_PAIRS_MAX, name, pairs);
}

enum pe_status pe_observed_tensor_check(struct pe_named_tensor of, struct pe_error *err)
{
    const struct pe_tensor *tensor = of.tensor;
    char where[sizeof(err->where)];
    size_t elements = 0;

    snprintf(where, sizeof(where), "tensor:%s", of.name);
    if (!pe_dtype_is_float(tensor->dtype))
        return pe_fail(err, PE_UNSUPPORTED, where, "%s is %s; f64, f32, f16 and bf16 are diagnosed",
                       of.name, pe_dtype_name(tensor->dtype));
    if (tensor->rank > PE_RANK_MAX || !pe_shape_elements(tensor->shape, tensor->rank, &elements))
        return pe_fail(err, PE_TOO_LARGE, where, "the size of %s does not fit in 63 bits", of.name);
    return tensor->data || elements == 0
               ? PE_OK
               : pe_fail(err, PE_INVALID, where, "%s has no data", of.name);
}

enum pe_dtype pe_precision_dtype(const struct pe_precision *precision, enum pe_dtype dtype)
{
    for (int narrow = PE_BF16; precision->is_informative && narrow > (int)dtype; narrow--)
        if (!precision->loses[narrow])
            return (enum pe_dtype)narrow;
    return dtype;
}

void pe_precision_note(struct pe_precision *precision, enum pe_dtype dtype, double value)
{
    precision->is_informative = precision->is_informative || (value != 0 && fabs(value) != 1);
    for (int narrow = (int)dtype + 1; narrow <= PE_BF16; narrow++)
        precision->loses[narrow] =
            precision->loses[narrow] || pe_round_to(value, (enum pe_dtype)narrow) != value;
}

void pe_values_read(const struct pe_tensor *tensor, size_t first, size_t step, size_t count,
                    double *out)
{
    const size_t size = pe_dtype_info(tensor->dtype)->size;
    const char *from = (const char *)tensor->data + first * size;
    double piece[PIECE];

    if (step == 1) {
        pe_to_f64(out, from, tensor->dtype, count);
        return;
    }
    for (size_t begin = 0; begin < count; begin += PIECE / step) {
        const size_t some = pe_min(count - begin, PIECE / step);
        pe_to_f64(piece, from + begin * step * size, tensor->dtype, (some - 1) * step + 1);
        for (size_t i = 0; i < some; i++)
            out[begin + i] = piece[i * step];
    }
}

static enum pe_status not_finite_refuse(const struct pe_not_finite *skipped, struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", skipped->name);
    return pe_fail(err, PE_INVALID, where, "%s has an element that is not finite, at index %zu",
                   skipped->name, skipped->index);
}

enum pe_status pe_finite_read(struct pe_named_tensor from, size_t first, size_t step, size_t count,
                              struct pe_precision *precision, struct pe_not_finite *skipped,
                              double *out, struct pe_error *err)
{
    struct pe_not_finite here = {0};

    pe_values_read(from.tensor, first, step, count, out);
    for (size_t i = 0; i < count; i++) {
        if (isfinite(out[i])) {
            if (precision)
                pe_precision_note(precision, from.tensor->dtype, out[i]);
            continue;
        }
        out[i] = INFINITY;
        if (here.count++ == 0)
            here = (struct pe_not_finite){1, from.name, first + i * step};
    }
    if (here.count == 0)
        return PE_OK;
    if (!skipped)
        return not_finite_refuse(&here, err);
    if (skipped->count > 0)
        skipped->count += here.count;
    else
        *skipped = here;
    return PE_OK;
}

enum pe_status pe_not_finite_check(const struct pe_not_finite *skipped,
                                   const struct pe_sample *samples, size_t count,
                                   struct pe_error *err)
{
    for (size_t i = 0; skipped->count > 0 && i < count; i++)
        if (!pe_sample_is_uninitialized(&samples[i]))
            return not_finite_refuse(skipped, err);
    return PE_OK;
}

/* ---- sampled rows ---------------------------------------------------------------------------- */

/* Row `index` of `count`. Half of them are neighbours at the start, which show frequencies; the
 * others lie at irregular distances, because a bug may spare every second or eighth position;
 * the last is the last. */
static size_t row_of(size_t index, size_t count, size_t total)
{
    const size_t near = (count + 1) / 2, far = count - near;
    const double jitter = (double)((index * 2654435761u) % 65536) / 65536;

    if (count == total || index < near)
        return index;
    if (index + 1 == count)
        return total - 1;
    return near +
           (size_t)(((double)(index - near) + jitter) * (double)(total - 1 - near) / (double)far);
}

size_t pe_sampled_rows_count(size_t total, size_t pairs)
{
    const size_t wide = ELEMENTS_MAX / pairs;
    const size_t most = wide < ROWS_MIN ? ROWS_MIN : wide < ROWS_MAX ? wide : ROWS_MAX;

    return pe_min(total, most);
}

enum pe_status pe_sampled_rows_new(struct pe_sampled_rows *sampled, size_t total, size_t pairs,
                                   struct pe_allocations *memory, struct pe_error *err)
{
    sampled->total = total;
    sampled->count = pe_sampled_rows_count(total, pairs);
    sampled->rows = pe_allocations_take(memory, sampled->count, sizeof(*sampled->rows), err);
    for (size_t i = 0; sampled->rows && i < sampled->count; i++)
        sampled->rows[i] = row_of(i, sampled->count, total);
    return err->status;
}

/* A coordinate of the position of a row. */
static double position_of(const struct pe_positions *all, size_t axis, size_t row)
{
    return all->values ? all->values[axis * all->count + row]
                       : all->start + all->step * (double)row;
}

static size_t axes_of(const struct pe_positions *positions)
{
    return positions->axes > 1 ? positions->axes : 1;
}

/* All of a list; the ends of an arithmetic sequence. */
static enum pe_status positions_check(const struct pe_positions *all, struct pe_error *err)
{
    const size_t count = axes_of(all) * all->count;

    for (size_t i = 0; i < count; i = all->values || i + 1 == count ? i + 1 : count - 1)
        if (!(fabs(position_of(all, 0, i)) <= 0x1p53 - 1))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:positions",
                           "positions must be within +-(2^53 - 1), got %.4g",
                           position_of(all, 0, i));
    return PE_OK;
}

enum pe_status pe_row_positions_new(struct pe_row_positions *positions,
                                    const struct pe_sampled_rows *sampled,
                                    struct pe_allocations *memory, struct pe_error *err)
{
    const struct pe_positions *all = &positions->all;
    const size_t count = axes_of(all) * sampled->count;
    double *values;

    if (positions_check(all, err))
        return err->status;
    positions->sampled = values = pe_allocations_take(memory, count, sizeof(*values), err);
    for (size_t i = 0; values && i < count; i++)
        values[i] = position_of(all, i / sampled->count, sampled->rows[i % sampled->count]);
    return err->status;
}

/* The positions of all batch rows, one after the other, from one list or one for each. */
static enum pe_status positions_join(struct pe_observations *observations,
                                     const struct pe_axes *axes, struct pe_error *err)
{
    const struct pe_positions *given = &observations->observed.positions;
    const size_t total = axes->batch * axes->sequence;
    struct pe_positions *all = &observations->positions.all;
    double *values;

    if (given->count != axes->sequence || (given->batch > 1 && given->batch != axes->batch))
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:positions",
                       "positions are %zu for each of %zu batch rows, rows are %zu for each of %zu",
                       given->count, given->batch > 1 ? given->batch : 1, axes->sequence,
                       axes->batch);
    *all = *given;
    all->count = total;
    all->batch = 1;
    if (axes->batch == 1 || given->batch == axes->batch)
        return PE_OK;
    all->values = values =
        pe_allocations_take(&observations->memory, axes_of(given) * total, sizeof(*values), err);
    for (size_t i = 0; values && i < axes_of(given) * total; i++)
        values[i] = position_of(given, i / total, i % total % axes->sequence);
    return err->status;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

enum kind { COS_SIN, COMPLEX, ADDED, FREQUENCIES, TOKENS };

/* What tensors are, by their shapes (and the columns of cos and sin). */
struct shape {
    enum kind kind;
    struct pe_named_tensor first; /* for errors */
    size_t batch, sequence, width, pairs;
    struct pe_axes axes;    /* of tokens */
    struct pe_axes keys;    /* of those beside queries; sequence 0: there are none */
    const char *layout;     /* of cos and sin, where each pair is there twice */
    struct columns columns; /* of cos and sin */
};

/* The last axis is the width; of the others the last that is not 1 is that of positions, and those
 * before it are batch rows. False: the tensor is no table. */
PE_WRAPS("counts down past 0")
static bool sheet_read(const struct pe_tensor *tensor, unsigned width_axes, struct shape *shape)
{
    shape->batch = shape->sequence = 1;
    if (tensor->rank < width_axes + 1)
        return false;
    shape->width = tensor->shape[tensor->rank - width_axes];
    for (unsigned axis = tensor->rank - width_axes; axis-- > 0;) {
        size_t *count = shape->sequence == 1 ? &shape->sequence : &shape->batch;
        *count *= tensor->shape[axis];
    }
    return shape->width > 0;
}

/* Does every sampled row have column i equal to i + pairs, or 2i equal to 2i + 1, and not all
 * columns equal?. */
static bool repeats(const struct pe_tensor *tensor, const struct shape *shape, bool half)
{
    const size_t size = pe_dtype_info(tensor->dtype)->size;
    const size_t rows = shape->batch * shape->sequence, width = shape->width, pairs = width / 2;
    bool differs = false;

    for (size_t i = 0; i < rows && i < ROWS_MAX; i++) {
        const char *row =
            (const char *)tensor->data + row_of(i, pe_min(rows, ROWS_MAX), rows) * width * size;
        for (size_t pair = 0; pair < pairs; pair++) {
            const char *a = row + (half ? pair : 2 * pair) * size;
            const char *b = row + (half ? pair + pairs : 2 * pair + 1) * size;
            if (memcmp(a, b, size) != 0)
                return false;
            differs = differs || memcmp(a, row, size) != 0;
        }
        /* Two columns of one pair differ between rows, not within them. */
        differs = differs || (width == 2 && memcmp(row, tensor->data, size) != 0);
    }
    return differs && width % 2 == 0;
}

/* One column a pair; or two, in either layout. */
static enum pe_status cos_sin_shape(const struct pe_observed *observed, struct shape *shape,
                                    struct pe_error *err)
{
    const struct pe_tensor *any = shape->first.tensor;
    const size_t known = observed->expected ? pe_scheme_pairs(observed->expected) : 0;
    struct shape other;

    if (!sheet_read(any, 1, shape))
        return pe_observed_refuse(shape->first.name, "[positions, width]", err);
    if (observed->cos && observed->sin &&
        (!sheet_read(observed->sin, 1, &other) || other.batch != shape->batch ||
         other.sequence != shape->sequence || other.width != shape->width ||
         observed->sin->dtype != observed->cos->dtype))
        return pe_observed_refuse("sin", "of the shape and dtype of cos", err);
    const size_t width = shape->width;
    const bool half = known != width && repeats(any, shape, true);
    const bool interleaved = known != width && !half && repeats(any, shape, false);
    shape->columns = (struct columns){0, 1, width, 0};
    if (half || interleaved || (known != width && 2 * known == width))
        shape->columns = interleaved ? (struct columns){0, 2, width / 2, 1}
                                     : (struct columns){0, 1, width / 2, width / 2};
    shape->layout = half ? "half" : interleaved ? "interleaved" : NULL;
    shape->pairs = shape->columns.count;
    return PE_OK;
}

/* Keys have the axes of queries; their number of heads is their own. */
static enum pe_status keys_shape(const struct pe_observed *observed, const struct pe_axes *axes,
                                 struct pe_axes *of_keys, struct pe_error *err)
{
    const struct pe_tensor *before = observed->k, *after = observed->k_rotated;

    if (!before || !after)
        return pe_fail(err, PE_MISSING, before ? "tensor:k_rotated" : "tensor:k",
                       "k and k_rotated go together; %s is missing", before ? "k_rotated" : "k");
    if (before->rank != after->rank ||
        memcmp(before->shape, after->shape, before->rank * sizeof(size_t)) != 0)
        return pe_observed_refuse("k_rotated", "of the shape of k", err);
    if (after->dtype != observed->q_rotated->dtype)
        return pe_observed_refuse("k_rotated", "of the dtype of q_rotated", err);
    if (pe_axes_parse(of_keys, observed->axes, before, 0, err))
        return err->status;
    return of_keys->batch == axes->batch && of_keys->sequence == axes->sequence &&
                   of_keys->head_dim == axes->head_dim
               ? PE_OK
               : pe_observed_refuse("k", "of the axes of q, but for the number of heads", err);
}

static enum pe_status tokens_shape(const struct pe_observed *observed, struct shape *shape,
                                   struct pe_error *err)
{
    const struct pe_tensor *before = observed->q, *after = observed->q_rotated;
    size_t elements;

    if (!before || !after)
        return pe_fail(err, PE_MISSING, before ? "tensor:q_rotated" : "tensor:q",
                       "q and q_rotated go together; %s is missing", before ? "q_rotated" : "q");
    if (before->rank != after->rank ||
        memcmp(before->shape, after->shape, before->rank * sizeof(size_t)) != 0)
        return pe_observed_refuse("q_rotated", "of the shape of q", err);
    if (pe_axes_parse(&shape->axes, observed->axes, before,
                      observed->expected ? pe_scheme_head_dim(observed->expected) : 0, err))
        return err->status;
    pe_shape_elements(before->shape, before->rank, &elements);
    if (shape->axes.head_dim < 2 || elements == 0)
        return pe_observed_refuse("q", "of one token and of heads of two elements at least", err);
    shape->batch = shape->axes.batch;
    shape->sequence = shape->axes.sequence;
    shape->pairs = (shape->axes.head_dim + 1) / 2;
    return observed->k || observed->k_rotated
               ? keys_shape(observed, &shape->axes, &shape->keys, err)
               : PE_OK;
}

static enum pe_status kind_shape(const struct pe_observed *observed, struct shape *shape,
                                 struct pe_error *err)
{
    const struct pe_tensor *tensor = shape->first.tensor;
    const char *name = shape->first.name;

    switch (shape->kind) {
    case COS_SIN:
        return cos_sin_shape(observed, shape, err);
    case COMPLEX:
        if (!sheet_read(tensor, 2, shape) || tensor->shape[tensor->rank - 1] != 2)
            return pe_observed_refuse(name, "[positions, pairs, 2], real and imaginary parts", err);
        shape->pairs = shape->width;
        return PE_OK;
    case ADDED:
        /* An odd width is that of the next even one without its last column, or that of the one
         * before with a column of zeros. */
        if (!sheet_read(tensor, 1, shape) || shape->width < 2)
            return pe_observed_refuse(name, "[positions, width], two columns at least", err);
        shape->pairs = observed->expected && pe_scheme_pairs(observed->expected) == shape->width / 2
                           ? shape->width / 2
                           : (shape->width + 1) / 2;
        return PE_OK;
    case FREQUENCIES:
        shape->pairs = tensor->rank == 1 ? tensor->shape[0] : 0;
        return shape->pairs > 0 ? PE_OK : pe_observed_refuse(name, "[pairs]", err);
    default:
        return tokens_shape(observed, shape, err);
    }
}

/* The tensors that are there, in an order that groups kinds. */
enum { TENSORS = 9 };

static void tensors_list(const struct pe_observed *observed, struct pe_named_tensor list[TENSORS])
{
    const struct pe_named_tensor all[] = {{"cos", observed->cos},
                                          {"sin", observed->sin},
                                          {"freqs_cis", observed->freqs_cis},
                                          {"table", observed->table},
                                          {"inv_freq", observed->inv_freq},
                                          {"q", observed->q},
                                          {"q_rotated", observed->q_rotated},
                                          {"k", observed->k},
                                          {"k_rotated", observed->k_rotated}};

    memcpy(list, all, sizeof(all));
}

static enum pe_status kind_find(const struct pe_observed *observed, struct shape *shape,
                                struct pe_error *err)
{
    static const enum kind kinds[TENSORS] = {COS_SIN, COS_SIN, COMPLEX, ADDED, FREQUENCIES,
                                             TOKENS,  TOKENS,  TOKENS,  TOKENS};
    struct pe_named_tensor tensors[TENSORS];
    bool conflicts = false;

    *shape = (struct shape){0};
    tensors_list(observed, tensors);
    for (size_t i = 0; i < TENSORS; i++) {
        const struct pe_tensor *tensor = tensors[i].tensor;
        if (!tensor)
            continue;
        conflicts = conflicts || (shape->first.tensor && kinds[i] != shape->kind);
        if (!shape->first.tensor)
            shape->first = tensors[i];
        shape->kind = kinds[i];
        if (pe_observed_tensor_check(tensors[i], err))
            return err->status;
    }
    if (shape->first.tensor && !conflicts)
        return PE_OK;
    return pe_fail(
        err, conflicts ? PE_CONFLICT : PE_MISSING, "",
        "observe one thing: cos and sin (or one of them), freqs_cis, table, inv_freq, or "
        "q with q_rotated, beside which k with k_rotated may be");
}

static enum pe_status shape_read(const struct pe_observed *observed, struct shape *shape,
                                 struct pe_error *err)
{
    if (kind_find(observed, shape, err) || kind_shape(observed, shape, err))
        return err->status;
    if (shape->kind != FREQUENCIES && shape->batch * shape->sequence == 0)
        return pe_observed_refuse(shape->first.name, "of one row at least", err);
    return pe_observed_pairs_check(shape->first.name, shape->pairs, err);
}

enum pe_status pe_observed_axes(const struct pe_observed *observed, struct pe_axes *axes,
                                struct pe_error *err)
{
    struct pe_observed copy;
    struct shape shape;

    if (pe_struct_read(&copy, sizeof(copy), observed, err) || shape_read(&copy, &shape, err))
        return err->status;
    *axes = (struct pe_axes){shape.batch, 1, shape.sequence, 1, 2 * shape.pairs};
    return PE_OK;
}

static size_t observed_dim(const struct pe_observed *observed)
{
    const struct pe_tensor *any = observed->cos ? observed->cos : observed->sin;
    const struct pe_tensor *wide = observed->table ? observed->table : observed->q;
    struct shape shape;

    if (wide && wide->rank >= 2)
        return wide->shape[wide->rank - 1];
    if (observed->inv_freq && observed->inv_freq->rank == 1)
        return 2 * observed->inv_freq->shape[0];
    if (observed->freqs_cis && sheet_read(observed->freqs_cis, 2, &shape))
        return 2 * shape.width;
    if (!any ||
        pe_observed_tensor_check((struct pe_named_tensor){"", any}, &(struct pe_error){0}) ||
        !sheet_read(any, 1, &shape))
        return 0;
    return repeats(any, &shape, true) || repeats(any, &shape, false) ? shape.width
                                                                     : 2 * shape.width;
}

size_t pe_observed_dim(const struct pe_observed *observed)
{
    struct pe_observed copy;

    return pe_struct_read(&copy, sizeof(copy), observed, &(struct pe_error){0})
               ? 0
               : observed_dim(&copy);
}

static double observed_work(const struct pe_observed *observed)
{
    const struct pe_tensor *const rows_of[] = {observed->cos, observed->sin, observed->table,
                                               observed->freqs_cis, observed->q};
    const size_t pairs = observed_dim(observed) / 2;
    const struct pe_tensor *tensor = NULL;
    size_t rows = 1, keys = 0;

    if (pairs == 0 || pairs > PE_SAMPLE_PAIRS_MAX)
        return 0;
    for (size_t i = 0; i < sizeof(rows_of) / sizeof(rows_of[0]) && !tensor; i++)
        tensor = rows_of[i];
    if (!tensor)
        return pe_diagnosis_work(0, pairs);
    for (unsigned axis = 0; axis + 1 < tensor->rank; axis++)
        rows *= tensor->shape[axis];
    if (tensor == observed->freqs_cis)
        rows /= pairs;
    for (unsigned axis = 0; observed->k && axis + 1 < observed->k->rank; axis++)
        keys = (axis == 0 ? 1 : keys) * observed->k->shape[axis];
    return (keys > 0 ? 2 : 1) * pe_diagnosis_work(pe_sampled_rows_count(rows, pairs), pairs) +
           pe_diagnosis_rows_work(rows + keys, pairs, tensor->dtype);
}

double pe_observed_work(const struct pe_observed *observed)
{
    struct pe_observed copy;

    return pe_struct_read(&copy, sizeof(copy), observed, &(struct pe_error){0})
               ? 0
               : observed_work(&copy);
}

/* ---- all rows of a table --------------------------------------------------------------------- */

/* Writes NaN where a pair and its copy differ. */
static void copies_compare(const struct pe_tensor *tensor, size_t first,
                           const struct columns *columns, size_t count, double *out)
{
    double copies[PIECE];

    for (size_t begin = 0; begin < count; begin += PIECE) {
        const size_t some = pe_min(count - begin, PIECE);
        pe_values_read(tensor, first + columns->copy + begin * columns->step, columns->step, some,
                       copies);
        for (size_t i = 0; i < some; i++)
            if (copies[i] != out[begin + i])
                out[begin + i] = NAN;
    }
}

static void part_read(const struct table_rows *rows, bool is_sin, size_t begin, size_t count,
                      double *out)
{
    const struct pe_tensor *tensor = is_sin ? rows->sin : rows->cos;
    const struct columns *columns = &rows->columns[is_sin];
    const size_t some = pe_min(rows->pairs, columns->count);

    for (size_t row = 0; row < count; row++) {
        const size_t first = (begin + row) * rows->width + columns->first;
        double *values = out + row * rows->pairs;
        pe_values_read(tensor, first, columns->step, some, values);
        if (columns->copy)
            copies_compare(tensor, first, columns, some, values);
        for (size_t pair = some; pair < rows->pairs; pair++)
            values[pair] = NAN;
    }
}

static void table_read(const void *context, size_t begin, size_t count, double *cos, double *sin,
                       double *weight)
{
    const struct table_rows *rows = context;

    (void)weight;
    if (cos)
        part_read(rows, false, begin, count, cos);
    if (sin)
        part_read(rows, true, begin, count, sin);
}

/* ---- samples --------------------------------------------------------------------------------- */

/* A sample of the chosen rows, with neither cos nor sin yet. */
static struct pe_sample *sample_add(struct pe_observations *observations, const struct shape *shape,
                                    const char *layout)
{
    const char *expected = observations->observed.layout;
    struct pe_sample *sample = &observations->samples[observations->count];
    struct table_rows *rows = &observations->tables[observations->count++];
    const enum pe_dtype dtype = shape->first.tensor->dtype;

    *sample = (struct pe_sample){.size = sizeof(*sample),
                                 .layout = layout,
                                 .unexpected = layout && expected && strcmp(layout, expected) != 0,
                                 .absolute = shape->kind == ADDED,
                                 .rows = observations->rows.count,
                                 .pairs = shape->pairs,
                                 .positions = observations->positions.sampled,
                                 .axes = observations->positions.all.axes,
                                 .dtype = dtype,
                                 .precision = dtype};
    if (shape->kind == FREQUENCIES)
        return sample;
    *rows = (struct table_rows){.all = {.size = sizeof(rows->all),
                                        .positions = observations->positions.all,
                                        .read = table_read,
                                        .context = rows},
                                .width = shape->kind == COMPLEX ? 2 * shape->width : shape->width,
                                .pairs = shape->pairs};
    sample->all = &rows->all;
    return sample;
}

static enum pe_status columns_read(struct pe_observations *observations, struct pe_sample *sample,
                                   bool is_sin, struct pe_named_tensor from, struct columns columns,
                                   struct pe_error *err)
{
    struct table_rows *rows = &observations->tables[sample - observations->samples];
    const size_t pairs = sample->pairs, some = pe_min(pairs, columns.count);
    double *values =
        pe_allocations_take(&observations->memory, sample->rows * pairs, sizeof(*values), err);

    if (!values)
        return err->status;
    for (size_t i = 0; i < sample->rows; i++) {
        if (pe_finite_read(from, observations->rows.rows[i] * rows->width + columns.first,
                           columns.step, some, &observations->precision, &observations->skipped,
                           values + i * pairs, err))
            return err->status;
        for (size_t pair = some; pair < pairs; pair++)
            values[i * pairs + pair] = NAN;
    }
    *(is_sin ? &sample->sin : &sample->cos) = values;
    *(is_sin ? &rows->sin : &rows->cos) = from.tensor;
    rows->columns[is_sin] = columns;
    return PE_OK;
}

static enum pe_status cos_sin_read(struct pe_observations *observations, const struct shape *shape,
                                   struct pe_error *err)
{
    const struct pe_named_tensor cos = {"cos", observations->observed.cos},
                                 sin = {"sin", observations->observed.sin};
    struct pe_sample *sample = sample_add(observations, shape, shape->layout);

    return (cos.tensor && columns_read(observations, sample, false, cos, shape->columns, err)) ||
                   (sin.tensor &&
                    columns_read(observations, sample, true, sin, shape->columns, err))
               ? err->status
               : PE_OK;
}

static enum pe_status complex_read(struct pe_observations *observations, const struct shape *shape,
                                   struct pe_error *err)
{
    const struct columns real = {0, 2, shape->pairs, 0}, imaginary = {1, 2, shape->pairs, 0};
    struct pe_sample *sample = sample_add(observations, shape, NULL);

    return columns_read(observations, sample, false, shape->first, real, err) ||
                   columns_read(observations, sample, true, shape->first, imaginary, err)
               ? err->status
               : PE_OK;
}

/* Sines and cosines in the four orders that are in use; of a single pair the order is one. */
static enum pe_status added_read(struct pe_observations *observations, const struct shape *shape,
                                 struct pe_error *err)
{
    static const char *const layouts[] = {
        "interleaved", "concatenated", "interleaved, cosines first", "concatenated, cosines first"};
    const char *expected = observations->observed.layout;
    const size_t single_step = expected && strncmp(expected, "conc", 4) == 0 ? 1 : 2;
    const size_t pairs = shape->pairs;

    for (size_t order = 0; order < SAMPLES_MAX; order++) {
        const bool concatenated = order % 2 == 1, cosines_first = order >= 2;
        const size_t step = concatenated ? 1 : 2, second = concatenated ? pairs : 1;
        const struct columns one = {0, step, pairs, 0};
        const struct columns two = {second, step, 2 * pairs > shape->width ? pairs - 1 : pairs, 0};
        struct pe_sample *sample;
        if (pairs == 1 && step != single_step)
            continue;
        sample = sample_add(observations, shape, layouts[order]);
        if (columns_read(observations, sample, true, shape->first, cosines_first ? two : one,
                         err) ||
            columns_read(observations, sample, false, shape->first, cosines_first ? one : two, err))
            return err->status;
    }
    return PE_OK;
}

static enum pe_status frequencies_read(struct pe_observations *observations,
                                       const struct shape *shape, struct pe_error *err)
{
    double *values = pe_allocations_take(&observations->memory, shape->pairs, sizeof(*values), err);

    if (!values || pe_finite_read(shape->first, 0, 1, shape->pairs, &observations->precision,
                                  &observations->skipped, values, err))
        return err->status;
    sample_add(observations, shape, NULL)->frequencies = values;
    return PE_OK;
}

/* All heads of a batch row are rotated by the same angles; some of them make the sample. */
static enum pe_status heads_read(struct pe_observations *observations, const struct pe_axes *axes,
                                 struct pe_named_tensor before, struct pe_named_tensor after,
                                 struct pe_rotated_tokens *tokens, struct pe_error *err)
{
    const size_t token = axes->heads_inner * axes->head_dim;

    *tokens = (struct pe_rotated_tokens){
        .before = before,
        .after = after,
        .heads = {.outer = axes->heads_outer,
                  .outer_step = axes->sequence * token,
                  .inner = axes->heads_inner,
                  .inner_step = axes->head_dim,
                  .token_step = token,
                  .sequence = axes->sequence,
                  .batch_step = axes->heads_outer * axes->sequence * token},
        .sampled_heads = pe_min(axes->heads_outer * axes->heads_inner, HEADS_MAX),
        .head_dim = axes->head_dim,
        .positions = &observations->positions,
        .skips_zeros = true};
    return pe_rotated_tokens_new(tokens, &observations->memory, err) ||
                   pe_rotated_tokens_measure(tokens, &observations->rows, err)
               ? err->status
               : PE_OK;
}

static enum pe_status tokens_read(struct pe_observations *observations, const struct shape *shape,
                                  struct pe_error *err)
{
    const struct pe_observed *observed = &observations->observed;
    const struct pe_named_tensor q[] = {{"q", observed->q}, {"q_rotated", observed->q_rotated}};
    const struct pe_named_tensor k[] = {{"k", observed->k}, {"k_rotated", observed->k_rotated}};
    struct pe_token_samples *samples = &observations->tokens;
    struct pe_rotated_tokens tokens, keys;

    if (heads_read(observations, &shape->axes, q[0], q[1], &tokens, err) ||
        (shape->keys.sequence > 0 &&
         heads_read(observations, &shape->keys, k[0], k[1], &keys, err)))
        return err->status;
    observations->skipped = tokens.skipped;
    if (shape->keys.sequence > 0) {
        tokens.keys = &keys;
        if (tokens.skipped.count == 0)
            observations->skipped = keys.skipped;
    }
    if (pe_rotated_tokens_samples(&tokens, &observations->rows, observed->expected,
                                  observed->layout, &observations->memory, samples, err))
        return err->status;
    if (samples->count == 0)
        return pe_observed_refuse("q", "as wide as what is expected to rotate, at least", err);
    memcpy(observations->samples, samples->samples, sizeof(samples->samples));
    observations->count = samples->count;
    return PE_OK;
}

static enum pe_status kind_read(struct pe_observations *observations, const struct shape *shape,
                                struct pe_error *err)
{
    switch (shape->kind) {
    case COS_SIN:
        return cos_sin_read(observations, shape, err);
    case COMPLEX:
        return complex_read(observations, shape, err);
    case ADDED:
        return added_read(observations, shape, err);
    case FREQUENCIES:
        return frequencies_read(observations, shape, err);
    default:
        return tokens_read(observations, shape, err);
    }
}

static enum pe_status observations_read(struct pe_observations *observations, struct pe_error *err)
{
    struct shape shape;

    if (shape_read(&observations->observed, &shape, err))
        return err->status;
    const struct pe_axes axes = {shape.batch, 1, shape.sequence, 1, 2 * shape.pairs};
    if (shape.kind != FREQUENCIES &&
        (pe_sampled_rows_new(&observations->rows, shape.batch * shape.sequence, shape.pairs,
                             &observations->memory, err) ||
         positions_join(observations, &axes, err) ||
         pe_row_positions_new(&observations->positions, &observations->rows, &observations->memory,
                              err)))
        return err->status;
    if (kind_read(observations, &shape, err) ||
        pe_not_finite_check(&observations->skipped, observations->samples, observations->count,
                            err) ||
        shape.kind == TOKENS)
        return err->status;
    for (size_t i = 0; i < observations->count; i++)
        observations->samples[i].precision =
            pe_precision_dtype(&observations->precision, observations->samples[i].dtype);
    return PE_OK;
}

enum pe_status pe_observations_new(struct pe_observations **out, const struct pe_observed *observed,
                                   struct pe_work *work, struct pe_error *err)
{
    struct pe_observations *observations =
        pe_memory_take(work, 1, sizeof(*observations), "a diagnosis", err);

    *out = NULL;
    if (!observations)
        return err->status;
    observations->memory = (struct pe_allocations){.work = work, .purpose = "a diagnosis"};
    if (pe_work_check(work, err) ||
        pe_struct_read(&observations->observed, sizeof(*observed), observed, err) ||
        observations_read(observations, err)) {
        pe_observations_free(observations);
        return err->status;
    }
    *out = observations;
    return PE_OK;
}

const struct pe_sample *pe_observations_samples(const struct pe_observations *observations)
{
    return observations->samples;
}

size_t pe_observations_count(const struct pe_observations *observations)
{
    return observations->count;
}

void pe_observations_free(struct pe_observations *observations)
{
    if (!observations)
        return;
    pe_allocations_free(&observations->memory);
    pe_memory_give(observations->memory.work, observations, 1, sizeof(*observations));
}
