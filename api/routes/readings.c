/* SPDX-License-Identifier: MIT */
#include "api/routes/readings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Limits on the rows that are read: at most ROWS_MAX; fewer where rows are wide, to read about
 * ELEMENTS_MAX elements; but ROWS_MIN at least. */
enum { ROWS_MAX = 256, ROWS_MIN = 16, ELEMENTS_MAX = 1 << 14 };

enum pe_status api_readings_no_memory(struct pe_error *err)
{
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a diagnosis");
}

enum pe_status api_readings_refuse(const char *name, const char *expected, struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", name);
    return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s must be %s", name, expected);
}

static enum pe_status pairs_refuse(const char *name, size_t pairs, struct pe_error *err)
{
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%s", name);
    return pe_fail(err, PE_TOO_LARGE, where, "a diagnosis reads at most %d pairs, %s has %zu",
                   PE_SAMPLE_PAIRS_MAX, name, pairs);
}

double *api_readings_room(const struct api_readings *readings, size_t count)
{
    return api_arena_take(readings->request->arena, (count + 1) * sizeof(double));
}

enum pe_status api_readings_element(struct api_readings *readings, const struct api_tensor *tensor,
                                    size_t at, double *out, struct pe_error *err)
{
    const enum pe_dtype dtype = tensor->tensor.dtype;
    struct api_grain *grain = &readings->grain;
    char where[sizeof(err->where)];

    pe_to_f64(out, (const char *)tensor->tensor.data + at * pe_dtype_info(dtype)->size, dtype, 1);
    if (!isfinite(*out)) {
        snprintf(where, sizeof(where), "tensor:%s", tensor->name);
        return pe_fail(err, PE_INVALID, where, "%s has an element that is not finite, at index %zu",
                       tensor->name, at);
    }
    grain->told = grain->told || (*out != 0 && fabs(*out) != 1);
    for (int narrow = (int)dtype + 1; narrow <= PE_BF16; narrow++)
        grain->lost[narrow] =
            grain->lost[narrow] || pe_round_to(*out, (enum pe_dtype)narrow) != *out;
    return PE_OK;
}

enum pe_dtype api_readings_precision(const struct api_grain *grain, enum pe_dtype dtype)
{
    for (int narrow = PE_BF16; grain->told && narrow > (int)dtype; narrow--)
        if (!grain->lost[narrow])
            return (enum pe_dtype)narrow;
    return dtype;
}

struct pe_sample *api_readings_add(struct api_readings *readings, const char *layout, size_t pairs,
                                   enum pe_dtype dtype)
{
    struct pe_sample *reading = &readings->list[readings->count++];

    *reading = (struct pe_sample){.size = sizeof(*reading),
                                  .layout = layout,
                                  .rows = readings->rows_count,
                                  .pairs = pairs,
                                  .positions = readings->positions,
                                  .axes = readings->all.axes,
                                  .dtype = dtype,
                                  .precision = dtype};
    reading->unexpected = layout && readings->layout && strcmp(layout, readings->layout) != 0;
    return reading;
}

/* ---- which rows ----------------------------------------------------------------------------- */

/* Row `index` of `count`: half of them side by side from the first on, because neighbours tell
 * frequencies; the others spread over the rest at irregular distances, because a mistake may spare
 * every second position, or every eighth; the last one is the last. */
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

size_t api_readings_rows_of(size_t total, size_t pairs)
{
    const size_t wide = ELEMENTS_MAX / pairs;
    const size_t most = wide < ROWS_MIN ? ROWS_MIN : wide < ROWS_MAX ? wide : ROWS_MAX;

    return total < most ? total : most;
}

/* A coordinate of the position of a row, counted over all batch rows. */
static double position_of(const struct pe_positions *all, size_t axis, size_t row)
{
    return all->values ? all->values[axis * all->count + row]
                       : all->start + all->step * (double)row;
}

