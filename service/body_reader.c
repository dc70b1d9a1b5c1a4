/* SPDX-License-Identifier: MIT */
#include "service/service.h"

#include <string.h>

/* ---- blocks in one buffer -------------------------------------------------------------------- */

struct filling {
    struct pe_job job;
    struct api_response *response;
    atomic_bool failed;
};

static void buffer_block_run(struct pe_job *job, size_t block)
{
    struct filling *filling = (struct filling *)((char *)job - offsetof(struct filling, job));
    struct api_response *response = filling->response;

    if (response->body.fill(response, block, NULL) == SIZE_MAX)
        atomic_store(&filling->failed, true);
}

/* Makes all blocks before the first is read. */
static bool buffer_fill(struct svc_body_reader *reader)
{
    struct filling filling = {.job = {.run = buffer_block_run}, .response = reader->response};

    filling.job.blocks = reader->response->body.blocks;
    pe_pool_run(reader->pool, &filling.job);
    if (!atomic_load(&filling.failed))
        api_response_made(reader->response);
    return !atomic_load(&filling.failed);
}

/* ---- blocks made in advance ------------------------------------------------------------------ */

static struct svc_batch *of_job(struct pe_job *job)
{
    return (struct svc_batch *)((char *)job - offsetof(struct svc_batch, job));
}

static void batch_block_run(struct pe_job *job, size_t block)
{
    struct svc_batch *batch = of_job(job);
    struct api_response *response = batch->reader->response;

    batch->sizes[block] = response->body.fill(response, batch->first + block,
                                              batch->buffer + block * batch->reader->block_stride);
}

static void batch_done(struct pe_job *job)
{
    struct svc_batch *batch = of_job(job);
    struct svc_body_reader *reader = batch->reader;

    pthread_mutex_lock(&reader->lock);
    batch->working = false;
    pthread_cond_signal(&reader->done);
    pthread_mutex_unlock(&reader->lock);
}

static void batch_wait(struct svc_batch *batch)
{
    struct svc_body_reader *reader = batch->reader;

    pthread_mutex_lock(&reader->lock);
    while (batch->working)
        pthread_cond_wait(&reader->done, &reader->lock);
    pthread_mutex_unlock(&reader->lock);
}

static void batch_start(struct svc_body_reader *reader, struct svc_batch *batch)
{
    const size_t left = reader->extent.last - reader->next_make;

    batch->reader = reader;
    batch->first = reader->next_make;
    batch->count = left < reader->batch_max ? left : reader->batch_max;
    reader->next_make += batch->count;
    if (batch->count == 0)
        return;
    memset(batch->sizes, 0xff, sizeof(batch->sizes));
    batch->working = true;
    batch->job =
        (struct pe_job){.run = batch_block_run, .done = batch_done, .blocks = batch->count};
    pe_pool_submit(reader->pool, &batch->job);
}

/* Memory for two batches, or for one block where there is no pool or not as much memory. */
static bool buffers_allocate(struct svc_body_reader *reader)
{
    const struct api_body *body = &reader->response->body;
    const size_t blocks = reader->extent.last - reader->extent.first;
    const size_t workers = reader->pool ? pe_pool_workers(reader->pool) : 0;

    reader->block_stride = (body->block_size + 63) / 64 * 64;
    reader->batch_max = workers < SVC_BATCH_MAX ? workers : SVC_BATCH_MAX;
    if (reader->batch_max > (blocks + 1) / 2)
        reader->batch_max = (blocks + 1) / 2;
    if (reader->batch_max > 0) {
        unsigned char *buffers = api_response_buffer(
            reader->response, 2 * reader->batch_max * reader->block_stride + 64);
        for (size_t i = 0; buffers && i < 2; i++)
            reader->batches[i].buffer = buffers + i * reader->batch_max * reader->block_stride;
        if (buffers)
            return true;
        reader->batch_max = 0;
    }
    reader->alone = api_response_buffer(reader->response, reader->block_stride);
    return reader->alone;
}

static bool blocks_begin(struct svc_body_reader *reader)
{
    reader->block = reader->next_make = reader->extent.first;
    if (reader->response->body.buffer || reader->extent.first == reader->extent.last)
        return true;
    if (!buffers_allocate(reader))
        return false;
    for (size_t i = 0; reader->batch_max > 0 && i < 2; i++)
        batch_start(reader, &reader->batches[i]);
    return true;
}

/* The next block of the current batch. When that is used up, it starts again, and the other one
 * becomes current. */
