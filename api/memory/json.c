/* SPDX-License-Identifier: MIT */
#include "api/memory/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/system.h"

/* ---- the heap of an arena -------------------------------------------------------------------- */

/* Buffers double in size, so that a small tree takes little memory and a large one few buffers. A
 * large piece has a buffer of its own, which is freed with the piece. */
enum { UNIT = 8, BUFFER_MIN = 8 << 10, BUFFER_MAX = 4 << 20, LARGE = 64 << 10, LARGE_FRONT = 64 };

/* Before each piece: its size, a multiple of UNIT, or that of its buffer; 0: of the system. */
struct front {
    uint64_t size;
};

static struct front *front_of(void *piece)
{
    return (struct front *)((unsigned char *)piece - sizeof(struct front));
}

static unsigned char *buffer_take(struct api_heap *heap, size_t size)
{
    const bool is_over =
        heap->most > 0 && (heap->size > heap->most || size > heap->most - heap->size);
    unsigned char *buffer = is_over ? NULL : api_arena_buffer(heap->arena, size);

    heap->is_over = heap->is_over || is_over;
    heap->size += buffer ? size : 0;
    return buffer;
}

static void *large_take(struct api_heap *heap, size_t size)
{
    unsigned char *buffer = buffer_take(heap, size + LARGE_FRONT);

    if (!buffer)
        return NULL;
    front_of(buffer + LARGE_FRONT)->size = size + LARGE_FRONT;
    return buffer + LARGE_FRONT;
}

/* The class of a size, in units; pieces beyond the last class are not reused. */
static size_t class_of(uint64_t size)
{
    return size / UNIT - 1;
}

static bool buffer_add(struct api_heap *heap)
{
    size_t size = heap->size < BUFFER_MIN   ? BUFFER_MIN
                  : heap->size > BUFFER_MAX ? BUFFER_MAX
                                            : (size_t)heap->size;
    if (heap->most > heap->size && size > heap->most - heap->size &&
        heap->most - heap->size > LARGE)
        size = (size_t)(heap->most - heap->size);
    heap->at = buffer_take(heap, size);
    heap->end = heap->at ? heap->at + size : NULL;
    return heap->at;
}

/* A piece of the system's allocator. */
static void *plain_take(size_t size)
{
    struct front *front = malloc(sizeof(*front) + size);

    if (!front)
        return NULL;
    front->size = 0;
    return front + 1;
}

/* A piece aligned to 8, not zeroed. heap NULL: of the system's allocator. NULL: no memory, or more
 * than `most`. */
static void *heap_take(struct api_heap *heap, size_t size)
{
    struct front *front;

    if (size > SIZE_MAX / 2)
        return NULL;
    if (!heap)
        return plain_take(size);
    size = (size + UNIT - (size > 0)) / UNIT * UNIT;
    if (size >= LARGE)
        return large_take(heap, size);
    const size_t class = class_of(size);
    if (class < API_HEAP_CLASSES && heap->freed[class]) {
        void *piece = heap->freed[class];
        heap->freed[class] = *(void **)piece;
        return piece;
    }
    while ((size_t)(heap->end - heap->at) < sizeof(*front) + size)
        if (!buffer_add(heap))
            return NULL;
    front = (struct front *)heap->at;
    front->size = size;
    heap->at += sizeof(*front) + size;
    return front + 1;
}

/* Frees a piece, to be reused by its heap. heap NULL: a piece of a heap stays until the arena is
 * freed. */
static void heap_give(struct api_heap *heap, void *piece)
{
    const uint64_t size = front_of(piece)->size;

    if (size == 0)
        free(front_of(piece));
    else if (!heap)
        return;
    else if (size >= LARGE) {
        heap->size -= size;
        api_arena_buffer_drop(heap->arena, (unsigned char *)piece - LARGE_FRONT);
    } else if (class_of(size) < API_HEAP_CLASSES) {
        *(void **)piece = heap->freed[class_of(size)];
        heap->freed[class_of(size)] = piece;
    }
}

/* Is the piece freed with an arena? */
static bool is_in_heap(void *piece)
{
    return front_of(piece)->size > 0;
}

/* ---- jansson's allocator --------------------------------------------------------------------- */

static _Thread_local bool failed;
static _Thread_local struct api_json_owner *current;

static struct api_heap *current_heap(void)
{
    return current && current->heap.arena ? &current->heap : NULL;
}

static void *take(size_t size)
{
    void *piece = heap_take(current_heap(), size);

    if (piece)
        return piece;
    failed = true;
    api_attempt_leave();
    return NULL;
}

static void give(void *piece)
{
    if (piece)
        heap_give(current_heap(), piece);
}

void api_json_own(struct api_json_owner *owner, struct api_arena *arena)
{
    *owner = (struct api_json_owner){.heap = {.arena = arena}, .outer = current};
    current = owner;
}

void api_json_disown(struct api_json_owner *owner)
{
    current = owner->outer;
}

static void set_once(void)
{
    json_set_alloc_funcs(take, give);
}

void api_json_memory_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, set_once);
}

void api_json_memory_reset(void)
{
    failed = false;
}

bool api_json_memory_failed(void)
{
    return failed;
}

/* Limits the growth of this thread's heap to `more` bytes; 0: no limit. */
static void heap_limit(uint64_t more)
{
    struct api_heap *heap = current_heap();

    if (!heap)
        return;
    heap->most = more > 0 ? heap->size + more : 0;
    heap->is_over = false;
}

/* Has the limit refused a piece? */
static bool heap_is_over(void)
{
    return current_heap() && current_heap()->is_over;
}

struct parsing {
    json_t *(*parse)(void *context);
    void *context;
    json_t *json;
};

static void parse_run(void *context)
{
    struct parsing *parsing = context;

    parsing->json = parsing->parse(parsing->context);
}