/* Positions of all batch rows, one behind the other, from those of each. */
static enum pe_status batch_expand(struct api_readings *readings, const struct api_sheet *sheet,
                                   const struct pe_positions *of, struct pe_error *err)
{
    const size_t axes = of->axes > 1 ? of->axes : 1, total = sheet->batch * sheet->sequence;
    double *values;

    readings->all = *of;
    readings->all.count = total;
    readings->all.batch = 1;
    if (sheet->batch == 1 || of->batch == sheet->batch)
        return PE_OK;
    values = api_readings_room(readings, axes * total);
    if (!values)
        return api_readings_no_memory(err);
    for (size_t axis = 0; axis < axes; axis++)
        for (size_t row = 0; row < total; row++)
            values[axis * total + row] = position_of(of, axis, row % sheet->sequence);
    readings->all.values = values;
    return PE_OK;
}

static enum pe_status positions_check(const struct pe_positions *all, struct pe_error *err)
{
    const size_t axes = all->axes > 1 ? all->axes : 1, count = axes * all->count;

    for (size_t i = 0; i < count; i = all->values || i + 1 == count ? i + 1 : count - 1)
        if (!(fabs(position_of(all, 0, i)) <= 0x1p53 - 1))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:positions",
                           "positions must be within +-(2^53 - 1), got %.4g",
                           position_of(all, 0, i));
    return PE_OK;
}

/* Which of `total` rows are looked at closely. */
static enum pe_status rows_choose(struct api_readings *readings, const char *name, size_t total,
                                  size_t pairs, struct pe_error *err)
{
    if (total == 0)
        return api_readings_refuse(name, "of one row at least", err);
    if (pairs > PE_SAMPLE_PAIRS_MAX)
        return pairs_refuse(name, pairs, err);
    readings->rows_count = api_readings_rows_of(total, pairs);
    readings->rows_posted = total;
    readings->rows =
        api_arena_take(readings->request->arena, readings->rows_count * sizeof(size_t));
    if (!readings->rows)
        return api_readings_no_memory(err);
    for (size_t i = 0; i < readings->rows_count; i++)
        readings->rows[i] = row_of(i, readings->rows_count, total);
    return PE_OK;
}

/* The positions of the rows that are chosen, of those of all rows. */
static enum pe_status positions_choose(const struct api_readings *readings,
                                       const struct pe_positions *all, const double **chosen,
                                       struct pe_error *err)
{
    const size_t count = (all->axes > 1 ? all->axes : 1) * readings->rows_count;
    double *positions;

    if (positions_check(all, err))
        return err->status;
    *chosen = positions = api_readings_room(readings, count);
    if (!positions)
        return api_readings_no_memory(err);
    for (size_t i = 0; i < count; i++)
        positions[i] =
            position_of(all, i / readings->rows_count, readings->rows[i % readings->rows_count]);
    return PE_OK;
}

enum pe_status api_readings_rows(struct api_readings *readings, const char *name,
                                 const struct api_sheet *sheet, size_t pairs, struct pe_error *err)
{
    const struct pe_axes axes = {sheet->batch, 1, sheet->sequence, 1, 2 * pairs};
    struct pe_positions positions;

    return rows_choose(readings, name, sheet->batch * sheet->sequence, pairs, err) ||
                   api_places_fit(readings->request, readings->places, &axes, name, &positions,
                                  err) ||
                   batch_expand(readings, sheet, &positions, err) ||
                   positions_choose(readings, &readings->all, &readings->positions, err)
               ? err->status
               : PE_OK;
}

/* ---- batch rows, each by itself -------------------------------------------------------------- */

/* The positions of one batch row of several. */
static enum pe_status batch_row_of(const struct api_readings *readings,
                                   const struct pe_positions *of, size_t row,
                                   struct pe_positions *its, struct pe_error *err)
{
    const size_t axes = of->axes > 1 ? of->axes : 1;
    double *values;

    *its = *of;
    its->batch = 1;
    if (of->batch <= 1)
        return PE_OK;
    its->values = of->values + row * of->count;
    if (axes == 1)
        return PE_OK;
    values = api_readings_room(readings, axes * of->count);
    if (!values)
        return api_readings_no_memory(err);
    for (size_t axis = 0; axis < axes; axis++)
        memcpy(values + axis * of->count, of->values + (axis * of->batch + row) * of->count,
               of->count * sizeof(*values));
    its->values = values;
    return PE_OK;
}

