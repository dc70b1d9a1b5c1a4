/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_HEAD_H
#define API_REQUEST_HEAD_H

/* The head of a request: its header fields, the lists in them, and the query. */

#include "api/request/request.h"

/* The value of a header field, name in any case; NULL: absent. Of several the first. */
const char *api_head_field(const struct api_head *head, const char *name);
/* Is there more than one field of this name? Of a list they are one (RFC 9110, 5.3). */
bool api_head_repeats(const struct api_head *head, const char *name);

/* An element of a list (RFC 9110, 5.6.1): a name, and perhaps parameters up to the end. */
struct api_element {
    const char *begin, *end;
    size_t name_size;
};

/* Takes the next element, at first from the value of the field. Empty elements are left out, and a
 * comma in a quoted string is part of it. False: there is none, and *element is not set. */
bool api_list_next(const char **list, struct api_element *element);

/* The q of an element, in thousandths; without one 1000. */
int api_quality_of(const struct api_element *element);

/* Is it application/json, text/json or anything+json? */
bool api_type_is_json(const char *media_type);

/* Is a media type ("": none) no statement of what the bytes are? */
bool api_type_is_open(const char *type);

/* Decodes %41 in place (and '+' as a blank); PE_MALFORMED for %zz and %00. */
enum pe_status api_percent_decode(char *text, bool plus, const char *where, struct pe_error *err);
/* Parameters that a query may have: more than twice as many as any route knows. */
enum { API_QUERY_MAX = 256 };

/* Sets request->query from "a=1&b=2"; text is changed and kept. PE_URI_TOO_LONG for more than
 * API_QUERY_MAX, before any is stored. */
enum pe_status api_query_parse(struct api_request *request, char *text, struct pe_error *err);

#endif
