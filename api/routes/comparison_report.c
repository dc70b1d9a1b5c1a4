/* SPDX-License-Identifier: MIT */
#include "api/routes/comparison.h"

#include <math.h>

#include "api/config/config.h"

/* The operand of tables that have names of their own: a table of an encoding, else b. */
static const struct comparison_operand *named_operand(const struct comparison_state *state)
{
    return &state->operands[state->operands[0].view ? 0 : 1];
}

static double position_of(const struct comparison_state *state, size_t row)
{
    const struct pe_value *list = pe_param_value(&state->params, "positions");

    if (state->operands[0].view || state->operands[1].view || state->source ||
        state->heads.rank > 0)
        return pe_differences_position(state->differences, row);
    if (list->given && row < list->list_count)
        return pe_value_at(list, row);
    return pe_param_number(&state->params, "start") +
           pe_param_number(&state->params, "step") * (double)row;
}

static json_t *numbers_json(const double *numbers, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, api_number_json(numbers[i]));
    return list;
}

/* Sets "max_abs" and "max_ulp". */
static json_t *maxima_report(json_t *report, const struct pe_maxima *maxima, size_t count)
{
    json_object_set_new(report, "max_abs", numbers_json(maxima->abs, count));
    json_object_set_new(report, "max_ulp", numbers_json(maxima->ulp, count));
    return report;
}

static json_t *operand_json(const struct comparison_operand *operand)
{
    json_t *shape;

    if (operand->scheme)
        return api_scheme_json(operand->scheme);
    shape = json_array();
    for (unsigned axis = 0; axis < operand->tensor->tensor.rank; axis++)
        json_array_append_new(shape, json_integer((json_int_t)operand->tensor->tensor.shape[axis]));
    return json_pack("{ss ss so}", operand->is_cache ? "cache" : "tensor",
                     operand->is_cache ? pe_rotary_cache_info(operand->cache)->name
                                       : operand->tensor->name,
                     "dtype", pe_dtype_info(operand->tensor->tensor.dtype)->name, "shape", shape);
}

/* Where values first diverge; of a cache, at which layer, head and position. */
static json_t *divergence_json(const struct comparison_state *state)
{
    const struct pe_differences_found *found = pe_differences_found(state->differences);
    const struct pe_comparison *sum = found->sum;
    json_t *divergence;

    if (!sum->diverges)
        return json_null();
    divergence = json_pack(
        "{so ss so sI sI so so}", "position", api_number_json(position_of(state, sum->row)),
        "table", named_operand(state)->names[found->table], "pair",
        json_integer((json_int_t)pe_differences_pair(state->differences, sum->column)), "row",
        (json_int_t)sum->row, "column", (json_int_t)sum->column, "a", api_number_json(sum->a), "b",
        api_number_json(sum->b));
    if (divergence && state->heads.rank > 0)
        json_object_set_new(divergence, "place",
                            api_kv_place_json(&state->heads, PE_KV_ROWS, sum->row));
    return divergence;
}

/* ---- tolerance ------------------------------------------------------------------------------- */

static json_t *outside_json(const struct comparison_state *state)
{
    const struct pe_differences_found *found = pe_differences_found(state->differences);
    const struct pe_outside *outside = &found->outside;

    if (outside->count == 0)
        return json_null();
    return json_pack("{so ss sI sI so so so}", "position",
                     api_number_json(position_of(state, outside->row)), "table",
                     state->operands[1 - found->computed].names[outside->table], "row",
                     (json_int_t)outside->row, "column", (json_int_t)outside->column, "value",
                     api_number_json(outside->value), "low", api_number_json(outside->interval.low),
                     "high", api_number_json(outside->interval.high));
}

static json_t *tolerance_json(const struct comparison_state *state, double path)
{
    const struct pe_differences_found *found = pe_differences_found(state->differences);

    return json_pack("{ss ss sI so so}", "of", pe_path_name((enum pe_path)(path - 1)), "judged",
                     state->operands[found->computed].key, "outside",
                     (json_int_t)found->outside.count, "used", api_number_json(found->outside.used),
                     "first_outside", outside_json(state));
}

static json_t *ends_json(const struct pe_interval *intervals, size_t rows, size_t columns,
                         bool high)
{
    json_t *list = json_array();

    for (size_t row = 0; row < rows; row++) {
        json_t *values = json_array();
        for (size_t i = row * columns; i < (row + 1) * columns; i++)
            json_array_append_new(values,
                                  api_number_json(high ? intervals[i].high : intervals[i].low));
        json_array_append_new(list, values);
    }
    return list;
}

static json_t *intervals_json(const struct comparison_state *state)
{
    const struct pe_differences_found *found = pe_differences_found(state->differences);
    json_t *tables = json_object();

    for (size_t i = 0; i < found->tables; i++) {
        const struct pe_interval *from = found->intervals + i * found->rows * found->columns;
        json_object_set_new(tables, state->operands[1 - found->computed].names[i],
                            json_pack("{so so}", "low",
                                      ends_json(from, found->rows, found->columns, false), "high",
                                      ends_json(from, found->rows, found->columns, true)));
    }
    return tables;
}

/* ---- the report ------------------------------------------------------------------------------ */

json_t *comparison_report(const struct comparison_state *state)
{
    const struct pe_differences_found *found = pe_differences_found(state->differences);
    const struct pe_comparison *sum = found->sum;
    const double path = pe_param_number(&state->params, "tolerance_of");
    json_t *warnings = json_array();
    json_t *report = json_pack(
        "{so so ss sI sI so so so so}", "a", operand_json(&state->operands[0]), "b",
        operand_json(&state->operands[1]), "dtype", pe_dtype_info(state->dtype)->name, "elements",
        (json_int_t)sum->elements, "unequal", (json_int_t)sum->unequal, "max_abs",
        api_number_json(sum->max_abs), "max_ulp", api_number_json(sum->max_ulp), "rms",
        api_number_json(pe_comparison_rms(sum)), "first_divergence", divergence_json(state));

    if (path != 0)
        json_object_set_new(report, "tolerance", tolerance_json(state, path));
    if (found->intervals)
        json_object_set_new(report, "intervals", intervals_json(state));
    if (found->by_pair.abs)
        json_object_set_new(report, "per_pair",
                            maxima_report(json_object(), &found->by_pair, found->pairs));
    if (state->heads.rank > 0) {
        json_t *heads = json_object();
        api_kv_heads_report(&state->heads, heads);
        json_object_set_new(report, "per_head",
                            maxima_report(heads, &found->by_head, found->heads));
    }
    if (found->by_row.abs && pe_param_number(&state->params, "per_position") != 0)
        json_object_set_new(report, "per_position",
                            maxima_report(json_object(), &found->by_row, found->rows));
    for (size_t i = 0; i < 2; i++) {
        const struct comparison_operand *operand = &state->operands[i];
        api_scheme_warnings(operand->scheme, warnings);
        if (operand->config)
            json_array_extend(warnings, operand->config->warnings);
    }
    json_object_set_new(report, "warnings", warnings);
    return report;
}
