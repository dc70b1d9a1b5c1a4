/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_CORS_H
#define API_RESPONSE_CORS_H

#include "api/api.h"

void api_cors_headers(const struct api *api, struct api_response *response, const char *origin);
/* Takes Vary and Access-Control-Expose-Headers off again. */
void api_cors_drop(struct api_response *response);
void api_cors_preflight(const struct api *api, struct api_response *response, const char *methods);

#endif
