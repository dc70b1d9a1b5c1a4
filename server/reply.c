/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "server/server.h"

/* ---- cached replies -------------------------------------------------------------------------- */

/* MHD allocates three times for each header and scans its text six times, which for 14 headers
 * costs more than the rest of a small request. Most answers are short and differ from earlier ones
 * only in a few header values, so each loop caches replies of up to BODY_MAX bytes: one with the
 * same length and header names gets the values that differ, and the new bytes. A reply serves one
 * request at a time. */

enum {
    CACHED_MAX = 16, /* replies of one loop */
    BODY_MAX = 16 << 10,
    SLACK = 16, /* spare bytes of a value, for a longer one */
};

struct field {
    char *name, *value;
    size_t capacity; /* of the value */
};

struct srv_cached_reply {
    struct srv_cached_reply *next;
    struct MHD_Response *reply;
    size_t size, count, memory; /* memory: bytes counted in the budget */
    struct field fields[API_HEADERS_MAX];
    char *body; /* followed by names and values, in the memory of this struct */
};

static bool fits(const struct srv_cached_reply *cached, const struct api_response *response)
{
    if (cached->size != response->body.size || cached->count != response->headers_count)
        return false;
    for (size_t i = 0; i < cached->count; i++)
        if (strcmp(cached->fields[i].name, response->headers[i].name) != 0 ||
            strlen(response->headers[i].value) >= cached->fields[i].capacity)
            return false;
    return true;
}

/* About the library's memory for a reply, and for each of its header fields with its texts. */
enum { REPLY_SIZE = 512, FIELD_SIZE = 128 };

static void cached_reply_free(const struct srv_loop *loop, struct srv_cached_reply *cached)
{
    if (cached->reply)
        MHD_destroy_response(cached->reply);
    api_small_give(loop->srv->api, cached->memory);
    free(cached);
}

/* Replaces the values that differ in a reply that fits. */
static bool values_set(struct srv_cached_reply *cached, const struct api_response *response)
{
    for (size_t i = 0; i < cached->count; i++) {
        struct field *field = &cached->fields[i];
        const char *value = response->headers[i].value;
        if (strcmp(field->value, value) == 0)
            continue;
        if (MHD_del_response_header(cached->reply, field->name, field->value) != MHD_YES ||
            MHD_add_response_header(cached->reply, field->name, value) != MHD_YES)
            return false;
        memcpy(field->value, value, strlen(value) + 1);
    }
    return true;
}

/* Removes a reply that fits from the list; NULL: there is none. */
static struct srv_cached_reply *cached_reply_find(struct srv_loop *loop,
                                                  const struct api_response *response)
{
    for (struct srv_cached_reply **at = &loop->cached_replies; *at; at = &(*at)->next) {
        struct srv_cached_reply *cached = *at;
        if (!fits(cached, response))
            continue;
        *at = cached->next;
        loop->cached_replies_count--;
        if (values_set(cached, response))
            return cached;
        cached_reply_free(loop, cached);
        return NULL;
    }
    return NULL;
}

static char *text_put(char **at, const char *text, size_t capacity)
{
    char *put = *at;

    memcpy(put, text, strlen(text) + 1);
    *at += capacity;
    return put;
}

static struct srv_cached_reply *cached_reply_new(const struct srv_loop *loop,
                                                 const struct api_response *response)
{
    const size_t size = (size_t)response->body.size;
    struct srv_cached_reply *cached;
    size_t text = 0;
    char *at;

    for (size_t i = 0; i < response->headers_count; i++)
        text +=
            strlen(response->headers[i].name) + 1 + strlen(response->headers[i].value) + 1 + SLACK;
    const size_t memory =
        sizeof(*cached) + size + 2 * text + REPLY_SIZE + response->headers_count * FIELD_SIZE;
    if (!api_small_take(loop->srv->api, memory))
        return NULL;
    cached = malloc(sizeof(*cached) + size + text);
    if (!cached) {
        api_small_give(loop->srv->api, memory);
        return NULL;
    }
    *cached =
        (struct srv_cached_reply){.size = size, .memory = memory, .body = (char *)(cached + 1)};
    at = cached->body + size;
    cached->reply = MHD_create_response_from_buffer(size, cached->body, MHD_RESPMEM_PERSISTENT);
    for (; cached->reply && cached->count < response->headers_count; cached->count++) {
        const struct api_field *from = &response->headers[cached->count];
        struct field *field = &cached->fields[cached->count];
        field->name = text_put(&at, from->name, strlen(from->name) + 1);
        field->capacity = strlen(from->value) + 1 + SLACK;
        field->value = text_put(&at, from->value, field->capacity);
        if (MHD_add_response_header(cached->reply, from->name, from->value) != MHD_YES)
            break;
    }
    if (cached->count == response->headers_count && cached->reply)
        return cached;
    cached_reply_free(loop, cached);
    return NULL;
}

