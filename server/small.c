/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "server/server.h"

/* Most answers are short and have the headers of those before them, but for the id of the request
 * and the time that it took. The library takes three pieces of memory for each header and looks
 * through its text six times, which for fourteen of them costs more than all else that is done for
 * a small request. So answers of up to BODY_MAX bytes are sent from replies that their loop keeps:
 * one with the length and the names of an answer gets the values that differ, and its bytes. A
 * reply has one request at a time. */

enum {
    KEPT_MAX = 16, /* of one loop */
    BODY_MAX = 16 << 10,
    SLACK = 16, /* of a value: the next one may be longer */
};

struct field {
    char *name, *value;
    size_t room; /* of the value */
};

struct srv_small {
    struct srv_small *next;
    struct MHD_Response *reply;
    size_t size, count, memory; /* memory: bytes that it takes, in the budget */
    struct field fields[API_HEADERS_MAX];
    char *body; /* behind it the names and values, all in the memory of this struct */
};

static bool fits(const struct srv_small *small, const struct api_response *response)
{
    if (small->size != response->body.size || small->count != response->headers_count)
        return false;
    for (size_t i = 0; i < small->count; i++)
        if (strcmp(small->fields[i].name, response->headers[i].name) != 0 ||
            strlen(response->headers[i].value) >= small->fields[i].room)
            return false;
    return true;
}

/* About: what the library takes for a reply and for each of its header fields, texts included. */
enum { REPLY_SIZE = 512, FIELD_SIZE = 128 };

static void small_free(const struct srv_loop *loop, struct srv_small *small)
{
    if (small->reply)
        MHD_destroy_response(small->reply);
    api_small_give(loop->srv->api, small->memory);
    free(small);
}

/* Puts the values that differ into a reply that fits. */
static bool values_set(struct srv_small *small, const struct api_response *response)
{
    for (size_t i = 0; i < small->count; i++) {
        struct field *field = &small->fields[i];
        const char *value = response->headers[i].value;
        if (strcmp(field->value, value) == 0)
            continue;
        if (MHD_del_response_header(small->reply, field->name, field->value) != MHD_YES ||
            MHD_add_response_header(small->reply, field->name, value) != MHD_YES)
            return false;
        memcpy(field->value, value, strlen(value) + 1);
    }
    return true;
}

/* A kept one that fits, no longer in the list; NULL: there is none. */
static struct srv_small *small_find(struct srv_loop *loop, const struct api_response *response)
{
    for (struct srv_small **at = &loop->smalls; *at; at = &(*at)->next) {
        struct srv_small *small = *at;
        if (!fits(small, response))
            continue;
        *at = small->next;
        loop->smalls_count--;
        if (values_set(small, response))
            return small;
        small_free(loop, small);
        return NULL;
    }
    return NULL;
}

static char *text_put(char **at, const char *text, size_t room)
{
    char *put = *at;

    memcpy(put, text, strlen(text) + 1);
    *at += room;
    return put;
}

static struct srv_small *small_new(const struct srv_loop *loop, const struct api_response *response)
{
    const size_t size = (size_t)response->body.size;
    struct srv_small *small;
    size_t text = 0;
    char *at;

    for (size_t i = 0; i < response->headers_count; i++)
        text +=
            strlen(response->headers[i].name) + 1 + strlen(response->headers[i].value) + 1 + SLACK;
    const size_t memory =
        sizeof(*small) + size + 2 * text + REPLY_SIZE + response->headers_count * FIELD_SIZE;
    if (!api_small_take(loop->srv->api, memory))
        return NULL;
    small = malloc(sizeof(*small) + size + text);
    if (!small) {
        api_small_give(loop->srv->api, memory);
        return NULL;
    }
    *small = (struct srv_small){.size = size, .memory = memory, .body = (char *)(small + 1)};
    at = small->body + size;
    small->reply = MHD_create_response_from_buffer(size, small->body, MHD_RESPMEM_PERSISTENT);
    for (; small->reply && small->count < response->headers_count; small->count++) {
        const struct api_field *from = &response->headers[small->count];
        struct field *field = &small->fields[small->count];
        field->name = text_put(&at, from->name, strlen(from->name) + 1);
        field->room = strlen(from->value) + 1 + SLACK;
        field->value = text_put(&at, from->value, field->room);
        if (MHD_add_response_header(small->reply, from->name, from->value) != MHD_YES)
            break;
    }
    if (small->count == response->headers_count && small->reply)
        return small;
    small_free(loop, small);
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

struct MHD_Response *srv_small_take(struct srv_request *request)
{
    const struct api_response *response = request->response;
    const struct api_body *body = &response->body;
    struct srv_small *small;

    if (response->head_only || srv_is_streamed(response) || body->size == 0 ||
        body->size > BODY_MAX || response->status == MHD_HTTP_NO_CONTENT)
        return NULL;
    small = small_find(request->loop, response);
    if (!small)
        small = small_new(request->loop, response);
    if (!small)
        return NULL;
    body_put(small->body, body);
    request->small = small;
    return small->reply;
}

void srv_small_give(struct srv_request *request)
{
    struct srv_loop *loop = request->loop;
    struct srv_small *small = request->small, **last = &loop->smalls;

    if (!small)
        return;
    request->small = NULL;
    small->next = loop->smalls;
    loop->smalls = small;
    if (loop->smalls_count++ < KEPT_MAX)
        return;
    while ((*last)->next)
        last = &(*last)->next;
    small_free(loop, *last);
    *last = NULL;
    loop->smalls_count--;
}

void srv_smalls_free(struct srv_loop *loop)
{
    for (struct srv_small *small = loop->smalls, *next; small; small = next) {
        next = small->next;
        small_free(loop, small);
    }
    loop->smalls = NULL;
}
