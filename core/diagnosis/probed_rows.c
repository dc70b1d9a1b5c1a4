/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/probed_rows.h"

#include <math.h>
#include <string.h>

#include "core/base/sanitizer.h"
#include "core/base/sizes.h"
#include "core/base/work.h"

enum { CALL, BATCH, HEAD, TOKEN };

/* So many different rows of one token are compared with later ones; all are tested for linearity.
 */
enum { DISTINCT_MAX = 16 };

/* ---- shapes ---------------------------------------------------------------------------------- */

static enum pe_status axes_refuse(struct pe_error *err)
{
    return pe_fail(err, PE_INVALID, "parameter:axes",
                   "axes of x and y: a letter an axis, c (calls), b, h, s, each once at most, s "
                   "among them, and d last");
}

PE_WRAPS("counts down past 0")
static enum pe_status axes_read(struct pe_probed_rows *rows, const char *letters,
                                struct pe_error *err)
{
    static const char known[] = "cbhs";
    const struct pe_tensor *x = rows->x;
    const char *axes = letters ? letters : x->rank == 3 ? "csd" : "sd";
    size_t stride = 1;

    if (strlen(axes) != x->rank || x->rank < 2 || axes[x->rank - 1] != 'd' || !strchr(axes, 's'))
        return axes_refuse(err);
    for (size_t i = 0; i < PE_PROBED_AXES; i++)
        rows->lengths[i] = 1;
    rows->dim = x->shape[x->rank - 1];
    stride = rows->dim;
    for (unsigned i = x->rank - 1; i-- > 0;) {
        const char *letter = strchr(known, axes[i]);
        if (!letter || rows->strides[letter - known] != 0)
            return axes_refuse(err);
        rows->lengths[letter - known] = x->shape[i];
        rows->strides[letter - known] = stride;
        stride *= x->shape[i];
    }
    rows->tokens = rows->lengths[TOKEN];
    rows->repeats = rows->lengths[CALL] * rows->lengths[BATCH] * rows->lengths[HEAD];
    return PE_OK;
}

enum pe_status pe_probed_rows_shape(struct pe_probed_rows *rows, const struct pe_probed *probed,
                                    struct pe_error *err)
{
    const struct pe_tensor *x = probed->x, *y = probed->y;

    if (!x || !y)
        return pe_fail(err, PE_MISSING, x ? "tensor:y" : "tensor:x",
                       "x and y of a probe go together; %s is missing", x ? "y" : "x");
    if (pe_observed_tensor_check((struct pe_named_tensor){"x", x}, err) ||
        pe_observed_tensor_check((struct pe_named_tensor){"y", y}, err))
        return err->status;
    if (x->rank != y->rank || memcmp(x->shape, y->shape, x->rank * sizeof(size_t)) != 0)
        return pe_observed_refuse("y", "of the shape of x", err);
    *rows = (struct pe_probed_rows){.x = x, .y = y};
    if (axes_read(rows, probed->axes, err))
        return err->status;
    if (rows->dim < 2 || rows->tokens == 0 || rows->repeats == 0)
        return pe_observed_refuse("x", "of one token and of heads of two elements at least", err);
    return pe_observed_pairs_check("x", (rows->dim + 1) / 2, err);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The coordinates of a row of a token: the head varies fastest, then the batch row. */
static struct pe_probe_place place_of(const struct pe_probed_rows *rows, size_t token, size_t row)
{
    const size_t heads = rows->lengths[HEAD], batch = rows->lengths[BATCH];

