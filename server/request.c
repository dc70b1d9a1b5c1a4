/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "server/server.h"

/* Bytes of a refused body that are read and dropped: a client may write all of its body before it
 * reads, and would get a reset in place of the answer. */
enum { DISCARD_MAX = 1 << 20 };

/* ---- the head -------------------------------------------------------------------------------- */

/* Lets the connection drain the client's remaining bytes before it closes: they would cause a
 * reset, by which the client could lose the answer. */
static void linger_allow(struct srv_request *request)
{
    if (request->client)
        request->client->lingers = true;
}

/* Counts the request and its URI in the budget, and copies the URI. When the budget is used up, the
 * copy is empty and request->counted 0. False: out of memory. */
static bool head_count(struct srv_request *request, const char *uri)
{
    const size_t size = sizeof(*request) + (uri ? strlen(uri) : 0) + 1;

    if (api_small_take(request->loop->srv->api, size))
        request->counted = size;
    request->uri = srv_uri_take(request->counted > 0 ? uri : NULL);
    if (!request->uri)
        api_small_give(request->loop->srv->api, request->counted);
    return request->uri;
}

void *srv_request_begin(void *cls, const char *uri, struct MHD_Connection *connection)
{
    struct srv_request *request = calloc(1, sizeof(*request));

    if (!request)
        return NULL;
    request->loop = cls;
    request->connection = connection;
    request->began_ns = uv_hrtime();
    request->began_ms = uv_now(&request->loop->uv);
    if (!head_count(request, uri)) {
        free(request);
        return NULL;
    }
    request->client = srv_connection_of(connection);
    if (request->client) {
        request->client->request = request;
        request->client->served = true;
    }
    request->loop->requests++;
    srv_metrics_in_flight(request->loop->srv->metrics, 1);
    request->path = request->uri;
    if (request->counted == 0) {
        request->state = REQUEST_REFUSED;
        srv_memory_refuse(request);
    } else if (strlen(request->uri) > SRV_HEAD_MAX) {
        linger_allow(request);
        request->state = REQUEST_REFUSED;
        srv_head_refuse(request, strlen(request->uri));
    }
    return request;
}

/* Has the queue a free place? take: occupies it until work_ready. */
static bool queue_enter(struct srv *srv, bool take)
{
    const size_t before = take ? atomic_fetch_add(&srv->computed, 1) : atomic_load(&srv->computed);

    if (before < srv->options.queue_max)
        return true;
    if (take)
        atomic_fetch_sub(&srv->computed, 1);
    return false;
}

/* The queue is full: the request is refused at once. */
static void queue_refuse(struct srv_request *request)
{
    struct srv *srv = request->loop->srv;
    struct pe_error err = {0};

    api_intake_free(request->intake);
    request->intake = NULL;
    pe_fail(&err, PE_BUSY, "", "%llu requests wait to be computed, as many as --queue-max allows",
            (unsigned long long)srv->options.queue_max);
    request->response = srv_refuse(request, &err);
}

/* Processes the head. A refusal is sent after a small body, and the connection stays open. Before a
 * large body, or one that the client holds back (Expect), it is sent at once, and the connection is
 * closed. */
