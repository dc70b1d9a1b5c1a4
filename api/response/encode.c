/* SPDX-License-Identifier: MIT */
#include "api/response/encode.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "api/memory/arena.h"
#include "api/response/response.h"

/* Streamed text is encoded block by block, each by itself, so that blocks remain pure: in any
 * order, on any thread. With zstd each block is a frame (RFC 8878, 3). With gzip and deflate all
 * are one stream, because many clients read only the first member: each block is deflate data that
 * refers to nothing before it and ends at a byte, and their check sums are combined. The check sum
 * is in the tail, which is made after all blocks, so that no block waits for another. */

/* Shorter text is sent as it is. Encoders use memory after the block that they make, which is in
 * the budget with it. */
enum { WORTH_MIN = 1024, ALIGNMENT = 64 };

struct piece {
    uint64_t size; /* of the text */
    uint32_t sum;
    bool made;
};

struct encoding {
    const struct api_coding *coding;
    struct api_response plain; /* whose body has the blocks of text */
    size_t code_max;           /* bytes of an encoded block; the text is made after it */
    size_t workspace;          /* of the encoder, after the text */
    pthread_mutex_t lock;      /* of the members below */
    struct piece *pieces;
    size_t joined; /* pieces from the first on that are in `sum` and `size` */
    uint32_t sum;
    uint64_t size;
};

static enum pe_status no_memory(struct pe_error *err)
{
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to encode the answer");
}

