/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_JSON_H
#define API_MEMORY_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "api/memory/arena.h"
#include "posenc/status.h"
#include "posenc/work.h"

/* Small pieces of a library, such as the values of a JSON tree, in large rooms of one arena. The
 * rooms go back with the arena, at once and whole: no piece is looked at again, so freeing a tree
 * takes no time, and no allocator keeps what it took. One thread at a time. */

enum { API_HEAP_CLASSES = 32 };

struct api_heap {
    struct api_arena *arena;
    unsigned char *at, *end;       /* of the newest room, not handed out yet */
    uint64_t size;                 /* of all rooms, those of large pieces included */
    uint64_t most;                 /* that size may become; 0: no limit but the budget */
    bool is_over;                  /* a piece was refused by `most` */
    void *given[API_HEAP_CLASSES]; /* pieces that were given back, by size */
};

/* A piece aligned to 8, not zeroed. heap NULL: of the system's allocator. NULL: no memory, or more
 * than `most`. */
void *api_heap_take(struct api_heap *heap, size_t size);
/* Takes a piece back. One of a heap is used again by it alone: with heap NULL nothing happens to
 * it. */
void api_heap_give(struct api_heap *heap, void *piece);
/* Does the piece go with an arena, given back or not? */
bool api_heap_frees(void *piece);

/* jansson 2.14 drops a digit, and reports no error, where memory for its text buffer is short. So
 * it allocates by functions of ours, which note every failure for the thread that it happens in. */

/* Has jansson allocate by these functions. To be called before any other use of jansson; later
 * calls do nothing. */
void api_json_memory_init(void);

/* Forgets the failures of this thread; tells whether one has happened since. */
void api_json_memory_reset(void);
bool api_json_memory_failed(void);

/* Whose heap the pieces come from that jansson takes on this thread: the arena's, in which they
 * stay until it is freed; arena NULL: the system's allocator. Owners may be nested, as blocks of a
 * pool are. */
struct api_json_owner {
    struct api_heap heap;
    struct api_json_owner *outer;
};

void api_json_own(struct api_json_owner *owner, struct api_arena *arena);
void api_json_disown(struct api_json_owner *owner);

/* Lets the heap of this thread grow by so many bytes and no more; 0: as the budget has room. */
void api_json_memory_limit(uint64_t more);
/* Did the limit refuse a piece since it was set? */
bool api_json_memory_is_over(void);

/* Calls parse(context), which a failed allocation ends at once, with NULL: jansson 2.14 reads
 * beyond the end of its text buffer where that could not grow. So parse must hold nothing but
 * pieces of the heap of this thread; without a heap it goes on, and is to be given short texts. */
json_t *api_json_memory_try(json_t *(*parse)(void *context), void *context);

/* Has the arena drop its reference when it is freed. false: memory is short, or json is NULL, and
 * it was dropped at once. */
bool api_json_keep(struct api_arena *arena, json_t *json);
/* Likewise, of a tree of which nothing is shared: it is not walked where it lies in the heap. */
bool api_json_keep_whole(struct api_arena *arena, json_t *json);

/* Parses JSON text within limits: its tree takes ten times the text and more, and is made by a call
 * that does not come back before the end. */

/* Bytes that the tree of one text may take: the text of a body and a copy of its values by the
 * rules of a config stay below 64 MiB with it. */
#define API_JSON_TREE_MAX (UINT64_C(40) << 20)

/* Text in runs: bytes, *size of them; NULL: the end. */
struct api_json_text {
    const char *(*next)(void *context, size_t *size);
    void *context;
    uint64_t values_max;  /* values that it may have, lists and objects included; 0: any number */
    struct pe_work *work; /* parsing ends with it; NULL: it does not */
};

/* Duplicate keys are refused. NULL: *fault has the place, or err is set already: PE_TOO_LARGE for
 * too many values or a tree too large, PE_OUT_OF_MEMORY, or PE_INTERNAL where the work ended.
 * `what` names the text in an error: "the body". */
json_t *api_json_parse_runs(const struct api_json_text *text, const char *what, json_error_t *fault,
                            struct pe_error *err);

/* Parses a text of one run, which is no request's. NULL: err is set, PE_MALFORMED with line and
 * column among the others. where: the place that the error names, such as "pointer:". */
json_t *api_json_parse(const char *text, size_t size, const char *where, struct pe_error *err);
/* Likewise, of a request. */
json_t *api_json_parse_limited(const char *text, size_t size, const char *where,
                               uint64_t values_max, struct pe_work *work, struct pe_error *err);

#endif
