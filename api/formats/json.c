/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/base/wraps.h"
#include "api/formats/formats.h"
#include "api/numbers/print.h"
#include "api/numbers/text.h"
#include "api/response/blocks.h"

/* {"encoding": {...}, scalars, "tensors": {"cos": {"dtype", "shape", "data"}, ...}, "warnings": []}
 *
 * The prefix ends behind "tensors":{ and the last block has everything behind the tensors. Each
 * block is rows of one output: its binary rows are made at the end of the block's own room, behind
 * what the text may need. */

/* One row must fit in a block as text. */
enum { ROW_ELEMENTS_MAX = 1 << 20 };

struct output_span {
    size_t first, count; /* blocks; an output without rows has one */
    size_t rows;         /* of a block */
    char *head;          /* "cos":{"dtype":"f32","shape":[4,64],"data": */
};

struct state {
    struct api_result *result;
    struct output_span *outputs;
    size_t text_room; /* of a block, without its binary rows */
    const char *tail;
};

/* ---- text of rows --------------------------------------------------------------------------- */

/* Brackets that open before a row, or close behind it: as many as dimensions begin or end there. */
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

/* Blocks begin at multiples of three bytes, so that theirs is the text of the whole. */
static char *base64_print(char *to, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (; size > 2; bytes += 3, size -= 3, to += 4) {
        const unsigned three = bytes[0] << 16 | bytes[1] << 8 | bytes[2];
        to[0] = digits[three >> 18];
        to[1] = digits[three >> 12 & 63];
        to[2] = digits[three >> 6 & 63];
        to[3] = digits[three & 63];
    }
    if (size > 0) {
        const unsigned two = bytes[0] << 8 | (size > 1 ? bytes[1] : 0);
        *to++ = digits[two >> 10];
        *to++ = digits[two >> 4 & 63];
        *to++ = size > 1 ? digits[two << 2 & 63] : '=';
        *to++ = '=';
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

/* An empty tensor has no rows to print brackets for: [0, 4] is [], [2, 0, 4] is [[],[]]. */
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

/* Rows of one output: where cos and sin are two, the rows of both are made by the same steps, once
 * each, because a block is pure and waits for no other. */
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
    unsigned char *room = out + state->text_room;
    const unsigned char *bytes = api_rows_get(state->result, i, row_begin, row_end,
                                              room + ((64 - ((uintptr_t)room & 63)) & 63));

    if (!bytes)
        return SIZE_MAX;
    if (first) {
        to = put(to, i > 0 ? "," : "");
        to = put(to, span->head);
        to = put(to, result->base64 ? "\"" : result->flat ? "[" : "");
    }
    if (result->base64)
        to = base64_print(to, bytes, (row_end - row_begin) * api_output_row_size(output));
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

/* Bytes are called base64 and not data, so that an answer can be posted. */
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

/* Text that a row needs at most, brackets and commas of everything around it included. */
static size_t row_room(const struct api_result *result, const struct pe_output *output)
{
    if (result->base64)
        return api_output_row_size(output) / 3 * 4 + 4;
    return output->row_elements * (api_number_room(output->dtype) + 3) + 2 * PE_RANK_MAX + 4;
}

/* Rows of a block. In base64 they begin at multiples of three bytes. */
static size_t rows_choose(const struct api_result *result, const struct pe_output *output)
{
    const size_t least = result->rows_together ? result->rows_together : 1;
    const bool thirds = result->base64 && api_output_row_size(output) * least % 3 != 0;
    const size_t together = thirds ? 3 * least : least;
    const size_t groups = api_block_size(output) / row_room(result, output) / together;

    return groups > 0 ? groups * together : together;
}

static size_t empty_room(const struct pe_output *output)
{
    size_t room = 2;

    if (api_output_size(output) > 0)
        return 0;
    for (unsigned axis = 0; axis < output->rank && output->shape[axis] > 0; axis++)
        if (!pe_size_multiply(room, output->shape[axis], &room) ||
            !pe_size_multiply(room, 4, &room))
            return SIZE_MAX;
    return room;
}

/* Raises the rooms to those of the largest block of an output. */
static void room_grow(struct state *state, size_t index, size_t *bytes_room)
{
    const struct pe_output *output = &state->result->outputs[index];
    const struct output_span *span = &state->outputs[index];
    const size_t most = span->rows < output->rows ? span->rows : output->rows;
    const size_t text =
        8 + strlen(span->head) + most * row_room(state->result, output) + empty_room(output);
    const size_t bytes = most * api_output_row_size(output);

    if (text > state->text_room)
        state->text_room = text;
    if (bytes > *bytes_room)
        *bytes_room = bytes;
}

static enum pe_status check(const struct api_result *result, struct pe_error *err)
{
    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        if (output->row_elements > ROW_ELEMENTS_MAX || empty_room(output) > API_BLOCK_SIZE)
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
    size_t blocks = 0, bytes_room = 0;

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
        room_grow(state, i, &bytes_room);
    }
    state->text_room += strlen(state->tail) + API_NUMBER_MAX;
    response->body = (struct api_body){
        .kind = result->pure ? API_PLAN : API_JOB,
        .size = API_SIZE_UNKNOWN,
        .prefix = (unsigned char *)prefix,
        .prefix_size = strlen(prefix),
        .blocks = blocks,
        .block_size = state->text_room + 64 + bytes_room,
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
