/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_ACCESS_H
#define API_STORE_ACCESS_H

#include "api/api.h"

/* Who may store and delete: whoever shows a token (Authorization: Bearer), of which a file has one
 * a line. Tokens are kept and compared as their SHA-256, and never told to anyone. */
struct api_access;

/* file NULL: no token is right. API_INVALID: it cannot be read. */
enum api_status api_access_new(struct api_access **access, const char *file, struct api_error *err);
void api_access_free(struct api_access *access);

/* Reads the file again; on a failure the tokens stay as they were. */
enum api_status api_access_reload(struct api_access *access, struct api_error *err);

/* field: of Authorization; NULL: there is none. */
bool api_access_allows(struct api_access *access, const char *field);

#endif
