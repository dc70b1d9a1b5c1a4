/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/codings/coding.h"
#include "api/pipeline/stages.h"

/* A coded body is decoded into the intake's buffer as it arrives, but never more than STEP_MAX a
 * call, because a loop calls, and few bytes can become very many. The rest waits as it came (the
 * backlog) and is decoded at the end, on a worker. */
enum { STEP_MAX = 32 << 10, BACKLOG_ROOM = 64 << 10, GROWTH_MAX = 16 };

/* Work that has ended is seen after so many bytes of either side: some milliseconds. */
enum { TURN_MAX = 1 << 20 };

struct api_decoding {
    const struct api_coding *coding;
    void *decoder;
    unsigned char *backlog;
    size_t backlog_begin, backlog_end, backlog_room;
};

static void decoding_release(void *what)
{
    struct api_decoding *decoding = what;

    if (decoding->decoder)
        decoding->coding->decode_close(decoding->decoder);
    decoding->decoder = NULL;
}

/* Tells memory that comes free soon from memory that never will. */
static enum pe_status no_room(const struct api_intake *intake, struct pe_error *err)
{
    if (api_arena_over_budget(intake->request.arena))
        return pe_fail(err, PE_TOO_LARGE, "",
                       "to decode this body takes more memory than the service may take, %llu "
                       "bytes, the value of --memory-budget",
                       (unsigned long long)intake->request.settings->limits.memory_budget);
    return pe_fail(err, PE_BUSY, "",
                   "other requests hold the memory to decode this body; try again soon");
}

enum pe_status api_decode_begin(struct api_intake *intake, struct pe_error *err)
{
    struct api_arena *arena = intake->request.arena;
    struct api_decoding *decoding = api_arena_take(arena, sizeof(*decoding));

    if (!decoding)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    decoding->coding = intake->body_coding;
    decoding->decoder = decoding->coding->decode_open(intake->request.work);
    if (!decoding->decoder && api_arena_refused(arena))
        return no_room(intake, err);
    if (!decoding->decoder || !api_arena_defer(arena, decoding_release, decoding))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to decode the body");
    intake->decoding = decoding;
    return PE_OK;
}

/* Counts bytes that a decoder has read or written. */
static enum pe_status decoding_count(struct api_intake *intake, size_t bytes, struct pe_error *err)
{
    const double work = (double)bytes * intake->decoding->coding->decode_work;

    if (pe_work_spend(intake->request.work, (uint64_t)work, err) != PE_TOO_LARGE)
        return err->status;
    *err = (struct pe_error){0};
    return pe_fail(err, PE_TOO_LARGE, "",
                   "to decode this body takes more work than --work-max allows; send less at "
                   "once");
}

/* A turn of decoding, of which input may be left over for the next one. */
static enum pe_status decode_once(struct api_intake *intake, struct api_flow *flow,
                                  struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;
    const size_t later = flow->in_size > TURN_MAX ? flow->in_size - TURN_MAX : 0;
    const size_t before = flow->in_size + flow->out_size;

    if (pe_work_check(intake->request.work, err))
        return err->status;
    flow->in_size -= later;
    decoding->coding->decode(decoding->decoder, flow, err);
    flow->in_size += later;
    if (!err->status)
        decoding_count(intake, before - flow->in_size - flow->out_size, err);
    if (err->status != PE_OUT_OF_MEMORY || !api_arena_refused(intake->request.arena))
        return err->status;
    *err = (struct pe_error){0};
    return no_room(intake, err);
}

/* Room for what the whole will be if the rest is like what has been taken: rooms that grow by that
 * are few, and those before the last have together hardly more than half of the limit. */
static size_t room_wanted(const struct api_intake *intake, const struct api_flow *flow)
{
    const uint64_t taken = intake->received - flow->in_size;
    const uint64_t total =
        intake->expected == API_LENGTH_UNKNOWN ? intake->received : intake->expected;
    double wanted = (double)intake->size * ((double)total / (double)(taken > 0 ? taken : 1));

    if (wanted > (double)intake->size * GROWTH_MAX)
        wanted = (double)intake->size * GROWTH_MAX;
    if (wanted >= (double)intake->limit / 2)
        return (size_t)intake->limit;
    /* A byte more at least, where next to nothing is left of the body. */
    return (size_t)wanted > intake->size ? (size_t)wanted : intake->size + 1;
}

/* Decodes until `most` bytes are made or nothing is left. One byte over the limit is made beside
 * the buffer and shows that there is more. */
