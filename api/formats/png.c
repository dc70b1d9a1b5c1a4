/* SPDX-License-Identifier: MIT */
#include "api/formats/formats.h"
#include "api/formats/picture.h"

static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    struct api_canvas canvas = api_pixel_canvas(request->arena, result->plot->scale);

    return api_picture_render(request, result, response, &canvas, err);
}

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