    return (struct pe_probe_place){.call = row / heads / batch,
                                   .batch = row / heads % batch,
                                   .head = row % heads,
                                   .token = token};
}

static size_t first_of(const struct pe_probed_rows *rows, const struct pe_probe_place *place)
{
    return place->call * rows->strides[CALL] + place->batch * rows->strides[BATCH] +
           place->head * rows->strides[HEAD] + place->token * rows->strides[TOKEN];
}

static void row_read(const struct pe_probed_rows *rows, const struct pe_tensor *tensor,
                     size_t token, size_t row, double *out)
{
    const struct pe_probe_place place = place_of(rows, token, row);

    pe_values_read(tensor, first_of(rows, &place), 1, rows->dim, out);
}

double pe_probed_element(const struct pe_probed_rows *rows, size_t token, size_t to, size_t from)
{
    const struct pe_probe_place place =
        place_of(rows, token, rows->columns[token * rows->dim + from]);
    double value;

    pe_values_read(rows->y, first_of(rows, &place) + to, 1, 1, &value);
    return value / rows->scales[token * rows->dim + from];
}

void pe_probed_column(const struct pe_probed_rows *rows, size_t token, size_t from, double *out)
{
    row_read(rows, rows->y, token, rows->columns[token * rows->dim + from], out);
    for (size_t i = 0; i < rows->dim; i++)
        out[i] /= rows->scales[token * rows->dim + from];
}

/* The only element that is not zero; dim: there are several; dim + 1: there is none. */
static size_t only_element(const double *x, size_t dim)
{
    size_t found = dim + 1;

    for (size_t i = 0; i < dim; i++)
        if (x[i] != 0) {
            if (found < dim)
                return dim;
            found = i;
        }
    return found;
}

static void fault_set(struct pe_probed_rows *rows, enum pe_fault fault, struct pe_probe_place place,
                      size_t element, double seen, double predicted)
{
    if (rows->fault)
        return;
    rows->fault = fault;
    rows->place = place;
    rows->place.element = element;
    rows->place.seen = seen;
    rows->place.predicted = predicted;
}

/* ---- the same x in several places ------------------------------------------------------------ */

static double largest_of(const double *row, size_t dim)
{
    double largest = 0;

    for (size_t i = 0; i < dim; i++)
        largest = fmax(largest, fabs(row[i]));
    return largest;
}

/* The element where two rows are furthest apart, if that is more than rounding; dim: it is not. */
static size_t apart(const struct pe_probed_rows *rows, const double *a, const double *b,
                    double largest)
{
    size_t at = rows->dim;
    double most = rows->rounding * largest;

    for (size_t i = 0; i < rows->dim; i++)
        if (fabs(a[i] - b[i]) > most) {
            most = fabs(a[i] - b[i]);
            at = i;
        }
    return at;
}

/* Have two calls the same x in all rows of a batch row? */
static bool same_calls(const struct pe_probed_rows *rows, size_t a, size_t b, size_t batch,
                       double *buffer)
{
    for (size_t token = 0; token < rows->tokens; token++)
        for (size_t head = 0; head < rows->lengths[HEAD]; head++) {
            const struct pe_probe_place one = {
                .call = a, .batch = batch, .head = head, .token = token};
            struct pe_probe_place other = one;
            other.call = b;
            pe_values_read(rows->x, first_of(rows, &one), 1, rows->dim, buffer);
            pe_values_read(rows->x, first_of(rows, &other), 1, rows->dim, buffer + rows->dim);
            if (memcmp(buffer, buffer + rows->dim, rows->dim * sizeof(*buffer)) != 0)
                return false;
        }
    return true;
}

/* Compares calls of the same x, so that a function that is not deterministic has that name whatever
 * it does besides; buffer: [2 * dim]. */
static void calls_compare(struct pe_probed_rows *rows, size_t a, size_t b, double *buffer)
{
    const size_t places = rows->lengths[BATCH] * rows->lengths[HEAD];

    for (size_t batch = 0; batch < rows->lengths[BATCH]; batch++)
        if (!same_calls(rows, a, b, batch, buffer))
            return;
    for (size_t at = 0; at < rows->tokens * places && !rows->fault; at++) {
        const size_t token = at / places, row = at % places;
        row_read(rows, rows->y, token, a * places + row, buffer);
        row_read(rows, rows->y, token, b * places + row, buffer + rows->dim);
        const size_t element =
            apart(rows, buffer, buffer + rows->dim, largest_of(buffer, rows->dim));
        if (element < rows->dim)
            fault_set(rows, PE_FAULT_NOT_DETERMINISTIC, place_of(rows, token, b * places + row),
                      element, buffer[rows->dim + element], buffer[element]);
    }
}

/* What differs where two rows of one token have the same x and another y. */
static enum pe_fault difference_of(const struct pe_probe_place *a, const struct pe_probe_place *b)
{
    if (a->call != b->call)
        return PE_FAULT_MIXES_TOKENS;
    return a->batch == b->batch ? PE_FAULT_DEPENDS_ON_HEAD : PE_FAULT_DEPENDS_ON_BATCH;
}

/* Compares row `row` with an earlier one of the same x; buffer: [2 * dim]. */
static void same_compare(struct pe_probed_rows *rows, size_t token, size_t earlier, size_t row,
                         double *buffer)
{
    double *const a = buffer, *const b = buffer + rows->dim;
    const struct pe_probe_place one = place_of(rows, token, earlier),
                                two = place_of(rows, token, row);

    row_read(rows, rows->y, token, earlier, a);
    row_read(rows, rows->y, token, row, b);
    const size_t at = apart(rows, a, b, largest_of(a, rows->dim));
    if (at < rows->dim)
        fault_set(rows, difference_of(&one, &two), two, at, b[at], a[at]);
}

/* Rows of several elements, each with the first one of the same x. */
static void mixed_compare(struct pe_probed_rows *rows, size_t token, const size_t *mixed,
                          size_t count, double *buffer)
{
    double *const x = buffer + 4 * rows->dim, *const other = x + rows->dim;
    size_t distinct[DISTINCT_MAX], distinct_count = 0;

    for (size_t i = 0; i < count && !rows->fault; i++) {
        bool is_known = false;
        row_read(rows, rows->x, token, mixed[i], x);
        for (size_t j = 0; j < distinct_count && !is_known; j++) {
            row_read(rows, rows->x, token, distinct[j], other);
            is_known = memcmp(x, other, rows->dim * sizeof(*x)) == 0;
            if (is_known)
                same_compare(rows, token, distinct[j], mixed[i], buffer);
        }
        if (!is_known && distinct_count < DISTINCT_MAX)
            distinct[distinct_count++] = mixed[i];
    }
}

/* ---- superposition --------------------------------------------------------------------------- */

/* Is y of row `row` the sum of the columns of its x? buffer: [5 * dim]. */
static void sum_compare(struct pe_probed_rows *rows, size_t token, size_t row, double *buffer)
{
    const size_t dim = rows->dim;
    double *const x = buffer, *const y = x + dim, *const column = y + dim,
                  *const sum = column + dim;
    double *const magnitude = sum + dim; /* the sum of absolute values */

    row_read(rows, rows->x, token, row, x);
    row_read(rows, rows->y, token, row, y);
    memset(sum, 0, 2 * dim * sizeof(*sum));
    for (size_t j = 0; j < dim; j++) {
        if (x[j] == 0)
            continue;
        pe_probed_column(rows, token, j, column);
        for (size_t i = 0; i < dim; i++) {
            sum[i] += x[j] * column[i];
            magnitude[i] += fabs(x[j] * column[i]);
        }
    }
    const size_t at = apart(rows, y, sum, largest_of(magnitude, dim));
    if (at < dim)
        fault_set(rows, PE_FAULT_NOT_LINEAR, place_of(rows, token, row), at, y[at], sum[at]);
}

/* ---- all rows -------------------------------------------------------------------------------- */

/* The number of an element that is not finite; dim: all are. */
static size_t not_finite(const double *row, size_t dim)
{
    size_t at = 0;

    while (at < dim && isfinite(row[at]))
        at++;
    return at;
}

static void row_note(struct pe_precision *precision, enum pe_dtype dtype, const double *row,
                     size_t dim)
{
    for (size_t i = 0; i < dim; i++)
        pe_precision_note(precision, dtype, row[i]);
}

/* Reads the rows of a token: notes columns, and lists the other rows in `mixed`. */
static enum pe_status token_read(struct pe_probed_rows *rows, size_t token, double *buffer,
                                 size_t *mixed, size_t *count, struct pe_error *err)
{
    const size_t dim = rows->dim;
    double *const x = buffer, *const y = buffer + dim;

    *count = 0;
    for (size_t row = 0; row < rows->repeats; row++) {
        const struct pe_probe_place place = place_of(rows, token, row);
        size_t *columns = rows->columns + token * dim;
        row_read(rows, rows->x, token, row, x);
        row_read(rows, rows->y, token, row, y);
        const size_t only = only_element(x, dim), bad = not_finite(y, dim);
        if (not_finite(x, dim) < dim)
            return pe_fail(err, PE_INVALID, "tensor:x", "x has an element that is not finite");
        if (bad < dim)
            fault_set(rows, PE_FAULT_NOT_FINITE, place, bad, y[bad], NAN);
        else
            row_note(&rows->precision, rows->y->dtype, y, dim);
        if (only >= dim) {
            mixed[(*count)++] = row;
        } else if (columns[only] == SIZE_MAX) {
            columns[only] = row;
            rows->scales[token * dim + only] = x[only];
        }
    }
    for (size_t j = 0; j < dim; j++)
        if (rows->columns[token * dim + j] == SIZE_MAX)
            return pe_fail(err, PE_MISSING, "tensor:x",
                           "x has no row at token %zu in which element %zu alone is not zero; a "
                           "probe needs one for each element at each position",
                           token, j);
    return PE_OK;
}

/* Every row with a single element against the column of that element. */
static void single_compare(struct pe_probed_rows *rows, size_t token, double *buffer)
{
    const size_t dim = rows->dim;
    double *const x = buffer + 4 * dim;

    for (size_t row = 0; row < rows->repeats && !rows->fault; row++) {
        row_read(rows, rows->x, token, row, x);
        const size_t only = only_element(x, dim);
        if (only >= dim || rows->columns[token * dim + only] == row)
            continue;
        if (x[only] == rows->scales[token * dim + only])
            same_compare(rows, token, rows->columns[token * dim + only], row, buffer);
        else
            sum_compare(rows, token, row, buffer);
    }
}

/* Errors of one rounding times the operations that a rotation, or a product of matrices, has. */
static double rounding_of(const struct pe_probed_rows *rows)
{
    switch (pe_precision_dtype(&rows->precision, rows->y->dtype)) {
    case PE_BF16:
        return 6 * 0x1p-8;
    case PE_F16:
        return 6 * 0x1p-11;
    default:
        return 64 * 0x1p-24;
    }
}

enum pe_status pe_probed_rows_read(struct pe_probed_rows *rows, struct pe_allocations *memory,
                                   struct pe_error *err)
{
    const size_t dim = rows->dim, tokens = rows->tokens;
    double *buffer = pe_allocations_take(memory, 6 * dim, sizeof(*buffer), err);
    size_t *mixed = pe_allocations_take(memory, tokens * rows->repeats, sizeof(*mixed), err);
    size_t *counts = pe_allocations_take(memory, tokens, sizeof(*counts), err);

