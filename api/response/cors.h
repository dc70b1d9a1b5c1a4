/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_CORS_H
#define API_RESPONSE_CORS_H

#include "api/api.h"

/* The media types that bodies are read from, for Accept-Post. */
extern const char api_accept_post[];

/* Sets the fields that say which origins may read the response and its timing. */
void api_cors_headers(const struct api *api, struct api_response *response, const char *origin);
/* Takes the same fields off again, for an answer that depends on stored tables. */
void api_cors_withhold(struct api_response *response);
/* Takes off again what a probe has no use for: Vary, the exposed headers, and who may see the
 * timing. */
void api_cors_drop(struct api_response *response);
void api_cors_preflight(const struct api *api, struct api_response *response, const char *methods);

#endif
