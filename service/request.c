/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "service/service.h"

/* ---- the beginning --------------------------------------------------------------------------- */

/* Splits a copy of the target into path and query. */
static struct api_head head_of(const struct pe_request_head *from, char *target,
                               const struct api_field *fields)
{
    char *query = strchr(target, '?');
    struct api_head head = {
        .method = from->method,
        .path = target,
        .fields = fields,
        .fields_count = from->fields_count,
        .content_length = from->body_length,
        .deadline = from->deadline,
    };

    if (query)
        *query++ = '\0';
    head.query = query;
    return head;
}

static bool begin(struct pe_request *request, const struct pe_request_head *from)
{
    struct api_field *fields = calloc(from->fields_count + 1, sizeof(*fields));
    char *target = strdup(from->target);

    if (fields && target) {
        for (size_t i = 0; i < from->fields_count; i++)
            fields[i] = (struct api_field){from->fields[i].name, from->fields[i].value};
        const struct api_head head = head_of(from, target, fields);
        request->made = api_begin(request->service->api, &head, &request->intake);
        request->intake_owned = request->intake;
    }
    free(fields);
    free(target);
    return request->made || request->intake;
}

enum pe_status pe_request_new(struct pe_request **out, struct pe_service *service,
                              const struct pe_request_head *head, struct pe_error *err)
{
    struct pe_request *request;

    *out = NULL;
    if (head->size < sizeof(*head))
        return svc_fail(err, PE_INVALID, "", "size is not set to sizeof(struct pe_request_head)");
    if (!head->method || !head->target || (!head->fields && head->fields_count > 0))
        return svc_fail(err, PE_INVALID, "", "a request has a method and a target");
    svc_tend_if_due(service);
    request = calloc(1, sizeof(*request));
    if (request)
        request->service = service;
    if (!request || !begin(request, head)) {
        free(request);
        return svc_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    }
    *out = request;
    return PE_OK;
}

bool pe_request_feed(struct pe_request *request, const void *bytes, size_t size)
{
    if (!request->made)
        request->made = api_feed(request->intake, bytes, size);
    return !request->made;
}

bool pe_request_lend(struct pe_request *request, void *bytes, size_t size)
{
    if (!request->made)
        request->made = api_lend(request->intake, bytes, size);
    request->borrowed = request->made ? NULL : bytes;
    return !request->made;
}

/* ---- the work -------------------------------------------------------------------------------- */

static struct pe_pool *pool_of(void *context)
{
    return svc_pool(context);
}

/* Work of a few milliseconds is done without the pool. */
static struct api_response *work(struct pe_request *request)
{
    struct api_response *made = NULL;

    if (api_intake_may_be_brief(request->intake))
        made = api_finish_if_brief(request->intake);
    if (!made) {
        svc_pool(request->service);
        made = api_finish(request->intake);
    }
    request->intake_owned = false;
    return made;
}

/* Fields of api/ live as long as its response. */
_Static_assert(sizeof(struct pe_field) == sizeof(struct api_field), "fields are not converted");

const struct pe_response *pe_request_finish(struct pe_request *request)
{
    struct pe_response *response = &request->response;
    struct api_response *made;

    if (response->status)
        return response;
    if (!request->made)
        request->made = work(request);
    made = request->made;
    *response = (struct pe_response){
        .status = made->status,
        .problem = made->problem,
        .fields = (const struct pe_field *)made->headers,
        .fields_count = made->headers_count,
        .length = made->body.size,
        .has_body = !made->head_only && made->status != 204,
        .in_place = request->borrowed && made->body.buffer == request->borrowed &&
                    made->body.prefix_size == 0,
    };
    svc_body_reader_begin(&request->reader, made, pool_of, request->service);
    return response;
}

const char *pe_response_field(const struct pe_response *response, const char *name)
{
    for (size_t i = 0; i < response->fields_count; i++)
        if (strcasecmp(response->fields[i].name, name) == 0)
            return response->fields[i].value;
    return NULL;
}

/* ---- the body -------------------------------------------------------------------------------- */

enum pe_status pe_request_next(struct pe_request *request, const void **bytes, size_t *size)
{
    const unsigned char *at = request->rest;

    *size = request->rest_size;
    request->rest_size = 0;
    if (*size == 0 && !svc_body_reader_next(&request->reader, &at, size))
        return atomic_load(&request->cancelled) ? PE_CANCELLED : PE_OUT_OF_MEMORY;
    *bytes = at;
    return PE_OK;
}

enum pe_status pe_request_read(struct pe_request *request, void *buffer, size_t capacity,
                               size_t *size)
{
    const void *bytes;
    enum pe_status status;

    *size = 0;
    if (capacity == 0)
        return PE_OK;
    status = pe_request_next(request, &bytes, size);
    if (status || *size == 0)
        return status;
    if (*size > capacity) {
        request->rest = (const unsigned char *)bytes + capacity;
        request->rest_size = *size - capacity;
        *size = capacity;
    }
    memcpy(buffer, bytes, *size);
    return PE_OK;
}

enum pe_status pe_request_drain(struct pe_request *request,
                                bool (*sink)(void *context, const void *bytes, size_t size),
                                void *context)
{
    const void *bytes;
    size_t size;

    for (;;) {
        const enum pe_status status = pe_request_next(request, &bytes, &size);
        if (status || size == 0)
            return status;
        if (!sink(context, bytes, size))
            return PE_CANCELLED;
    }
}

/* ---- the end --------------------------------------------------------------------------------- */

/* No lock is needed: the work that is cancelled lives as long as the request. */
void pe_request_cancel(struct pe_request *request)
{
    atomic_store(&request->cancelled, true);
    if (request->intake)
        api_intake_cancel(request->intake);
}

void pe_request_free(struct pe_request *request)
{
    if (!request)
        return;
    if (request->response.status) {
        if (request->reader.batches[0].reader)
            api_response_cancel(request->made);
        svc_body_reader_end(&request->reader);
    }
    if (request->made)
        api_response_free(request->made);
    if (request->intake_owned)
        api_intake_free(request->intake);
    free(request);
}
