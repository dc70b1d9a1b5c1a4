/* SPDX-License-Identifier: MIT */
#include "api/response/problem.h"

#include <stdio.h>
#include <string.h>

#include "api/codings/coding.h"
#include "api/numbers/text.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "api/response/response.h"

/* No default, so that a new status does not compile until it has a code here. */
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
    case PE_URI_TOO_LONG:
        return 414;
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
    case PE_CANCELLED:
    case PE_BUSY:
    case PE_OUT_OF_MEMORY:
        return 503;
    case PE_INTERNAL:
    case PE_STATUSES:
        return 500;
    }
    return 500;
}

/* "parameter:base" becomes {"parameter": "base", "code": ..., "detail": ...}. Texts may quote a
 * client, and may have been cut inside a character. */
static json_t *place_make(struct api_arena *arena, enum pe_status status, const char *where,
                          const char *detail)
{
    const char *place = api_text_sanitize(arena, where), *text = api_text_sanitize(arena, detail);
    const size_t kind = place ? strcspn(place, ":") : 0;
    char name[16];

    if (!place || !text || !place[kind])
        return NULL;
    snprintf(name, sizeof(name), "%.*s", (int)kind, place);
    return json_pack("{ss ss ss}", name, place + kind + 1, "code", pe_status_code(status), "detail",
                     text);
}

/* False: out of memory. */
static bool errors_set(json_t *document, struct api_arena *arena,
                       const struct api_parameter_errors *errors, const struct pe_error *err)
{
    json_t *list = json_array();
    bool done = list && json_object_set_new(document, "errors", list) == 0;

    for (size_t i = 0; done && errors && i < errors->count; i++) {
        const struct api_parameter_error *entry = &errors->list[i];
        /* The first has its detail in err, where more may have been added. */
        if (strchr(entry->where, ':'))
            done =
                json_array_append_new(list, place_make(arena, entry->status, entry->where,
                                                       i > 0 ? entry->detail : err->detail)) == 0;
    }
    if (done && json_array_size(list) == 0)
        done = json_array_append_new(list,
                                     place_make(arena, err->status, err->where, err->detail)) == 0;
    if (done && errors && errors->more > 0)
        done = json_object_set_new(document, "errors_left_out",
                                   json_integer((json_int_t)errors->more)) == 0;
    return done;
}

static json_t *document_make(struct api *api, struct api_response *response,
                             const struct api_parameter_errors *errors, const struct pe_error *err)
{
    const char *code = pe_status_code(err->status);
    const char *detail = api_text_sanitize(response->arena, err->detail);
    const bool is_first =
        errors && errors->count > 0 && strcmp(errors->list[0].where, err->where) == 0;
    char type[160];
    json_t *document;

    snprintf(type, sizeof(type), "%s/problems/%s", api->settings.base_path, code);
    document =
        detail ? json_pack("{ss ss si ss ss}", "type", type, "title", pe_status_title(err->status),
                           "status", response->status, "code", code, "detail", detail)
               : NULL;
    if (document &&
        ((strchr(err->where, ':') &&
          !errors_set(document, response->arena, is_first ? errors : NULL, err)) ||
         (response->request_id &&
          json_object_set_new(document, "request_id", json_string(response->request_id))))) {
        json_decref(document);
        return NULL;
    }
    return document;
}

bool api_problem_write(struct api *api, struct api_response *response,
                       const struct api_parameter_errors *errors, struct pe_error *err)
{
    struct api_text text = {0};
    const char *bytes;
    json_t *document;

    if (err->status == PE_CANCELLED)
        err->status = PE_BUSY;
    response->status = api_problem_status(err->status);
    response->problem = pe_status_code(err->status);
    document = document_make(api, response, errors, err);
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
    /* RFC 7694, 3: by this field clients see whether the coding or the type was unknown. */
    if (response->status == 415 && strcmp(err->where, "header:Content-Encoding") == 0)
        api_response_header(response, "Accept-Encoding", api_codings_text);
    else if (response->status == 415 && !api_response_field(response, "Accept"))
        api_response_header(response, "Accept-Post", api_accept_post);
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
        .problem = "out-of-memory",
        .operation = "",
        .encoding = "",
        .close = true,
        .headers = {{"Content-Type", "application/problem+json"},
                    {"Cache-Control", "no-store"},
                    {"Retry-After", "1"},
                    {"X-Content-Type-Options", "nosniff"}},
        .headers_count = 4,
        .body = {.kind = API_BYTES,
                 .size = sizeof(document) - 1,
                 .bytes = (const unsigned char *)document},
    };
    return (struct api_response *)&response; /* in read-only memory: never written to */
}
