/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/views/view.h"
#include "posenc/comparison.h"

/* Differences of two operands. Rows are compared in STRIPES parts, so that sums do not depend on
 * the number of threads; a stripe reads chunks of rows of both operands. */

enum { STRIPES = 16, CHUNK_ELEMENTS = 1 << 14, CHUNK = 256, TOKENS = 256 };

/* Nanoseconds of an element that is read, rotated and read again, cos and sin included; and of the
 * interval of an element. */
#define ROTATED_WORK  8.0
#define INTERVAL_WORK 100.0

struct operand {
    struct pe_operand given;
    struct pe_rotation_spec rotation; /* size 0: none */
    const struct pe_scheme *scheme;   /* NULL: tensors */
    size_t tables, rows, columns;
    struct pe_tensor rotated; /* by pe_differences_find */
    size_t pairs;             /* of a rotation */
};

struct stripe {
    struct pe_outside outside;
    struct pe_comparison sum;
    struct pe_maxima by_column;
    unsigned char *rows[2]; /* a chunk of a, one of b */
    struct pe_error err;
};

struct pe_differences {
    struct pe_job job; /* first: a pointer to it points to the struct */
    struct pe_differences_spec spec;
    struct pe_kv_axes axes; /* rank 0: none */
    struct operand operands[2];
    struct pe_work *work;
    struct pe_allocations memory;
    struct pe_tolerance *tolerance; /* NULL: no path */
    size_t table;                   /* being compared */
    size_t chunk_rows;
    struct stripe *stripes;
    struct pe_comparison sum;
    struct pe_interval *intervals;
    struct pe_differences_found found;
};

/* ---- operands -------------------------------------------------------------------------------- */

static bool is_rotation(const struct operand *operand)
{
    return operand->rotation.size > 0;
}

static enum pe_status operand_refuse(const char *name, const char *why, struct pe_error *err)
{
    return pe_fail(err, PE_INVALID, "", "operand %s %s", name, why);
}

static enum pe_status view_open(struct operand *operand, const char *name, enum pe_dtype dtype,
                                struct pe_error *err)
{
    const struct pe_view *view = operand->given.view;
    const struct pe_output *first = pe_view_output(view, 0);

    if (view->dtype != dtype)
        return operand_refuse(name, "is a view of another dtype", err);
    operand->scheme = view->scheme;
    while (pe_view_output(view, operand->tables))
        operand->tables++;
    operand->rows = first->rows;
    operand->columns = first->row_elements;
    return PE_OK;
}

static enum pe_status tensors_open(struct operand *operand, const char *name, struct pe_error *err)
{
    const struct pe_tensor *first = operand->given.tensors;

    if (!first || operand->given.tensors_count == 0)
        return operand_refuse(name, "has neither a view nor tensors", err);
    for (size_t i = 0; i < operand->given.tensors_count; i++) {
        const struct pe_tensor *tensor = &first[i];
        size_t elements = 0;
        if (!pe_dtype_is_float(tensor->dtype))
            return pe_fail(err, PE_UNSUPPORTED, "", "%s is %s; f64, f32, f16 and bf16 are compared",
                           name, pe_dtype_name(tensor->dtype));
        if (tensor->rank == 0 || tensor->rank > PE_RANK_MAX ||
            !pe_shape_elements(tensor->shape, tensor->rank, &elements) ||
            (!tensor->data && elements > 0))
            return operand_refuse(name, "is no tensor of tables with data", err);
        if (tensor->dtype != first->dtype || tensor->rank != first->rank ||
            memcmp(tensor->shape, first->shape, first->rank * sizeof(*first->shape)) != 0)
            return pe_fail(err, PE_SHAPE_MISMATCH, "",
                           "the tables of operand %s have different shapes or dtypes", name);
    }
    operand->tables = operand->given.tensors_count;
    operand->columns = first->shape[first->rank - 1];
    operand->rows = 1;
    for (unsigned axis = 0; axis + 1 < first->rank; axis++)
        operand->rows *= first->shape[axis];
    return PE_OK;
}

static enum pe_status rotation_open(struct operand *operand, const char *name, enum pe_dtype dtype,
                                    struct pe_error *err)
{
    const struct pe_axes *axes = &operand->given.axes;
    struct pe_rotation_spec *spec = &operand->rotation;