static enum MHD_Result head_take(struct srv_request *request, const char *method,
                                 const char *version)
{
    struct api *api = request->loop->srv->api;
    struct api_field fields[SRV_FIELDS_MAX + 1];
    struct pe_error err = {0};
    const char *host = srv_target_split(request);
    struct api_head head = {
        .method = method,
        .path = request->path,
        .query = request->query,
        .deadline = request->began_ns + request->loop->srv->options.request_timeout * 1000000u,
    };
    bool at_once;

    request->takes_interim = strcmp(version, "HTTP/1.1") == 0;
    memcpy(request->method, method, strnlen(method, sizeof(request->method) - 1));
    request->state = REQUEST_BODY;
    request->head_bytes = srv_head_bytes(request->connection);
    request->head_size = srv_head_size(request->connection, request->head_bytes);
    if (srv_framing_read(request->connection, request->head_size, method, version, host, fields,
                         &head, &err)) {
        request->response = srv_refuse(request, &err);
        if (err.status != PE_TOO_MANY_FIELDS && err.status != PE_URI_TOO_LONG)
            return srv_reply(request, true);
        linger_allow(request);
        srv_reply_raw(request); /* the library may have no memory for an answer */
        return MHD_NO;
    }
    request->chunked = head.content_length == API_LENGTH_UNKNOWN;
    srv_trace_copy(request, &head);
    request->response = api_begin(api, &head, &request->intake);
    if (!request->response && head.content_length != 0 &&
        api_intake_cost(request->intake) != API_COST_QUICK &&
        !queue_enter(request->loop->srv, false))
        queue_refuse(request);
    if (head.content_length == 0)
        srv_expectation_hide(&head);
    at_once = head.content_length > DISCARD_MAX || srv_expects_continue(&head);
    if (!request->response || head.content_length == 0)
        return MHD_YES;
    if (at_once) {
        linger_allow(request);
        return srv_reply(request, true);
    }
    if (request->response->arena) /* the shared out-of-memory response must not be written to */
        request->response->close = false; /* the body will have been read */
    return MHD_YES;
}

/* ---- the body -------------------------------------------------------------------------------- */

static void memory_ready(struct srv_post *post)
{
    struct srv_request *request = (struct srv_request *)post;

    request->sleeping = false;
    srv_loop_resume(request->loop, request->connection);
}

static void memory_wake(void *context)
{
    struct srv_request *request = context;

    srv_loop_post(request->loop, &request->post);
}

/* Suspends the connection until there is memory for the next bytes of the body, which MHD passes
 * again afterwards. False: there is. */
static bool upload_waits(struct srv_request *request, size_t size)
{
    request->post.ready = memory_ready;
    if (request->response || !api_feed_waits(request->intake, size, memory_wake, request))
        return false;
    request->sleeping = true;
    srv_loop_suspend(request->loop, request->connection);
    return true;
}

static enum MHD_Result body_take(struct srv_request *request, const char *upload, size_t *size)
{
    if (upload_waits(request, *size))
        return MHD_YES;
    request->received += *size;
    if (request->response) {
        request->discarded += *size;
        if (request->discarded > DISCARD_MAX) {
            linger_allow(request);
            srv_reply_raw(request);
            return MHD_NO;
        }
    } else {
        request->response = api_feed(request->intake, upload, *size);
        if (request->response) {
            api_intake_free(request->intake);
            request->intake = NULL;
        }
    }
    *size = 0;
    return MHD_YES;
}