static enum pe_status run(struct api_intake *intake, struct api_flow *flow, uint64_t most,
                          struct pe_error *err)
{
    unsigned char beyond;

    do {
        const bool full = intake->size == intake->limit;
        size_t room = 1, made;
        if (!full && intake->size == intake->room &&
            api_intake_room(intake, room_wanted(intake, flow), err))
            return err->status;
        if (!full)
            room = intake->room - intake->size < most ? intake->room - intake->size : most;
        room = room < TURN_MAX ? room : TURN_MAX;
        flow->out = full ? &beyond : intake->buffer + intake->size;
        flow->out_size = room;
        if (decode_once(intake, flow, err))
            return err->status;
        made = room - flow->out_size;
        if (full && made > 0)
            return api_intake_over_limit(intake, err);
        intake->size += made;
        most -= made;
    } while (most > 0 && (flow->in_size > 0 || flow->out_size == 0));
    return PE_OK;
}

/* ---- the backlog ---------------------------------------------------------------------------- */

/* Room for so many bytes more. Bytes that wait move to the front only when half of the room is free
 * afterwards, so that each moves a few times at most. */
static enum pe_status backlog_room_make(struct api_intake *intake, size_t size,
                                        struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;
    struct api_arena *arena = intake->request.arena;
    const size_t waiting = decoding->backlog_end - decoding->backlog_begin;
    size_t room = decoding->backlog_room ? decoding->backlog_room : BACKLOG_ROOM;
    unsigned char *backlog = decoding->backlog;

    while (room / 2 < waiting + size)
        room *= 2;
    if (room > decoding->backlog_room)
        backlog = api_arena_room(arena, room);
    if (!backlog)
        return no_room(intake, err);
    if (waiting > 0)
        memmove(backlog, decoding->backlog + decoding->backlog_begin, waiting);
    if (backlog != decoding->backlog)
        api_arena_room_drop(arena, decoding->backlog);
    decoding->backlog = backlog;
    decoding->backlog_room = room;
    decoding->backlog_begin = 0;
    decoding->backlog_end = waiting;
    return PE_OK;
}

static enum pe_status backlog_add(struct api_intake *intake, const unsigned char *bytes,
                                  size_t size, struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;

    if (decoding->backlog_room - decoding->backlog_end < size &&
        backlog_room_make(intake, size, err))
        return err->status;
    memcpy(decoding->backlog + decoding->backlog_end, bytes, size);
    decoding->backlog_end += size;
    return PE_OK;
}

static enum pe_status backlog_run(struct api_intake *intake, uint64_t most, struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;
    static const unsigned char nothing[1];
    const unsigned char *backlog = decoding->backlog ? decoding->backlog : nothing;
    struct api_flow flow = {.in = backlog + decoding->backlog_begin,
                            .in_size = decoding->backlog_end - decoding->backlog_begin};

    if (run(intake, &flow, most, err))
        return err->status;
    decoding->backlog_begin = decoding->backlog_end - flow.in_size;
    if (flow.in_size == 0)
        decoding->backlog_begin = decoding->backlog_end = 0;
    return PE_OK;
}

enum pe_status api_decode_feed(struct api_intake *intake, const void *bytes, size_t size,
                               struct pe_error *err)
{
    struct api_flow flow = {.in = bytes, .in_size = size};

    if (intake->decoding->backlog_end > 0) {
        if (backlog_add(intake, bytes, size, err))
            return err->status;
        return backlog_run(intake, STEP_MAX, err);
    }
    if (run(intake, &flow, STEP_MAX, err))
        return err->status;
    return flow.in_size > 0 ? backlog_add(intake, flow.in, flow.in_size, err) : PE_OK;
}

enum pe_status api_decode_end(struct api_intake *intake, struct pe_error *err)
{
    struct api_decoding *decoding = intake->decoding;

    if (intake->received == 0)
        return PE_OK; /* no body at all, so none that is coded */
    if (backlog_run(intake, UINT64_MAX, err))
        return err->status;
    if (!decoding->coding->decode_ended(decoding->decoder))
        return pe_fail(err, PE_MALFORMED, "header:Content-Encoding",
                       "the body ended in the middle of its %s", decoding->coding->name);
    api_arena_room_drop(intake->request.arena, decoding->backlog);
    decoding->backlog = NULL;
    decoding_release(decoding);
    return PE_OK;
}
