/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/numbers/print.h"
#include "api/numbers/text.h"
#include "api/response/blocks.h"

/* RFC 4180 with a header. Matrices with an equal number of rows are joined by columns, and so are
 * vectors of one length. Columns of a matrix are named cos_0; a complex column becomes two,
 * cos_0_re and cos_0_im. Numbers are printed as in JSON, but NaN and the infinities without quotes.
 */

/* The most columns of a line, and lines of vectors, which are one block. */
enum { LINE_MAX_ELEMENTS = 1 << 20 };

/* A column name beside the tensor's: "_1048575_re". */
enum { SUFFIX_MAX = 16 };

struct state {
    struct api_result *result;
    size_t lines, lines_block; /* of the answer, of a block */
    size_t text_max;           /* bytes of a block without its binary rows */
};

static bool is_vector(const struct pe_output *output)
{
    return output->rank < 2;
}

static size_t columns_of(const struct pe_output *output)
{
    const size_t numbers = output->is_complex ? 2 : 1;

    return is_vector(output) ? numbers : output->row_elements;
}

static size_t lines_of(const struct pe_output *output)
{
    return is_vector(output) ? output->row_elements >> output->is_complex : output->rows;
}

/* ---- checks --------------------------------------------------------------------------------- */

/* A vector never fits beside a matrix: its elements are not the matrix's rows. */
static bool fits_beside(const struct pe_output *output, const struct pe_output *first)
{
    return output->rank <= 2 && is_vector(output) == is_vector(first) &&
           lines_of(output) == lines_of(first);
}

static enum pe_status sizes_check(const struct api_result *result, size_t outputs,
                                  struct pe_error *err)
{
    size_t columns = 0;

    for (size_t i = 0; i < outputs; i++) {
        const struct pe_output *output = &result->outputs[i];
        if (columns_of(output) > LINE_MAX_ELEMENTS ||
            (is_vector(output) && output->row_elements > LINE_MAX_ELEMENTS) ||
            (columns += columns_of(output)) > LINE_MAX_ELEMENTS)
            return pe_fail(err, PE_TOO_LARGE, "",
                           "%s would be too large for csv, which has up to %d columns, and so "
                           "many lines where they hold vectors; ask for format=npy, safetensors "
                           "or raw",
                           output->name, LINE_MAX_ELEMENTS);
    }
    return columns > 0 ? PE_OK
                       : pe_fail(err, PE_NOT_ACCEPTABLE, "",
                                 "csv has lines of columns, and there are no columns; ask for "
                                 "another format");
}

/* Outputs that accompany the first one are dropped if they do not fit beside it. */
static enum pe_status check(const struct api_result *result, struct pe_error *err)
{
    const struct pe_output *first = &result->outputs[0];
    size_t beside = 1;

    if (first->rank > 2)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "",
                       "csv holds up to two dimensions and %s has %u; ask for format=npy, "
                       "safetensors or raw",
                       first->name, first->rank);
    while (beside < result->outputs_count && fits_beside(&result->outputs[beside], first))
        beside++;
    if (beside < result->outputs_count && !result->first_leads)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "",
                       "csv holds matrices of as many rows side by side, or vectors of one "
                       "length, and %s does not fit beside %s; ask for format=safetensors",
                       result->outputs[beside].name, first->name);
    return sizes_check(result, beside, err);
}

/* Drops the outputs from the first that does not fit on, with a warning. */
static void others_drop(struct api_result *result)
{
    size_t beside = 1;

    while (beside < result->outputs_count &&
           fits_beside(&result->outputs[beside], &result->outputs[0]))
        beside++;
    if (beside == result->outputs_count)
        return;
    json_array_append_new(
        result->warnings,
        json_sprintf("csv holds what has as many lines as %s, and %s has not; ask for "
                     "format=safetensors to have it too",
                     result->outputs[0].name, result->outputs[beside].name));
    result->outputs_count = beside;
}

/* ---- the header ----------------------------------------------------------------------------- */

/* Adds a name, in quotes if a field needs them, its own quotes doubled. */
static void name_put(struct api_text *text, const char *name, const char *suffix)
{
    const bool quoted = name[strcspn(name, ",\"\r\n")] != '\0';

    api_text_put(text, quoted ? "\"" : "");
    while (*name) {
        const size_t plain = strcspn(name, "\"");
        api_text_add(text, name, plain);
        api_text_put(text, name[plain] ? "\"\"" : "");
        name += plain + (name[plain] != '\0');
    }
    api_text_put(text, suffix);
    api_text_put(text, quoted ? "\"" : "");
}