void srv_request_refuse_slow(struct srv_request *request)
{
    struct srv_loop *loop = request->loop;
    struct pe_error err = {0};

    if (request->response)
        api_response_free(request->response);
    pe_fail(&err, PE_TIMED_OUT, "",
            "the body came at less than %llu bytes a second, the value of --body-rate-min",
            (unsigned long long)loop->srv->options.body_rate_min);
    request->response = srv_refuse(request, &err);
    srv_reply_raw(request);
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Are blocks to be made in one buffer, before the answer begins? Other bodies are bytes already, or
 * are streamed. */
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

/* The worker makes one or two blocks itself: a new job would take longer. */
static void finish_run(struct pe_job *job, size_t block)
{
    struct srv_request *request = of_job(job);
    struct api_response *response;

    (void)block;
    api_intake_waited(request->intake, (double)(uv_hrtime() - request->queued_ns) / 1e6);
    response = request->response =
        job->brief ? api_finish_if_brief(request->intake) : api_finish(request->intake);
    request->brief = job->brief && response;
    if (!response)
        return;
    request->intake = NULL;
    request->in_buffer = is_in_buffer(response);
    request->made = request->in_buffer && response->body.blocks <= API_BLOCKS_FEW;
    for (size_t i = 0; request->made && i < response->body.blocks; i++)
        block_run(job, i);
}

static void job_done(struct pe_job *job)
{
    srv_loop_post(of_job(job)->loop, &of_job(job)->post);
}

/* MHD calls srv_request_access again. */
static void work_ready(struct srv_post *post)
{
    struct srv_request *request = (struct srv_request *)post;

    request->state = REQUEST_READY;
    if (request->stream && srv_stream_failed(request->stream))
        atomic_store(&request->failed, true);
    atomic_fetch_sub(&request->loop->srv->computed, 1);
    srv_loop_resume(request->loop, request->connection);
}

/* Jobs are submitted only on the loop, where srv_request_cancel cancels them: it must not see one
 * that is partly set up. */
static void job_submit(struct srv_request *request, void (*run)(struct pe_job *, size_t),
                       size_t blocks, void (*ready)(struct srv_post *))
{
    request->post.ready = ready;
    request->job =
        (struct pe_job){.run = run, .done = job_done, .blocks = blocks, .brief = request->brief};
    pe_pool_submit(request->loop->srv->pool, &request->job);
}

/* The header is sent with the first block: until then --request-timeout applies, the client is
 * probed, and a failure can be reported. */
static void stream_begin(struct srv_request *request)
{
    request->post.ready = work_ready;
    if (!srv_is_streamed(request->response) || request->response->body.cheap ||
        !srv_stream_begin(request))
        work_ready(&request->post);
}

static void finish_ready(struct srv_post *post)
{
    struct srv_request *request = (struct srv_request *)post;

    if (atomic_load(&request->cancelled))
        work_ready(post);
    else if (!request->response)
        job_submit(request, finish_run, 1, finish_ready);
    else if (request->in_buffer && !request->made)
        job_submit(request, block_run, request->response->body.blocks, work_ready);
    else
        stream_begin(request);
}

/* After a resume MHD reads before it calls the access handler, and closes without an answer if the
 * client has shut down its side. It handles connections with a timeout of their own first, so a
 * suspended connection gets one second more. */
static void timeout_set(struct srv_request *request, unsigned int more_s)
{
    MHD_set_connection_option(request->connection, MHD_CONNECTION_OPTION_TIMEOUT,
                              request->loop->idle_timeout_s + more_s);
}

/* Suspends the connection until work_ready. */
static void work_wait(struct srv_request *request)
{
    request->state = REQUEST_WORKING;
    request->queued_ns = uv_hrtime();
    timeout_set(request, 1);
    srv_loop_suspend(request->loop, request->connection);
}

/* The response was made on the loop; blocks of a stream are made on the pool. */
static enum MHD_Result quick_reply(struct srv_request *request)
{
    request->intake = NULL;
    request->brief = true;
    if (!srv_is_streamed(request->response) || request->response->body.cheap)
        return srv_reply(request, false);
    atomic_fetch_add(&request->loop->srv->computed, 1);
    work_wait(request);
    stream_begin(request);
    return MHD_YES;
}

static enum MHD_Result work_start(struct srv_request *request)
{
    const enum api_cost cost = api_intake_cost(request->intake);

    request->working = request->intake;
    if (cost == API_COST_QUICK)
        request->response = api_finish(request->intake);
    else if (cost == API_COST_MAYBE_QUICK)
        request->response = api_finish_if_quick(request->intake);
    if (request->response)
        return quick_reply(request);
    if (!queue_enter(request->loop->srv, true)) {
        queue_refuse(request);
        return srv_reply(request, false);
    }
    work_wait(request);
    request->brief = api_intake_may_be_brief(request->intake);
    job_submit(request, finish_run, 1, finish_ready);
    return MHD_YES;
}

static void work_refuse(struct srv_request *request, struct pe_error *err)
{
    srv_response_drop(request);
    api_intake_free(request->intake);
    request->intake = NULL;
    request->response = srv_refuse(request, err);
}

static enum MHD_Result work_end(struct srv_request *request)
{
    struct pe_error err = {0};

    timeout_set(request, 0);
    if (atomic_load(&request->cancelled)) {
        if (!request->timed_out)
            return MHD_NO;
        pe_fail(&err, PE_BUSY, "", "the answer was not begun within --request-timeout");
        work_refuse(request, &err);
    } else if (atomic_load(&request->failed)) {
        pe_fail(&err, PE_OUT_OF_MEMORY, "", "memory ran out while the answer was made");
        work_refuse(request, &err);
    } else if (request->in_buffer) {
        api_response_made(request->response);
    }
    return srv_reply(request, false);
}

enum MHD_Result srv_request_access(void *cls, struct MHD_Connection *connection, const char *url,
                                   const char *method, const char *version, const char *upload,
                                   size_t *upload_size, void **context)
{
    struct srv_request *request = *context;

    (void)cls;
    (void)connection;
    (void)url;
    if (!request)
        return MHD_NO;
    switch (request->state) {
    case REQUEST_NEW:
        return head_take(request, method, version);
    case REQUEST_BODY:
        if (*upload_size > 0)
            return body_take(request, upload, upload_size);
        return request->response ? srv_reply(request, false) : work_start(request);
    case REQUEST_READY:
        return work_end(request);
    case REQUEST_WORKING:
    case REQUEST_ANSWERED:
        return MHD_YES;
    case REQUEST_REFUSED:
        break;
    }
    return MHD_NO;
}

/* ---- cancelling ------------------------------------------------------------------------------ */

/* Requests are probed after this time. */
enum { PROBE_NS = 20000000 };

void srv_request_cancel(struct srv_request *request, bool timed_out)
{
    if (request->streamed)
        api_response_cancel(request->streamed);
    if (request->state != REQUEST_WORKING || atomic_load(&request->cancelled))
        return;
    atomic_store(&request->cancelled, true);
    request->timed_out = timed_out;
    api_intake_cancel(request->working);
    if (request->stream)
        srv_stream_cancel(request->stream);
    else
        pe_pool_cancel(request->loop->srv->pool, &request->job);
}

bool srv_request_is_computing(const struct srv_request *request)
{
    return request->state == REQUEST_WORKING ||
           (request->state == REQUEST_ANSWERED && request->sleeping);
}

void srv_request_probe(struct srv_request *request, int fd)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";

    if (request->state == REQUEST_ANSWERED && request->sleeping)
        srv_stream_probe(request->stream);
    if (request->state != REQUEST_WORKING || request->probed || !request->takes_interim ||
        uv_hrtime() - request->queued_ns < PROBE_NS)
        return;
    request->probed = true;
    if (send(fd, interim, sizeof(interim) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        srv_request_cancel(request, false);
}

/* ---- the end --------------------------------------------------------------------------------- */

void srv_request_complete(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_RequestTerminationCode code)
{
    struct srv_request *request = *context;
    struct srv_loop *loop = cls;

    (void)connection;
    (void)code;
    *context = NULL;
    if (!request)
        return;
    const double seconds = (double)(uv_hrtime() - request->began_ns) / 1e9;
    srv_metrics_in_flight(loop->srv->metrics, -1);
    srv_metrics_request(loop->srv->metrics, request, seconds);
    srv_log_request(loop->srv, request, seconds);
    if (request->client)
        srv_connection_request_ended(request->client, request);
    api_intake_free(request->intake);
    srv_response_drop(request);
    srv_cached_reply_give(request);
    api_small_give(loop->srv->api, request->counted);
    free(request->uri);
    free(request);
    loop->requests--;
    if (atomic_load(&loop->phase) != SRV_RUNNING)
        uv_async_send(&loop->wake);
}
