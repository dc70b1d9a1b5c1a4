/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/formats/reader.h"
#include "api/response/blocks.h"

/* numpy's file of one array,
 * https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html: a magic number, a
 * version, the length of the header, the header (a Python dict as text), the elements. Version 1.0
 * is written, 1.0 to 3.0 are read. */

/* ---- writing -------------------------------------------------------------------------------- */

/* The header is padded with blanks so that the elements are aligned. */
enum { HEADER_SIZE = 192, PREAMBLE_SIZE = 10, ALIGNMENT = 64 };

/* cos and sin are stacked. Other tensors are not, since their names would be lost. */
static bool stacks(const struct api_result *result)
{
    const struct pe_output *a = &result->outputs[0], *b = &result->outputs[1];

    return result->outputs_count == 2 && strncmp(a->name, "cos", 3) == 0 &&
           strncmp(b->name, "sin", 3) == 0 && strcmp(a->name + 3, b->name + 3) == 0 &&
           a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0;
}

/* "<f4", or "<c8" for pairs of it. NULL: numpy has no such dtype. */
static const char *descr(const struct pe_output *output)
{
    if (!output->is_complex)
        return pe_dtype_info(output->dtype)->npy;
    return output->dtype == PE_F32 ? "<c8" : output->dtype == PE_F64 ? "<c16" : NULL;
}

static enum pe_status check(const struct api_result *result, struct pe_error *err)
{
    if (result->outputs_count != 1 && !stacks(result) && !result->first_leads)
        return pe_fail(err, PE_NOT_ACCEPTABLE, "",
                       "npy holds one tensor and the answer has %zu; ask for format=safetensors",
                       result->outputs_count);
    if (!descr(&result->outputs[0]))
        return pe_fail(err, PE_NOT_ACCEPTABLE, "",
                       "npy has no %s%s; ask for format=safetensors or another dtype",
                       result->outputs[0].is_complex ? "complex " : "",
                       pe_dtype_info(result->outputs[0].dtype)->name);
    return PE_OK;
}

/* Drops the tensors that accompany the first, such as the slopes of a bias, with a warning. */
static void others_drop(struct api_result *result)
{
    char sentence[160];

    if (result->outputs_count == 1 || stacks(result))
        return;
    snprintf(sentence, sizeof(sentence),
             "npy holds one tensor, %s; ask for format=safetensors to have %s too",
             result->outputs[0].name, result->outputs[1].name);
    json_array_append_new(result->warnings, json_string(sentence));
    result->outputs_count = 1;
}

static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    const struct pe_output *output = &result->outputs[0];
    char shape[PE_RANK_MAX * 22 + 8] = "", dict[2 * HEADER_SIZE];
    size_t used = 0, size;
    unsigned char *header;

    others_drop(result);
    if (result->outputs_count == 2)
        used += (size_t)sprintf(shape, "2, ");
    for (unsigned axis = 0; axis < output->rank; axis++)
        used += (size_t)sprintf(shape + used, "%zu, ", output->shape[axis]);
    /* As Python writes tuples: (3,) and (3, 4). */
    if (output->rank == 1 && result->outputs_count == 1)
        shape[used - 1] = '\0';
    else if (used > 0)
        shape[used - 2] = '\0';
    used = (size_t)sprintf(dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                           descr(output), shape);

    size = (PREAMBLE_SIZE + used + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    header = api_arena_take(request->arena, size);
    if (!header)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (unsigned char)((size - PREAMBLE_SIZE) & 0xff);
    header[9] = (unsigned char)((size - PREAMBLE_SIZE) >> 8);
    memset(header + PREAMBLE_SIZE, ' ', size - PREAMBLE_SIZE);
    memcpy(header + PREAMBLE_SIZE, dict, used);
    header[size - 1] = '\n';
    return api_blocks_render(request, result, header, size, response, err);
}

const struct api_format api_format_npy = {
    .name = "npy",
    .media_type = "application/x-npy",
    .extension = "npy",
    .binary = true,
    .is_file = true,
    .check = check,
    .render = render,
};

/* ---- reading -------------------------------------------------------------------------------- */

static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* The dict of the header, which is parsed and never evaluated. */
struct literal {
    const char *at, *end;
    bool has_descr, has_order, has_shape;
    struct api_tensor *tensor;
    struct pe_error *err;
};

