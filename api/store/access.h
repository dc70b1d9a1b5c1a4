/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_ACCESS_H
#define API_STORE_ACCESS_H

#include "api/api.h"

/* The tokens that allow a request (Authorization: Bearer) to store and delete tables. A file lists
 * them, one a line, in visible ASCII (33 to 126); blanks around a token, empty lines and lines that
 * begin with '#' are ignored. Only their SHA-256 is stored and compared, and they appear in no
 * answer and no log. Calls are thread-safe. */
struct api_access;

/* Reads the tokens of `file`; NULL: there are none, and nothing is allowed. PE_INVALID: it cannot
 * be read, or a line is not a token; *access has to be freed all the same. */
enum pe_status api_access_new(struct api_access **access, const char *file, struct pe_error *err);
void api_access_free(struct api_access *access);

/* Reads the file again; on a failure the tokens stay as they were. */
enum pe_status api_access_reload(struct api_access *access, struct pe_error *err);

/* Does the value of an Authorization field (NULL: none) have a token of the list? */
bool api_access_allows(struct api_access *access, const char *field);

#endif
