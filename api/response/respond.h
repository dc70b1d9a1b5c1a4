/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_RESPOND_H
#define API_RESPONSE_RESPOND_H

/* Answers that are whole at once, and their headers. */

#include <jansson.h>

#include "api/api.h"

/* The body of a report: JSON, compact with a newline; steals `json`. PE_OUT_OF_MEMORY. */
enum pe_status api_respond_json(struct api_response *response, json_t *json, struct pe_error *err);
/* Bytes that outlive the response or lies in its arena. */
void api_respond_bytes(struct api_response *response, const char *media_type, const void *bytes,
                       size_t size);
void api_response_header(struct api_response *response, const char *name, const char *value);
/* Server-Timing: what took how long. */
void api_response_timing(struct api_response *response, double queue_ms, double parse_ms,
                         double compute_ms);
/* The value of a header that was set; NULL: it was not. */
void api_response_header_drop(struct api_response *response, const char *name);
const char *api_response_field(const struct api_response *response, const char *name);

#endif
