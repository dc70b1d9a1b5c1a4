/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "server/server.h"

/* A body that is made while it is sent: a ring of slots, each with a block that is made on the
 * pool, waits to be sent, or is being sent. MHD's reader takes from the oldest; if that one is not
 * ready, the connection is suspended until its post arrives. The stream outlives the connection
 * while a block is on the pool.
 *
 * While the connection is suspended one byte of the earlier blocks is withheld, to be sent as a
 * probe: only the answer to a byte distinguishes a client that left from one that shut down its
 * side (docs/internals/http-library.md). */

enum {
    SLOTS = 4,
    REPLY_BUFFER = 256 << 10,      /* MHD's buffer, from which it sends */
    BUFFER_MAX = 2 * REPLY_BUFFER, /* the same if it has to hold a prefix and a block */
};

struct slot {
    struct srv_post post; /* first: a post is its slot */
    struct pe_job job;
    struct srv_stream *stream;
    size_t block, size; /* size: bytes made; SIZE_MAX: failed */
    enum { SLOT_FREE, SLOT_WORKING, SLOT_READY } state;
    unsigned char *bytes;
};

struct srv_stream {
    struct srv_loop *loop;
    struct srv_request *request; /* NULL: it is over */
    struct api_response *response;
    struct slot slots[SLOTS];
    size_t ring;       /* slots in use: one if the loop makes the blocks */
    size_t next_make;  /* the next block to start */
    size_t next_send;  /* the next block to send */
    size_t working;    /* blocks on the pool */
    size_t last;       /* after the last block that is sent */
    size_t block_sent; /* bytes of next_send, skipped or sent */
    uint64_t prefix_sent;
    uint64_t left; /* bytes to be sent */
    unsigned char tail[API_TAIL_MAX];
    size_t tail_size, tail_sent;
    bool tail_made;
    bool sleeping;
    bool has_withheld, probing; /* probing: the withheld byte is sent now */
    char withheld;
};

static void stream_free(struct srv_stream *stream)
{
    api_response_free(stream->response);
    free(stream);
}

/* ---- making blocks --------------------------------------------------------------------------- */

static void slot_run(struct pe_job *job, size_t block)
{
    struct slot *slot = (struct slot *)((char *)job - offsetof(struct slot, job));
    struct api_response *response = slot->stream->response;

    (void)block;
    slot->size = response->body.fill(response, slot->block, slot->bytes);
}

static void slot_done(struct pe_job *job)
{
    struct slot *slot = (struct slot *)((char *)job - offsetof(struct slot, job));

    srv_loop_post(slot->stream->loop, &slot->post);
}

static void stream_wake(struct srv_stream *stream)
{
    stream->sleeping = stream->request->sleeping = false;
    srv_loop_resume(stream->loop, stream->request->connection);
}

static void slot_ready(struct srv_post *post)
{
    struct slot *slot = (struct slot *)post;
    struct srv_stream *stream = slot->stream;

    slot->state = SLOT_READY;
    stream->working--;
    stream->loop->blocks--;
    if (!stream->request) {
        if (stream->working == 0)
            stream_free(stream);
    } else if (slot->block == stream->next_send) {
        if (stream->sleeping)
            stream_wake(stream);
        else if (stream->request->state == REQUEST_WORKING)
            stream->request->post.ready(&stream->request->post);
    }
}

/* Makes a block of a cheap body, on the loop. */
static void slot_fill(struct srv_stream *stream, struct slot *slot)
{
    slot->block = stream->next_make++;
    slot->size = stream->response->body.fill(stream->response, slot->block, slot->bytes);
    slot->state = SLOT_READY;
}

static void slot_start(struct srv_stream *stream, struct slot *slot)
{
    slot->block = stream->next_make++;
    slot->state = SLOT_WORKING;
    slot->size = SIZE_MAX; /* until its job has run */
    slot->job = (struct pe_job){
        .run = slot_run, .done = slot_done, .blocks = 1, .brief = stream->request->brief};
    stream->working++;
    stream->loop->blocks++;
    pe_pool_submit(stream->loop->srv->pool, &slot->job);
}

