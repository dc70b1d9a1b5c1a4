/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "api/routes/comparison_report.h"

/* The intervals in which one side's values must lie if they were computed in a named way, and how
 * many do not. The other side, which is an encoding, tells the real numbers. */

/* Elements whose intervals are told; and nanoseconds that one takes. */
enum { INTERVALS_MAX = 1 << 16, INTERVAL_WORK = 100 };

static bool is_asked(const struct comparison_state *state)
{
    return pe_param_number(&state->params, "tolerance_of") != 0;
}

static size_t elements_of(const struct comparison_state *state)
{
    const struct api_side *a = &state->sides[0];

    return a->outputs_count * a->outputs->rows * a->outputs->row_elements;
}

double comparison_tolerance_work(const struct comparison_state *state)
{
    return is_asked(state) ? INTERVAL_WORK : 0;
}

enum pe_status comparison_tolerance_open(struct comparison_state *state, struct pe_error *err)
{
    const bool each = pe_param_number(&state->params, "per_element") != 0;
    const struct api_side *a = &state->sides[0], *b = &state->sides[1];

    if (!is_asked(state))
        return !each ? PE_OK
                     : pe_fail(err, PE_CONFLICT, "parameter:per_element",
                               "per_element tells intervals of tolerance_of, which is not given");
    if (a->tensor && b->tensor && !state->rotated.source)
        return pe_fail(err, PE_CONFLICT, "parameter:tolerance_of",
                       "a tolerance is around an encoding's real numbers; one of a and b must be "
                       "an encoding, the other one is judged");
    if (each && elements_of(state) > INTERVALS_MAX)
        return pe_fail(err, PE_TOO_LARGE, "parameter:per_element",
                       "intervals of at most %d elements are told, these are %zu; ask for fewer "
                       "positions, or part=cos",
                       INTERVALS_MAX, elements_of(state));
    state->judged = a->tensor && !a->scheme ? 0 : 1;
    return PE_OK;
}

enum pe_status comparison_tolerance_prepare(struct comparison_state *state, struct pe_error *err)
{
    const double asked = pe_param_number(&state->params, "tolerance_of");

    if (!is_asked(state))
        return PE_OK;
    if (pe_param_number(&state->params, "per_element") != 0) {
        state->intervals = api_arena_take(state->request->arena,
                                          (elements_of(state) + 1) * sizeof(*state->intervals));
        if (!state->intervals)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for intervals");
    }
    return pe_tolerance_new(&state->tolerance, state->sides[1 - state->judged].scheme,
                            (enum pe_path)(asked - 1), state->request->work, err);
}

/* Of a rotation, whose element is rounded several times: the part of the way to the interval's end.
 */
static double way_used(double value, struct pe_interval interval)
{
    const double room =
        value < interval.real ? interval.real - interval.low : interval.high - interval.real;

    return room > 0 ? fmin(fabs(value - interval.real) / room, 1) : 0;
}

/* How much of float32's error a value makes use of beside the rounding to a coarser dtype. */
static double used_of(const struct comparison_state *state, double value,
                      struct pe_interval interval)
{
    static const double halves[] = {[PE_F16] = 0x1p-11, [PE_BF16] = 0x1p-8};
    static const double least[] = {[PE_F16] = 0x1p-25, [PE_BF16] = 0};
    static const enum pe_dtype dtypes[] = {PE_F32, PE_F32, PE_BF16, PE_F16}; /* by tolerance_of */
    const enum pe_dtype own = dtypes[(size_t)pe_param_number(&state->params, "tolerance_of")];
    const enum pe_dtype dtype = own > state->dtype ? own : state->dtype;
    const double hidden = dtype > PE_F32 ? halves[dtype] * fabs(interval.real) + least[dtype] : 0;
    const double beyond = fabs(value - interval.real) - hidden;

    return beyond > 0 && interval.error > 0 ? beyond / interval.error : 0;
}

