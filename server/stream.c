/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "server/server.h"

/* A body on its way: a ring of slots, each a block that is being made on the pool, waits to be
 * sent, or is being sent from where it lies. Where the oldest is not ready the connection sleeps
 * until its post arrives. The stream outlives the connection while a slot is still on the pool.
 *
 * While the connection sleeps one byte of the blocks before is withheld: only by sending something
 * can a client that shut down its side be told from one that left. */

enum { SLOTS = 4 };

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
    size_t next_make, next_send, working; /* blocks: to begin, to send; under way */
    size_t last;                          /* the block behind the last one that is sent */
    size_t skip;                          /* bytes of the next block that are not sent */
    uint64_t prefix_skip;
    uint64_t left; /* bytes to be sent; UINT64_MAX: nobody knows */
    bool chunked;  /* each block is a chunk, with its size before it */
    bool sending;  /* the next to send is */
    bool begun, ended;
    unsigned char tail[API_TAIL_MAX];
    char size_line[24];
    char withheld[2]; /* one is sent while the other takes its place */
    bool has_withheld;
    unsigned char withheld_at;
};

static void stream_free(struct srv_stream *stream)
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

static void stream_wake(struct srv_stream *stream)
{
    stream->request->sleeping = false;
    stream->request->connection->idle_since_ms = uv_now(&stream->loop->uv);
    srv_send(stream->request->connection);
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
        if (stream->request->sleeping)
            stream_wake(stream);
        else if (stream->request->state == REQUEST_WORKING)
            stream->request->post.ready(&stream->request->post);
    }
}

static void slot_start(struct srv_stream *stream, struct slot *slot)
{
    const struct api_body *body = &stream->response->body;

    slot->block = stream->next_make++;
    if (body->cheap) {
        slot->size = body->fill(stream->response, slot->block, slot->bytes);
        slot->state = SLOT_READY;
        return;
    }
    slot->state = SLOT_WORKING;
    slot->size = SIZE_MAX; /* unless its job runs */
    slot->job = (struct pe_job){
        .run = slot_run, .done = slot_done, .blocks = 1, .brief = stream->request->brief};
    stream->working++;
    stream->loop->blocks++;
    pe_pool_submit(stream->loop->srv->pool, &slot->job);
}

