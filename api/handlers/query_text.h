/* SPDX-License-Identifier: MIT */
#ifndef API_HANDLERS_QUERY_TEXT_H
#define API_HANDLERS_QUERY_TEXT_H

/* Parameters as the query of a URL, for links and for Content-Location. */

#include "api/numbers/text.h"
#include "posenc/parameters.h"

/* Adds "?name=value" or, behind a query, "&name=value" of each parameter that was given. False: one
 * of them is text with a character that would have to be encoded, or the URL has more bytes than
 * `most` and is not whole. */
bool api_query_text_put(struct api_text *url, const struct pe_params *params, size_t most);

/* Adds one more. */
void api_query_text_pair(struct api_text *url, const char *name, const char *value);

#endif
