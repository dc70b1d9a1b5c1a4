/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/codings/coding.h"
#include "api/request/service.h"

/* The one place that knows HTTP's numbers for failures. No default: a new status does not compile
 * until it has one. */
int api_problem_status(enum pe_status status)
{
    switch (status) {
    case PE_OK:
        return 200;
    case PE_MALFORMED:
        return 400;
    case PE_MISSING:
    case PE_UNKNOWN_PARAMETER:
    case PE_INVALID:
    case PE_OUT_OF_RANGE:
    case PE_CONFLICT:
    case PE_SHAPE_MISMATCH:
    case PE_UNSUPPORTED:
        return 422;
    case PE_NOT_FOUND:
        return 404;
    case PE_WRONG_METHOD:
        return 405;
    case PE_NOT_ACCEPTABLE:
        return 406;
    case PE_UNKNOWN_FORMAT:
        return 415;
    case PE_TOO_LARGE:
        return 413;
    case PE_TOO_MANY_FIELDS:
        return 431;
    case PE_PRECONDITION:
        return 409;
    case PE_RANGE:
        return 416;
    case PE_EXPECTATION:
        return 417;
    case PE_UNAUTHORIZED:
        return 401;
    case PE_WRITES_DISABLED:
    case PE_FORBIDDEN_HOST:
        return 403;
    case PE_NAME_TAKEN:
        return 409;
    case PE_CHANGED:
        return 412;
    case PE_STORAGE_FULL:
        return 507;
    case PE_TIMED_OUT:
        return 408;
    case PE_NOT_IMPLEMENTED:
        return 501;
    case PE_BUSY:
    case PE_OUT_OF_MEMORY:
        return 503;
    case PE_INTERNAL:
        return 500;
    }
    return 500;
}

/* "parameter:base" becomes {"parameter": "base", "detail": ...}. */
static json_t *errors_make(const struct pe_error *err)
{
    const size_t kind = strcspn(err->where, ":");
    char name[sizeof(err->where)];

    snprintf(name, sizeof(name), "%.*s", (int)kind, err->where);
    return json_pack("[{ss ss}]", name, err->where + kind + 1, "detail", err->detail);
}

static json_t *document_make(struct api *api, struct api_response *response,
                             const struct pe_error *err, const char *where, const char *detail)
{
    const char *code = pe_status_code(err->status);
    char type[160];
    struct pe_error mended = {.status = err->status};
    json_t *document;

    snprintf(mended.where, sizeof(mended.where), "%s", where);
    snprintf(mended.detail, sizeof(mended.detail), "%s", detail);
    snprintf(type, sizeof(type), "%s/problems/%s", api->settings.base_path, code);
    document = json_pack("{ss ss si ss ss}", "type", type, "title", pe_status_title(err->status),
                         "status", response->status, "code", code, "detail", mended.detail);
    if (!document)
        return NULL;
    if (strchr(mended.where, ':') &&
        json_object_set_new(document, "errors", errors_make(&mended))) {
        json_decref(document);
        return NULL;
    }
    if (response->request_id &&
        json_object_set_new(document, "request_id", json_string(response->request_id))) {
        json_decref(document);
        return NULL;
    }
    return document;
}

bool api_problem_write(struct api *api, struct api_response *response, const struct pe_error *err)
{
    /* Texts may quote what a client sent, and may have been cut inside a character. */
    const char *where = api_text_mend(response->arena, err->where);
    const char *detail = api_text_mend(response->arena, err->detail);
    struct api_text text = {0};
    const char *bytes;
    json_t *document;

    if (!where || !detail)
        return false;
    response->status = api_problem_status(err->status);
    document = document_make(api, response, err, where, detail);
    if (!document)
        return false;
    api_text_json(&text, document, false);
    api_text_put(&text, "\n");
    json_decref(document);
    bytes = api_text_take(&text, response->arena);
    if (!bytes)
        return false;

    atomic_fetch_add_explicit(&api->problems[err->status], 1, memory_order_relaxed);
    api_response_header(response, "Cache-Control", "no-store");
    if (response->status == 503)
        api_response_header(response, "Retry-After", "1");
    /* RFC 7694, 3: which of the two headers it is tells what was unknown. */
    if (response->status == 415 && strcmp(err->where, "header:Content-Encoding") == 0)
        api_response_header(response, "Accept-Encoding", api_codings_text);
    else if (response->status == 415)
        api_response_header(response, "Accept-Post",
                            "application/json, application/x-npy, application/x-safetensors, "
                            "application/octet-stream");
    api_respond_bytes(response, "application/problem+json", bytes, strlen(bytes));
    return true;
}

struct api_response *api_problem_no_memory(void)
{
    static const char document[] =
        "{\"type\":\"/problems/out-of-memory\",\"title\":\"Memory is short\",\"status\":503,"
        "\"code\":\"out-of-memory\",\"detail\":\"memory is short; try again later\"}\n";
    static const struct api_response response = {
        .status = 503,
        .route = "",
        .request_id = "",
        .operation = "",
        .encoding = "",
        .close = true,
        .headers = {{"Content-Type", "application/problem+json"},
                    {"Cache-Control", "no-store"},
                    {"Retry-After", "1"}},
        .headers_count = 3,
        .body = {.kind = API_BYTES,
                 .size = sizeof(document) - 1,
                 .bytes = (const unsigned char *)document},
    };
    return (struct api_response *)&response; /* whoever writes to it crashes */
}
