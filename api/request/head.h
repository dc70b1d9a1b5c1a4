/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_HEAD_H
#define API_REQUEST_HEAD_H

/* The head of a request: header fields, the lists in them, and the query. */

#include "api/request/request.h"

/* The value of a header field, name in any case; NULL: absent. The first of several. */
const char *api_head_field(const struct api_head *head, const char *name);
/* Is there more than one field of this name? A list may be split so (RFC 9110, 5.3). */
bool api_head_repeats(const struct api_head *head, const char *name);

/* An element of a list (RFC 9110, 5.6.1): a name, and perhaps parameters up to the end. */
struct api_element {
    const char *begin, *end;
    size_t name_size;
};

/* Takes the next element off a list, which starts as the value of the field. Empty elements are
 * skipped, and a comma in a quoted string is part of it. False: no more; *element is not set. */
bool api_list_next(const char **list, struct api_element *element);

/* The q of an element, in thousandths; 1000 without one. */
int api_quality_of(const struct api_element *element);

/* Is it application/json, text/json or anything+json? */
bool api_type_is_json(const char *media_type);

/* Does a media type ("": none) leave open what the bytes are? */
bool api_type_is_open(const char *type);

/* Decodes %41 in place (and '+' as a blank); PE_MALFORMED for %zz and %00. */
enum pe_status api_percent_decode(char *text, bool plus, const char *where, struct pe_error *err);

/* The most parameters of a query: more than twice as many as any route has. */
enum { API_QUERY_MAX = 256 };

/* Sets request->query from "a=1&b=2"; text is modified, and has to live as long as the request.
 * PE_URI_TOO_LONG: more than API_QUERY_MAX; none is stored then. */
enum pe_status api_query_parse(struct api_request *request, char *text, struct pe_error *err);

#endif