    if (pe_struct_read(spec, sizeof(*spec), operand->given.rotation, err))
        return err->status;
    if (!spec->scheme || pe_scheme_rotary_dim(spec->scheme) == 0 ||
        spec->layout != spec->output_layout || operand->tables != 1)
        return pe_fail(err, PE_UNSUPPORTED, "",
                       "operand %s must be one tensor, rotated by a scheme in one layout", name);
    if (operand->given.slabs * axes->batch * axes->heads_outer * axes->sequence *
                axes->heads_inner * axes->head_dim !=
            operand->rows * operand->columns ||
        axes->head_dim == 0 || operand->columns % axes->head_dim != 0 ||
        spec->positions.count != axes->sequence ||
        (spec->positions.batch > 1 && spec->positions.batch != axes->batch))
        return pe_fail(err, PE_SHAPE_MISMATCH, "",
                       "operand %s or its positions have another size than its axes", name);
    operand->scheme = spec->scheme;
    operand->pairs = pe_scheme_rotary_dim(spec->scheme) / 2;
    operand->rotated = *operand->given.tensors;
    operand->rotated.dtype = dtype;
    operand->rotated.data = NULL;
    return PE_OK;
}

static enum pe_status operand_open(struct operand *operand, const struct pe_operand *given,
                                   const char *name, enum pe_dtype dtype, struct pe_error *err)
{
    if (!given)
        return operand_refuse(name, "is missing", err);
    if (pe_struct_read(&operand->given, sizeof(operand->given), given, err))
        return err->status;
    if (operand->given.view)
        return view_open(operand, name, dtype, err);
    return tensors_open(operand, name, err) ||
                   (operand->given.rotation && rotation_open(operand, name, dtype, err))
               ? err->status
               : PE_OK;
}

static double operand_work(const struct operand *operand)
{
    const double elements = (double)operand->rows * (double)operand->columns;

    if (operand->given.view)
        return pe_scheme_work(operand->scheme) + pe_view_work(operand->given.view);
    if (is_rotation(operand))
        return pe_scheme_work(operand->scheme) + ROTATED_WORK * elements;
    return (double)operand->tables * elements;
}

static void convert(const struct pe_tensor *from, size_t first, size_t count, enum pe_dtype dtype,
                    char *to)
{
    const size_t from_size = pe_dtype_info(from->dtype)->size, size = pe_dtype_info(dtype)->size;
    const char *at = (const char *)from->data + first * from_size;
    double values[CHUNK];

    if (from->dtype == dtype) {
        memcpy(to, at, count * size);
        return;
    }
    for (size_t i = 0; i < count; i += CHUNK) {
        const size_t some = pe_min(count - i, CHUNK);
        pe_to_f64(values, at + i * from_size, from->dtype, some);
        pe_from_f64(to + i * size, dtype, values, some);
    }
}

/* Rows of a table in the dtype of the comparison. */
static enum pe_status rows_read(const struct operand *operand, size_t table, size_t begin,
                                size_t end, enum pe_dtype dtype, void *out, struct pe_work *work,
                                struct pe_error *err)
{
    if (operand->given.view)
        return pe_view_fill(operand->given.view, table, begin, end, out, work, err);
    if (end > begin && operand->columns > 0)
        convert(is_rotation(operand) ? &operand->rotated : &operand->given.tensors[table],
                begin * operand->columns, (end - begin) * operand->columns, dtype, out);
    return PE_OK;
}

/* ---- rotations ------------------------------------------------------------------------------- */

static enum pe_status tokens_rotate(struct pe_differences *differences, struct operand *operand,
                                    const struct pe_rotation *rotation, struct pe_error *err)
{
    const struct pe_axes *axes = &operand->given.axes;
    const size_t tokens = axes->batch * axes->heads_outer * axes->sequence;
    const size_t token = axes->heads_inner * axes->head_dim;
    const enum pe_dtype dtype = operand->rotated.dtype;
    const size_t size = pe_dtype_info(dtype)->size;
    char *data = operand->rotated.data;

    for (size_t i = 0; i < operand->given.slabs; i++)
        for (size_t at = 0; at < tokens; at += TOKENS) {
            const size_t end = pe_min(tokens, at + TOKENS), first = (i * tokens + at) * token;
            convert(operand->given.tensors, first, (end - at) * token, dtype, data + first * size);
            if (pe_rotate(rotation, data + i * tokens * token * size, axes, at, end,
                          differences->work, err))
                return err->status;
        }
    return PE_OK;
}

