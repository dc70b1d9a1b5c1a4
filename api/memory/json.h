/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_JSON_H
#define API_MEMORY_JSON_H

/* The memory of jansson's values, and parsing within limits. */

#include <jansson.h>
#include <stdbool.h>

#include "api/memory/arena.h"
#include "posenc/status.h"
#include "posenc/work.h"

/* ---- jansson's allocator --------------------------------------------------------------------- */

/* jansson 2.14 drops a digit, and reports no error, if its text buffer cannot grow. So it allocates
 * by functions of ours, which note failures per thread. */

/* Sets jansson's allocator, before any other use of jansson; later calls do nothing. */
void api_json_memory_init(void);

/* Clears the failures of this thread; has one happened since? */
void api_json_memory_reset(void);
bool api_json_memory_failed(void);

enum { API_HEAP_CLASSES = 32 };

/* The values of a JSON tree, in large buffers of one arena. The buffers are freed with the arena,
 * so that freeing a tree takes no time. One thread at a time. */
struct api_heap {
    struct api_arena *arena;
    unsigned char *at, *end;       /* the unused part of the newest buffer */
    uint64_t size;                 /* of all buffers, those of large pieces included */
    uint64_t most;                 /* limit of size; 0: none but the budget */
    bool is_over;                  /* a piece was refused by `most` */
    void *freed[API_HEAP_CLASSES]; /* freed pieces, by size */
};

/* The heap of the values that jansson allocates on this thread: they live as long as the arena;
 * arena NULL: the system's allocator. Owners may be nested, as blocks of a pool are. */
struct api_json_owner {
    struct api_heap heap;
    struct api_json_owner *outer;
};

void api_json_own(struct api_json_owner *owner, struct api_arena *arena);
void api_json_disown(struct api_json_owner *owner);

/* Drops a reference when the arena is freed. false: out of memory, or json is NULL, and it was
 * dropped at once. */
bool api_json_keep(struct api_arena *arena, json_t *json);
/* The same for a tree that shares no values: one in an arena is not even visited. */
bool api_json_keep_whole(struct api_arena *arena, json_t *json);

/* ---- parsing --------------------------------------------------------------------------------- */

/* The most bytes of the tree of one text: the text of a body and a copy of its values by the rules
 * of a config stay below 64 MiB with it. */
#define API_JSON_TREE_MAX (UINT64_C(40) << 20)

/* A text in runs: `next` returns the bytes and sets *size; NULL: the end. */
struct api_json_text {
    const char *(*next)(void *context, size_t *size);
    void *context;
    uint64_t values_max;  /* the most values, lists and objects included; 0: any number */
    struct pe_work *work; /* parsing ends with it; may be NULL */
};

/* Duplicate keys are refused. NULL: *fault has the place; or err is set: PE_TOO_LARGE for too many
 * values or too large a tree, PE_OUT_OF_MEMORY, PE_INTERNAL if the work ended. `what` names the
 * text in errors: "the body". */
json_t *api_json_parse_runs(const struct api_json_text *text, const char *what, json_error_t *fault,
                            struct pe_error *err);

/* Parses a text in one run that belongs to no request. NULL: err is set; PE_MALFORMED with line and
 * column. where: of the error, such as "pointer:". */
json_t *api_json_parse(const char *text, size_t size, const char *where, struct pe_error *err);
/* The same for a text of a request. */
json_t *api_json_parse_limited(const char *text, size_t size, const char *where,
                               uint64_t values_max, struct pe_work *work, struct pe_error *err);

#endif
