/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_QUERY_H
#define API_REQUEST_QUERY_H

#include "api/request/request.h"

/* Decodes %41 in place (and '+' as a blank); PE_MALFORMED for %zz and %00. */
enum pe_status api_percent_decode(char *text, bool plus, const char *where, struct pe_error *err);
/* Parameters that a query may have: more than twice as many as any route knows. */
enum { API_QUERY_MAX = 256 };

/* Sets request->query from "a=1&b=2"; text is changed and kept. PE_URI_TOO_LONG for more than
 * API_QUERY_MAX, before any is stored. */
enum pe_status api_query_parse(struct api_request *request, char *text, struct pe_error *err);

#endif