/* Starts a block in every free slot; blocks of a cheap body are made when they are read. */
static void blocks_start(struct srv_stream *stream)
{
    if (stream->response->body.cheap)
        return;
    while (stream->next_make < stream->last && stream->next_make < stream->next_send + stream->ring)
        slot_start(stream, &stream->slots[stream->next_make % stream->ring]);
}

/* ---- reading by MHD -------------------------------------------------------------------------- */

static size_t prefix_read(struct srv_stream *stream, char *buffer, size_t max)
{
    const struct api_body *body = &stream->response->body;
    const size_t left = body->prefix_size - (size_t)stream->prefix_sent;
    const size_t size = left < max ? left : max;

    memcpy(buffer, body->prefix + stream->prefix_sent, size);
    stream->prefix_sent += size;
    return size;
}

static size_t block_read(struct srv_stream *stream, struct slot *slot, char *buffer, size_t max)
{
    const size_t left = slot->size - stream->block_sent;
    const size_t size = left < max ? left : max;

    memcpy(buffer, slot->bytes + stream->block_sent, size);
    stream->block_sent += size;
    if (stream->block_sent == slot->size) {
        slot->state = SLOT_FREE;
        stream->block_sent = 0;
        stream->next_send++;
        blocks_start(stream);
    }
    return size;
}

/* The bytes after the last block. */
static size_t tail_read(struct srv_stream *stream, char *buffer, size_t max)
{
    struct api_response *response = stream->response;
    size_t size;

    if (response->body.tail && !stream->tail_made)
        stream->tail_size = response->body.tail(response, stream->tail);
    stream->tail_made = true;
    size = stream->tail_size - stream->tail_sent;
    size = size < max ? size : max;
    memcpy(buffer, stream->tail + stream->tail_sent, size);
    stream->tail_sent += size;
    return size;
}

/* Makes the next block of a cheap body in MHD's buffer. */
static size_t block_make(struct srv_stream *stream, char *buffer)
{
    struct api_response *response = stream->response;

    stream->next_make = stream->next_send + 1;
    return response->body.fill(response, stream->next_send++, (unsigned char *)buffer);
}

/* Blocks store aligned elements, and a prefix of text leaves the buffer unaligned. */
static bool is_aligned(const char *at)
{
    return (uintptr_t)at % sizeof(uint64_t) == 0;
}

/* Reads all that is ready; SIZE_MAX: a block failed. A block of a cheap body is made in MHD's
 * buffer if it fits there completely and aligned, else in the slot. */
static size_t parts_read(struct srv_stream *stream, char *buffer, size_t max)
{
    const struct api_body *body = &stream->response->body;
    size_t done = 0;

    if (stream->prefix_sent < body->prefix_size)
        done = prefix_read(stream, buffer, max);
    while (done < max && stream->next_send < stream->last) {
        struct slot *slot = &stream->slots[stream->next_send % stream->ring];
        if (body->cheap && stream->next_make == stream->next_send) {
            const bool fits = max - done >= body->block_size && stream->block_sent == 0;
            if (fits && is_aligned(buffer + done)) {
                const size_t size = block_make(stream, buffer + done);
                if (size == SIZE_MAX)
                    return SIZE_MAX;
                done += size;
                continue;
            }
            if (!fits && done > 0 && max < stream->left)
                break;
            slot_fill(stream, slot);
        }
        if (slot->state != SLOT_READY)
            break;
        if (slot->size == SIZE_MAX)
            return SIZE_MAX;
        done += block_read(stream, slot, buffer + done, max - done);
    }
    if (stream->next_send == stream->last)
        done += tail_read(stream, buffer + done, max - done);
    return done;
}

/* Does the reader wait for a block? */
static bool is_behind(const struct srv_stream *stream)
{
    return !stream->response->body.cheap && stream->next_send < stream->last &&
           stream->slots[stream->next_send % stream->ring].state != SLOT_READY;
}

/* Reads the withheld byte and all that is ready after it, and withholds the last byte if the next
 * block is not ready. */
static size_t bytes_read(struct srv_stream *stream, char *buffer, size_t max)
{
    const size_t before = stream->has_withheld && max > 0;
    size_t done;

    if (before)
        buffer[0] = stream->withheld;
    done = parts_read(stream, buffer + before, max - before);
    if (done == SIZE_MAX)
        return SIZE_MAX;
    done += before;
    stream->has_withheld = done > 0 && done < stream->left && is_behind(stream) && !stream->probing;
    stream->probing = false;
    if (stream->has_withheld)
        stream->withheld = buffer[--done];
    return done;
}