enum pe_status api_readings_batch(struct api_readings *readings, const char *name,
                                  const struct api_sheet *sheet, size_t pairs,
                                  struct api_batch_places *batch, struct pe_error *err)
{
    /* One list of positions, or of the ends of sequences, is that of every batch row. */
    const bool is_one = readings->places->numbers.rank < 2;
    const struct pe_axes axes = {is_one ? 1 : sheet->batch, 1, sheet->sequence, 1, 2 * pairs};
    struct pe_positions all;

    if (rows_choose(readings, name, sheet->sequence, pairs, err) ||
        api_places_fit(readings->request, readings->places, &axes, name, &all, err))
        return err->status;
    batch->count = all.batch > 1 ? all.batch : 1;
    batch->rows = (struct api_row_places *)(void *)api_arena_room(
        readings->request->arena, batch->count * sizeof(*batch->rows));
    if (!batch->rows)
        return api_readings_no_memory(err);
    for (size_t row = 0; row < batch->count; row++)
        if (batch_row_of(readings, &all, row, &batch->rows[row].all, err) ||
            positions_choose(readings, &batch->rows[row].all, &batch->rows[row].chosen, err))
            return err->status;
    return PE_OK;
}

/* ---- tables --------------------------------------------------------------------------------- */

/* The last axis is the width; of the others the last that is not 1 is that of positions, and those
 * before it are batch rows. False: it is no table. */
static bool sheet_of(const struct pe_tensor *tensor, unsigned width_axes, struct api_sheet *sheet)
{
    *sheet = (struct api_sheet){1, 1, 0};
    if (tensor->rank < width_axes + 1)
        return false;
    sheet->width = tensor->shape[tensor->rank - width_axes];
    for (unsigned axis = tensor->rank - width_axes; axis-- > 0;) {
        size_t *count = sheet->sequence == 1 ? &sheet->sequence : &sheet->batch;
        *count *= tensor->shape[axis];
    }
    return sheet->width > 0;
}

