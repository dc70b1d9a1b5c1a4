/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "server/server.h"

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

/* The prefix and the blocks from where they lie. */
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

/* A long answer is handed over piece by piece where others are connected: of one buffer the kernel
 * copies for as long as the reader takes, up to 20 ms and more, and nobody else is served. That is
 * one copy more. */
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

/* HEAD and 304 tell of a body that is not made. */
static struct MHD_Response *headers_response(struct api_response *response)
{
    const struct api_body *body = &response->body;
    const uint64_t size = body->size == API_SIZE_UNKNOWN ? MHD_SIZE_UNKNOWN : body->size;

    /* Of a chunked 304 the library would send the last chunk, which the client takes for the next
     * answer: better a length that says too little. (Of HEAD likewise; there srv_reply closes.) */
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
    /* HEAD, 304 and refusals compute none. */
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

/* Memory for sending is short: a refusal needs next to none. */
static enum MHD_Result no_room(struct srv_request *request)
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
    reply = close ? NULL : srv_small_take(request);
    if (reply) {
        request->state = REQUEST_ANSWERED;
        srv_response_drop(request);
        return MHD_queue_response(request->connection, (unsigned int)request->outcome.status,
                                  reply);
    }
    reply = reply_make(request, response);
    if (!reply)
        return no_room(request);
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

/* As the library does it (RFC 9110, section 5.6.7). */
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
    /* Nothing was sent on this connection since the last answer, so there is room for this one; a
     * client that left that one unread has lost nothing. */
    if (fclose(out) == 0 && request->client &&
        send(request->client->fd, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size)
        shutdown(request->client->fd, SHUT_WR);
    free(text);
}