    rows->columns = pe_allocations_take(memory, tokens * dim, sizeof(*rows->columns), err);
    rows->scales = pe_allocations_take(memory, tokens * dim, sizeof(*rows->scales), err);
    if (!buffer || !mixed || !counts || !rows->columns || !rows->scales)
        return err->status;
    for (size_t i = 0; i < tokens * dim; i++)
        rows->columns[i] = SIZE_MAX;
    for (size_t token = 0; token < tokens; token++)
        if (token_read(rows, token, buffer, mixed + token * rows->repeats, &counts[token], err) ||
            pe_work_check(rows->work, err))
            return err->status;
    rows->rounding = rounding_of(rows);
    for (size_t a = 0; a < rows->lengths[CALL] && !rows->fault; a++)
        for (size_t b = a + 1; b < rows->lengths[CALL] && !rows->fault; b++)
            calls_compare(rows, a, b, buffer);
    for (size_t token = 0; token < tokens && !rows->fault; token++)
        mixed_compare(rows, token, mixed + token * rows->repeats, counts[token], buffer);
    for (size_t token = 0; token < tokens && !rows->fault; token++)
        single_compare(rows, token, buffer);
    for (size_t token = 0; token < tokens && !rows->fault; token++) {
        for (size_t i = 0; i < counts[token] && !rows->fault; i++)
            sum_compare(rows, token, mixed[token * rows->repeats + i], buffer);
        if (pe_work_check(rows->work, err))
            return err->status;
    }
    return PE_OK;
}
