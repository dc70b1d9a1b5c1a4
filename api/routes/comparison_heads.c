/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api/routes/comparison_report.h"

/* Two caches of keys and values, compared as tables of rows and told by layer and head. */

enum { RANK_MIN = 4 };

enum pe_status comparison_heads_read(struct comparison_state *state, struct pe_error *err)
{
    const struct api_tensor *a = state->sides[0].tensor, *b = state->sides[1].tensor;
    const struct pe_value *value = pe_param_value(&state->params, "axes");
    const bool is_flat = state->rotated.source && a->tensor.rank < RANK_MIN;
    const bool deep_a = a && a->tensor.rank >= RANK_MIN, deep_b = b && b->tensor.rank >= RANK_MIN;

    if (!deep_a && !deep_b && value->given && !is_flat)
        return pe_fail(err, PE_CONFLICT, "parameter:axes",
                       "axes are those of two posted tensors of rank 4 to 6; leave them out");
    if (!deep_a && !deep_b)
        return PE_OK;
    if (!deep_a || !deep_b || a->tensor.rank != b->tensor.rank ||
        memcmp(a->tensor.shape, b->tensor.shape, a->tensor.rank * sizeof(*a->tensor.shape)) != 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:b", "a and b have different shapes");
    return pe_kv_axes_parse(&state->heads, value->given ? value->text : NULL, &a->tensor, err);
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
    const size_t count = pe_kv_axes_places(&state->heads, PE_KV_HEADS);
    json_t *report = json_object();
    struct pe_maxima cells;

    api_kv_heads_report(&state->heads, report);
    cells.abs = api_arena_take(state->request->arena, (2 * count + 1) * sizeof(double));
    if (!cells.abs)
        return report;
    cells.ulp = cells.abs + count;
    for (size_t row = 0; row < state->sides[0].outputs->rows; row++) {
        const size_t cell = pe_kv_axes_project(&state->heads, PE_KV_ROWS, row, PE_KV_HEADS);
        cells.abs[cell] = fmax(cells.abs[cell], state->by_row.abs[row]);
        cells.ulp[cell] = fmax(cells.ulp[cell], state->by_row.ulp[row]);
    }
    json_object_set_new(report, "max_abs", numbers_json(cells.abs, count));
    json_object_set_new(report, "max_ulp", numbers_json(cells.ulp, count));
    return report;
}
