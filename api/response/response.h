/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_RESPONSE_H
#define API_RESPONSE_RESPONSE_H

/* Header fields of responses, and bodies that are complete at once. */

#include <jansson.h>

#include "api/api.h"

void api_response_header(struct api_response *response, const char *name, const char *value);
/* The value of a header field; NULL: it is not set. */
const char *api_response_field(const struct api_response *response, const char *name);

/* Sets Server-Timing. */
void api_response_timing(struct api_response *response, double queue_ms, double parse_ms,
                         double compute_ms);

/* The body of a report: JSON, compact, with a newline; steals `json`. PE_OUT_OF_MEMORY. */
enum pe_status api_respond_json(struct api_response *response, json_t *json, bool has_points,
                                struct pe_error *err);
/* A body of bytes that live as long as the response. */
void api_respond_bytes(struct api_response *response, const char *media_type, const void *bytes,
                       size_t size);

extern const char api_accept_post[]; /* the media types of request bodies, for Accept-Post */

/* ---- CORS ------------------------------------------------------------------------------------ */

/* Sets Vary and the fields for origins that may read the response and its timing. */
void api_cors_headers(const struct api *api, struct api_response *response, const char *origin);
/* Removes the fields for other origins from an answer that depends on stored tables. */
void api_cors_withhold(struct api_response *response);
/* Removes the fields that a probe does not need: Vary, the exposed headers, the timing. */
void api_cors_drop(struct api_response *response);
void api_cors_preflight(const struct api *api, struct api_response *response, const char *methods);

#endif
