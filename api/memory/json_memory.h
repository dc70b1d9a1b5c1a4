/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_JSON_MEMORY_H
#define API_MEMORY_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

#include "api/status.h"

/* jansson 2.14 ignores that its text buffer could not grow and drops a digit: a wrong value and no
 * error. So its memory comes from here, and every failure is remembered by the thread. */

/* Once, before any other use of jansson; again does nothing. */
void api_json_memory_init(void);

/* Forgets failures; then: has any allocation of jansson's failed on this thread since? */
void api_json_memory_reset(void);
bool api_json_memory_failed(void);

/* json_loadb with duplicate keys refused, both of the above, and the failure in words:
 * API_MALFORMED with line and column, API_OUT_OF_MEMORY. where: for the error, such as "pointer:".
 * NULL: failed.
 */
json_t *api_json_parse(const char *text, size_t size, const char *where, struct api_error *err);

#endif
