/* SPDX-License-Identifier: MIT */
#include "api/formats/formats.h"
#include "api/plots/plots.h"

/* Pictures as text. A picture is drawn before its response begins, so that what it cannot show is
 * refused; HEAD draws none. */

/* There are no blocks: all of it stands before them. */
static size_t block_fill(struct api_response *response, size_t block, unsigned char *out)
{
    (void)response, (void)block, (void)out;
    return 0;
}

static enum api_status render(struct api_request *request, struct api_result *result,
                              struct api_response *response, struct api_error *err)
{
    struct api_text text = {0};
    size_t size;
    char *svg;

    response->body = (struct api_body){.kind = API_PLAN,
                                       .size = API_SIZE_UNKNOWN,
                                       .block_size = 1,
                                       .fill = block_fill,
                                       .cheap = true};
    if (response->head_only)
        return API_OK;
    if (api_plot_draw(request, result, &text, err)) {
        api_text_free(&text);
        return api_failed(err);
    }
    size = text.size;
    svg = api_text_take(&text, request->arena);
    if (!svg)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the picture");
    response->body.prefix = (unsigned char *)svg;
    response->body.prefix_size = size;
    return API_OK;
}

const struct api_format api_format_svg = {
    .name = "svg",
    .media_type = "image/svg+xml",
    .extension = "svg",
    .policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
    .work = 25,
    .check = api_plot_check,
    .render = render,
};