/* Is column i the same as i + pairs in every row, or 2i as 2i + 1? And not all columns alike. */
static bool repeats(const struct pe_tensor *tensor, size_t rows, size_t width, bool half)
{
    const size_t size = pe_dtype_info(tensor->dtype)->size, pairs = width / 2;
    bool differs = false;

    for (size_t i = 0; i < rows && i < ROWS_MAX; i++) {
        const char *row = (const char *)tensor->data +
                          row_of(i, rows < ROWS_MAX ? rows : ROWS_MAX, rows) * width * size;
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

static enum pe_status columns_read(struct api_readings *readings, struct pe_sample *reading,
                                   bool is_sin, const struct api_tensor *tensor, size_t width,
                                   struct api_columns columns, struct pe_error *err)
{
    const size_t pairs = reading->pairs;
    double *values = api_readings_room(readings, readings->rows_count * pairs);

    if (!values)
        return api_readings_no_memory(err);
    for (size_t i = 0; i < readings->rows_count * pairs; i++) {
        const size_t row = readings->rows[i / pairs], pair = i % pairs;
        values[i] = NAN;
        if (pair < columns.count &&
            api_readings_element(readings, tensor,
                                 row * width + columns.first + pair * columns.step, &values[i],
                                 err))
            return err->status;
    }
    *(is_sin ? &reading->sin : &reading->cos) = values;
    api_readings_all(readings, reading, is_sin, tensor, width, columns);
    return PE_OK;
}

/* One column a pair; or two, as both layouts keep them. */
static enum pe_status tables_read(struct api_readings *readings, const struct api_tensor *cos,
                                  const struct api_tensor *sin, struct pe_error *err)
{
    const struct api_tensor *any = cos ? cos : sin;
    const size_t known = readings->expected ? pe_scheme_pairs(readings->expected) : 0;
    struct api_sheet sheet, other;
    const char *layout = NULL;
    struct pe_sample *reading;
    struct api_columns columns;

    if (!sheet_of(&any->tensor, 1, &sheet))
        return api_readings_refuse(any->name, "[positions, width]", err);
    if (cos && sin &&
        (!sheet_of(&sin->tensor, 1, &other) || memcmp(&other, &sheet, sizeof(sheet)) != 0 ||
         sin->tensor.dtype != cos->tensor.dtype))
        return api_readings_refuse("sin", "of the shape and dtype of cos", err);
    const size_t rows = sheet.batch * sheet.sequence, width = sheet.width;
    columns = (struct api_columns){0, 1, width, 0};
    if (known != width && (2 * known == width || repeats(&any->tensor, rows, width, true) ||
                           repeats(&any->tensor, rows, width, false))) {
        const bool half = repeats(&any->tensor, rows, width, true);
        const bool both = !half && !repeats(&any->tensor, rows, width, false);
        layout = both ? NULL : half ? "half" : "interleaved";
        columns =
            (struct api_columns){0, half || both ? 1 : 2, width / 2, half || both ? width / 2 : 1};
    }
    if (api_readings_rows(readings, any->name, &sheet, columns.count, err))
        return err->status;
    reading = api_readings_add(readings, layout, columns.count, any->tensor.dtype);
    return (cos && columns_read(readings, reading, false, cos, width, columns, err)) ||
                   (sin && columns_read(readings, reading, true, sin, width, columns, err))
               ? err->status
               : PE_OK;
}

/* Real and imaginary parts side by side, [positions, pairs, 2]. */
static enum pe_status complex_read(struct api_readings *readings, const struct api_tensor *tensor,
                                   struct pe_error *err)
{
    struct pe_sample *reading;
    struct api_sheet sheet;

    if (!sheet_of(&tensor->tensor, 2, &sheet) || tensor->tensor.shape[tensor->tensor.rank - 1] != 2)
        return api_readings_refuse(tensor->name, "[positions, pairs, 2], real and imaginary parts",
                                   err);
    const size_t pairs = sheet.width;
    if (api_readings_rows(readings, tensor->name, &sheet, pairs, err))
        return err->status;
    reading = api_readings_add(readings, NULL, pairs, tensor->tensor.dtype);
    return columns_read(readings, reading, false, tensor, 2 * pairs,
                        (struct api_columns){0, 2, pairs, 0}, err) ||
                   columns_read(readings, reading, true, tensor, 2 * pairs,
                                (struct api_columns){1, 2, pairs, 0}, err)
               ? err->status
               : PE_OK;
}

/* Sines and cosines in the four orders that are in use. An odd width is that of the next even one
 * without its last column, or that of the one before with a column of zeros. */
static enum pe_status absolute_read(struct api_readings *readings, const struct api_tensor *tensor,
                                    struct pe_error *err)
{
    static const char *const layouts[] = {
        "interleaved", "concatenated", "interleaved, cosines first", "concatenated, cosines first"};
    /* Of a single pair both orders are one. */
    const size_t alone = readings->layout && strncmp(readings->layout, "conc", 4) == 0 ? 1 : 2;
    struct api_sheet sheet;
    size_t pairs;

    if (!sheet_of(&tensor->tensor, 1, &sheet) || sheet.width < 2)
        return api_readings_refuse(tensor->name, "[positions, width], two columns at least", err);
    const size_t width = sheet.width;
    pairs = readings->expected && pe_scheme_pairs(readings->expected) == width / 2
                ? width / 2
                : (width + 1) / 2;
    if (api_readings_rows(readings, tensor->name, &sheet, pairs, err))
        return err->status;
    for (size_t way = 0; way < API_READINGS_MAX; way++) {
        const size_t step = way % 2 == 1 ? 1 : 2, second = way % 2 == 1 ? pairs : 1;
        const struct api_columns one = {0, step, pairs, 0},
                                 two = {second, step, 2 * pairs > width ? pairs - 1 : pairs, 0};
        struct pe_sample *reading;
        if (pairs == 1 && step != alone)
            continue;
        reading = api_readings_add(readings, layouts[way], pairs, tensor->tensor.dtype);
        reading->absolute = true;
        if (columns_read(readings, reading, true, tensor, width, way < 2 ? one : two, err) ||
            columns_read(readings, reading, false, tensor, width, way < 2 ? two : one, err))
            return err->status;
    }
    return PE_OK;
}

static enum pe_status frequencies_read(struct api_readings *readings,
                                       const struct api_tensor *tensor, struct pe_error *err)
{
    const size_t pairs = tensor->tensor.rank == 1 ? tensor->tensor.shape[0] : 0;
    double *values;

    if (pairs == 0)
        return api_readings_refuse(tensor->name, "[pairs]", err);
    if (pairs > PE_SAMPLE_PAIRS_MAX)
        return pairs_refuse(tensor->name, pairs, err);
    values = api_readings_room(readings, pairs);
    if (!values)
        return api_readings_no_memory(err);
    for (size_t i = 0; i < pairs; i++)
        if (api_readings_element(readings, tensor, i, &values[i], err))
            return err->status;
    api_readings_add(readings, NULL, pairs, tensor->tensor.dtype)->frequencies = values;
    return PE_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

size_t api_readings_dim(struct api_request *request)
{
    const struct api_tensor *cos = api_request_tensor(request, "cos");
    const struct api_tensor *any = cos ? cos : api_request_tensor(request, "sin");
    const struct api_tensor *wide = api_request_tensor(request, "table");
    const struct api_tensor *inv_freq = api_request_tensor(request, "inv_freq");
    const struct api_tensor *complex = api_request_tensor(request, "freqs_cis");
    struct api_sheet sheet;

    wide = wide ? wide : api_request_tensor(request, "q");
    if (wide && wide->tensor.rank >= 2)
        return wide->tensor.shape[wide->tensor.rank - 1];
    if (inv_freq && inv_freq->tensor.rank == 1)
        return 2 * inv_freq->tensor.shape[0];
    if (complex && sheet_of(&complex->tensor, 2, &sheet))
        return 2 * sheet.width;
    if (!any || !sheet_of(&any->tensor, 1, &sheet))
        return 0;
    return repeats(&any->tensor, sheet.batch * sheet.sequence, sheet.width, true) ||
                   repeats(&any->tensor, sheet.batch * sheet.sequence, sheet.width, false)
               ? sheet.width
               : 2 * sheet.width;
}

enum pe_status api_readings_check(struct api_request *request, struct pe_error *err)
{
    static const char *const kinds[][2] = {
        {"cos", "sin"}, {"table"}, {"freqs_cis"}, {"inv_freq"}, {"q", "q_rotated"}};
    size_t found = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        found += api_request_tensor(request, kinds[i][0]) ||
                 (kinds[i][1] && api_request_tensor(request, kinds[i][1]));
    if (found == 1)
        return PE_OK;
    return pe_fail(err, found ? PE_CONFLICT : PE_MISSING, "parameter:tensors",
                   "post one thing to diagnose: cos and sin (or one of them), freqs_cis, table, "
                   "inv_freq, or q with q_rotated");
}

static enum pe_status kind_read(struct api_readings *readings, struct pe_error *err)
{
    struct api_request *request = readings->request;
    const struct api_tensor *cos = api_request_tensor(request, "cos");
    const struct api_tensor *sin = api_request_tensor(request, "sin");
    const struct api_tensor *table = api_request_tensor(request, "table");
    const struct api_tensor *complex = api_request_tensor(request, "freqs_cis");
    const struct api_tensor *inv_freq = api_request_tensor(request, "inv_freq");

    if (cos || sin)
        return tables_read(readings, cos, sin, err);
    if (complex)
        return complex_read(readings, complex, err);
    if (table)
        return absolute_read(readings, table, err);
    return inv_freq ? frequencies_read(readings, inv_freq, err)
                    : api_readings_rotated(readings, api_request_tensor(request, "q"),
                                           api_request_tensor(request, "q_rotated"), err);
}

enum pe_status api_readings_make(struct api_readings *readings, struct pe_error *err)
{
    if (kind_read(readings, err))
        return err->status;
    for (size_t i = 0; i < readings->count; i++)
        readings->list[i].precision =
            api_readings_precision(&readings->grain, readings->list[i].dtype);
    return PE_OK;
}
