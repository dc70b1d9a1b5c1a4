/* SPDX-License-Identifier: MIT */
#include "api/formats/formats.h"
#include "api/memory/arena.h"
#include "api/pictures/plot.h"

/* A picture has no blocks: the prefix is all of it. */
static size_t block_fill(struct api_response *response, size_t block, unsigned char *out)
{
    (void)response, (void)block, (void)out;
    return 0;
}

/* Draws the picture before its response begins, so that what cannot be drawn is refused. HEAD draws
 * none. */
static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    struct api_canvas canvas = request->format->picture == API_PIXELS
                                   ? api_pixel_canvas(request->arena, result->plot->scale)
                                   : api_svg_canvas(request->arena);
    const void *const before = api_arena_buffer_newest(request->arena);
    size_t size;
    char *bytes;

    response->body = (struct api_body){.kind = API_PLAN,
                                       .size = API_SIZE_UNKNOWN,
                                       .block_size = 1,
                                       .fill = block_fill,
                                       .cheap = true};
    if (response->head_only)
        return PE_OK;
    if (api_plot_draw(request, result, &canvas, err)) {
        api_text_free(&canvas.out);
        return err->status;
    }
    size = canvas.out.size;
    bytes = api_text_take(&canvas.out, request->arena);
    if (!bytes)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the picture");
    /* The sheet of pixels and the numbers, many times as large as the picture. */
    api_arena_buffers_drop(request->arena, before);
    response->body.prefix = (unsigned char *)bytes;
    response->body.prefix_size = size;
    return PE_OK;
}

const struct api_format api_format_svg = {
    .name = "svg",
    .media_type = "image/svg+xml",
    .extension = "svg",
    .policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    .work = 25,
    .picture = API_VECTORS,
    .check = api_plot_check,
    .render = render,
};

const struct api_format api_format_png = {
    .name = "png",
    .media_type = "image/png",
    .extension = "png",
    .work = 25,
    .packed = true,
    .picture = API_PIXELS,
    .check = api_plot_check,
    .render = render,
};