/* Keeps every free slot at work; a cheap body is made one block at a time, when it is wanted. */
static void blocks_start(struct srv_stream *stream)
{
    const struct api_body *body = &stream->response->body;
    const size_t ahead = body->cheap ? 1 : SLOTS;

    while (stream->next_make < stream->last && stream->next_make < stream->next_send + ahead)
        slot_start(stream, &stream->slots[stream->next_make % SLOTS]);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

/* The block that was being sent is. */
static void slot_release(struct srv_stream *stream)
{
    if (!stream->sending)
        return;
    stream->sending = false;
    stream->slots[stream->next_send % SLOTS].state = SLOT_FREE;
    stream->skip = 0;
    stream->next_send++;
}

static size_t part_add(struct srv_stream *stream, struct srv_output *output, const void *bytes,
                       size_t size)
{
    size = size < stream->left ? size : (size_t)stream->left;
    if (stream->left != UINT64_MAX)
        stream->left -= size;
    srv_output_add(output, bytes, size);
    return size;
}

/* What comes next of prefix, blocks and tail; how many bytes. */
static size_t body_add(struct srv_stream *stream, struct srv_output *output)
{
    struct api_response *response = stream->response;
    const struct api_body *body = &response->body;
    size_t size = 0;

    if (!stream->begun)
        size += part_add(stream, output, body->prefix + stream->prefix_skip,
                         body->prefix_size - (size_t)stream->prefix_skip);
    stream->begun = true;
    if (stream->next_send < stream->last) {
        const struct slot *slot = &stream->slots[stream->next_send % SLOTS];
        if (slot->state == SLOT_READY) {
            size += part_add(stream, output, slot->bytes + stream->skip, slot->size - stream->skip);
            stream->sending = true;
        }
    }
    stream->ended = stream->left == 0 || stream->next_send + stream->sending >= stream->last;
    if (stream->ended && body->tail)
        size += part_add(stream, output, stream->tail, body->tail(response, stream->tail));
    stream->request->outcome.size += size;
    return size;
}

/* As one chunk, behind which the last one follows where the body ends. */
static void chunk_add(struct srv_stream *stream, struct srv_output *output)
{
    struct srv_output parts = {.count = 0};
    const size_t size = body_add(stream, &parts);

    if (size > 0) {
        srv_output_add(
            output, stream->size_line,
            (size_t)snprintf(stream->size_line, sizeof(stream->size_line), "%zx\r\n", size));
        for (size_t i = 0; i < parts.count; i++)
            srv_output_add(output, parts.parts[i].iov_base, parts.parts[i].iov_len);
        srv_output_add(output, "\r\n", 2);
    }
    if (stream->ended)
        srv_output_add(output, "0\r\n\r\n", 5);
}

/* Does the connection wait for the block behind those that are being sent? */
static bool is_behind(const struct srv_stream *stream)
{
    const size_t next = stream->next_send + stream->sending;

    return !stream->ended && !stream->response->body.cheap &&
           stream->slots[next % SLOTS].state != SLOT_READY;
}

/* The last byte stays here for now. */
static void byte_withhold(struct srv_stream *stream, struct srv_output *output)
{
    struct iovec *part = &output->parts[output->count - 1];

    stream->withheld_at ^= 1;
    stream->withheld[stream->withheld_at] = ((const char *)part->iov_base)[--part->iov_len];
    stream->has_withheld = true;
    output->count -= part->iov_len == 0;
}

enum srv_more srv_stream_next(struct srv_stream *stream, struct srv_output *output)
{
    const size_t before = output->count;
    const struct slot *slot;

    slot_release(stream);
    if (stream->ended)
        return SRV_END;
    blocks_start(stream);
    slot = &stream->slots[stream->next_send % SLOTS];
    if (stream->next_send < stream->last && slot->state == SLOT_READY && slot->size == SIZE_MAX)
        return SRV_FAILED;
    if (stream->begun && stream->next_send < stream->last && slot->state != SLOT_READY) {
        stream->request->sleeping = true;
        return SRV_SLEEP;
    }
    if (stream->has_withheld)
        srv_output_add(output, &stream->withheld[stream->withheld_at], 1);
    stream->has_withheld = false;
    stream->chunked ? chunk_add(stream, output) : (void)body_add(stream, output);
    if (output->count > before && is_behind(stream))
        byte_withhold(stream, output);
    if (output->count > before)
        return SRV_MORE;
    stream->request->sleeping = !stream->ended;
    return stream->ended ? SRV_END : SRV_SLEEP;
}

bool srv_stream_probe(struct srv_stream *stream)
{
    struct srv_connection *c = stream->request->connection;
    ssize_t sent;

    if (!stream->has_withheld || !stream->request->sleeping)
        return true;
    sent = send(c->fd, &stream->withheld[stream->withheld_at], 1, MSG_NOSIGNAL);
    stream->has_withheld = sent != 1;
    return sent == 1 || errno == EAGAIN || errno == EINTR;
}

/* ---- from the beginning to the end ----------------------------------------------------------- */

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
    stream->request = NULL; /* which may be freed by now */
    srv_stream_cancel(stream);
    if (stream->working == 0)
        stream_free(stream);
}

bool srv_is_streamed(const struct api_response *response)
{
    return !response->head_only && response->body.kind != API_BYTES && !response->body.buffer;
}

bool srv_stream_failed(const struct srv_stream *stream)
{
    return stream->slots[stream->next_send % SLOTS].size == SIZE_MAX;
}

bool srv_stream_waits(const struct srv_stream *stream)
{
    return stream->next_send < stream->last &&
           stream->slots[stream->next_send % SLOTS].state == SLOT_WORKING;
}

/* Begins at the first byte of a range. */
static void range_set(struct srv_stream *stream)
{
    const struct api_extent extent = api_body_extent(&stream->response->body);

    stream->left = stream->response->body.size;
    stream->prefix_skip = extent.prefix_skip;
    stream->next_make = stream->next_send = extent.first;
    stream->skip = extent.first_skip;
    stream->last = extent.last;
}

struct srv_stream *srv_stream_new(struct srv_request *request)
{
    struct api_response *response = request->response;
    const size_t room = (response->body.block_size + 63) / 64 * 64;
    const size_t slots = response->body.cheap ? 1 : SLOTS;
    unsigned char *memory = api_response_room(response, slots * room + 64);
    struct srv_stream *stream = memory ? calloc(1, sizeof(*stream)) : NULL;

    if (!stream)
        return NULL;
    stream->loop = request->loop;
    stream->request = request;
    stream->response = response;
    range_set(stream);
    stream->chunked = stream->left == API_SIZE_UNKNOWN && request->minor;
    for (size_t i = 0; i < SLOTS; i++) {
        stream->slots[i].post.ready = slot_ready;
        stream->slots[i].stream = stream;
        stream->slots[i].bytes = memory + i % slots * room;
    }
    request->stream = stream;
    blocks_start(stream);
    return stream;
}
