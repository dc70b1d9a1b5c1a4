/* SPDX-License-Identifier: MIT */
#include "service/service.h"

#include <string.h>

/* So few blocks are made by the reading thread: a job would take longer. */
enum { BLOCKS_FEW = 2 };

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
static bool buffer_fill(struct svc_pump *pump)
{
    struct filling filling = {.job = {.run = buffer_block_run}, .response = pump->response};

    filling.job.blocks = pump->response->body.blocks;
    pe_pool_run(pump->pool, &filling.job);
    if (!atomic_load(&filling.failed))
        api_response_made(pump->response);
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
    struct api_response *response = batch->pump->response;

    batch->sizes[block] = response->body.fill(response, batch->first + block,
                                              batch->buffer + block * batch->pump->block_stride);
}

static void batch_done(struct pe_job *job)
{
    struct svc_batch *batch = of_job(job);
    struct svc_pump *pump = batch->pump;

    pthread_mutex_lock(&pump->lock);
    batch->working = false;
    pthread_cond_signal(&pump->done);
    pthread_mutex_unlock(&pump->lock);
}

static void batch_wait(struct svc_batch *batch)
{
    struct svc_pump *pump = batch->pump;

    pthread_mutex_lock(&pump->lock);
    while (batch->working)
        pthread_cond_wait(&pump->done, &pump->lock);
    pthread_mutex_unlock(&pump->lock);
}

static void batch_start(struct svc_pump *pump, struct svc_batch *batch)
{
    const size_t left = pump->extent.last - pump->next_make;

    batch->pump = pump;
    batch->first = pump->next_make;
    batch->count = left < pump->batch_max ? left : pump->batch_max;
    pump->next_make += batch->count;
    if (batch->count == 0)
        return;
    memset(batch->sizes, 0xff, sizeof(batch->sizes));
    batch->working = true;
    batch->job =
        (struct pe_job){.run = batch_block_run, .done = batch_done, .blocks = batch->count};
    pe_pool_submit(pump->pool, &batch->job);
}

/* Memory for two batches, or for one block where there is no pool or not as much memory. */
static bool buffers_allocate(struct svc_pump *pump)
{
    const struct api_body *body = &pump->response->body;
    const size_t blocks = pump->extent.last - pump->extent.first;
    const size_t workers = pump->pool ? pe_pool_workers(pump->pool) : 0;

    pump->block_stride = (body->block_size + 63) / 64 * 64;
    pump->batch_max = workers < SVC_BATCH_MAX ? workers : SVC_BATCH_MAX;
    if (pump->batch_max > (blocks + 1) / 2)
        pump->batch_max = (blocks + 1) / 2;
    if (pump->batch_max > 0) {
        unsigned char *buffers =
            api_response_buffer(pump->response, 2 * pump->batch_max * pump->block_stride + 64);
        for (size_t i = 0; buffers && i < 2; i++)
            pump->batches[i].buffer = buffers + i * pump->batch_max * pump->block_stride;
        if (buffers)
            return true;
        pump->batch_max = 0;
    }
    pump->alone = api_response_buffer(pump->response, pump->block_stride);
    return pump->alone;
}

static bool blocks_begin(struct svc_pump *pump)
{
    pump->block = pump->next_make = pump->extent.first;
    if (pump->response->body.buffer || pump->extent.first == pump->extent.last)
        return true;
    if (!buffers_allocate(pump))
        return false;
    for (size_t i = 0; pump->batch_max > 0 && i < 2; i++)
        batch_start(pump, &pump->batches[i]);
    return true;
}

/* The next block of the current batch. When that is used up, it starts again, and the other one
 * becomes current. */
static size_t block_of_batch(struct svc_pump *pump, const unsigned char **bytes)
{
    struct svc_batch *batch = &pump->batches[pump->current];

    if (pump->block == batch->first + batch->count) {
        batch_start(pump, batch);
        pump->current = !pump->current;
        batch = &pump->batches[pump->current];
    }
    batch_wait(batch);
    *bytes = batch->buffer + (pump->block - batch->first) * pump->block_stride;
    return batch->sizes[pump->block - batch->first];
}

