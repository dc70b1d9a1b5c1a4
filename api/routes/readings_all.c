/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api/routes/readings.h"

/* All rows of posted tables, as a diagnosis asks for them: in doubles, on any thread. */

enum { PIECE = 512 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void api_readings_elements(const struct pe_tensor *tensor, size_t first, size_t step, size_t count,
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
        const size_t some = least(count - begin, PIECE / step);
        pe_to_f64(piece, from + begin * step * size, tensor->dtype, (some - 1) * step + 1);
        for (size_t i = 0; i < some; i++)
            out[begin + i] = piece[i * step];
    }
}

/* NaN where a pair and its copy differ. */
static void copies_compare(const struct pe_tensor *tensor, size_t first,
                           const struct api_columns *columns, size_t count, double *out)
{
    double copies[PIECE];

    for (size_t begin = 0; begin < count; begin += PIECE) {
        const size_t some = least(count - begin, PIECE);
        api_readings_elements(tensor, first + columns->copy + begin * columns->step, columns->step,
                              some, copies);
        for (size_t i = 0; i < some; i++)
            if (copies[i] != out[begin + i])
                out[begin + i] = NAN;
    }
}

static void part_read(const struct api_reading_rows *rows, bool is_sin, size_t begin, size_t count,
                      double *out)
{
    const struct pe_tensor *tensor = &(is_sin ? rows->sin : rows->cos)->tensor;
    const struct api_columns *columns = &rows->columns[is_sin];
    const size_t some = least(rows->pairs, columns->count);

    for (size_t row = 0; row < count; row++) {
        const size_t first = (begin + row) * rows->width + columns->first;
        double *values = out + row * rows->pairs;
        api_readings_elements(tensor, first, columns->step, some, values);
        if (columns->copy)
            copies_compare(tensor, first, columns, some, values);
        for (size_t pair = some; pair < rows->pairs; pair++)
            values[pair] = NAN;
    }
}

static void rows_read(const void *context, size_t begin, size_t count, double *cos, double *sin,
                      double *weight)
{
    const struct api_reading_rows *rows = context;

    (void)weight;
    if (cos)
        part_read(rows, false, begin, count, cos);
    if (sin)
        part_read(rows, true, begin, count, sin);
}

void api_readings_all(struct api_readings *readings, struct pe_sample *reading, bool is_sin,
                      const struct api_tensor *tensor, size_t width, struct api_columns columns)
{
    struct api_reading_rows *rows = &readings->rows_of[reading - readings->list];

    rows->all = (struct pe_sample_rows){
        .size = sizeof(rows->all), .positions = readings->all, .read = rows_read, .context = rows};
    *(is_sin ? &rows->sin : &rows->cos) = tensor;
    rows->columns[is_sin] = columns;
    rows->width = width;
    rows->pairs = reading->pairs;
    reading->all = &rows->all;
}