static enum pe_status malformed(struct pe_error *err, const char *fault)
{
    return pe_fail(err, PE_MALFORMED, "", "the npy file %s", fault);
}

static bool take(struct literal *literal, char c)
{
    while (literal->at < literal->end && (*literal->at == ' ' || *literal->at == '\t'))
        literal->at++;
    if (literal->at == literal->end || *literal->at != c)
        return false;
    literal->at++;
    return true;
}

static bool take_string(struct literal *literal, char *out, size_t size)
{
    const char quote = take(literal, '\'') ? '\'' : take(literal, '"') ? '"' : '\0';
    const char *end;

    if (!quote)
        return false;
    end = memchr(literal->at, quote, (size_t)(literal->end - literal->at));
    if (!end || (size_t)(end - literal->at) >= size)
        return false;
    memcpy(out, literal->at, (size_t)(end - literal->at));
    out[end - literal->at] = '\0';
    literal->at = end + 1;
    return true;
}

static enum pe_status descr_unknown(struct literal *literal, const char *descr)
{
    char known[80] = "";

    for (int dtype = 0; dtype < PE_DTYPES; dtype++) {
        const char *npy = pe_dtype_info((enum pe_dtype)dtype)->npy;
        if (npy)
            strcat(strcat(known, " "), npy);
    }
    return pe_fail(literal->err, PE_MALFORMED, "",
                   "the npy file has dtype '%s', which is none of%s; convert with "
                   "x.astype('<f4'), or send safetensors for bf16",
                   descr, known);
}

static enum pe_status descr_read(struct literal *literal)
{
    char descr[16];

    if (!take_string(literal, descr, sizeof(descr)))
        return malformed(literal->err, "has a descr that is no short text: structured arrays and "
                                       "objects cannot be read");
    for (int dtype = 0; dtype < PE_DTYPES; dtype++) {
        const char *npy = pe_dtype_info((enum pe_dtype)dtype)->npy;
        if (npy && strcmp(npy, descr) == 0) {
            literal->tensor->tensor.dtype = (enum pe_dtype)dtype;
            return PE_OK;
        }
    }
    return descr_unknown(literal, descr);
}

static enum pe_status order_read(struct literal *literal)
{
    take(literal, ' '); /* skips blanks */
    if (literal->end - literal->at >= 5 && memcmp(literal->at, "False", 5) == 0) {
        literal->at += 5;
        return PE_OK;
    }
    if (literal->end - literal->at >= 4 && memcmp(literal->at, "True", 4) == 0)
        return malformed(literal->err, "is in Fortran order; save numpy.ascontiguousarray(x)");
    return malformed(literal->err, "has a fortran_order that is neither True nor False");
}

static bool length_read(struct literal *literal, size_t *length)
{
    const char *begin;

    take(literal, ' ');
    begin = literal->at;
    *length = 0;
    while (literal->at < literal->end && *literal->at >= '0' && *literal->at <= '9') {
        if (!pe_size_multiply(*length, 10, length) ||
            __builtin_add_overflow(*length, (size_t)(*literal->at - '0'), length) ||
            *length > PTRDIFF_MAX)
            return false;
        literal->at++;
    }
    return literal->at > begin;
}

static enum pe_status shape_read(struct literal *literal)
{
    struct pe_tensor *tensor = &literal->tensor->tensor;
    bool comma = true;

    if (!take(literal, '('))
        return malformed(literal->err, "has a shape that is no tuple");
    while (!take(literal, ')')) {
        if (!comma || tensor->rank == PE_RANK_MAX)
            return malformed(literal->err, "has a shape that is no tuple of at most 8 lengths");
        if (!length_read(literal, &tensor->shape[tensor->rank++]))
            return malformed(literal->err, "has a shape with a length that is no whole number from "
                                           "0 to 2^63 - 1");
        comma = take(literal, ',');
    }
    if (tensor->rank == 1 && !comma)
        return malformed(literal->err, "has the shape (n), which is no tuple; (n,) is");
    return PE_OK;
}

static enum pe_status entry_read(struct literal *literal)
{
    char key[16];
    bool *seen;
    enum pe_status (*read)(struct literal * literal);

