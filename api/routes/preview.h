/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_PREVIEW_H
#define API_ROUTES_PREVIEW_H

#include "api/numbers/text.h"
#include "api/request/request.h"

/* Adds what programs that show links look for: a title, and the absolute URL of a plot of what the
 * link shows, if the Host of the request is a name. */
void api_preview_put(struct api_text *page, struct api_request *request);

#endif
