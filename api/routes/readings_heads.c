/* SPDX-License-Identifier: MIT */
#include "api/routes/readings_heads.h"

#include <math.h>
#include <string.h>

/* Elements that are compared together, and tokens between two looks at the work. */
enum { PIECE = 256 };

/* By what fraction elements must change to count as rotated. */
#define CHANGE_LEAST 0x1p-12

struct api_heads api_cell_heads(const struct pe_kv_axes *axes, size_t cell)
{
    struct api_heads heads = {.outer = 1, .inner = 1, .token_step = pe_kv_axes_stride(axes, 's')};

    for (const char *letter = PE_KV_BATCH; *letter; letter++)
        heads.first += pe_kv_axes_coordinate(axes, PE_KV_BATCH, cell, *letter) *
                       pe_kv_axes_stride(axes, *letter);
    return heads;
}

enum pe_status api_cell_room_take(const struct api_readings *readings, size_t head_dim,
                                  struct api_cell_room *room, struct pe_error *err)
{
    const size_t count = readings->rows_count * ((head_dim + 1) / 2);

    room->cos = api_readings_room(readings, count);
    room->sin = api_readings_room(readings, count);
    room->weight = api_readings_room(readings, count);
    return room->cos && room->sin && room->weight ? PE_OK : api_readings_no_memory(err);
}

enum pe_status api_cell_take(const struct api_readings *readings, struct api_cell *cell,
                             struct pe_error *err)
{
    cell->changes = api_readings_room(readings, cell->head_dim);
    cell->squares = api_readings_room(readings, cell->head_dim);
    return cell->changes && cell->squares ? PE_OK : api_readings_no_memory(err);
}

/* ---- the tokens that are chosen -------------------------------------------------------------- */

enum pe_status api_cell_look(const struct api_readings *readings, struct api_cell *cell,
                             struct pe_error *err)
{
    struct api_readings before = {.request = readings->request}, after = before;

    memset(cell->changes, 0, cell->head_dim * sizeof(double));
    memset(cell->squares, 0, cell->head_dim * sizeof(double));
    for (size_t i = 0; i < readings->rows_count; i++) {
        const size_t at = api_heads_element(&cell->heads, 0, readings->rows[i]);
        for (size_t j = 0; j < cell->head_dim; j++) {
            double x, y;
            if (api_readings_element(&before, cell->before, at + j, &x, err) ||
                api_readings_element(&after, cell->after, at + j, &y, err))
                return err->status;
            cell->changes[j] += (y - x) * (y - x);
            cell->squares[j] += x * x;
        }
    }
    cell->grain = after.grain;
    return PE_OK;
}

bool api_cell_is_empty(const struct api_cell *cell)
{
    for (size_t j = 0; j < cell->head_dim; j++)
        if (cell->changes[j] != 0 || cell->squares[j] != 0)
            return false;
    return true;
}

/* The rms of changes behind a width, in so many tokens. */
static double kept_noise(const struct api_cell *cell, size_t width, size_t tokens)
{
    double changes = 0;

    for (size_t j = width; j < cell->head_dim; j++)
        changes += cell->changes[j];
    return changes > 0 ? sqrt(changes / (double)(tokens * (cell->head_dim - width))) : 0;
}

bool api_cell_changes_behind(const struct api_cell *cell, size_t width)
{
    double changes = 0, squares = 0;

    for (size_t j = width; j < cell->head_dim; j++) {
        changes += cell->changes[j];
        squares += cell->squares[j];
    }
    return changes > CHANGE_LEAST * squares;
}

size_t api_cell_width(const struct api_cell *cell, const struct pe_scheme *expected)
{
    const size_t dim = cell->head_dim, asked = expected ? pe_scheme_rotary_dim(expected) : 0;
    size_t seen = dim;

    while (seen > 0 && cell->changes[seen - 1] == 0)
        seen--;
    seen += seen % 2;
    if (asked >= 2 && (seen <= asked || !api_cell_changes_behind(cell, asked)))
        return asked;
    return seen > dim ? 0 : seen >= 2 ? seen : dim;
}

void api_cell_read(const struct api_readings *readings, const struct api_cell *cell, bool half,
                   size_t pairs, const struct api_cell_room *room, struct api_tokens *tokens,
                   struct pe_sample *sample)
{
    const enum pe_dtype dtype = cell->after->tensor.dtype;
    const size_t count = readings->rows_count * pairs;
    const char *layout = half ? "half" : "interleaved";
    double sum = 0;

    *tokens =
        (struct api_tokens){.before = &cell->before->tensor,
                            .after = &cell->after->tensor,
                            .heads = cell->heads,
                            .pairs = pairs,
                            .second = half ? pairs : 1,
                            .step = half ? 1 : 2,
                            .kept = {.end = cell->head_dim,
                                     .noise = kept_noise(cell, 2 * pairs, readings->rows_count),
                                     .precision = api_readings_precision(&cell->grain, dtype)}};
    for (size_t i = 0; i < readings->rows_count; i++)
        api_tokens_turn(tokens, readings->rows[i], room->cos + i * pairs, room->sin + i * pairs,
                        room->weight + i * pairs);
    for (size_t i = 0; i < count; i++)
        sum += room->weight[i];
    tokens->weight = sum > 0 ? (double)count / sum : 0;
    for (size_t i = 0; i < count; i++)
        room->weight[i] *= tokens->weight;
    *sample =
        (struct pe_sample){.size = sizeof(*sample),
                           .layout = layout,
                           .unexpected = readings->layout && strcmp(layout, readings->layout) != 0,
                           .rows = readings->rows_count,
                           .pairs = pairs,
                           .positions = cell->places->chosen,
                           .axes = cell->places->all.axes,
                           .cos = room->cos,
                           .sin = room->sin,
                           .weight = room->weight,
                           .dtype = dtype,
                           .precision = tokens->kept.precision,
                           .computed = true};
    api_readings_tokens(tokens, &cell->places->all, sample);
}

/* ---- what does not rotate -------------------------------------------------------------------- */

/* Of memory that was never written NaN may be read, before and after. */
static bool is_apart(double x, double y)
{
    return x != y && !(isnan(x) && isnan(y));
}

/* The first element of a head of a token that is another one after; SIZE_MAX: there is none. */
static size_t apart_at(const struct api_cell *cell, size_t at, double *before, double *after)
{
    double x[PIECE], y[PIECE];

    for (size_t j = 0; j < cell->head_dim; j += PIECE) {
        const size_t left = cell->head_dim - j, some = left < PIECE ? left : PIECE;
        api_readings_elements(&cell->before->tensor, at + j, 1, some, x);
        api_readings_elements(&cell->after->tensor, at + j, 1, some, y);
        for (size_t i = 0; i < some; i++)
            if (is_apart(x[i], y[i])) {
                *before = x[i];
                *after = y[i];
                return j + i;
            }
    }
    return SIZE_MAX;
}

enum pe_status api_cell_compare(const struct api_cell *cell, size_t tokens, struct pe_work *work,
                                struct pe_bad_rows *bad, struct pe_error *err)
{
    *bad = (struct pe_bad_rows){0};
    for (size_t token = 0; token < tokens; token++) {
        size_t column;
        double before = 0, after = 0;
        if (token % PIECE == 0 && pe_work_check(work, err))
            return err->status;
        column = apart_at(cell, api_heads_element(&cell->heads, 0, token), &before, &after);
        if (column != SIZE_MAX && bad->count++ == 0)
            *bad = (struct pe_bad_rows){
                .count = 1, .row = token, .pair = column, .seen = after, .predicted = before};
    }
    return PE_OK;
}