    if (!take_string(literal, key, sizeof(key)) || !take(literal, ':'))
        return malformed(literal->err, "has a header that is not numpy's dict");
    if (strcmp(key, "descr") == 0)
        seen = &literal->has_descr, read = descr_read;
    else if (strcmp(key, "fortran_order") == 0)
        seen = &literal->has_order, read = order_read;
    else if (strcmp(key, "shape") == 0)
        seen = &literal->has_shape, read = shape_read;
    else
        return malformed(literal->err, "has a key besides descr, fortran_order and shape");
    if (*seen)
        return malformed(literal->err, "has a key twice in its header");
    *seen = true;
    return read(literal);
}

static enum pe_status header_read(struct literal *literal)
{
    bool comma = true;

    if (literal->at == literal->end || literal->end[-1] != '\n')
        return malformed(literal->err, "has a header that does not end with a newline");
    literal->end--;
    if (!take(literal, '{'))
        return malformed(literal->err, "has a header that is not numpy's dict");
    while (!take(literal, '}')) {
        if (!comma)
            return malformed(literal->err, "has a header that is not numpy's dict");
        if (entry_read(literal))
            return literal->err->status;
        comma = take(literal, ',');
    }
    take(literal, ' ');
    if (literal->at != literal->end &&
        strspn(literal->at, " ") < (size_t)(literal->end - literal->at))
        return malformed(literal->err, "has something behind the dict of its header");
    if (!literal->has_descr || !literal->has_order || !literal->has_shape)
        return malformed(literal->err, "lacks descr, fortran_order or shape in its header");
    return PE_OK;
}

/* Finds the header. */
static enum pe_status frame_read(const unsigned char *body, size_t size, size_t *begin, size_t *end,
                                 struct pe_error *err)
{
    size_t length;

    if (size < 10 || memcmp(body, magic, sizeof(magic)) != 0)
        return malformed(err, "does not begin with \\x93NUMPY and a version");
    if (body[6] < 1 || body[6] > 3 || body[7] != 0)
        return pe_fail(err, PE_MALFORMED, "", "the npy file has version %d.%d; 1.0 to 3.0 are read",
                       body[6], body[7]);
    *begin = body[6] == 1 ? 10 : 12;
    if (size < *begin)
        return malformed(err, "ends within its header");
    length = body[8] | (size_t)body[9] << 8;
    if (body[6] > 1)
        length |= (size_t)body[10] << 16 | (size_t)body[11] << 24;
    if (length > size - *begin)
        return malformed(err, "ends within its header");
    *end = *begin + length;
    return PE_OK;
}

static enum pe_status npy_read(struct api_request *request, struct pe_error *err)
{
    struct literal literal = {.err = err};
    unsigned char *data = request->body;
    size_t begin = 0, end = 0, elements, size;

    if (frame_read(request->body, request->body_size, &begin, &end, err) ||
        api_reader_tensors(request, 1, err))
        return err->status;
    literal.tensor = &request->tensors[0];
    literal.tensor->name = api_reader_tensor_name(request);
    literal.at = (const char *)request->body + begin;
    literal.end = (const char *)request->body + end;
    if (header_read(&literal))
        return err->status;
    if (!pe_shape_elements(literal.tensor->tensor.shape, literal.tensor->tensor.rank, &elements) ||
        !pe_size_multiply(elements, pe_dtype_info(literal.tensor->tensor.dtype)->size, &size))
        return malformed(err, "has a shape with more elements than can be addressed");
    if (size != request->body_size - end)
        return pe_fail(err, PE_MALFORMED, "",
                       "the npy file has %zu bytes of elements, its shape and dtype need %zu",
                       request->body_size - end, size);
    /* numpy aligns elements to 64 bytes, other writers may not: then they are moved. */
    data += end;
    if (end % pe_dtype_info(literal.tensor->tensor.dtype)->size != 0)
        data = memmove(request->body, data, size);
    literal.tensor->tensor.data = data;
    request->tensors_count = 1;
    return PE_OK;
}

static bool npy_sniff(const unsigned char *bytes, size_t size)
{
    return size >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

const struct api_reader api_reader_npy = {
    .name = "npy",
    .media_type = "application/x-npy",
    .sniff = npy_sniff,
    .read = npy_read,
};