/* All remaining bytes of a buffer as one run. */
static size_t buffer_rest(struct svc_pump *pump, const unsigned char **bytes)
{
    const struct api_body *body = &pump->response->body;
    const uint64_t begin = (uint64_t)pump->block * body->block_size;

    *bytes = body->buffer + begin;
    pump->block = pump->extent.last - 1;
    return (size_t)(body->skip + body->size - body->prefix_size - begin);
}

static size_t block_make(struct svc_pump *pump, const unsigned char **bytes)
{
    const struct api_body *body = &pump->response->body;

    if (body->buffer)
        return buffer_rest(pump, bytes);
    if (pump->batch_max > 0)
        return block_of_batch(pump, bytes);
    *bytes = pump->alone;
    return body->fill(pump->response, pump->block, pump->alone);
}

/* ---- the stages ------------------------------------------------------------------------------ */

/* Each stage returns a run of bytes, perhaps an empty one, and sets the next stage. */

static bool body_begin(struct svc_pump *pump, const unsigned char **bytes, size_t *size)
{
    struct api_body *body = &pump->response->body;

    if (body->kind != API_BYTES && body->buffer && !buffer_fill(pump))
        return false;
    if (body->kind == API_BYTES) {
        *bytes = body->bytes;
        *size = (size_t)body->size;
        pump->stage = SVC_END;
        return true;
    }
    pump->extent = api_body_extent(body);
    *bytes = body->prefix ? body->prefix + pump->extent.prefix_skip : NULL;
    *size = body->prefix_size - (size_t)pump->extent.prefix_skip;
    pump->stage = SVC_BLOCKS;
    return blocks_begin(pump);
}

static bool block_next(struct svc_pump *pump, const unsigned char **bytes, size_t *size)
{
    const size_t skip = pump->block == pump->extent.first ? pump->extent.first_skip : 0;

    if (pump->block == pump->extent.last) {
        pump->stage = SVC_TAIL;
        return true;
    }
    *size = block_make(pump, bytes);
    if (*size == SIZE_MAX)
        return false;
    *bytes += skip;
    *size -= skip;
    pump->block++;
    return true;
}

static bool stage_next(struct svc_pump *pump, const unsigned char **bytes, size_t *size)
{
    struct api_response *response = pump->response;

    switch (pump->stage) {
    case SVC_BEGIN:
        return body_begin(pump, bytes, size);
    case SVC_BLOCKS:
        return block_next(pump, bytes, size);
    case SVC_TAIL:
        *bytes = pump->tail;
        *size = response->body.tail ? response->body.tail(response, pump->tail) : 0;
        pump->stage = SVC_END;
        return true;
    case SVC_END:
        return true;
    case SVC_FAILED:
        break;
    }
    return false;
}

bool svc_pump_next(struct svc_pump *pump, const unsigned char **bytes, size_t *size)
{
    *size = 0;
    while (*size == 0 && pump->left > 0 && pump->stage != SVC_END) {
        if (stage_next(pump, bytes, size))
            continue;
        *size = 0;
        pump->stage = SVC_FAILED;
        return false;
    }
    if (*size > pump->left)
        *size = (size_t)pump->left;
    if (pump->left != API_SIZE_UNKNOWN)
        pump->left -= *size;
    return true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static bool is_for_several(const struct api_response *response)
{
    const struct api_body *body = &response->body;

    return body->kind != API_BYTES && !body->cheap && body->blocks > BLOCKS_FEW;
}

void svc_pump_begin(struct svc_pump *pump, struct api_response *response,
                    struct pe_pool *(*pool_of)(void *context), void *context)
{
    memset(pump, 0, sizeof(*pump));
    pthread_mutex_init(&pump->lock, NULL);
    pthread_cond_init(&pump->done, NULL);
    pump->response = response;
    pump->left = response->body.size;
    if (response->head_only)
        pump->stage = SVC_END;
    else if (is_for_several(response))
        pump->pool = pool_of(context);
}

void svc_pump_end(struct svc_pump *pump)
{
    for (size_t i = 0; i < 2; i++)
        if (pump->batches[i].pump)
            batch_wait(&pump->batches[i]);
    pthread_cond_destroy(&pump->done);
    pthread_mutex_destroy(&pump->lock);
}
