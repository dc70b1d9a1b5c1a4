/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "server/server.h"

/* From the last byte of a request to its response: on the loop where that is quick, else on the
 * pool. */

enum { BLOCKS_FEW = 2 };

/* Is a place free in the queue? take: occupy it, until work_ready. */
static bool queue_enter(struct srv *srv, bool take)
{
    const size_t before = take ? atomic_fetch_add(&srv->computed, 1) : atomic_load(&srv->computed);

    if (before < srv->config.queue_max)
        return true;
    if (take)
        atomic_fetch_sub(&srv->computed, 1);
    return false;
}

/* More would only wait: whoever asks is told at once. */
static void queue_refuse(struct srv_request *request)
{
    struct srv *srv = request->loop->srv;
    struct api_error err = {0};

    api_intake_free(request->intake);
    request->intake = NULL;
    api_fail(&err, API_BUSY, "", "%llu requests wait to be computed, as many as --queue-max allows",
             (unsigned long long)srv->config.queue_max);
    request->response = srv_refuse(request, &err);
}

void srv_work_foresee(struct srv_request *request)
{
    if (api_intake_cost(request->intake) != API_COST_LOOP &&
        !queue_enter(request->loop->srv, false))
        queue_refuse(request);
}

/* Are the blocks still to be made, in one buffer? They are before the answer begins, which is then
 * sent from where it lies. Of other bodies bytes are there already, and blocks are streamed. */
static bool is_in_buffer(const struct api_response *response)
{
    return !response->head_only && response->status < 300 && response->body.buffer;
}

static struct srv_request *of_job(struct pe_job *job)
{
    return (struct srv_request *)((char *)job - offsetof(struct srv_request, job));
}

static void block_run(struct pe_job *job, size_t block)
{
    struct srv_request *request = of_job(job);

    if (request->response->body.fill(request->response, block, NULL) == SIZE_MAX)
        atomic_store(&request->failed, true);
}

/* A block or two are made by the worker that has them in its cache already: to hand them out would
 * take longer. */
static void finish_run(struct pe_job *job, size_t block)
{
    struct srv_request *request = of_job(job);
    struct api_response *response;

    (void)block;
    api_intake_waited(request->intake, (double)(uv_hrtime() - request->queued_ns) / 1e6);
    response = request->response =
        job->brief ? api_finish_briefly(request->intake) : api_finish(request->intake);
    request->brief = job->brief && response;
    if (!response)
        return;
    request->intake = NULL;
    request->in_buffer = is_in_buffer(response);
    request->made = request->in_buffer && response->body.blocks <= BLOCKS_FEW;
    for (size_t i = 0; request->made && i < response->body.blocks; i++)
        block_run(job, i);
}

static void job_done(struct pe_job *job)
{
    srv_loop_post(of_job(job)->loop, &of_job(job)->post);
}

static void work_end(struct srv_request *request);

static void work_ready(struct srv_post *post)
{
    struct srv_request *request = (struct srv_request *)post;

    if (request->stream && srv_stream_failed(request->stream))
        atomic_store(&request->failed, true);
    atomic_fetch_sub(&request->loop->srv->computed, 1);
    work_end(request);
}

/* Jobs are submitted on the loop alone: srv_request_abandon may cancel one at any moment, and must
 * not meet another half made. */
static void job_submit(struct srv_request *request, void (*run)(struct pe_job *, size_t),
                       size_t blocks, void (*ready)(struct srv_post *))
{
    request->post.ready = ready;
    request->job =
        (struct pe_job){.run = run, .done = job_done, .blocks = blocks, .brief = request->brief};
    pe_pool_submit(request->loop->srv->pool, &request->job);
}

/* The header goes out with the first block: until then the client is still waited upon, by
 * --request-timeout too, and can be told of a failure. */
static void stream_begin(struct srv_request *request)
{
    request->post.ready = work_ready;
    if (srv_is_streamed(request->response) && !request->response->body.cheap)
        request->stream = srv_stream_new(request);
    if (!request->stream || !srv_stream_waits(request->stream))
        work_ready(&request->post);
}

static void finish_ready(struct srv_post *post)
{
    struct srv_request *request = (struct srv_request *)post;

    if (atomic_load(&request->abandoned))
        work_ready(post);
    else if (!request->response)
        job_submit(request, finish_run, 1, finish_ready);
    else if (request->in_buffer && !request->made)
        job_submit(request, block_run, request->response->body.blocks, work_ready);
    else
        stream_begin(request);
}

/* The connection reads no more until work_ready. */
static void work_wait(struct srv_request *request)
{
    request->state = REQUEST_WORKING;
    request->queued_ns = uv_hrtime();
}

/* Made on the loop; blocks of a stream are made on the pool all the same. */
static void quick_reply(struct srv_request *request)
{
    request->intake = NULL;
    request->brief = true;
    if (!srv_is_streamed(request->response) || request->response->body.cheap) {
        srv_reply(request, false);
        return;
    }
    atomic_fetch_add(&request->loop->srv->computed, 1);
    work_wait(request);
    stream_begin(request);
}

void srv_work_start(struct srv_request *request)
{
    const enum api_cost cost = api_intake_cost(request->intake);

    request->working = request->intake;
    if (cost == API_COST_LOOP)
        request->response = api_finish(request->intake);
    else if (cost == API_COST_SIZE)
        request->response = api_finish_quickly(request->intake);
    if (request->response) {
        quick_reply(request);
        return;
    }
    if (!queue_enter(request->loop->srv, true)) {
        queue_refuse(request);
        srv_reply(request, false);
        return;
    }
    work_wait(request);
    request->brief = api_intake_is_brief(request->intake);
    job_submit(request, finish_run, 1, finish_ready);
}

static void work_refuse(struct srv_request *request, struct api_error *err)
{
    srv_response_drop(request);
    api_intake_free(request->intake);
    request->intake = NULL;
    request->response = srv_refuse(request, err);
}

static void work_end(struct srv_request *request)
{
    struct api_error err = {0};

    if (request->connection->lost || (atomic_load(&request->abandoned) && !request->timed_out)) {
        request->state = REQUEST_ANSWERED; /* nothing works for it any more */
        srv_connection_close(request->connection);
        return;
    }
    if (atomic_load(&request->abandoned)) {
        api_fail(&err, API_BUSY, "", "the answer was not begun within --request-timeout");
        work_refuse(request, &err);
    } else if (atomic_load(&request->failed)) {
        api_fail(&err, API_OUT_OF_MEMORY, "", "memory ran out while the answer was made");
        work_refuse(request, &err);
    } else if (request->in_buffer) {
        api_response_made(request->response);
    }
    srv_reply(request, false);
}
