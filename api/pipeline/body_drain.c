/* SPDX-License-Identifier: MIT */
#include "api/api.h"

struct api_extent api_body_extent(const struct api_body *body)
{
    struct api_extent extent = {.last = body->blocks};

    if (body->size == API_SIZE_UNKNOWN)
        return extent;
    extent.prefix_skip = body->skip < body->prefix_size ? body->skip : body->prefix_size;
    const uint64_t begin = body->skip - extent.prefix_skip;
    const uint64_t end = body->skip + body->size;
    extent.first = (size_t)(begin / body->block_size);
    extent.first_skip = (size_t)(begin % body->block_size);
    extent.last = end <= body->prefix_size
                      ? extent.first
                      : (size_t)((end - body->prefix_size - 1) / body->block_size) + 1;
    return extent;
}

/* A sink, and the number of bytes still to be passed to it. */
struct drain {
    bool (*sink)(void *context, const void *bytes, size_t size);
    void *context;
    uint64_t left;
};

/* Passes bytes on, without the first `skip` and those beyond the range. */
static bool put(struct drain *drain, const unsigned char *bytes, size_t size, size_t skip)
{
    const size_t after = size - skip;
    const size_t sent = after < drain->left ? after : (size_t)drain->left;

    drain->left -= sent;
    return sent == 0 || drain->sink(drain->context, bytes + skip, sent);
}

/* Blocks in one buffer are all made before the first is sent, as in the server. */
static bool buffer_fill(struct api_response *response)
{
    const struct api_body *body = &response->body;

    for (size_t block = 0; block < body->blocks; block++)
        if (body->fill(response, block, NULL) == SIZE_MAX)
            return false;
    api_response_made(response);
    return true;
}

static bool blocks_put(struct drain *drain, struct api_response *response,
                       const struct api_extent *extent)
{
    const struct api_body *body = &response->body;
    unsigned char *block_bytes = NULL;
    size_t skip = extent->first_skip;

    if (!body->buffer && extent->first < extent->last &&
        !(block_bytes = api_response_buffer(response, body->block_size)))
        return false;
    for (size_t block = extent->first; block < extent->last; block++, skip = 0) {
        const uint64_t begin = (uint64_t)block * body->block_size;
        const uint64_t end = body->skip + body->size - body->prefix_size;
        size_t size = body->block_size;
        if (!body->buffer)
            size = body->fill(response, block, block_bytes);
        else if (end - begin < size)
            size = (size_t)(end - begin);
        if (size == SIZE_MAX ||
            !put(drain, body->buffer ? body->buffer + begin : block_bytes, size, skip))
            return false;
    }
    return true;
}

bool api_drain(struct api_response *response,
               bool (*sink)(void *context, const void *bytes, size_t size), void *context)
{
    struct api_body *body = &response->body;
    struct drain drain = {sink, context, body->size};
    unsigned char tail[API_TAIL_MAX];

    if (response->head_only)
        return true;
    if (body->buffer && !buffer_fill(response))
        return false;
    if (body->kind == API_BYTES)
        return put(&drain, body->bytes, (size_t)body->size, 0);
    const struct api_extent extent = api_body_extent(body);
    if (body->prefix_size > 0 &&
        !put(&drain, body->prefix, body->prefix_size, (size_t)extent.prefix_skip))
        return false;
    if (!blocks_put(&drain, response, &extent))
        return false;
    return !body->tail || put(&drain, tail, body->tail(response, tail), 0);
}