static size_t block_of_batch(struct svc_body_reader *reader, const unsigned char **bytes)
{
    struct svc_batch *batch = &reader->batches[reader->current];

    if (reader->block == batch->first + batch->count) {
        batch_start(reader, batch);
        reader->current = !reader->current;
        batch = &reader->batches[reader->current];
    }
    batch_wait(batch);
    *bytes = batch->buffer + (reader->block - batch->first) * reader->block_stride;
    return batch->sizes[reader->block - batch->first];
}

/* All remaining bytes of a buffer as one run. */
static size_t buffer_rest(struct svc_body_reader *reader, const unsigned char **bytes)
{
    const struct api_body *body = &reader->response->body;
    const uint64_t begin = (uint64_t)reader->block * body->block_size;

    *bytes = body->buffer + begin;
    reader->block = reader->extent.last - 1;
    return (size_t)(body->skip + body->size - body->prefix_size - begin);
}

static size_t block_make(struct svc_body_reader *reader, const unsigned char **bytes)
{
    const struct api_body *body = &reader->response->body;

    if (body->buffer)
        return buffer_rest(reader, bytes);
    if (reader->batch_max > 0)
        return block_of_batch(reader, bytes);
    *bytes = reader->alone;
    return body->fill(reader->response, reader->block, reader->alone);
}

/* ---- the stages ------------------------------------------------------------------------------ */

/* Each stage returns a run of bytes, perhaps an empty one, and sets the next stage. */

static bool body_begin(struct svc_body_reader *reader, const unsigned char **bytes, size_t *size)
{
    struct api_body *body = &reader->response->body;

    if (body->kind != API_BYTES && body->buffer && !buffer_fill(reader))
        return false;
    if (body->kind == API_BYTES) {
        *bytes = body->bytes;
        *size = (size_t)body->size;
        reader->stage = SVC_END;
        return true;
    }
    reader->extent = api_body_extent(body);
    *bytes = body->prefix ? body->prefix + reader->extent.prefix_skip : NULL;
    *size = body->prefix_size - (size_t)reader->extent.prefix_skip;
    reader->stage = SVC_BLOCKS;
    return blocks_begin(reader);
}

static bool block_next(struct svc_body_reader *reader, const unsigned char **bytes, size_t *size)
{
    const size_t skip = reader->block == reader->extent.first ? reader->extent.first_skip : 0;

    if (reader->block == reader->extent.last) {
        reader->stage = SVC_TAIL;
        return true;
    }
    *size = block_make(reader, bytes);
    if (*size == SIZE_MAX)
        return false;
    *bytes += skip;
    *size -= skip;
    reader->block++;
    return true;
}

static bool stage_next(struct svc_body_reader *reader, const unsigned char **bytes, size_t *size)
{
    struct api_response *response = reader->response;

    switch (reader->stage) {
    case SVC_BEGIN:
        return body_begin(reader, bytes, size);
    case SVC_BLOCKS:
        return block_next(reader, bytes, size);
    case SVC_TAIL:
        *bytes = reader->tail;
        *size = response->body.tail ? response->body.tail(response, reader->tail) : 0;
        reader->stage = SVC_END;
        return true;
    case SVC_END:
        return true;
    case SVC_FAILED:
        break;
    }
    return false;
}

bool svc_body_reader_next(struct svc_body_reader *reader, const unsigned char **bytes, size_t *size)
{
    *size = 0;
    while (*size == 0 && reader->left > 0 && reader->stage != SVC_END) {
        if (stage_next(reader, bytes, size))
            continue;
        *size = 0;
        reader->stage = SVC_FAILED;
        return false;
    }
    if (*size > reader->left)
        *size = (size_t)reader->left;
    if (reader->left != API_SIZE_UNKNOWN)
        reader->left -= *size;
    return true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static bool is_for_several(const struct api_response *response)
{
    const struct api_body *body = &response->body;

    return body->kind != API_BYTES && !body->cheap && body->blocks > API_BLOCKS_FEW;
}

void svc_body_reader_begin(struct svc_body_reader *reader, struct api_response *response,
                           struct pe_pool *(*pool_of)(void *context), void *context)
{
    memset(reader, 0, sizeof(*reader));
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->done, NULL);
    reader->response = response;
    reader->left = response->body.size;
    if (response->head_only)
        reader->stage = SVC_END;
    else if (is_for_several(response))
        reader->pool = pool_of(context);
}

void svc_body_reader_end(struct svc_body_reader *reader)
{
    for (size_t i = 0; i < 2; i++)
        if (reader->batches[i].reader)
            batch_wait(&reader->batches[i]);
    pthread_cond_destroy(&reader->done);
    pthread_mutex_destroy(&reader->lock);
}
