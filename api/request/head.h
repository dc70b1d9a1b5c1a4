/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_HEAD_H
#define API_REQUEST_HEAD_H

/* Header fields and the lists in them. */

#include "api/api.h"

/* The value of a header field, name in any case; NULL: absent. */
const char *api_head_field(const struct api_head *head, const char *name);

/* The q of the parameters [at, end) of a name in a list, in thousandths; without one 1000. */
int api_quality_read(const char *at, const char *end);

/* Is it application/json, text/json or anything+json? */
bool api_type_is_json(const char *media_type);

/* Is a media type ("": none) no statement of what the bytes are? */
bool api_type_is_open(const char *type);

#endif
