/* SPDX-License-Identifier: MIT */
#include "api/arguments/arguments.h"

#include <math.h>
#include <string.h>

#include "api/request/parameters.h"

static const struct pe_param params_list[] = {
    {.name = "start",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .fallback = "0",
     .unit = "positions",
     .doc = "The first position; it may be negative or fractional."},
    {.name = "step",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .fallback = "1",
     .unit = "positions",
     .doc = "The distance from one position to the next; it may be negative or fractional."},
};

void api_token_positions_params(struct pe_params *params)
{
    pe_params_init(params, params_list, sizeof(params_list) / sizeof(params_list[0]));
}

bool api_token_positions_hold(const struct api_token_positions *places, const char *tensor)
{
    return (places->numbers.tensor && strcmp(places->numbers.tensor, tensor) == 0) ||
           (places->ends.tensor && strcmp(places->ends.tensor, tensor) == 0);
}

/* Is a number other than the default given? The default is accepted everywhere. */
static bool has_other(const struct pe_params *params, const char *name, double usual)
{
    return pe_param_given(params, name) && pe_param_number(params, name) != usual;
}

static enum pe_status ways_check(const struct pe_params *params, bool from_zero,
                                 const struct api_numbers *ends,
                                 const struct api_numbers *positions,
                                 const struct api_numbers *delta, struct pe_error *err)
{
    const bool has_start = pe_param_given(params, "start") || pe_param_given(params, "step");
    const bool starts = has_other(params, "start", 0) || has_other(params, "step", 1);

    if (delta->object || ends->object)
        return pe_fail(err, PE_INVALID, delta->object ? delta->where : ends->where,
                       "%s must be a number or a list", delta->object ? "delta" : "cu_seqlens");
    if (ends->given && (positions->given || delta->given))
        return pe_fail(err, PE_CONFLICT, ends->where,
                       "cu_seqlens places the tokens of every sequence from start on; leave out "
                       "%s",
                       delta->given ? "delta" : "the list of positions");
    if (delta->given && (positions->given || positions->object || starts))
        return pe_fail(err, PE_CONFLICT, delta->where,
                       "delta moves tokens, positions place them: only one can be given");
    if (positions->given && starts)
        return pe_fail(err, PE_CONFLICT, positions->where,
                       "positions are listed, so start and step have no place");
    /* No default: a decoder that forgot them would rotate every token as the first one. */
    if (!from_zero && !ends->given && !delta->given && !positions->given && !positions->object &&
        !has_start)
        return pe_fail(err, PE_MISSING, "parameter:positions",
                       "positions is required: {\"start\": 0} (in a query start=0), a list, or "
                       "\"tensor:NAME\"; or delta, or cu_seqlens");
    return PE_OK;
}

enum pe_status api_token_positions_read(struct api_request *request, struct pe_params *params,
                                        struct api_token_positions *places, struct pe_error *err)
{
    struct pe_params *sets[] = {params};
    struct api_numbers positions, delta;

    if (api_numbers_read(request, "positions", &positions, err) ||
        api_numbers_read(request, "delta", &delta, err) ||
        api_numbers_read(request, "cu_seqlens", &places->ends, err))
        return err->status;
    if (positions.object &&
        api_bind_object(request, positions.object, "/positions", sets, 1, NULL, err))
        return err->status;
    if (ways_check(params, places->from_zero, &places->ends, &positions, &delta, err) ||
        pe_params_finish(params, err))
        return err->status;
    places->is_delta = delta.given;
    places->numbers = delta.given ? delta : positions;
    places->start = pe_param_number(params, "start");
    places->step = pe_param_number(params, "step");
    return PE_OK;
}

static enum pe_status mismatch(const struct api_token_positions *places, const struct pe_axes *axes,
                               const char *name, struct pe_error *err)
{
    const struct api_numbers *numbers = &places->numbers;
    const char *what = places->is_delta ? "delta" : "positions";

    if (places->axes_count > 1 && numbers->rank > 1)
        return pe_fail(err, PE_SHAPE_MISMATCH, numbers->where,
                       "%s of %zu coordinates for tensor %.60s must be [%zu, %zu] or [%zu, %zu, "
                       "%zu], got %s%zu, %zu]",
                       what, places->axes_count, name, places->axes_count, axes->sequence,
                       places->axes_count, axes->batch, axes->sequence,
                       numbers->rank == 3 ? "[..., " : "[", numbers->rows, numbers->columns);
    if (numbers->rank == 3)
        return pe_fail(err, PE_SHAPE_MISMATCH, numbers->where,
                       "%s is [%zu, %zu, %zu], but a position is one number here", what,
                       numbers->planes, numbers->rows, numbers->columns);
    if (numbers->rank == 2)
        return pe_fail(err, PE_SHAPE_MISMATCH, numbers->where,
                       "%s is [%zu, %zu], tensor %.60s has batch %zu and sequence %zu", what,
                       numbers->rows, numbers->columns, name, axes->batch, axes->sequence);
    return pe_fail(err, PE_SHAPE_MISMATCH, numbers->where,
                   "%s has %zu entries, axis s of tensor %.60s has %zu", what, numbers->columns,
                   name, axes->sequence);
}

/* Repeats the distance of each batch row for all its tokens. */
static enum pe_status rows_repeat(struct api_request *request, const struct api_numbers *numbers,
                                  const struct pe_axes *axes, struct pe_positions *positions,
                                  struct pe_error *err)
{
    size_t count, size;
    double *values = NULL;

