/* SPDX-License-Identifier: MIT */
#include "api/formats/json_array.h"

#include <string.h>

#include "api/numbers/scan.h"
#include "posenc/work.h"

/* The work is looked at every so many elements, about a millisecond. */
enum { TURN_ELEMENTS = 1 << 16, MOVED_MIN = 256 << 10 };

/* Nanoseconds of a character of a number that the quick way does not decide, beside those that are
 * counted for each character of a body. */
#define SLOW_WORK 4

/* Walks an array once. All elements stand at one depth (`leaf`), and all arrays of one depth have
 * one length. */
struct walk {
    struct api_json_array *array;
    struct api_json_run run;
    struct api_json_scratch *scratch;
    enum pe_dtype dtype;
    unsigned depth, leaf;          /* leaf 0: not known yet */
    size_t count[PE_RANK_MAX + 1]; /* so far, in the open array of a depth */
    size_t shape[PE_RANK_MAX + 1];
    bool shape_known[PE_RANK_MAX + 1];
};

static enum pe_status fail(struct walk *walk, enum pe_status status, const char *fault)
{
    walk->array->fault = fault;
    return status;
}

static enum pe_status ragged(struct walk *walk)
{
    return fail(walk, PE_SHAPE_MISMATCH, "the arrays of one level differ in length or depth");
}

/* ---- memory --------------------------------------------------------------------------------- */

void api_json_scratch_drop(struct api_json_scratch *scratch)
{
    api_arena_room_drop(scratch->arena, scratch->bytes);
    scratch->bytes = NULL;
    scratch->size = 0;
}

/* At first for numbers of eight characters, which most are not shorter than; then twice that, but
 * never more than the rest of the text can hold at two characters each. */
static size_t room_wanted(const struct walk *walk, size_t element_size)
{
    const size_t text_size = (size_t)(walk->run.end - walk->run.at);
    const size_t first = text_size / 8 + 8, most = walk->run.count + text_size / 2 + 1;
    const size_t count = walk->run.count == 0 ? first : 2 * walk->run.count;

    return (count < most ? count : most) * element_size;
}

static enum pe_status room_make(struct walk *walk)
{
    struct api_json_scratch *scratch = walk->scratch;
    const size_t element_size = pe_dtype_info(walk->dtype)->size;
    const size_t used = walk->run.count * element_size, size = room_wanted(walk, element_size);
    unsigned char *bytes = scratch->bytes;

    if (scratch->size < used + element_size) {
        bytes = bytes ? api_arena_room_resize(scratch->arena, bytes, used, size)
                      : api_arena_room(scratch->arena, size);
        if (!bytes)
            return fail(walk, PE_OUT_OF_MEMORY, "no memory for the elements");
        scratch->bytes = bytes;
        scratch->size = size;
    }
    walk->run.out = bytes + used;
    walk->run.room = scratch->size / element_size - walk->run.count;
    if (walk->run.room > TURN_ELEMENTS)
        walk->run.room = TURN_ELEMENTS;
    return PE_OK;
}

/* Many elements stay where they are, because a copy would take as much again; of few the room is
 * used for the next array. */
static unsigned char *elements_take(struct api_json_scratch *scratch, size_t used)
{
    unsigned char *bytes = scratch->bytes;

    if (used < MOVED_MIN) {
        bytes = api_arena_room(scratch->arena, used > 0 ? used : 1);
        return bytes && used > 0 ? memcpy(bytes, scratch->bytes, used) : bytes;
    }
    bytes = api_arena_room_resize(scratch->arena, bytes, used, used);
    *scratch = (struct api_json_scratch){.arena = scratch->arena};
    return bytes;
}

/* Counts the work of slow numbers, whose share of a text shows only where they are read. */
static enum pe_status slow_count(struct walk *walk)
{
    struct pe_work *work = api_arena_work(walk->scratch->arena);
    const size_t slow = walk->run.slow;

