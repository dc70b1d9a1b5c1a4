/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api/handlers/comparison_report.h"

/* Two caches of keys and values, compared as tables of rows and told by layer and head. */

static const char known[] = "lkbhsd", told[] = "lkh";

enum { RANK_MIN = 4 };

static enum api_status axes_fail(struct api_error *err, const char *what)
{
    return api_fail(err, API_INVALID, "parameter:axes",
                    "axes %s: a letter an axis, l, k, b, h, s, each once at most, and d last",
                    what);
}

static enum api_status axes_read(struct comparison_heads *heads, const char *text,
                                 struct api_error *err)
{
    if (strlen(text) != heads->rank)
        return axes_fail(err, "have another number of letters than the tensors of axes");
    for (unsigned i = 0; i < heads->rank; i++)
        if (!strchr(known, text[i]) || strchr(text, text[i]) != text + i ||
            (text[i] == 'd') != (i + 1 == heads->rank))
            return axes_fail(err, "are not right");
    memcpy(heads->axes, text, heads->rank + 1);
    return API_OK;
}

enum api_status comparison_heads_read(struct comparison_state *state, struct api_error *err)
{
    static const char *const usual[] = {"bhsd", "lbhsd", known};
    const struct api_tensor *a = state->sides[0].tensor, *b = state->sides[1].tensor;
    const struct pe_value *value = pe_param_value(&state->params, "axes");
    struct comparison_heads *heads = &state->heads;
    const bool deep_a = a && a->tensor.rank >= RANK_MIN, deep_b = b && b->tensor.rank >= RANK_MIN;

    if (!deep_a && !deep_b && value->given)
        return api_fail(err, API_CONFLICT, "parameter:axes",
                        "axes are those of two posted tensors of rank 4 to 6; leave them out");
    if (!deep_a && !deep_b)
        return API_OK;
    if (!deep_a || !deep_b || a->tensor.rank != b->tensor.rank ||
        memcmp(a->tensor.shape, b->tensor.shape, a->tensor.rank * sizeof(*a->tensor.shape)) != 0)
        return api_fail(err, API_SHAPE_MISMATCH, "parameter:b", "a and b have different shapes");
    heads->rank = a->tensor.rank;
    memcpy(heads->shape, a->tensor.shape, sizeof(heads->shape));
    if (heads->rank >= sizeof(known))
        return axes_fail(err, "are six at most");
    return axes_read(heads, value->given ? value->text : usual[heads->rank - RANK_MIN], err);
}

/* The index on an axis of a row, which is one of all but the last axis. */
static size_t index_of(const struct comparison_heads *heads, unsigned axis, size_t row)
{
    for (unsigned i = heads->rank - 2; i > axis; i--)
        row /= heads->shape[i];
    return row % heads->shape[axis];
}

double comparison_heads_position(const struct comparison_state *state, size_t row)
{
    const char *axis = strchr(state->heads.axes, 's');

    return axis ? (double)index_of(&state->heads, (unsigned)(axis - state->heads.axes), row) : 0;
}

json_t *comparison_heads_place(const struct comparison_state *state, size_t row)
{
    json_t *place = json_object();

    for (unsigned axis = 0; axis + 1 < state->heads.rank; axis++) {
        const char name[] = {state->heads.axes[axis], '\0'};
        json_object_set_new(place, name,
                            json_integer((json_int_t)index_of(&state->heads, axis, row)));
    }
    return place;
}

/* Which of the cells that are told a row belongs to. */
static size_t cell_of(const struct comparison_heads *heads, size_t row)
{
    size_t cell = 0;

    for (unsigned axis = 0; axis + 1 < heads->rank; axis++)
        if (strchr(told, heads->axes[axis]))
            cell = cell * heads->shape[axis] + index_of(heads, axis, row);
    return cell;
}

static json_t *numbers_json(const double *numbers, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, api_number_json(numbers[i]));
    return list;
}

json_t *comparison_heads_json(const struct comparison_state *state)
{
    const struct comparison_heads *heads = &state->heads;
    char axes[sizeof(told)] = "";
    json_t *shape = json_array();
    size_t count = 1, used = 0;
    struct pe_maxima cells;

    for (unsigned axis = 0; axis + 1 < heads->rank; axis++)
        if (strchr(told, heads->axes[axis])) {
            axes[used++] = heads->axes[axis];
            count *= heads->shape[axis];
            json_array_append_new(shape, json_integer((json_int_t)heads->shape[axis]));
        }
    cells.abs = api_arena_take(state->request->arena, (2 * count + 1) * sizeof(double));
    if (!cells.abs)
        return json_pack("{so}", "shape", shape);
    cells.ulp = cells.abs + count;
    for (size_t row = 0; row < state->sides[0].outputs->rows; row++) {
        const size_t cell = cell_of(heads, row);
        cells.abs[cell] = fmax(cells.abs[cell], state->by_row.abs[row]);
        cells.ulp[cell] = fmax(cells.ulp[cell], state->by_row.ulp[row]);
    }
    return json_pack("{ss so so so}", "axes", axes, "shape", shape, "max_abs",
                     numbers_json(cells.abs, count), "max_ulp", numbers_json(cells.ulp, count));
}
