/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/response/blocks.h"

/* Version 1.0 of https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html: magic, a
 * little-endian length, a Python dict padded with blanks so that the data start at a multiple
 * of 64. */
enum { HEADER_SIZE = 192, PREAMBLE_SIZE = 10, ALIGNMENT = 64 };

/* cos and sin are two halves of one thing and stack; the names of any other set would be lost. */
static bool stacks(const struct api_result *result)
{
    const struct pe_output *a = &result->outputs[0], *b = &result->outputs[1];

    return result->outputs_count == 2 && strncmp(a->name, "cos", 3) == 0 &&
           strncmp(b->name, "sin", 3) == 0 && strcmp(a->name + 3, b->name + 3) == 0 &&
           a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->shape, b->shape, a->rank * sizeof(*a->shape)) == 0;
}

/* "<f4", or "<c8" for pairs of it. NULL: numpy has no such thing. */
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

/* A bias as npy is wanted for itself; a warning says that its slopes are left out. */
static void others_leave(struct api_result *result)
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

    others_leave(result);
    if (result->outputs_count == 2)
        used += (size_t)sprintf(shape, "2, ");
    for (unsigned axis = 0; axis < output->rank; axis++)
        used += (size_t)sprintf(shape + used, "%zu, ", output->shape[axis]);
    /* Python writes (3,) and (3, 4). */
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
