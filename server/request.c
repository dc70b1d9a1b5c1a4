/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/server.h"

/* Bytes that are read and thrown away of a body that was refused, so that the client, which may
 * write all of it before it reads, gets the answer and not a reset. */
enum { DISCARD_MAX = 1 << 20 };

/* ---- the beginning --------------------------------------------------------------------------- */

/* Memory that was used last is in the cache. */
static struct srv_request *request_new(struct srv_connection *c)
{
    struct srv_loop *loop = c->loop;
    struct srv_request *request = loop->spare ? loop->spare : malloc(sizeof(*request));

    loop->spare = NULL;
    if (!request)
        return NULL;
    memset(request, 0, offsetof(struct srv_request, uri_room));
    request->loop = loop;
    request->connection = c;
    request->uri = request->uri_room;
    request->uri_room[0] = '\0';
    request->began_ns = uv_hrtime();
    request->began_ms = uv_now(&loop->uv);
    c->request = request;
    c->served = true;
    srv_metrics_in_flight(loop->srv->metrics, 1);
    return request;
}

static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* traceparent: 00-<32 digits>-<16>-<2> */
static void trace_copy(struct srv_request *request, const struct srv_head *head)
{
    const char *value = srv_head_field(head, "traceparent");

    if (value && strlen(value) >= 55 && strspn(value + 3, "0123456789abcdef") == 32)
        memcpy(request->trace_id, value + 3, 32);
}

/* Copies what is needed of a head behind its text. False: memory is short. */
static bool head_copy(struct srv_request *request, const struct srv_head *head)
{
    const size_t size = strlen(head->target) + 1;

    memcpy(request->method, head->method, strnlen(head->method, sizeof(request->method) - 1));
    request->minor = head->minor;
    request->keeps = head->keeps;
    request->length = head->content_length;
    request->id = copy_of(srv_head_field(head, "X-Request-Id"));
    request->origin = copy_of(srv_head_field(head, "Origin"));
    if (size > sizeof(request->uri_room))
        request->uri = malloc(size);
    if (!request->uri) {
        request->uri = request->uri_room;
        return false;
    }
    memcpy(request->uri, head->target, size);
    trace_copy(request, head);
    return true;
}

static void closing_reply(struct srv_request *request)
{
    request->connection->lingers = true;
    srv_reply(request, true);
}

/* Has a client that asked first whether to send its body been told so? */
static void continue_send(struct srv_request *request)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";

    if (send(request->connection->fd, interim, sizeof(interim) - 1, MSG_NOSIGNAL) < 0)
        request->probed = true;
}

/* The headers are here. A refusal waits for the end of a small body and leaves the connection as it
 * is; before a large one, or one that the client holds back, it is sent at once and closes. */
static void head_take(struct srv_request *request, const struct srv_head *head)
{
    struct api_head asked = {
        .method = head->method,
        .path = request->uri,
        .fields = head->fields,
        .fields_count = head->fields_count,
        .content_length = head->content_length,
        .deadline = request->began_ns + request->loop->srv->config.request_timeout * 1000000u,
    };
    char *query = strchr(request->uri, '?');

    if (query)
        *query = '\0';
    asked.query = request->query = query ? query + 1 : NULL;
    request->response = api_begin(request->loop->srv->api, &asked, &request->intake);
    if (!request->response && request->length != 0)
        srv_work_foresee(request);
    if (request->length == 0) {
        request->response ? srv_reply(request, false) : srv_work_start(request);
        return;
    }
    if (!request->response) {
        if (head->expects && head->minor)
            continue_send(request);
        return;
    }
    if (request->length > DISCARD_MAX || head->expects)
        closing_reply(request);
    else if (request->response->arena)    /* the shared out-of-memory response is not written to */
        request->response->close = false; /* the body will have been read */
}

void srv_request_refuse(struct srv_connection *c, struct api_error *err)
{
    struct srv_request *request = c->request ? c->request : request_new(c);

    if (!request) {
        srv_connection_close(c);
        return;
    }
    request->response = srv_refuse(request, err);
    closing_reply(request);
}

void srv_request_begin(struct srv_connection *c, char *text, size_t size)
{
    struct srv_request *request = request_new(c);
    struct api_error err = {0};
    struct srv_head head;

    if (!request) {
        srv_connection_close(c);
        return;
    }
    const enum api_status status = srv_head_read(&head, text, size, &err);
    if (!head_copy(request, &head))
        srv_connection_close(c);
    else if (status)
        srv_request_refuse(c, &err);
    else
        head_take(request, &head);
}

/* ---- the body -------------------------------------------------------------------------------- */

static void body_feed(struct srv_request *request, const char *bytes, size_t size)
{
    request->received += size;
    if (request->response) {
        request->discarded += size;
        return;
    }
    request->response = api_feed(request->intake, bytes, size);
    if (request->response) {
        api_intake_free(request->intake);
        request->intake = NULL;
    }
}

static void chunks_refuse(struct srv_request *request)
{
    struct api_error err = {0};

    srv_response_drop(request);
    api_fail(&err, API_MALFORMED, "",
             "the body is not in chunks: a size in hexadecimal, CR LF, so many bytes, CR LF");
    request->response = srv_refuse(request, &err);
    closing_reply(request);
}

size_t srv_request_body(struct srv_request *request, char *bytes, size_t size)
{
    const bool chunked = request->length == API_LENGTH_UNKNOWN;
    size_t used, data;

    if (chunked) {
        used = srv_chunks_take(&request->chunks, bytes, size, &data);
    } else {
        const uint64_t left = request->length - request->received;
        used = data = left < size ? (size_t)left : size;
    }
    body_feed(request, bytes, data);
    if (chunked && request->chunks.state == CHUNK_BAD)
        chunks_refuse(request);
    else if (request->discarded > DISCARD_MAX)
        closing_reply(request);
    else if (chunked ? request->chunks.state == CHUNK_END : request->received == request->length)
        request->response ? srv_reply(request, false) : srv_work_start(request);
    return used;
}

char *srv_request_room(const struct srv_request *request, size_t *size)
{
    if (request->response || !request->intake || request->length == API_LENGTH_UNKNOWN)
        return NULL;
    return api_room(request->intake, size);
}

void srv_request_late(struct srv_request *request)
{
    struct srv_loop *loop = request->loop;
    struct api_error err = {0};

    srv_response_drop(request);
    api_fail(&err, API_TIMED_OUT, "",
             "the body came at less than %llu bytes a second, the value of --body-rate-min",
             (unsigned long long)loop->srv->config.body_rate_min);
    request->response = srv_refuse(request, &err);
    srv_reply(request, true);
}

/* ---- the end --------------------------------------------------------------------------------- */

static void request_free(struct srv_request *request)
{
    struct srv_loop *loop = request->loop;

    if (request->uri != request->uri_room)
        free(request->uri);
    free(request->id);
    free(request->origin);
    if (loop->spare)
        free(request);
    else
        loop->spare = request;
}

void srv_request_end(struct srv_request *request)
{
    struct srv_loop *loop = request->loop;
    struct srv_connection *c = request->connection;
    const double seconds = (double)(uv_hrtime() - request->began_ns) / 1e9;

    srv_metrics_in_flight(loop->srv->metrics, -1);
    srv_metrics_request(loop->srv->metrics, request, seconds);
    srv_log_request(loop->srv, request, seconds);
    c->request = NULL;
    c->idle_since_ms = c->head_since_ms = uv_now(&loop->uv);
    srv_output_clear(&c->output);
    api_intake_free(request->intake);
    srv_response_drop(request);
    request_free(request);
}