/* Calls parse(context), which a failed allocation aborts, with NULL: jansson 2.14 reads beyond the
 * end of its text buffer if that could not grow. So parse must hold only pieces of this thread's
 * heap; without a heap it is not aborted, and must get short texts. */
static json_t *parse_try(json_t *(*parse)(void *context), void *context)
{
    struct parsing parsing = {parse, context, NULL};

    if (!current_heap())
        return parse(context);
    return api_attempt(parse_run, &parsing) ? parsing.json : NULL;
}

static void json_drop(void *json)
{
    json_decref(json);
}

bool api_json_keep(struct api_arena *arena, json_t *json)
{
    return json && api_arena_defer(arena, json_drop, json);
}

bool api_json_keep_whole(struct api_arena *arena, json_t *json)
{
    if ((json_is_object(json) || json_is_array(json)) && is_in_heap(json))
        return true;
    return api_json_keep(arena, json);
}

/* ---- parsing within limits ------------------------------------------------------------------- */

/* Estimated nanoseconds to parse and free a value. */
enum { VALUE_COST = 100 };

/* The text as it is passed to jansson, a kilobyte at a time. */
struct feeding {
    const struct api_json_text *text;
    const char *at;
    size_t left;
    uint64_t values;
    bool in_string, escaped, opened; /* opened: the last non-blank character was a bracket */
    bool has_ended, has_too_many;
    json_error_t *fault;
};

/* Counts values: one for each comma, and one for each list or object that is not empty. */
static void values_count(struct feeding *feeding, const char *at, size_t size)
{
    for (const char *end = at + size; at < end; at++) {
        const char c = *at;
        if (feeding->in_string) {
            feeding->in_string = feeding->escaped || c != '"';
            feeding->escaped = !feeding->escaped && c == '\\';
            continue;
        }
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
            continue;
        feeding->values += c == ',' || (feeding->opened && c != ']' && c != '}');
        feeding->opened = c == '[' || c == '{';
        feeding->in_string = c == '"';
    }
}

/* SIZE_MAX ends the text for jansson; the fault that it finds then is ignored. */
static size_t feed(void *buffer, size_t capacity, void *context)
{
    struct feeding *feeding = context;
    size_t size;

    feeding->has_ended = pe_work_ended(feeding->text->work);
    if (feeding->left == 0)
        feeding->at = feeding->text->next(feeding->text->context, &feeding->left);
    if (feeding->has_ended || !feeding->at)
        return feeding->has_ended ? SIZE_MAX : 0;
    size = feeding->left < capacity ? feeding->left : capacity;
    values_count(feeding, feeding->at, size);
    feeding->has_too_many =
        feeding->text->values_max > 0 && feeding->values > feeding->text->values_max;
    if (feeding->has_too_many)
        return SIZE_MAX;
    memcpy(buffer, feeding->at, size);
    feeding->at += size;
    feeding->left -= size;
    return size;
}

static void refuse(const struct feeding *feeding, const char *what, struct pe_error *err)
{
    if (feeding->has_ended)
        pe_fail(err, PE_INTERNAL, "", "the work ended while %s was read", what);
    else if (feeding->has_too_many)
        pe_fail(err, PE_TOO_LARGE, "",
                "%s has more than %llu values outside of lists of numbers, the value of "
                "--json-values-max; send lists of finite numbers alone, or npy or safetensors",
                what, (unsigned long long)feeding->text->values_max);
    else if (heap_is_over())
        pe_fail(err, PE_TOO_LARGE, "",
                "%s takes more than %llu MiB outside of lists of numbers; send npy or safetensors",
                what, (unsigned long long)(API_JSON_TREE_MAX >> 20));
    else if (api_json_memory_failed())
        pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to read %s", what);
}

static json_t *parse(void *context)
{
    struct feeding *feeding = context;

    return json_load_callback(feed, feeding, JSON_REJECT_DUPLICATES, feeding->fault);
}

json_t *api_json_parse_runs(const struct api_json_text *text, const char *what, json_error_t *fault,
                            struct pe_error *err)
{
    struct feeding feeding = {.text = text, .fault = fault};
    json_t *json;

    api_json_memory_init();
    heap_limit(API_JSON_TREE_MAX);
    json = parse_try(parse, &feeding);
    refuse(&feeding, what, err);
    if (!err->status)
        pe_work_spend(text->work, feeding.values * VALUE_COST, err);
    if (err->status == PE_TOO_LARGE)
        api_json_memory_reset(); /* refused by a limit, not by a shortage */
    heap_limit(0);
    if (err->status) {
        json_decref(json);
        json = NULL;
    }
    return json;
}

/* ---- a text of one run ----------------------------------------------------------------------- */

struct run {
    const char *at;
    size_t size;
};

static const char *run_next(void *context, size_t *size)
{
    struct run *run = context;
    const char *at = run->size > 0 ? run->at : NULL;

    *size = run->size;
    run->size = 0;
    return at;
}

json_t *api_json_parse_limited(const char *bytes, size_t size, const char *where,
                               uint64_t values_max, struct pe_work *work, struct pe_error *err)
{
    struct run run = {bytes, size};
    const struct api_json_text text = {run_next, &run, values_max, work};
    json_error_t fault;
    json_t *json = api_json_parse_runs(&text, "the JSON text", &fault, err);

    if (!json && !err->status)
        pe_fail(err, PE_MALFORMED, where, "the JSON text cannot be read at line %d, column %d: %s",
                fault.line, fault.column, fault.text);
    return json;
}

json_t *api_json_parse(const char *bytes, size_t size, const char *where, struct pe_error *err)
{
    api_json_memory_reset();
    return api_json_parse_limited(bytes, size, where, 0, NULL, err);
}
