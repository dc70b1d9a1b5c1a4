/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/formats/formats.h"
#include "api/response/blocks.h"
#include "api/response/respond.h"

/* The headers have one dtype and shape a tensor, separated by ';' where there are several. */
static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    const char *dtypes = "", *shapes = "";

    for (size_t i = 0; i < result->outputs_count && dtypes && shapes; i++) {
        const struct pe_output *output = &result->outputs[i];
        const char *between = i > 0 ? ";" : "";
        size_t shape[PE_RANK_MAX + 1];
        const unsigned rank = api_output_shape(output, shape);

        dtypes = api_arena_print(request->arena, "%s%s%s", dtypes, between,
                                 pe_dtype_info(output->dtype)->name);
        shapes = api_arena_print(request->arena, "%s%s", shapes, between);
        for (unsigned axis = 0; axis < rank && shapes; axis++)
            shapes = api_arena_print(request->arena, "%s%s%zu", shapes, axis > 0 ? "," : "",
                                     shape[axis]);
    }
    if (!dtypes || !shapes)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_response_header(response, "Tensor-Dtype", dtypes);
    api_response_header(response, "Tensor-Shape", shapes);
    return api_blocks_render(request, result, NULL, 0, response, err);
}

const struct api_format api_format_raw = {
    .name = "raw",
    .media_type = "application/octet-stream",
    .extension = "bin",
    .binary = true,
    .is_file = true,
    .render = render,
};
