/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/compiler.h"
#include "api/formats/formats.h"
#include "api/numbers/print.h"
#include "api/numbers/text.h"
#include "api/response/blocks.h"

/* {"encoding": {...}, scalars, "tensors": {"cos": {"dtype", "shape", "data"}, ...}, "warnings": []}
 *
 * The prefix ends after "tensors":{, and the last block contains everything after the tensors.
 * Each block has rows of one output. Its binary rows are made at the end of the block's own buffer,
 * after the longest text that the block can have. */

/* The text of a row must fit into a block. */
enum { ROW_ELEMENTS_MAX = 1 << 20 };

struct output_span {
    size_t first, count; /* blocks; an output without rows has one */
    size_t rows;         /* a block */
    char *head;          /* "cos":{"dtype":"f32","shape":[4,64],"data": */
};

struct state {
    struct api_result *result;
    struct output_span *outputs;
    size_t text_max; /* bytes of a block without its binary rows */
    const char *tail;
};

/* ---- text of rows --------------------------------------------------------------------------- */

/* The number of brackets that open before a row, or close before it: of dimensions that begin or
 * end there. */
API_WRAPS("counts down past 0")
static unsigned brackets(const struct pe_output *output, size_t row)
{
    unsigned count = 0;

    for (unsigned axis = output->rank - 1; axis-- > 0; count++) {
        if (row % output->shape[axis] != 0)
            break;
        row /= output->shape[axis];
    }
    return count;
}

static char *rows_print(char *to, const struct pe_output *output, size_t row_begin, size_t row_end,
                        const unsigned char *bytes, bool flat)
{
    const size_t row_size = api_output_row_size(output);

    for (size_t row = row_begin; row < row_end; row++, bytes += row_size) {
        const unsigned open = flat ? 0 : brackets(output, row);
        const unsigned close = flat ? 0 : brackets(output, row + 1);
        if (row > 0 && !(flat && output->row_elements == 0))
            *to++ = ',';
        memset(to, '[', open);
        to += open;
        if (!flat)
            *to++ = '[';
        to = api_numbers_print(to, output->dtype, bytes, output->row_elements,
                               output->is_complex && !flat);
        if (!flat)
            *to++ = ']';
        memset(to, ']', close);
        to += close;
    }
    return to;
}

/* ---- blocks --------------------------------------------------------------------------------- */

static char *put(char *to, const char *text)
{
    const size_t length = strlen(text);

    memcpy(to, text, length);
    return to + length;
}

/* The brackets of a tensor without elements: [0, 4] is [], and [2, 0, 4] is [[],[]]. */
static char *empty_print(char *to, const struct pe_output *output, unsigned axis)
{
    *to++ = '[';
    for (size_t i = 0; i < output->shape[axis]; i++) {
        if (i > 0)
            *to++ = ',';
        to = empty_print(to, output, axis + 1);
    }
    *to++ = ']';
    return to;
}

/* Where cos and sin are two outputs, each computes the rows of both: blocks are pure and
 * independent of each other. */
static size_t json_block_fill(struct api_response *response, size_t block, unsigned char *out)
{
    struct state *state = response->body.state;
    const struct api_result *result = state->result;
    size_t i = 0;
    char *to = (char *)out;

    while (block >= state->outputs[i].first + state->outputs[i].count)
        i++;
    const struct pe_output *output = &result->outputs[i];
    const struct output_span *span = &state->outputs[i];
    const size_t row_begin = (block - span->first) * span->rows;
    const bool first = block == span->first, last = block + 1 == span->first + span->count;
    const size_t row_end = last ? output->rows : row_begin + span->rows;
    const bool empty = api_output_size(output) == 0;
    unsigned char *rows = out + state->text_max;
    const unsigned char *bytes = api_rows_get(state->result, i, row_begin, row_end,
                                              rows + ((64 - ((uintptr_t)rows & 63)) & 63));

    if (!bytes)
        return SIZE_MAX;
    if (first) {
        to = put(to, i > 0 ? "," : "");
        to = put(to, span->head);
        to = put(to, result->base64 ? "\"" : result->flat ? "[" : "");
    }
    if (result->base64)
        to = api_base64_encode(to, bytes, (row_end - row_begin) * api_output_row_size(output));
    else if (!empty)
        to = rows_print(to, output, row_begin, row_end, bytes, result->flat);
    else if (!result->flat)
        to = empty_print(to, output, 0);
    if (last)
        to = put(to, result->base64 ? "\"}" : result->flat ? "]}" : "}");
    if (last && i + 1 == result->outputs_count)
        to = put(to, state->tail);
    return (size_t)(to - (char *)out);
}

/* ---- render --------------------------------------------------------------------------------- */

/* The member is named as in request bodies, so that an answer can be posted. */
static char *head_print(struct api_arena *arena, const struct pe_output *output, bool base64)
{
    size_t shape[PE_RANK_MAX + 1];
    const unsigned rank = api_output_shape(output, shape);
    struct api_text text = {0};
    json_t *name = json_string(output->name);

    if (name)
        api_text_json(&text, name, false);
    json_decref(name);
    api_text_print(&text, ":{\"dtype\":\"%s\",\"shape\":[", pe_dtype_info(output->dtype)->name);
    for (unsigned axis = 0; axis < rank; axis++)
        api_text_print(&text, "%s%zu", axis > 0 ? "," : "", shape[axis]);
    api_text_put(&text, base64 ? "],\"base64\":" : "],\"data\":");
    return api_text_take(&text, arena);
}

