/* SPDX-License-Identifier: MIT */
#include "api/formats/formats.h"
#include "api/formats/picture.h"

static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    struct api_canvas canvas = api_svg_canvas(request->arena);

    return api_picture_render(request, result, response, &canvas, err);
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