static ssize_t stream_read(void *cls, uint64_t position, char *buffer, size_t max)
{
    struct srv_stream *stream = cls;
    size_t done;

    (void)position;
    if (stream->left < max)
        max = (size_t)stream->left;
    blocks_start(stream);
    done = bytes_read(stream, buffer, max);
    if (done == SIZE_MAX)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    stream->left -= done;
    stream->request->outcome.size += done;
    if (done > 0)
        return (ssize_t)done;
    if (stream->next_send == stream->last || stream->left == 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    stream->sleeping = stream->request->sleeping = true;
    srv_loop_suspend(stream->loop, stream->request->connection);
    return 0;
}

void srv_stream_probe(struct srv_stream *stream)
{
    if (!stream->has_withheld || !stream->sleeping)
        return;
    stream->probing = true;
    stream_wake(stream);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void srv_stream_cancel(struct srv_stream *stream)
{
    for (size_t i = 0; i < SLOTS; i++)
        if (stream->slots[i].state == SLOT_WORKING)
            pe_pool_cancel(stream->loop->srv->pool, &stream->slots[i].job);
}

void srv_stream_end(struct srv_stream *stream)
{
    if (stream->working > 0)
        api_response_cancel(stream->response);
    stream->request = NULL; /* it may be freed already */
    srv_stream_cancel(stream);
    if (stream->working == 0)
        stream_free(stream);
}

/* MHD has finished with the response, sent or not. */
static void response_done(void *cls)
{
    srv_stream_end(cls);
}

bool srv_is_streamed(const struct api_response *response)
{
    return !response->head_only && response->body.kind != API_BYTES && !response->body.buffer;
}

bool srv_stream_failed(const struct srv_stream *stream)
{
    return stream->slots[stream->next_send % stream->ring].size == SIZE_MAX;
}

/* Starts at the first byte of the range. */
static void range_set(struct srv_stream *stream)
{
    const struct api_extent extent = api_body_extent(&stream->response->body);

    stream->left = stream->response->body.size; /* unknown: never reached */
    stream->prefix_sent = extent.prefix_skip;
    stream->next_make = stream->next_send = extent.first;
    stream->block_sent = extent.first_skip;
    stream->last = extent.last;
}

bool srv_stream_begin(struct srv_request *request)
{
    struct api_response *response = request->response;
    const size_t slot_size = (response->body.block_size + 63) / 64 * 64;
    const size_t ring = response->body.cheap ? 1 : SLOTS;
    unsigned char *memory = api_response_buffer(response, ring * slot_size + 64);
    struct srv_stream *stream = memory ? calloc(1, sizeof(*stream)) : NULL;

    if (!stream)
        return false;
    stream->loop = request->loop;
    stream->request = request;
    stream->response = request->streamed = response;
    stream->ring = ring;
    range_set(stream);
    for (size_t i = 0; i < ring; i++) {
        stream->slots[i].post.ready = slot_ready;
        stream->slots[i].stream = stream;
        stream->slots[i].bytes = memory + i * slot_size;
    }
    request->stream = stream;
    blocks_start(stream);
    return stream->working > 0;
}

/* If the loop makes the blocks, MHD's buffer holds the prefix and one block. */
static size_t buffer_size(const struct api_body *body)
{
    const size_t block = body->prefix_size + body->block_size;
    const size_t size =
        body->cheap && block > REPLY_BUFFER && block <= BUFFER_MAX ? block : REPLY_BUFFER;

    return body->size > 0 && body->size < size ? (size_t)body->size : size;
}

struct MHD_Response *srv_stream_response(struct srv_request *request)
{
    const uint64_t size = request->response->body.size;
    const size_t buffer = buffer_size(&request->response->body);
    struct MHD_Response *reply = NULL;

    if (!request->stream)
        srv_stream_begin(request);
    if (request->stream && api_response_count(request->response, buffer))
        reply =
            MHD_create_response_from_callback(size == API_SIZE_UNKNOWN ? MHD_SIZE_UNKNOWN : size,
                                              buffer, stream_read, request->stream, response_done);
    if (reply)
        request->outcome.size = 0;
    return reply;
}
