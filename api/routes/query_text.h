/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_QUERY_TEXT_H
#define API_ROUTES_QUERY_TEXT_H

/* Parameters as the query of a URL, for links and for Content-Location. */

#include "api/numbers/text.h"
#include "api/request/request.h"
#include "posenc/parameters.h"

/* Adds "?name=value", or "&name=value" after the first, of each given parameter. False: a text is
 * missing, or the URL has more than `most` bytes and is incomplete. */
bool api_query_text_put(struct api_text *url, const struct pe_params *params, size_t most);

/* Adds one parameter. */
void api_query_text_pair(struct api_text *url, const char *name, const char *value);

/* The URL of the same body by GET: a path, given parameters, dtype and the format of the request.
 * NULL: api_query_text_put was false. PE_OUT_OF_MEMORY. */
enum pe_status api_query_text_url(struct api_request *request, const char *path,
                                  const struct pe_params *const *sets, size_t count,
                                  enum pe_dtype dtype, const char **out, struct pe_error *err);

#endif
