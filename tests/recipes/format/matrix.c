/* SPDX-License-Identifier: MIT */
#include "api/formats/formats.h"
#include "api/response/blocks.h"

/* Rows and columns, eight bytes each and little-endian, then the elements. */

static enum pe_status check(const struct api_result *result, struct pe_error *err)
{
    if (result->outputs_count == 1 && result->outputs[0].rank == 2)
        return PE_OK;
    return pe_fail(err, PE_NOT_ACCEPTABLE, "", "matrix holds one tensor of two dimensions");
}

static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    uint64_t *head = api_arena_take(request->arena, 2 * sizeof(*head));

    if (!head)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    head[0] = result->outputs[0].rows;
    head[1] = result->outputs[0].row_elements;
    return api_blocks_render(request, result, head, 2 * sizeof(*head), response, err);
}

const struct api_format api_format_matrix = {
    .name = "matrix",
    .media_type = "application/x-matrix",
    .extension = "mat",
    .binary = true,
    .is_file = true,
    .check = check,
    .render = render,
};