void comparison_value_judge(const struct comparison_state *state, struct comparison_stripe *stripe,
                            size_t row, size_t at, const struct pe_interval *interval)
{
    const struct pe_output *output = &state->sides[1 - state->judged].outputs[state->output];
    const size_t columns = output->row_elements, column = at % columns;
    struct comparison_outside *outside = &stripe->outside;
    double value;

    pe_to_f64(&value, stripe->rows[state->judged] + at * pe_dtype_info(state->dtype)->size,
              state->dtype, 1);
    if (state->intervals)
        state->intervals[(output->rows * state->output + row) * columns + column] = *interval;
    if (isnan(interval->low)) /* a column of zeros, which belongs to no pair */
        return;
    if (value >= interval->low && value <= interval->high) {
        outside->used =
            fmax(outside->used, state->rotated.source ? way_used(value, *interval)
                                                      : used_of(state, value, *interval));
        return;
    }
    if (outside->count++ == 0) {
        outside->output = state->output;
        outside->row = row;
        outside->column = column;
        outside->value = value;
        outside->interval = *interval;
    }
}

void comparison_tolerance_judge(const struct comparison_state *state,
                                struct comparison_stripe *stripe, size_t begin, size_t rows)
{
    const struct pe_output *output = &state->sides[1 - state->judged].outputs[state->output];
    const size_t columns = output->row_elements;
    const bool is_sin = output->name[0] == 's';

    for (size_t i = 0; i < rows * columns; i++) {
        struct pe_interval interval = {.low = NAN};
        pe_tolerance_element(state->tolerance, is_sin, i % columns,
                             comparison_position(state, begin + i / columns), state->dtype,
                             &interval);
        comparison_value_judge(state, stripe, begin + i / columns, i, &interval);
    }
}

void comparison_tolerance_join(struct comparison_state *state,
                               const struct comparison_stripe *stripe)
{
    const uint64_t count = state->outside.count;
    const double used = fmax(state->outside.used, stripe->outside.used);

    if (count == 0)
        state->outside = stripe->outside;
    state->outside.count = count + stripe->outside.count;
    state->outside.used = used;
}

/* ---- what is told --------------------------------------------------------------------------- */

static json_t *first_json(const struct comparison_state *state)
{
    const struct comparison_outside *outside = &state->outside;
    const struct api_side *reference = &state->sides[1 - state->judged];

    if (outside->count == 0)
        return json_null();
    return json_pack("{so ss sI sI so so so}", "position",
                     api_number_json(comparison_position(state, outside->row)), "table",
                     reference->outputs[outside->output].name, "row", (json_int_t)outside->row,
                     "column", (json_int_t)outside->column, "value",
                     api_number_json(outside->value), "low", api_number_json(outside->interval.low),
                     "high", api_number_json(outside->interval.high));
}

json_t *comparison_tolerance_json(const struct comparison_state *state)
{
    const double asked = pe_param_number(&state->params, "tolerance_of");

    return json_pack("{ss ss sI so so}", "of", pe_path_name((enum pe_path)(asked - 1)), "judged",
                     state->sides[state->judged].key, "outside", (json_int_t)state->outside.count,
                     "used", api_number_json(state->outside.used), "first_outside",
                     first_json(state));
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

json_t *comparison_intervals_json(const struct comparison_state *state)
{
    const struct api_side *reference = &state->sides[1 - state->judged];
    json_t *tables = json_object();

    for (size_t i = 0; i < reference->outputs_count; i++) {
        const struct pe_output *output = &reference->outputs[i];
        const struct pe_interval *from = state->intervals + i * output->rows * output->row_elements;
        json_object_set_new(
            tables, output->name,
            json_pack("{so so}", "low", ends_json(from, output->rows, output->row_elements, false),
                      "high", ends_json(from, output->rows, output->row_elements, true)));
    }
    return tables;
}
