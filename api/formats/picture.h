/* SPDX-License-Identifier: MIT */
#ifndef API_FORMATS_PICTURE_H
#define API_FORMATS_PICTURE_H

#include "api/pictures/plots.h"

/* Code that formats of pictures share. A picture is drawn before its response begins, so that what
 * it cannot show is refused; HEAD draws none. The body is all that was drawn on the canvas. */
enum pe_status api_picture_render(struct api_request *request, struct api_result *result,
                                  struct api_response *response, struct api_canvas *canvas,
                                  struct pe_error *err);

#endif
