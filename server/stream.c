/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "server/server.h"

/* A body on its way: a ring of slots, each a block that is being made on the pool, waits to be
 * sent, or is being sent. MHD's reader takes from the oldest; where that one is not ready the
 * connection sleeps until its post arrives. The stream outlives the connection while a slot is
 * still on the pool. */

enum {
    SLOTS = 4,
    REPLY_BUFFER = 64 << 10, /* MHD's own, from which it sends */
};

struct slot {
    struct srv_post post; /* first: a post is its slot */
    struct pe_job job;
    struct stream *stream;
    size_t block, size; /* size: bytes made; SIZE_MAX: failed */
    enum { SLOT_FREE, SLOT_WORKING, SLOT_READY } state;
    unsigned char *bytes;
};

struct stream {
    struct srv_loop *loop;
    struct srv_request *request; /* NULL: it is over */
    struct api_response *response;
    struct slot slots[SLOTS];
    size_t next_make, next_send,
        working;       /* blocks: the next to begin, the next to send; under way */
    size_t last;       /* the block behind the last one that is sent */
    size_t block_sent; /* of the next to send, skipped or sent */
    uint64_t prefix_sent;
    uint64_t left; /* bytes to be sent */
    unsigned char tail[API_TAIL_MAX];
    size_t tail_size, tail_sent;
    bool tail_made;
    bool sleeping;
};

static void stream_free(struct stream *stream)
{
    api_response_free(stream->response);
    free(stream);
}

/* ---- making blocks ----------------------------------------------------------------------------
 */

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

static void slot_ready(struct srv_post *post)
{
    struct slot *slot = (struct slot *)post;
    struct stream *stream = slot->stream;

    slot->state = SLOT_READY;
    stream->working--;
    stream->loop->blocks--;
    if (!stream->request) {
        if (stream->working == 0)
            stream_free(stream);
    } else if (stream->sleeping && slot->block == stream->next_send) {
        stream->sleeping = stream->request->sleeping = false;
        srv_loop_resume(stream->loop, stream->request->connection);
    }
}

static void slot_start(struct stream *stream, struct slot *slot)
{
    const struct api_body *body = &stream->response->body;

    slot->block = stream->next_make++;
    if (body->cheap) {
        slot->size = body->fill(stream->response, slot->block, slot->bytes);
        slot->state = SLOT_READY;
        return;
    }
    slot->state = SLOT_WORKING;
    slot->job = (struct pe_job){.run = slot_run, .done = slot_done, .blocks = 1};
    stream->working++;
    stream->loop->blocks++;
    pe_pool_submit(stream->loop->srv->pool, &slot->job);
}

/* Keeps every free slot at work; a cheap body is made one block at a time, when it is wanted. */
static void blocks_start(struct stream *stream)
{
    const struct api_body *body = &stream->response->body;
    const size_t ahead = body->cheap ? 1 : SLOTS;

    while (stream->next_make < stream->last && stream->next_make < stream->next_send + ahead)
        slot_start(stream, &stream->slots[stream->next_make % SLOTS]);
}

/* ---- MHD's side -------------------------------------------------------------------------------
 */

static size_t prefix_read(struct stream *stream, char *buffer, size_t max)
{
    const struct api_body *body = &stream->response->body;
    const size_t left = body->prefix_size - (size_t)stream->prefix_sent;
    const size_t size = left < max ? left : max;

    memcpy(buffer, body->prefix + stream->prefix_sent, size);
    stream->prefix_sent += size;
    return size;
}

static size_t block_read(struct stream *stream, struct slot *slot, char *buffer, size_t max)
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

/* The bytes behind the last block. */
static size_t tail_read(struct stream *stream, char *buffer, size_t max)
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

static ssize_t stream_read(void *cls, uint64_t position, char *buffer, size_t max)
{
    struct stream *stream = cls;
    size_t done = 0;

    (void)position;
    if (stream->left < max)
        max = (size_t)stream->left;
    blocks_start(stream);
    if (stream->prefix_sent < stream->response->body.prefix_size)
        done = prefix_read(stream, buffer, max);
    while (done < max && stream->next_send < stream->last) {
        struct slot *slot = &stream->slots[stream->next_send % SLOTS];
        if (slot->state != SLOT_READY)
            break;
        if (slot->size == SIZE_MAX)
            return MHD_CONTENT_READER_END_WITH_ERROR;
        done += block_read(stream, slot, buffer + done, max - done);
    }
    if (stream->next_send == stream->last)
        done += tail_read(stream, buffer + done, max - done);
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

/* MHD is done with the response, sent or not. */
static void stream_end(void *cls)
{
    struct stream *stream = cls;

    if (stream->working > 0)
        api_response_cancel(stream->response);
    stream->request = NULL; /* which may be freed by now */
    for (size_t i = 0; i < SLOTS; i++)
        if (stream->slots[i].state == SLOT_WORKING)
            pe_pool_cancel(stream->loop->srv->pool, &stream->slots[i].job);
    if (stream->working == 0)
        stream_free(stream);
}

/* Begins at the first byte of a range. */
static void range_set(struct stream *stream)
{
    const struct api_extent extent = api_body_extent(&stream->response->body);

    stream->left = stream->response->body.size; /* unknown: never reached */
    stream->prefix_sent = extent.prefix_skip;
    stream->next_make = stream->next_send = extent.first;
    stream->block_sent = extent.first_skip;
    stream->last = extent.last;
}

struct MHD_Response *srv_stream_response(struct srv_request *request, struct api_response *response)
{
    const struct api_body *body = &response->body;
    const size_t room = (body->block_size + 63) / 64 * 64;
    unsigned char *memory = api_response_room(response, SLOTS * room + 64);
    struct stream *stream = memory ? calloc(1, sizeof(*stream)) : NULL;
    struct MHD_Response *reply;

    if (!stream)
        return NULL;
    stream->loop = request->loop;
    stream->request = request;
    stream->response = request->streamed = response;
    range_set(stream);
    for (size_t i = 0; i < SLOTS; i++) {
        stream->slots[i].post.ready = slot_ready;
        stream->slots[i].stream = stream;
        stream->slots[i].bytes = memory + i * room;
    }
    reply = MHD_create_response_from_callback(body->size == API_SIZE_UNKNOWN ? MHD_SIZE_UNKNOWN
                                                                             : body->size,
                                              REPLY_BUFFER, stream_read, stream, stream_end);
    if (!reply) {
        request->streamed = NULL;
        free(stream);
        return NULL;
    }
    request->outcome.size = 0;
    return reply;
}
