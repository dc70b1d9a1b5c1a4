/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_QUERY_TEXT_H
#define API_ROUTES_QUERY_TEXT_H

/* Parameters as the query of a URL, for links and for Content-Location. */

#include "api/numbers/text.h"
#include "api/request/request.h"
#include "posenc/parameters.h"

/* Adds "?name=value" or, behind a query, "&name=value" of each parameter that was given. False: one
 * of them is text with a character that would have to be encoded, or the URL has more bytes than
 * `most` and is not whole. */
bool api_query_text_put(struct api_text *url, const struct pe_params *params, size_t most);

/* Adds one more. */
void api_query_text_pair(struct api_text *url, const char *name, const char *value);

/* The URL whose GET is answered with the same body: a path, parameters that were given, dtype and
 * the format of the request. NULL: api_query_text_put was false. Fails where memory is short. */
enum pe_status api_query_text_url(struct api_request *request, const char *path,
                                  const struct pe_params *const *sets, size_t count,
                                  enum pe_dtype dtype, const char **out, struct pe_error *err);

#endif