static enum pe_status operand_rotate(struct pe_differences *differences, struct operand *operand,
                                     struct pe_pool *pool, struct pe_error *err)
{
    const enum pe_dtype dtype = operand->rotated.dtype;
    struct pe_rotation *rotation;

    operand->rotated.data = pe_allocations_take(
        &differences->memory, operand->rows * operand->columns, pe_dtype_info(dtype)->size, err);
    if (!operand->rotated.data ||
        pe_rotation_new(&rotation, &operand->rotation, dtype, pool, differences->work, err))
        return err->status;
    tokens_rotate(differences, operand, rotation, err);
    pe_rotation_free(rotation);
    return err->status;
}

/* The position of the first token in a row. */
static double rotation_position(const struct operand *operand, size_t row)
{
    const struct pe_positions *positions = &operand->rotation.positions;
    const struct pe_axes *axes = &operand->given.axes;
    const size_t token = row * operand->columns / (axes->heads_inner * axes->head_dim);
    const size_t at = token % axes->sequence;
    const size_t batch = token / (axes->sequence * axes->heads_outer) % axes->batch;

    if (!positions->values)
        return positions->start + positions->step * (double)at;
    return positions->values[(positions->batch > 1 ? batch : 0) * positions->count + at];
}

static size_t rotation_pair(const struct operand *operand, size_t column)
{
    column %= operand->given.axes.head_dim;
    return column >= 2 * operand->pairs                 ? column
           : operand->rotation.layout == PE_LAYOUT_HALF ? column % operand->pairs
                                                        : column / 2;
}

/* The operand whose scheme says the pairs and positions: a view, or a rotation; NULL: neither. */
static const struct operand *reference_of(const struct pe_differences *differences)
{
    const struct operand *a = &differences->operands[0], *b = &differences->operands[1];

    return a->given.view || is_rotation(a) ? a : b->given.view || is_rotation(b) ? b : NULL;
}

double pe_differences_position(const struct pe_differences *differences, size_t row)
{
    const struct operand *reference = reference_of(differences);

    if (row >= differences->found.rows)
        return NAN;
    if (reference && reference->given.view)
        return pe_view_position(reference->given.view, row);
    if (reference)
        return rotation_position(reference, row);
    return differences->axes.rank > 0
               ? (double)pe_kv_axes_coordinate(&differences->axes, PE_KV_ROWS, row, 's')
               : NAN;
}