static void body_put(char *out, const struct api_body *body)
{
    if (body->kind == API_BYTES) {
        memcpy(out, body->bytes, (size_t)body->size);
        return;
    }
    if (body->prefix_size > 0)
        memcpy(out, body->prefix, body->prefix_size);
    memcpy(out + body->prefix_size, body->buffer, (size_t)body->size - body->prefix_size);
}

/* A cached reply with all of the request's response, in use until srv_cached_reply_give. The
 * response stays the caller's. NULL: the response is not cached, or memory is out. */
static struct MHD_Response *cached_reply_take(struct srv_request *request)
{
    const struct api_response *response = request->response;
    const struct api_body *body = &response->body;
    struct srv_cached_reply *cached;

    if (response->head_only || srv_is_streamed(response) || body->size == 0 ||
        body->size > BODY_MAX || response->status == MHD_HTTP_NO_CONTENT)
        return NULL;
    cached = cached_reply_find(request->loop, response);
    if (!cached)
        cached = cached_reply_new(request->loop, response);
    if (!cached)
        return NULL;
    body_put(cached->body, body);
    request->cached_reply = cached;
    return cached->reply;
}

void srv_cached_reply_give(struct srv_request *request)
{
    struct srv_loop *loop = request->loop;
    struct srv_cached_reply *cached = request->cached_reply, **last = &loop->cached_replies;

    if (!cached)
        return;
    request->cached_reply = NULL;
    cached->next = loop->cached_replies;
    loop->cached_replies = cached;
    if (loop->cached_replies_count++ < CACHED_MAX)
        return;
    while ((*last)->next)
        last = &(*last)->next;
    cached_reply_free(loop, *last);
    *last = NULL;
    loop->cached_replies_count--;
}

void srv_cached_replies_free(struct srv_loop *loop)
{
    for (struct srv_cached_reply *cached = loop->cached_replies, *next; cached; cached = next) {
        next = cached->next;
        cached_reply_free(loop, cached);
    }
    loop->cached_replies = NULL;
}

/* ---- replies --------------------------------------------------------------------------------- */

static void response_release(void *response)
{
    api_response_free(response);
}

static struct MHD_Response *bytes_response(struct api_response *response, const void *bytes,
                                           size_t size)
{
    return MHD_create_response_from_buffer_with_free_callback_cls(size, (void *)bytes,
                                                                  response_release, response);
}

/* Sends prefix and blocks from the response's own memory. */
static struct MHD_Response *memory_response(struct api_response *response)
{
    const struct api_body *body = &response->body;
    const struct MHD_IoVec parts[] = {
        {body->prefix, body->prefix_size},
        {body->buffer, (size_t)body->size - body->prefix_size},
    };
    const bool no_prefix = body->prefix_size == 0;

    if (body->size == 0)
        return bytes_response(response, "", 0);
    return MHD_create_response_from_iovec(
        parts + no_prefix, 1 + (!no_prefix && parts[1].iov_len > 0), response_release, response);
}

/* While others are connected, a long answer is copied to MHD in pieces: from one buffer the kernel
 * copies as long as the reader takes it, 20 ms and more, in which no other client is served. */
enum { PIECES_MIN = 8 << 20, PIECE = 256 << 10 };

static ssize_t piece_read(void *cls, uint64_t position, char *buffer, size_t max)
{
    const struct api_response *response = cls;
    const struct api_body *body = &response->body;
    const bool is_bytes = body->kind == API_BYTES;
    const size_t prefix = is_bytes ? 0 : body->prefix_size;
    const unsigned char *from = is_bytes ? body->bytes : body->buffer;

    if (position < prefix) {
        max = max < prefix - position ? max : prefix - (size_t)position;
        memcpy(buffer, body->prefix + position, max);
    } else {
        memcpy(buffer, from + (position - prefix), max);
    }
    return (ssize_t)max;
}