static size_t round_up(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* ---- complete text -------------------------------------------------------------------------- */

unsigned char *api_encode_text(struct api_arena *arena, const struct api_coding *coding,
                               const void *bytes, size_t *size)
{
    const size_t piece_max = coding->piece_max(*size) + API_CODING_ENDS_MAX;
    const size_t workspace = coding->workspace(*size);
    const size_t code_max = round_up(2 * API_CODING_ENDS_MAX + piece_max);
    unsigned char *most = api_arena_buffer(arena, code_max + workspace), *exact;
    size_t at = most && coding->head ? coding->head(most) : 0;
    const size_t made =
        most ? coding->piece(bytes, *size, most + at, piece_max, most + code_max, workspace)
             : SIZE_MAX;

    if (made == SIZE_MAX) {
        api_arena_buffer_drop(arena, most);
        return NULL;
    }
    at += made;
    if (coding->tail)
        at += coding->tail(most + at, coding->sum(bytes, *size), *size);
    exact = api_arena_buffer(arena, at);
    if (exact)
        memcpy(exact, most, at);
    api_arena_buffer_drop(arena, most);
    *size = at;
    return exact;
}

static enum pe_status plain_refused(const struct api_request *request, struct pe_error *err)
{
    if (request->format && (request->format->binary || request->format->packed))
        return pe_fail(err, PE_NOT_ACCEPTABLE, "header:Accept-Encoding",
                       "%s is sent as it is, and identity is excluded",
                       request->format->media_type);
    return pe_fail(err, PE_NOT_ACCEPTABLE, "header:Accept-Encoding",
                   "the answer can be %s, and all of them are excluded", api_codings_text);
}

enum pe_status api_encode_begin(const struct api_request *request, struct api_response *response,
                                bool *encodes, struct pe_error *err)
{
    struct api_body *body = &response->body;
    size_t size = (size_t)body->size;
    unsigned char *encoded = NULL;

    *encodes = false;
    if (response->status != 200 && response->status != 304)
        return PE_OK;
    if (!request->response_coding)
        return request->plain_refused ? plain_refused(request, err) : PE_OK;
    if (body->kind == API_BYTES && body->size < WORTH_MIN && !request->plain_refused)
        return PE_OK;
    if (body->kind == API_BYTES) {
        if (pe_work_spend(request->work,
                          (uint64_t)((double)size * request->response_coding->encode_cost), err))
            return err->status;
        encoded = api_encode_text(response->arena, request->response_coding, body->bytes, &size);
        /* Without memory the text is sent uncompressed: metrics are needed most then.
         */
        if (!encoded)
            return request->plain_refused ? no_memory(err) : PE_OK;
        body->bytes = encoded;
        body->size = size;
    }
    api_response_header(response, "Content-Encoding", request->response_coding->name);
    *encodes = true;
    return PE_OK;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* Joins the check sums in order. A block may be made again, with the same sum. */
static void piece_note(struct encoding *encoding, size_t block, uint32_t sum, size_t size)
{
    struct piece *at;

    pthread_mutex_lock(&encoding->lock);
    encoding->pieces[block] = (struct piece){size, sum, true};
    while (encoding->joined < encoding->plain.body.blocks &&
           (at = &encoding->pieces[encoding->joined])->made) {
        encoding->sum = encoding->coding->sum_combine(encoding->sum, at->sum, at->size);
        encoding->size += at->size;
        encoding->joined++;
    }
    pthread_mutex_unlock(&encoding->lock);
}

static size_t piece_fill(struct api_response *response, size_t block, unsigned char *out)
{
    struct encoding *encoding = response->body.state;
    const struct api_coding *coding = encoding->coding;
    unsigned char *text = out + encoding->code_max;
    const size_t size = encoding->plain.body.fill(&encoding->plain, block, text);

    if (size == SIZE_MAX)
        return SIZE_MAX;
    if (coding->tail)
        piece_note(encoding, block, coding->sum(text, size), size);
    return coding->piece(text, size, out, encoding->code_max,
                         text + round_up(encoding->plain.body.block_size), encoding->workspace);
}

static size_t tail_make(struct api_response *response, unsigned char *out)
{
    struct encoding *encoding = response->body.state;

    assert(encoding->joined == encoding->plain.body.blocks);
    return encoding->coding->tail(out, encoding->sum, encoding->size);
}

static void encoding_release(void *handle)
{
    pthread_mutex_destroy(&((struct encoding *)handle)->lock);
}

/* Encodes the head, and the prefix as a piece. False: no memory. */
static bool prefix_encode(struct encoding *encoding, struct api_body *body)
{
    const struct api_coding *coding = encoding->coding;
    const size_t size = body->prefix_size, code_max = coding->piece_max(size);
    const size_t workspace_size = coding->workspace(size);
    struct api_arena *arena = encoding->plain.arena;
    unsigned char *out = api_arena_take(arena, API_CODING_ENDS_MAX + code_max);
    unsigned char *workspace = out ? api_arena_buffer(arena, workspace_size) : NULL;
    size_t at, made;

    if (!workspace)
        return false;
    at = coding->head ? coding->head(out) : 0;
    made = coding->piece(body->prefix, size, out + at, code_max, workspace, workspace_size);
    api_arena_buffer_drop(arena, workspace);
    if (coding->tail)
        encoding->sum = coding->sum(body->prefix, size);
    encoding->size = size;
    body->prefix = out;
    body->prefix_size = at + made;
    return made != SIZE_MAX;
}

enum pe_status api_encode_blocks(struct api_response *response, const struct api_coding *coding,
                                 struct pe_error *err)
{
    struct api_body *body = &response->body;
    struct encoding *encoding;

    if (body->kind == API_BYTES || response->head_only)
        return PE_OK;
    encoding = api_arena_take(response->arena, sizeof(*encoding));
    if (!encoding)
        return no_memory(err);
    encoding->coding = coding;
    encoding->plain = *response;
    encoding->pieces =
        api_arena_take(response->arena, (body->blocks + 1) * sizeof(*encoding->pieces));
    encoding->code_max = round_up(coding->piece_max(body->block_size));
    encoding->workspace = coding->workspace(body->block_size);
    encoding->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    if (!api_arena_defer(response->arena, encoding_release, encoding) || !encoding->pieces ||
        !prefix_encode(encoding, body))
        return no_memory(err);
    body->block_size = encoding->code_max + round_up(body->block_size) + encoding->workspace;
    body->fill = piece_fill;
    body->tail = coding->tail ? tail_make : NULL;
    body->cheap = false;
    body->state = encoding;
    return PE_OK;
}
