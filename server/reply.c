/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/server.h"

static const char *reason_of(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {201, "Created"},
        {204, "No Content"},
        {206, "Partial Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {416, "Range Not Satisfiable"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {507, "Insufficient Storage"},
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Other"; /* a reader must not need it (RFC 9112, section 4) */
}

static void text_copy(char *out, size_t size, const char *text)
{
    const size_t length = text ? strnlen(text, size - 1) : 0;

    if (length > 0)
        memcpy(out, text, length);
    out[length] = '\0';
}

static void outcome_note(struct srv_outcome *outcome, const struct api_response *response)
{
    outcome->status = response->status;
    outcome->route = response->route;
    outcome->problem = response->problem ? response->problem : "";
    outcome->dtype = response->dtype;
    /* HEAD, 304 and refusals compute none. */
    outcome->elements = response->head_only || response->status >= 300 ? 0 : response->elements;
    outcome->size = response->head_only ? 0 : response->body.size;
    text_copy(outcome->request_id, sizeof(outcome->request_id), response->request_id);
    text_copy(outcome->operation, sizeof(outcome->operation), response->operation);
    text_copy(outcome->encoding, sizeof(outcome->encoding), response->encoding);
}

void srv_response_drop(struct srv_request *request)
{
    if (request->stream)
        srv_stream_end(request->stream);
    else if (request->response)
        api_response_free(request->response);
    request->response = NULL;
    request->stream = NULL;
}

/* ---- its head ---------------------------------------------------------------------------------
 */

static char *put(char *at, const char *text)
{
    const size_t size = strlen(text);

    memcpy(at, text, size);
    return at + size;
}

static char *field_put(char *at, const char *name, const char *value)
{
    at = put(put(put(at, name), ": "), value);
    *at++ = '\r';
    *at++ = '\n';
    return at;
}

/* RFC 9110, section 5.6.7; printed once a second. */
static const char *date_of(struct srv_loop *loop)
{
    const time_t now = time(NULL);
    struct tm utc;

    if (now != loop->date_of) {
        loop->date_of = now;
        gmtime_r(&now, &utc);
        strftime(loop->date, sizeof(loop->date), "%a, %d %b %Y %H:%M:%S GMT", &utc);
    }
    return loop->date;
}

/* A number of bytes as a value; 0 and all of them stand for themselves. */
static char *length_put(char *at, uint64_t length)
{
    char digits[21];
    size_t i = sizeof(digits) - 1;

    digits[i] = '\0';
    do
        digits[--i] = (char)('0' + length % 10);
    while (length /= 10);
    return field_put(at, "Content-Length", digits + i);
}

/* Behind the head of 304 and 204 there is never a body, and a length would tell of another one. */
static char *framing_put(char *at, const struct srv_request *request)
{
    const struct api_response *response = request->response;
    const uint64_t size = response->body.size;

    if (response->status == 204)
        return at;
    if (size != API_SIZE_UNKNOWN)
        return length_put(at, size);
    return response->head_only || !request->minor ? at
                                                  : field_put(at, "Transfer-Encoding", "chunked");
}

enum { FRAME_SIZE = 256 }; /* of the lines that are the server's business */

static size_t head_room(const struct api_response *response)
{
    size_t size = FRAME_SIZE;

    for (size_t i = 0; i < response->headers_count; i++)
        size += strlen(response->headers[i].name) + strlen(response->headers[i].value) + 4;
    return size;
}

/* Prints the head into the loop's memory, or into its own where it is long. False: there is none.
 */
static bool head_add(struct srv_request *request)
{
    struct srv_loop *loop = request->loop;
    struct srv_output *output = &request->connection->output;
    const struct api_response *response = request->response;
    const size_t room = head_room(response);
    char *head = room <= SRV_TEXT_ROOM ? loop->text : (output->held = malloc(room)), *at = head;

    if (!head)
        return false;
    at = put(at, "HTTP/1.1 ");
    *at++ = (char)('0' + response->status / 100);
    *at++ = (char)('0' + response->status / 10 % 10);
    *at++ = (char)('0' + response->status % 10);
    *at++ = ' ';
    at = put(at, reason_of(response->status));
    at = put(at, "\r\n");
    at = field_put(at, "Date", date_of(loop));
    if (request->closes)
        at = field_put(at, "Connection", "close");
    else if (!request->minor)
        at = field_put(at, "Connection", "keep-alive");
    for (size_t i = 0; i < response->headers_count; i++)
        at = field_put(at, response->headers[i].name, response->headers[i].value);
    at = put(framing_put(at, request), "\r\n");
    srv_output_add(output, head, (size_t)(at - head));
    return true;
}

/* ---- its body ---------------------------------------------------------------------------------
 */

/* Memory for sending is short: a refusal needs next to none. */
static void no_room(struct srv_request *request)
{
    struct api_error err = {0};

    srv_response_drop(request);
    api_fail(&err, API_BUSY, "",
             "other requests hold the memory that this answer needs; try again");
    request->response = srv_refuse(request, &err);
}

/* Of a body that lies in memory, from there. */
static void memory_add(struct srv_output *output, const struct api_body *body)
{
    if (body->kind == API_BYTES) {
        srv_output_add(output, body->bytes, (size_t)body->size);
        return;
    }
    srv_output_add(output, body->prefix, body->prefix_size);
    srv_output_add(output, body->buffer, (size_t)body->size - body->prefix_size);
}

void srv_reply(struct srv_request *request, bool close)
{
    struct srv_connection *c = request->connection;
    struct api_response *response = request->response;
    const bool streamed = srv_is_streamed(response);

    if (streamed && !request->stream && !srv_stream_new(request)) {
        no_room(request);
        response = request->response;
    }
    outcome_note(&request->outcome, response);
    request->closes =
        close || !request->keeps || response->close || atomic_load(&request->loop->srv->draining) ||
        (request->stream && !request->minor && response->body.size == API_SIZE_UNKNOWN);
    request->state = REQUEST_ANSWERED;
    c->idle_since_ms = uv_now(&c->loop->uv);
    if (!head_add(request)) {
        srv_connection_close(c);
        return;
    }
    if (request->stream)
        request->outcome.size = 0;
    else if (!response->head_only && response->status != 204)
        memory_add(&c->output, &response->body);
    if (request->stream && srv_stream_next(request->stream, &c->output) == SRV_FAILED) {
        srv_connection_close(c);
        return;
    }
    srv_send(c);
}

struct api_response *srv_refuse(struct srv_request *request, struct api_error *err)
{
    struct api_field fields[2];
    struct api_head head = {.method = request->method, .fields = fields};

    if (request->id)
        fields[head.fields_count++] = (struct api_field){"X-Request-Id", request->id};
    if (request->origin)
        fields[head.fields_count++] = (struct api_field){"Origin", request->origin};
    return api_refuse(request->loop->srv->api, &head, err);
}