size_t pe_differences_pair(const struct pe_differences *differences, size_t column)
{
    for (size_t i = 0; i < 2; i++)
        if (is_rotation(&differences->operands[i]))
            return rotation_pair(&differences->operands[i], column);
    for (size_t i = 0; i < 2; i++) {
        const struct pe_scheme *scheme = differences->operands[i].scheme;
        const size_t pair = scheme ? pe_scheme_column_pair(scheme, column) : SIZE_MAX;
        if (pair != SIZE_MAX)
            return pair;
    }
    return column;
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* The distance of a rotated element from its real number, as a fraction of that of the interval's
 * end. */
static double used_by_rotation(double value, const struct pe_interval *interval)
{
    const double most =
        value < interval->real ? interval->real - interval->low : interval->high - interval->real;

    return most > 0 ? fmin(fabs(value - interval->real) / most, 1) : 0;
}

/* Fraction of the allowed float32 error that this value consumes, rounding to a coarser dtype
 * excluded. */
static double used_by_value(const struct pe_differences *differences, double value,
                            const struct pe_interval *interval)
{
    static const double halves[] = {[PE_F16] = 0x1p-11, [PE_BF16] = 0x1p-8};
    static const double least[] = {[PE_F16] = 0x1p-25, [PE_BF16] = 0};
    const enum pe_dtype of_path = pe_path_dtype(differences->spec.path);
    const enum pe_dtype dtype =
        of_path > differences->spec.dtype ? of_path : differences->spec.dtype;
    const double hidden = dtype > PE_F32 ? halves[dtype] * fabs(interval->real) + least[dtype] : 0;
    const double beyond = fabs(value - interval->real) - hidden;

    return beyond > 0 && interval->error > 0 ? beyond / interval->error : 0;
}

/* Checks element `at` of a stripe's chunk, which is in row `row` of the table. */
static void value_check(const struct pe_differences *differences, struct stripe *stripe, size_t row,
                        size_t at, const struct pe_interval *interval)
{
    const size_t computed = differences->found.computed;
    const struct operand *reference = &differences->operands[1 - computed];
    const size_t column = at % reference->columns;
    const enum pe_dtype dtype = differences->spec.dtype;
    struct pe_outside *outside = &stripe->outside;
    double value;

    pe_to_f64(&value, stripe->rows[computed] + at * pe_dtype_info(dtype)->size, dtype, 1);
    if (differences->intervals)
        differences->intervals[(reference->rows * differences->table + row) * reference->columns +
                               column] = *interval;
    if (isnan(interval->low)) /* a column of zeros, which belongs to no pair */
        return;
    if (value >= interval->low && value <= interval->high)
        outside->used = fmax(outside->used, is_rotation(reference)
                                                ? used_by_rotation(value, interval)
                                                : used_by_value(differences, value, interval));
    else if (outside->count++ == 0) {
        outside->table = differences->table;
        outside->row = row;
        outside->column = column;
        outside->value = value;
        outside->interval = *interval;
    }
}

static void table_check(const struct pe_differences *differences, struct stripe *stripe,
                        size_t begin, size_t rows)
{
    const struct operand *reference = &differences->operands[1 - differences->found.computed];
    const size_t columns = reference->columns;
    const bool is_sin = pe_view_output(reference->given.view, differences->table)->name[0] == 's';

    for (size_t i = 0; i < rows * columns; i++) {
        struct pe_interval interval = {.low = NAN};
        pe_tolerance_element(differences->tolerance, is_sin, i % columns,
                             pe_differences_position(differences, begin + i / columns),
                             differences->spec.dtype, &interval);
        value_check(differences, stripe, begin + i / columns, i, &interval);
    }
}

/* Rounds the ends of an interval to a dtype. */
static void ends_round(struct pe_interval *interval, enum pe_dtype dtype)
{
    interval->low = pe_round_to(interval->low, dtype);
    interval->high = pe_round_to(interval->high, dtype);
}

/* A head in a row of the table: the row, the first column, and the element of the stripe's chunk.
 */
struct head {
    size_t row, first, at;
};

static double source_of(const struct operand *operand, const struct head *head, size_t column)
{
    const struct pe_tensor *tensor = operand->given.tensors;
    const size_t at = head->row * operand->columns + head->first + column;
    double value;

    pe_to_f64(&value, (const char *)tensor->data + at * pe_dtype_info(tensor->dtype)->size,
              tensor->dtype, 1);
    return value;
}

static void pair_check(const struct pe_differences *differences, struct stripe *stripe,
                       const struct operand *reference, const struct head *head, size_t pair)
{
    const struct pe_tolerance *tolerance = differences->tolerance;
    const double position = rotation_position(reference, head->row);
    const bool half = reference->rotation.layout == PE_LAYOUT_HALF;
    const size_t columns[] = {half ? pair : 2 * pair,
                              half ? pair + reference->pairs : 2 * pair + 1};
    struct pe_tolerance_pair rotated;
    struct pe_interval intervals[2];

    for (size_t i = 0; i < 2; i++)
        rotated.x[i] = source_of(reference, head, columns[i]);
    if (pe_tolerance_interval(tolerance, pair, position, false, PE_F64, &rotated.cos) ||
        pe_tolerance_interval(tolerance, pair, position, true, PE_F64, &rotated.sin))
        return;
    pe_tolerance_rotated(tolerance, &rotated, intervals);
    for (size_t i = 0; i < 2; i++) {
        ends_round(&intervals[i], differences->spec.dtype);
        value_check(differences, stripe, head->row, head->at + columns[i], &intervals[i]);
    }
}

/* Columns that do not rotate are those of the source. */
static void unrotated_check(const struct pe_differences *differences, struct stripe *stripe,
                            const struct operand *reference, const struct head *head, size_t column)
{
    const double x = source_of(reference, head, column);
    struct pe_interval interval = {x, x, x, 0};

    ends_round(&interval, differences->spec.dtype);
    value_check(differences, stripe, head->row, head->at + column, &interval);
}

static void rotation_check(const struct pe_differences *differences, struct stripe *stripe,
                           size_t begin, size_t rows)
{
    const struct operand *reference = &differences->operands[1 - differences->found.computed];
    const size_t columns = reference->columns, head_dim = reference->given.axes.head_dim;

    for (size_t at = 0; at < rows * columns; at += head_dim) {
        const struct head head = {begin + at / columns, at % columns, at};
        for (size_t pair = 0; pair < reference->pairs; pair++)
            pair_check(differences, stripe, reference, &head, pair);
        for (size_t column = 2 * reference->pairs; column < head_dim; column++)
            unrotated_check(differences, stripe, reference, &head, column);
    }
}

static void outside_join(struct pe_outside *sum, const struct pe_outside *more)
{
    const uint64_t count = sum->count;
    const double used = fmax(sum->used, more->used);

    if (count == 0)
        *sum = *more;
    sum->count = count + more->count;
    sum->used = used;
}

/* ---- stripes --------------------------------------------------------------------------------- */

static void stripe_run(struct pe_job *job, size_t index)
{
    struct pe_differences *differences = (struct pe_differences *)job;
    struct stripe *stripe = &differences->stripes[index];
    const struct operand *operands = differences->operands;
    const size_t begin = operands->rows * index / STRIPES,
                 end = operands->rows * (index + 1) / STRIPES;

    for (size_t row = begin; row < end; row += differences->chunk_rows) {
        const size_t rows = pe_min(end - row, differences->chunk_rows);
        for (size_t i = 0; i < 2; i++)
            if (rows_read(&operands[i], differences->table, row, row + rows,
                          differences->spec.dtype, stripe->rows[i], differences->work,
                          &stripe->err))
                return;
        if (pe_compare(&stripe->sum, differences->spec.dtype, stripe->rows[0], stripe->rows[1], row,
                       rows, operands->columns, &differences->found.by_row, &stripe->by_column,
                       differences->work, &stripe->err))
            return;
        if (!differences->tolerance)
            continue;
        if (is_rotation(&operands[1 - differences->found.computed]))
            rotation_check(differences, stripe, row, rows);
        else
            table_check(differences, stripe, row, rows);
    }
}

/* Joins the stripes in their order. */
static void stripes_join(struct pe_differences *differences)
{
    struct pe_differences_found *found = &differences->found;
    struct pe_comparison *sum = &differences->sum;

    for (size_t i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &differences->stripes[i];
        const bool diverged = sum->diverges;
        const size_t row = sum->row, column = sum->column;
        pe_comparison_join(sum, &stripe->sum);
        outside_join(&found->outside, &stripe->outside);
        if (sum->diverges && (!diverged || sum->row != row || sum->column != column))
            found->table = differences->table;
        for (size_t at = 0; found->by_pair.abs && at < found->columns; at++) {
            const size_t pair = pe_differences_pair(differences, at);
            found->by_pair.abs[pair] = fmax(found->by_pair.abs[pair], stripe->by_column.abs[at]);
            found->by_pair.ulp[pair] = fmax(found->by_pair.ulp[pair], stripe->by_column.ulp[at]);
        }
    }
}

static void stripes_reset(struct pe_differences *differences)
{
    const size_t bytes = differences->found.columns * sizeof(double);

    for (size_t i = 0; i < STRIPES; i++) {
        struct stripe *stripe = &differences->stripes[i];
        stripe->sum = (struct pe_comparison){.size = sizeof(stripe->sum),
                                             .tolerance = differences->spec.tolerance};
        stripe->outside = (struct pe_outside){0};
        if (stripe->by_column.abs) {
            memset(stripe->by_column.abs, 0, bytes);
            memset(stripe->by_column.ulp, 0, bytes);
        }
    }
}

static enum pe_status maxima_take(struct pe_differences *differences, struct pe_maxima *maxima,
                                  size_t count, struct pe_error *err)
{
    maxima->abs = pe_allocations_take(&differences->memory, count, sizeof(double), err);
    maxima->ulp = pe_allocations_take(&differences->memory, count, sizeof(double), err);
    return err->status;
}

static enum pe_status memory_take(struct pe_differences *differences, struct pe_error *err)
{
    const struct pe_differences_spec *spec = &differences->spec;
    struct pe_differences_found *found = &differences->found;
    struct pe_allocations *memory = &differences->memory;
    const size_t columns = found->columns;

    differences->chunk_rows =
        columns < CHUNK_ELEMENTS && columns > 0 ? CHUNK_ELEMENTS / columns : 1;
    const size_t chunk = differences->chunk_rows * columns * pe_dtype_info(spec->dtype)->size;
    differences->stripes = pe_allocations_take(memory, STRIPES, sizeof(*differences->stripes), err);
    for (size_t i = 0; i < STRIPES && !err->status; i++) {
        struct stripe *stripe = &differences->stripes[i];
        stripe->rows[0] = pe_allocations_take(memory, chunk, 1, err);
        stripe->rows[1] = pe_allocations_take(memory, chunk, 1, err);
        if (spec->by_pair)
            maxima_take(differences, &stripe->by_column, columns, err);
    }
    if (spec->by_pair)
        maxima_take(differences, &found->by_pair, columns, err);
    if (spec->by_row || found->heads > 0)
        maxima_take(differences, &found->by_row, found->rows, err);
    if (found->heads > 0)
        maxima_take(differences, &found->by_head, found->heads, err);
    if (spec->has_path && spec->keeps_intervals)
        found->intervals = differences->intervals = pe_allocations_take(
            memory, found->tables * found->rows * columns, sizeof(*differences->intervals), err);
    return err->status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum pe_status operands_match(struct pe_differences *differences, struct pe_error *err)
{
    const struct operand *a = &differences->operands[0], *b = &differences->operands[1];
    const struct pe_kv_axes *axes = &differences->axes;

    if (a->tables != b->tables)
        return pe_fail(err, PE_SHAPE_MISMATCH, "", "a has %zu tables and b has %zu", a->tables,
                       b->tables);
    if (a->rows != b->rows || a->columns != b->columns)
        return pe_fail(err, PE_SHAPE_MISMATCH, "",
                       "a is [%zu, %zu], b is [%zu, %zu]: rows are positions, columns the width",
                       a->rows, a->columns, b->rows, b->columns);
    if (axes->rank > 0 && (pe_kv_axes_places(axes, PE_KV_ROWS) != a->rows ||
                           axes->shape[axes->rank - 1] != a->columns))
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:axes", "axes are not those of a and b");
    if (differences->spec.has_path && !reference_of(differences))
        return pe_fail(err, PE_CONFLICT, "parameter:tolerance_of",
                       "a tolerance is around an encoding's real numbers; one of a and b must be "
                       "an encoding, the other one is judged");
    return PE_OK;
}

static enum pe_status differences_open(struct pe_differences *differences,
                                       const struct pe_differences_spec *given,
                                       struct pe_error *err)
{
    static const char *const names[] = {"a", "b"};
    struct pe_differences_spec *spec = &differences->spec;
    struct pe_differences_found *found = &differences->found;
    struct operand *operands = differences->operands;

    if (pe_struct_read(spec, sizeof(*spec), given, err))
        return err->status;
    if (!pe_dtype_is_float(spec->dtype))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:dtype",
                       "f64, f32, f16 and bf16 are compared");
    if (spec->axes)
        differences->axes = *spec->axes;
    for (size_t i = 0; i < 2; i++)
        if (operand_open(&operands[i], i == 0 ? spec->a : spec->b, names[i], spec->dtype, err))
            return err->status;
    if (operands_match(differences, err))
        return err->status;
    *found = (struct pe_differences_found){
        .sum = &differences->sum,
        .tables = operands->tables,
        .rows = operands->rows,
        .columns = operands->columns,
        .heads =
            differences->axes.rank > 0 ? pe_kv_axes_places(&differences->axes, PE_KV_HEADS) : 0,
        .computed = operands[0].scheme ? 1 : 0};
    return PE_OK;
}

enum pe_status pe_differences_new(struct pe_differences **out,
                                  const struct pe_differences_spec *spec, struct pe_work *work,
                                  struct pe_error *err)
{
    struct pe_differences *differences =
        pe_memory_take(work, 1, sizeof(*differences), "a comparison", err);

    *out = NULL;
    if (!differences)
        return err->status;
    differences->work = work;
    differences->memory = (struct pe_allocations){.work = work, .purpose = "a comparison"};
    differences->sum.size = sizeof(differences->sum);
    if (differences_open(differences, spec, err)) {
        pe_differences_free(differences);
        return err->status;
    }
    *out = differences;
    return PE_OK;
}

double pe_differences_work(const struct pe_differences *differences)
{
    const struct pe_differences_found *found = &differences->found;
    const double elements = (double)found->rows * (double)found->columns * (double)found->tables;
    double work =
        pe_comparison_work(elements) + elements * (differences->spec.has_path ? INTERVAL_WORK : 0);

    for (size_t i = 0; i < 2; i++)
        work += operand_work(&differences->operands[i]);
    return work;
}

/* The largest differences of each head, by those of its rows. */
static void heads_join(struct pe_differences *differences)
{
    struct pe_differences_found *found = &differences->found;

    for (size_t row = 0; found->heads > 0 && row < found->rows; row++) {
        const size_t head = pe_kv_axes_project(&differences->axes, PE_KV_ROWS, row, PE_KV_HEADS);
        found->by_head.abs[head] = fmax(found->by_head.abs[head], found->by_row.abs[row]);
        found->by_head.ulp[head] = fmax(found->by_head.ulp[head], found->by_row.ulp[row]);
    }
}

static enum pe_status operands_prepare(struct pe_differences *differences, struct pe_pool *pool,
                                       struct pe_error *err)
{
    struct operand *operands = differences->operands;
    const struct operand *reference = &operands[1 - differences->found.computed];

    for (size_t i = 0; i < 2; i++)
        if (operands[i].scheme && !operands[i].scheme->prepared)
            return pe_fail(err, PE_INVALID, "", "a scheme of the operands is not prepared");
    if (differences->spec.has_path &&
        pe_tolerance_new(&differences->tolerance, reference->scheme, differences->spec.path,
                         differences->work, err))
        return err->status;
    for (size_t i = 0; i < 2; i++)
        if (is_rotation(&operands[i]) && operand_rotate(differences, &operands[i], pool, err))
            return err->status;
    return memory_take(differences, err);
}

enum pe_status pe_differences_find(struct pe_differences *differences, struct pe_pool *pool,
                                   struct pe_error *err)
{
    struct pe_differences_found *found = &differences->found;

    if (differences->stripes)
        return pe_fail(err, PE_INVALID, "", "differences are found once");
    if (operands_prepare(differences, pool, err))
        return err->status;
    for (size_t table = 0; table < found->tables; table++) {
        differences->table = table;
        stripes_reset(differences);
        differences->job =
            (struct pe_job){.run = stripe_run, .blocks = STRIPES, .work = differences->work};
        if (!pe_pool_run(pool, &differences->job))
            return pe_work_check(differences->work, err);
        for (size_t i = 0; i < STRIPES; i++)
            if (differences->stripes[i].err.status) {
                *err = differences->stripes[i].err;
                return err->status;
            }
        stripes_join(differences);
    }
    for (size_t column = 0; found->by_pair.abs && column < found->columns; column++) {
        const size_t pair = pe_differences_pair(differences, column);
        found->pairs = found->pairs > pair + 1 ? found->pairs : pair + 1;
    }
    heads_join(differences);
    return PE_OK;
}

void pe_differences_free(struct pe_differences *differences)
{
    if (!differences)
        return;
    pe_tolerance_free(differences->tolerance);
    pe_allocations_free(&differences->memory);
    pe_memory_give(differences->work, differences, 1, sizeof(*differences));
}

const struct pe_differences_found *pe_differences_found(const struct pe_differences *differences)
{
    return &differences->found;
}
