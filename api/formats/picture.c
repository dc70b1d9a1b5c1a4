/* SPDX-License-Identifier: MIT */
#include "api/formats/picture.h"

/* There are no blocks: all of it stands before them. */
static size_t block_fill(struct api_response *response, size_t block, unsigned char *out)
{
    (void)response, (void)block, (void)out;
    return 0;
}

enum pe_status api_picture_render(struct api_request *request, struct api_result *result,
                                  struct api_response *response, struct api_canvas *canvas,
                                  struct pe_error *err)
{
    size_t size;
    char *bytes;

    response->body = (struct api_body){.kind = API_PLAN,
                                       .size = API_SIZE_UNKNOWN,
                                       .block_size = 1,
                                       .fill = block_fill,
                                       .cheap = true};
    if (response->head_only)
        return PE_OK;
    if (api_plot_draw(request, result, canvas, err)) {
        api_text_free(&canvas->out);
        return err->status;
    }
    size = canvas->out.size;
    bytes = api_text_take(&canvas->out, request->arena);
    if (!bytes)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
    response->body.prefix = (unsigned char *)bytes;
    response->body.prefix_size = size;
    return PE_OK;
}
