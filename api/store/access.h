/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_ACCESS_H
#define API_STORE_ACCESS_H

#include "api/api.h"

/* The tokens that allow a request to store and delete tables. A file lists them, one a line, in
 * visible ASCII (33 to 126), so that each can be the whole of a field's value; blanks around a
 * token, empty lines and lines that begin with '#' are left out. A request shows one
 * (Authorization: Bearer). They are kept and compared as their SHA-256, and are
 * in no answer and no log. Calls are thread-safe. */
struct api_access;

/* Reads the tokens of `file`; NULL: there are none, so nothing is allowed. PE_INVALID: it cannot
 * be read, or a line of it is no token, and *access is to be freed all the same. */
enum pe_status api_access_new(struct api_access **access, const char *file, struct pe_error *err);
void api_access_free(struct api_access *access);

/* Reads the file again; on a failure the tokens stay as they were. */
enum pe_status api_access_reload(struct api_access *access, struct pe_error *err);

/* Does the value of a request's Authorization (NULL: it has none) show a token of the list? */
bool api_access_allows(struct api_access *access, const char *field);

#endif
