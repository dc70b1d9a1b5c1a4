/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_JSON_MEMORY_H
#define API_MEMORY_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

#include "api/memory/arena.h"
#include "api/status.h"
#include "posenc/work.h"

/* jansson 2.14 drops a digit, and reports no error, where memory for its text buffer is short. So
 * it allocates by functions of ours, which note every failure for the thread that it happens in. */

/* Has jansson allocate by these functions. To be called before any other use of jansson; later
 * calls do nothing. */
void api_json_memory_init(void);

/* Forgets the failures of this thread; tells whether one has happened since. */
void api_json_memory_reset(void);
bool api_json_memory_failed(void);

/* Whose work the pieces are charged to that jansson takes on this thread. Owners may be nested, as
 * blocks of a pool are. Pieces that outlive their owner stay charged until the work is freed; a
 * charge that is refused is a failure. */
struct api_json_owner {
    struct pe_work *work;
    size_t granted, used; /* bytes: charged, and of those held by pieces */
    size_t most;          /* that were ever used */
    struct api_json_owner *outer;
};

void api_json_own(struct api_json_owner *owner, struct pe_work *work);
void api_json_disown(struct api_json_owner *owner);

/* Has the arena drop its reference when it is freed. false: memory is short, or json is NULL, and
 * it was dropped at once. */
bool api_json_keep(struct api_arena *arena, json_t *json);

/* Like json_loadb with duplicate keys refused, and safe where memory is short: NULL then, and
 * api_json_memory_failed tells. */
json_t *api_json_load(const char *text, size_t size, json_error_t *error);

/* Parses JSON text with duplicate keys refused. NULL: err has API_MALFORMED, with line and column,
 * or API_OUT_OF_MEMORY. where: the place that the error names, such as "pointer:". */
json_t *api_json_parse(const char *text, size_t size, const char *where, struct api_error *err);

#endif