static bool is_in_pieces(const struct srv_request *request, struct api_response *response)
{
    const struct srv_connection *any = request->loop->connections;

    return response->body.size >= PIECES_MIN && any && any->next &&
           api_response_count(response, PIECE);
}

static ssize_t never_read(void *cls, uint64_t position, char *buffer, size_t max)
{
    (void)cls;
    (void)position;
    (void)buffer;
    (void)max;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* For HEAD and 304: the headers of a body that is not made. */
static struct MHD_Response *headers_response(struct api_response *response)
{
    const struct api_body *body = &response->body;
    const uint64_t size = body->size == API_SIZE_UNKNOWN ? MHD_SIZE_UNKNOWN : body->size;

    /* The library would end a chunked 304 with the last chunk, which the client takes for the next
     * answer; length 0 avoids that. (The same happens with HEAD, where srv_reply closes.) */
    if (response->status == MHD_HTTP_NO_CONTENT ||
        (response->status == MHD_HTTP_NOT_MODIFIED && size == MHD_SIZE_UNKNOWN))
        return bytes_response(response, "", 0);
    return MHD_create_response_from_callback(size, 1, never_read, response, response_release);
}

static struct MHD_Response *reply_make(struct srv_request *request, struct api_response *response)
{
    const struct api_body *body = &response->body;

    if (srv_is_streamed(response))
        return srv_stream_response(request);
    if (response->head_only)
        return headers_response(response);
    if (is_in_pieces(request, response))
        return MHD_create_response_from_callback(body->size, PIECE, piece_read, response,
                                                 response_release);
    if (body->kind == API_BYTES)
        return bytes_response(response, body->bytes, (size_t)body->size);
    return memory_response(response);
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
    /* HEAD, 304 and refusals compute no elements. */
    outcome->elements = response->head_only || response->status >= 300 ? 0 : response->elements;
    outcome->size = response->head_only ? 0 : response->body.size;
    text_copy(outcome->request_id, sizeof(outcome->request_id), response->request_id);
    text_copy(outcome->operation, sizeof(outcome->operation), response->operation);
    text_copy(outcome->encoding, sizeof(outcome->encoding), response->encoding);
}

void srv_response_drop(struct srv_request *request)
{
    if (!request->response)
        return;
    if (request->stream)
        srv_stream_end(request->stream);
    else
        api_response_free(request->response);
    request->response = request->streamed = NULL;
    request->stream = NULL;
}

static size_t headers_size(const struct api_response *response)
{
    size_t size = 0;

    for (size_t i = 0; i < response->headers_count; i++)
        size += strlen(response->headers[i].name) + strlen(response->headers[i].value) +
                sizeof(": \r\n") - 1;
    return size;
}

static void header_drop(struct api_response *response, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < response->headers_count; i++)
        if (strcmp(response->headers[i].name, name) != 0)
            response->headers[count++] = response->headers[i];
    response->headers_count = count;
}

/* The header of the answer has what the head of the request left of the library's memory. Fields
 * that may be long and may be absent are left out where that is too little: without them a header
 * has some 1.5 KiB. */
static void headers_fit(const struct srv_request *request, struct api_response *response)
{
    enum { HEADERS_MOST = 12 << 10, FRAME = 512 /* status, Date, length, Connection, rounding */ };
    static const char *const optional[] = {"Encoding-Warnings", "Encoding-Parameters",
                                           "Content-Location"};

    if (request->head_size + HEADERS_MOST + FRAME <= SRV_CONNECTION_MEMORY || !response->arena)
        return;
    for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]) &&
                       request->head_size + headers_size(response) + FRAME > SRV_CONNECTION_MEMORY;
         i++)
        header_drop(response, optional[i]);
}

/* Out of memory for sending: sends a refusal, which needs almost none. */
static enum MHD_Result reply_refuse(struct srv_request *request)
{
    struct pe_error err = {0};