    if (pe_size_multiply(axes->batch, axes->sequence, &count) &&
        pe_size_multiply(count + 1, sizeof(*values), &size))
        values = api_arena_take(request->arena, size);
    if (!values)
        return pe_fail(err, PE_OUT_OF_MEMORY, numbers->where, "no memory for the distances");
    for (size_t i = 0; i < count; i++)
        values[i] = numbers->values[i / axes->sequence];
    positions->values = values;
    positions->batch = axes->batch;
    return PE_OK;
}

static enum pe_status list_fit(struct api_request *request,
                               const struct api_token_positions *places, const struct pe_axes *axes,
                               const char *name, struct pe_positions *positions,
                               struct pe_error *err)
{
    const struct api_numbers *numbers = &places->numbers;
    const bool fits_rows = places->is_delta && numbers->columns == axes->batch;
    const bool fits_tokens = numbers->columns == axes->sequence;

    if (fits_rows && fits_tokens && numbers->columns > 1)
        return pe_fail(err, PE_CONFLICT, numbers->where,
                       "delta has %zu entries, and tensor %.60s as many batch rows as tokens; nest "
                       "it as [b, s]",
                       numbers->columns, name);
    if (fits_tokens) {
        positions->values = numbers->values;
        return PE_OK;
    }
    if (!fits_rows)
        return mismatch(places, axes, name, err);
    if (axes->heads_outer * axes->heads_inner * axes->head_dim == 0)
        return PE_OK; /* nothing moves, whatever the number of tokens */
    return rows_repeat(request, numbers, axes, positions, err);
}

/* Sets the positions of packed sequences, each of which begins at start. */
static enum pe_status ends_fit(struct api_request *request,
                               const struct api_token_positions *places, const struct pe_axes *axes,
                               const char *name, struct pe_positions *positions,
                               struct pe_error *err)
{
    const struct api_numbers *ends = &places->ends;
    const double *at = ends->values;
    double *values = NULL;
    size_t size;

    if (ends->rank > 1 || axes->batch != 1)
        return pe_fail(err, PE_SHAPE_MISMATCH, ends->where,
                       "cu_seqlens is one list, for sequences packed along one axis; tensor %.60s "
                       "has batch %zu",
                       name, axes->batch);
    if (places->start != floor(places->start) || places->step != floor(places->step))
        return pe_fail(err, PE_INVALID, ends->where,
                       "start and step must be whole numbers beside cu_seqlens");
    for (size_t i = 0; i < ends->columns; i++)
        if (at[i] != floor(at[i]) || (i > 0 ? at[i] < at[i - 1] : at[0] != 0))
            return pe_fail(err, PE_INVALID, ends->where,
                           "cu_seqlens must be whole numbers that begin at 0 and never fall, got "
                           "%.17g at index %zu",
                           at[i], i);
    if (ends->columns == 0 || at[ends->columns - 1] != (double)axes->sequence)
        return pe_fail(err, PE_SHAPE_MISMATCH, ends->where,
                       "cu_seqlens ends at %.0f, tensor %.60s has %zu tokens",
                       ends->columns > 0 ? at[ends->columns - 1] : 0, name, axes->sequence);
    if (axes->heads_outer * axes->heads_inner == 0)
        return PE_OK; /* nothing moves, whatever the number of tokens */
    if (pe_size_multiply(axes->sequence + 1, sizeof(*values), &size))
        values = api_arena_take(request->arena, size);
    if (!values)
        return pe_fail(err, PE_OUT_OF_MEMORY, ends->where, "no memory for the positions");
    for (size_t i = 0, sequence = 0; i < axes->sequence; i++) {
        while ((double)i >= at[sequence + 1])
            sequence++;
        values[i] = places->start + places->step * ((double)i - at[sequence]);
    }
    positions->values = values;
    return PE_OK;
}

/* [axes, s] or [axes, b, s] */
static enum pe_status axes_fit(const struct api_token_positions *places, const struct pe_axes *axes,
                               const char *name, struct pe_positions *positions,
                               struct pe_error *err)
{
    const struct api_numbers *numbers = &places->numbers;
    const size_t count = numbers->rank == 3 ? numbers->planes : numbers->rows;
    const size_t batch = numbers->rank == 3 ? numbers->rows : 1;

    if (count != places->axes_count || numbers->columns != axes->sequence ||
        (batch != axes->batch && batch != 1))
        return mismatch(places, axes, name, err);
    positions->values = numbers->values;
    positions->batch = batch;
    positions->axes = count;
    return PE_OK;
}

enum pe_status api_token_positions_fit(struct api_request *request,
                                       const struct api_token_positions *places,
                                       const struct pe_axes *axes, const char *name,
                                       struct pe_positions *positions, struct pe_error *err)
{
    const struct api_numbers *numbers = &places->numbers;

    *positions = (struct pe_positions){
        .start = places->start, .step = places->step, .count = axes->sequence, .batch = 1};
    if (places->ends.given)
        return ends_fit(request, places, axes, name, positions, err);
    if (!numbers->given)
        return PE_OK;
    if (numbers->rank == 0 && places->is_delta) {
        positions->start = numbers->values[0];
        positions->step = 0;
        return PE_OK;
    }
    if (numbers->rank < 2)
        return list_fit(request, places, axes, name, positions, err);
    if (places->axes_count > 1)
        return axes_fit(places, axes, name, positions, err);
    if (numbers->rank > 2 || numbers->columns != axes->sequence ||
        (numbers->rows != axes->batch && numbers->rows != 1))
        return mismatch(places, axes, name, err);
    positions->values = numbers->values;
    positions->batch = numbers->rows;
    return PE_OK;
}
