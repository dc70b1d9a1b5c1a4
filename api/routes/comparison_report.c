/* SPDX-License-Identifier: MIT */
#include "api/routes/comparison_report.h"

#include "api/config/config.h"

size_t comparison_pair(const struct comparison_state *state, size_t column)
{
    if (state->rotated.source)
        return comparison_rotated_pair(state, column);
    for (size_t i = 0; i < 2; i++) {
        const struct pe_scheme *scheme = state->sides[i].scheme;
        const size_t pair = scheme ? pe_scheme_column_pair(scheme, column) : SIZE_MAX;
        if (pair != SIZE_MAX)
            return pair;
    }
    return column;
}

static json_t *maxima_json(const struct pe_maxima *maxima, size_t count)
{
    json_t *abs = json_array(), *ulp = json_array();

    for (size_t i = 0; i < count; i++) {
        json_array_append_new(abs, api_number_json(maxima->abs[i]));
        json_array_append_new(ulp, api_number_json(maxima->ulp[i]));
    }
    return json_pack("{so so}", "max_abs", abs, "max_ulp", ulp);
}

double comparison_position(const struct comparison_state *state, size_t row)
{
    const struct api_side *side = &state->sides[state->sides[0].view ? 0 : 1];
    const struct pe_value *list = pe_param_value(&state->params, "positions");

    if (side->view)
        return pe_view_position(side->view, row);
    if (state->rotated.source)
        return comparison_rotated_position(state, row);
    if (state->heads.rank > 0)
        return (double)pe_kv_axes_coordinate(&state->heads, PE_KV_ROWS, row, 's');
    if (list->given && row < list->list_count)
        return pe_value_at(list, row);
    return pe_param_number(&state->params, "start") +
           pe_param_number(&state->params, "step") * (double)row;
}

/* Where values first diverge; of a cache, at which layer, head and position. */
static json_t *divergence_json(const struct comparison_state *state)
{
    const struct pe_comparison *sum = &state->sum;
    const struct api_side *side = &state->sides[state->sides[0].view ? 0 : 1];
    json_t *told;

    if (!sum->diverges)
        return json_null();
    told = json_pack("{so ss so sI sI so so}", "position",
                     api_number_json(comparison_position(state, sum->row)), "table",
                     side->outputs[state->first_output].name, "pair",
                     json_integer((json_int_t)comparison_pair(state, sum->column)), "row",
                     (json_int_t)sum->row, "column", (json_int_t)sum->column, "a",
                     api_number_json(sum->a), "b", api_number_json(sum->b));
    if (told && state->heads.rank > 0)
        json_object_set_new(told, "place", api_kv_place_json(&state->heads, PE_KV_ROWS, sum->row));
    return told;
}

static size_t pairs_count(const struct comparison_state *state)
{
    size_t most = 0;

    for (size_t at = 0; at < state->sides[0].outputs->row_elements; at++)
        most = comparison_pair(state, at) + 1 > most ? comparison_pair(state, at) + 1 : most;
    return most;
}

json_t *comparison_report(const struct comparison_state *state)
{
    const struct pe_comparison *sum = &state->sum;
    json_t *warnings = json_array();
    json_t *report = json_pack(
        "{so so ss sI sI so so so so}", "a", api_side_json(&state->sides[0]), "b",
        api_side_json(&state->sides[1]), "dtype", pe_dtype_info(state->dtype)->name, "elements",
        (json_int_t)sum->elements, "unequal", (json_int_t)sum->unequal, "max_abs",
        api_number_json(sum->max_abs), "max_ulp", api_number_json(sum->max_ulp), "rms",
        api_number_json(pe_comparison_rms(sum)), "first_divergence", divergence_json(state));

    if (state->tolerance)
        json_object_set_new(report, "tolerance", comparison_tolerance_json(state));
    if (state->intervals)
        json_object_set_new(report, "intervals", comparison_intervals_json(state));
    if (state->by_pair.abs)
        json_object_set_new(report, "per_pair", maxima_json(&state->by_pair, pairs_count(state)));
    if (state->heads.rank > 0)
        json_object_set_new(report, "per_head", comparison_heads_json(state));
    if (state->by_row.abs && pe_param_number(&state->params, "per_position") != 0)
        json_object_set_new(report, "per_position",
                            maxima_json(&state->by_row, state->sides[0].outputs->rows));
    for (size_t i = 0; i < 2; i++) {
        const struct api_side *side = &state->sides[i];
        api_scheme_warnings(side->scheme, warnings);
        if (side->config)
            json_array_extend(warnings, side->config->warnings);
    }
    json_object_set_new(report, "warnings", warnings);
    return report;
}