static char *header_print(struct api_arena *arena, const struct api_result *result, size_t *size)
{
    struct api_text text = {0};
    char suffix[SUFFIX_MAX + 16] = "";

    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        const char *const parts[] = {output->is_complex ? "_re" : "", "_im"};
        for (size_t column = 0; column < columns_of(output); column++) {
            const char *part = parts[output->is_complex ? column % 2 : 0];
            if (is_vector(output))
                snprintf(suffix, sizeof(suffix), "%s", part);
            else
                snprintf(suffix, sizeof(suffix), "_%zu%s", column >> output->is_complex, part);
            api_text_put(&text, i + column > 0 ? "," : "");
            name_put(&text, output->name, suffix);
        }
    }
    api_text_put(&text, "\r\n");
    *size = text.size;
    return api_text_take(&text, arena);
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Removes the quotes that NaN and the infinities have in JSON. */
static char *quotes_drop(char *from, char *end)
{
    char *to = memchr(from, '"', (size_t)(end - from));

    if (!to)
        return end;
    for (from = to; from < end; from++)
        if (*from != '"')
            *to++ = *from;
    return to;
}

static char *line_print(char *to, const struct api_result *result,
                        const unsigned char *const *bytes, size_t line)
{
    char *const begin = to;

    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        const size_t columns = columns_of(output);
        if (i > 0)
            *to++ = ',';
        to = api_numbers_print(to, output->dtype,
                               bytes[i] + line * columns * pe_dtype_info(output->dtype)->size,
                               columns, false);
    }
    to = quotes_drop(begin, to);
    *to++ = '\r';
    *to++ = '\n';
    return to;
}

static size_t csv_block_fill(struct api_response *response, size_t block, unsigned char *out)
{
    const struct state *state = response->body.state;
    struct api_result *result = state->result;
    const size_t begin = block * state->lines_block;
    const size_t end =
        state->lines - begin < state->lines_block ? state->lines : begin + state->lines_block;
    unsigned char *rows = out + state->text_max;
    const unsigned char **bytes;
    char *to = (char *)out;

    rows += (64 - ((uintptr_t)rows & 63)) & 63;
    bytes = (const unsigned char **)(void *)rows;
    rows += result->outputs_count * sizeof(*bytes);

    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        const bool vector = is_vector(output);
        rows += (64 - ((uintptr_t)rows & 63)) & 63;
        bytes[i] = api_rows_get(result, i, vector ? 0 : begin, vector ? output->rows : end, rows);
        if (!bytes[i])
            return SIZE_MAX;
        rows += (end - begin) * columns_of(output) * pe_dtype_info(output->dtype)->size;
    }
    for (size_t line = begin; line < end; line++)
        to = line_print(to, result, bytes, line - begin);
    return (size_t)(to - (char *)out);
}

/* ---- render --------------------------------------------------------------------------------- */

/* The most bytes of a line as text and as elements, and the lines of a block. */
struct measure {
    size_t text, bytes, lines;
};

static struct measure measure(const struct api_result *result)
{
    const size_t together = result->rows_together ? result->rows_together : 1;
    struct measure measured = {.text = 2};
    size_t block = API_BLOCK_SIZE;

    for (size_t i = 0; i < result->outputs_count; i++) {
        const struct pe_output *output = &result->outputs[i];
        measured.text += columns_of(output) * (api_number_length_max(output->dtype) + 3);
        measured.bytes += columns_of(output) * pe_dtype_info(output->dtype)->size;
        if (api_block_size(output) < block)
            block = api_block_size(output);
    }
    measured.lines = block / measured.text / together * together;
    if (measured.lines == 0)
        measured.lines = together;
    for (size_t i = 0; i < result->outputs_count; i++)
        if (is_vector(&result->outputs[i]))
            measured.lines = LINE_MAX_ELEMENTS;
    return measured;
}

static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    struct state *state = api_arena_take(request->arena, sizeof(*state));
    struct measure measured;
    size_t prefix_size;
    char *prefix;

    others_drop(result);
    prefix = header_print(request->arena, result, &prefix_size);
    if (!state || !prefix)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    measured = measure(result);
    state->result = result;
    state->lines = lines_of(&result->outputs[0]);
    state->lines_block = measured.lines < state->lines ? measured.lines : state->lines;
    state->text_max = state->lines_block * measured.text;
    response->body = (struct api_body){
        .kind = result->pure ? API_PLAN : API_JOB,
        .size = API_SIZE_UNKNOWN,
        .prefix = (unsigned char *)prefix,
        .prefix_size = prefix_size,
        .blocks = state->lines > 0 ? (state->lines - 1) / state->lines_block + 1 : 0,
        .block_size = state->text_max + state->lines_block * measured.bytes +
                      result->outputs_count * (64 + sizeof(unsigned char *)) + 64,
        .fill = csv_block_fill,
        .state = state,
    };
    return PE_OK;
}

const struct api_format api_format_csv = {
    .name = "csv",
    .media_type = "text/csv",
    .parameters = "; charset=utf-8; header=present",
    .extension = "csv",
    .is_file = true,
    .work = 22,
    .check = check,
    .render = render,
};