    walk->run.slow = 0;
    if (pe_work_spend(work, (uint64_t)slow * SLOW_WORK, &(struct pe_error){0}) == PE_OK)
        return PE_OK;
    return pe_work_ended(work)
               ? fail(walk, PE_INTERNAL, "the work ended")
               : fail(walk, PE_TOO_LARGE,
                      "to read these numbers takes more work than --work-max allows; write them "
                      "with fewer digits, or send fewer at once");
}

/* ---- the walk ------------------------------------------------------------------------------- */

static enum pe_status elements_read(struct walk *walk)
{
    const size_t before = walk->run.count;
    enum pe_status status = PE_OK;

    if (!walk->leaf)
        walk->leaf = walk->depth;
    if (walk->depth != walk->leaf)
        return ragged(walk);
    if (walk->run.room == 0)
        status = pe_work_ended(api_arena_work(walk->scratch->arena))
                     ? fail(walk, PE_INTERNAL, "the work ended")
                     : room_make(walk);
    if (status == PE_OK)
        status = api_json_run_read(&walk->run, walk->dtype);
    if (status == PE_OK && walk->run.slow > 0)
        status = slow_count(walk);
    walk->count[walk->depth] += walk->run.count - before;
    return status && !walk->array->fault ? fail(walk, status, walk->run.fault) : status;
}

static enum pe_status array_open(struct walk *walk)
{
    if (walk->depth == PE_RANK_MAX)
        return fail(walk, PE_INVALID, "more than 8 dimensions");
    if (walk->leaf && walk->depth == walk->leaf)
        return ragged(walk);
    walk->run.at++;
    walk->count[++walk->depth] = 0;
    return PE_OK;
}

static enum pe_status array_close(struct walk *walk)
{
    const unsigned depth = walk->depth;

    walk->run.at++;
    if (!walk->leaf)
        walk->leaf = depth; /* [] or [[], []]: nothing stands below */
    if (walk->shape_known[depth] && walk->shape[depth] != walk->count[depth])
        return ragged(walk);
    walk->shape[depth] = walk->count[depth];
    walk->shape_known[depth] = true;
    walk->depth--;
    walk->count[walk->depth]++;
    return PE_OK;
}

static enum pe_status walk_run(struct walk *walk)
{
    bool value_next = true, may_close = false;
    enum pe_status status;

    do {
        walk->run.at = api_json_space_skip(walk->run.at, walk->run.end);
        if (walk->run.at == walk->run.end)
            return fail(walk, PE_MALFORMED, "the array is not closed");
        const unsigned char next = *walk->run.at;
        if (next == ',' && !value_next) {
            walk->run.at++;
            value_next = true;
            may_close = false;
            continue;
        }
        const bool opens = value_next && next == '[';
        if (opens)
            status = array_open(walk);
        else if (next == ']' && (may_close || !value_next))
            status = array_close(walk);
        else if (value_next)
            status = elements_read(walk);
        else
            status = fail(walk, PE_MALFORMED, "a comma or a bracket is expected");
        if (status)
            return status;
        value_next = may_close = opens;
    } while (walk->depth > 0);
    return PE_OK;
}

enum pe_status api_json_array_read(struct api_json_array *array, const unsigned char *text,
                                   size_t begin, size_t size, enum pe_dtype dtype,
                                   struct api_json_scratch *scratch)
{
    struct walk walk = {.array = array,
                        .run = {.at = text + begin, .end = text + size},
                        .scratch = scratch,
                        .dtype = dtype};
    struct pe_tensor *tensor = &array->tensor;
    enum pe_status status;

    *array = (struct api_json_array){.tensor.dtype = dtype};
    status = walk_run(&walk);
    array->end = (size_t)(walk.run.at - text);
    if (status)
        return status;
    const size_t used = walk.run.count * pe_dtype_info(dtype)->size;
    array->elements = walk.run.count;
    tensor->rank = walk.leaf;
    memcpy(tensor->shape, walk.shape + 1, walk.leaf * sizeof(*tensor->shape));
    tensor->data = elements_take(scratch, used);
    return tensor->data ? PE_OK : fail(&walk, PE_OUT_OF_MEMORY, "no memory for the elements");
}