/* {"encoding":{...},"attention_factor":1,"tensors":{ */
static char *prefix_print(struct api_arena *arena, const struct api_result *result)
{
    char number[API_NUMBER_MAX];
    struct api_text text = {0};

    api_text_put(&text, "{");
    if (result->encoding) {
        api_text_put(&text, "\"encoding\":");
        api_text_json(&text, result->encoding, false);
        api_text_put(&text, ",");
    }
    if (result->attention) {
        api_text_put(&text, "\"attention\":");
        api_text_json(&text, result->attention, false);
        api_text_put(&text, ",");
    }
    if (result->golden) {
        api_text_put(&text, "\"golden\":");
        api_text_json(&text, result->golden, false);
        api_text_put(&text, ",");
    }
    for (size_t i = 0; i < result->scalars_count; i++) {
        api_double_print(number, result->scalars[i].value);
        api_text_print(&text, "\"%s\":%s,", result->scalars[i].name, number);
    }
    api_text_put(&text, "\"tensors\":{");
    return api_text_take(&text, arena);
}

static char *tail_print(struct api_arena *arena, const struct api_result *result)
{
    struct api_text text = {0};

    api_text_put(&text, "},\"warnings\":");
    if (result->warnings)
        api_text_json(&text, result->warnings, false);
    else
        api_text_put(&text, "[]");
    api_text_put(&text, "}\n");
    return api_text_take(&text, arena);
}

/* The longest text of a row, with the brackets and commas around it. */
static size_t row_text_max(const struct api_result *result, const struct pe_output *output)
{
    if (result->base64)
        return api_output_row_size(output) / 3 * 4 + 4;
    return output->row_elements * (api_number_length_max(output->dtype) + 3) + 2 * PE_RANK_MAX + 4;
}

/* The rows of a block. In base64 blocks begin at multiples of three bytes, so that their texts can
 * be joined. */
static size_t rows_choose(const struct api_result *result, const struct pe_output *output)
{
    const size_t least = result->rows_together ? result->rows_together : 1;
    const bool thirds = result->base64 && api_output_row_size(output) * least % 3 != 0;
    const size_t together = thirds ? 3 * least : least;
    const size_t groups = api_block_size(output) / row_text_max(result, output) / together;

    return groups > 0 ? groups * together : together;
}

/* The longest text of a tensor without elements; SIZE_MAX: it overflows. */
static size_t empty_text_max(const struct pe_output *output)
{
    size_t size = 2;

    if (api_output_size(output) > 0)
        return 0;
    for (unsigned axis = 0; axis < output->rank && output->shape[axis] > 0; axis++)
        if (!pe_size_multiply(size, output->shape[axis], &size) ||
            !pe_size_multiply(size, 4, &size))
            return SIZE_MAX;
    return size;
}

/* Raises the sizes to those of the largest block of an output. */
static void sizes_raise(struct state *state, size_t index, size_t *rows_max)
{
    const struct pe_output *output = &state->result->outputs[index];
    const struct output_span *span = &state->outputs[index];
    const size_t most = span->rows < output->rows ? span->rows : output->rows;
    const size_t text = 8 + strlen(span->head) + most * row_text_max(state->result, output) +
                        empty_text_max(output);
    const size_t bytes = most * api_output_row_size(output);

    if (text > state->text_max)
        state->text_max = text;
    if (bytes > *rows_max)
        *rows_max = bytes;
}

static enum pe_status check(const struct api_result *result, struct pe_error *err)
{
    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        if (output->row_elements > ROW_ELEMENTS_MAX || empty_text_max(output) > API_BLOCK_SIZE)
            return pe_fail(err, PE_TOO_LARGE, "",
                           "a row of %s would be too wide for JSON; ask for format=npy, "
                           "safetensors or raw",
                           output->name);
    }
    return PE_OK;
}

static enum pe_status no_memory(struct pe_error *err)
{
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
}

static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    struct state *state = api_arena_take(request->arena, sizeof(*state));
    char *prefix = prefix_print(request->arena, result);
    size_t blocks = 0, rows_max = 0;

    if (!state || !prefix)
        return no_memory(err);
    state->result = result;
    state->tail = tail_print(request->arena, result);
    state->outputs =
        api_arena_take(request->arena, (result->outputs_count + 1) * sizeof(*state->outputs));
    if (!state->tail || !state->outputs)
        return no_memory(err);
    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        struct output_span *span = &state->outputs[i];
        span->first = blocks;
        span->rows = rows_choose(result, output);
        span->count =
            api_output_size(output) == 0 ? 1 : (output->rows + span->rows - 1) / span->rows;
        span->head = head_print(request->arena, output, result->base64);
        if (!span->head)
            return no_memory(err);
        blocks += span->count;
        sizes_raise(state, i, &rows_max);
    }
    state->text_max += strlen(state->tail) + API_NUMBER_MAX;
    response->body = (struct api_body){
        .kind = result->pure ? API_PLAN : API_JOB,
        .size = API_SIZE_UNKNOWN,
        .prefix = (unsigned char *)prefix,
        .prefix_size = strlen(prefix),
        .blocks = blocks,
        .block_size = state->text_max + 64 + rows_max,
        .fill = json_block_fill,
        .state = state,
    };
    return PE_OK;
}

const struct api_format api_format_json = {
    .name = "json",
    .media_type = "application/json",
    .extension = "json",
    .work = 22,
    .check = check,
    .render = render,
};