    if (request->response->body.kind == API_BYTES)
        return MHD_NO;
    srv_response_drop(request);
    pe_fail(&err, PE_BUSY, "", "other requests hold the memory that this answer needs; try again");
    request->response = srv_refuse(request, &err);
    return srv_reply(request, false);
}

enum MHD_Result srv_reply(struct srv_request *request, bool close)
{
    struct api_response *response = request->response;
    struct MHD_Response *reply;
    enum MHD_Result result;

    outcome_note(&request->outcome, response);
    close |= response->close || atomic_load(&request->loop->srv->draining) ||
             (response->head_only && response->body.size == API_SIZE_UNKNOWN &&
              response->status != MHD_HTTP_NOT_MODIFIED);
    headers_fit(request, response);
    reply = close ? NULL : cached_reply_take(request);
    if (reply) {
        request->state = REQUEST_ANSWERED;
        srv_response_drop(request);
        return MHD_queue_response(request->connection, (unsigned int)request->outcome.status,
                                  reply);
    }
    reply = reply_make(request, response);
    if (!reply)
        return reply_refuse(request);
    request->response = NULL; /* MHD's from here on */
    for (size_t i = 0; i < response->headers_count; i++)
        MHD_add_response_header(reply, response->headers[i].name, response->headers[i].value);
    if (close)
        MHD_add_response_header(reply, MHD_HTTP_HEADER_CONNECTION, "close");
    request->state = REQUEST_ANSWERED;
    result = MHD_queue_response(request->connection, (unsigned int)request->outcome.status, reply);
    MHD_destroy_response(reply);
    if (result != MHD_YES) {
        request->stream = NULL;
        request->streamed = NULL;
    }
    return result;
}

/* In the library's format (RFC 9110, section 5.6.7). */
static void date_print(FILE *out)
{
    const time_t now = time(NULL);
    struct tm utc;
    char text[40];

    gmtime_r(&now, &utc);
    strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &utc);
    fprintf(out, "Date: %s\r\n", text);
}

void srv_reply_raw(struct srv_request *request)
{
    struct api_response *response = request->response;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return;
    assert(response->body.kind == API_BYTES);
    outcome_note(&request->outcome, response);
    fprintf(out, "HTTP/1.1 %d %s\r\n", response->status,
            MHD_get_reason_phrase_for((unsigned int)response->status));
    date_print(out);
    for (size_t i = 0; i < response->headers_count; i++)
        fprintf(out, "%s: %s\r\n", response->headers[i].name, response->headers[i].value);
    fprintf(out, "Content-Length: %llu\r\nConnection: close\r\n\r\n",
            (unsigned long long)response->body.size);
    if (strcmp(request->method, "HEAD") != 0)
        fwrite(response->body.bytes, 1, (size_t)response->body.size, out);
    /* Nothing was sent on this connection since the last answer, so the socket's buffer has space
     * for this one, unless the client has not read that answer yet. */
    if (fclose(out) == 0 && request->client &&
        send(request->client->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size)
        shutdown(request->client->fd, SHUT_WR);
    free(text);
}

/* ---- refusals -------------------------------------------------------------------------------- */

void srv_head_refuse(struct srv_request *request, size_t size)
{
    struct pe_error err = {0};
    struct api_head head = {0};

    srv_target_split(request);
    head.path = request->path;
    head.query = request->query;
    srv_head_size_check(request->connection, &head, size, false, &err);
    request->response = srv_refuse(request, &err);
    srv_reply_raw(request);
}

void srv_memory_refuse(struct srv_request *request)
{
    struct pe_error err = {0};

    pe_fail(&err, PE_BUSY, "",
            "other requests hold the memory that this one needs; try again soon");
    request->response = srv_refuse(request, &err);
    srv_reply_raw(request);
}

struct api_response *srv_refuse(struct srv_request *request, struct pe_error *err)
{
    static const char *const repeated[] = {"X-Request-Id", "Origin"};
    struct api_field fields[2];
    struct api_head head = {.method = request->method, .path = request->path, .fields = fields};

    for (size_t i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++) {
        const char *value =
            MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, repeated[i]);
        if (value)
            fields[head.fields_count++] = (struct api_field){repeated[i], value};
    }
    return api_refuse(request->loop->srv->api, &head, err);
}
