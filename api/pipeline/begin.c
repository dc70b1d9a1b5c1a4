/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/arguments/arguments.h"
#include "api/codings/coding.h"
#include "api/pipeline/pipeline.h"
#include "api/request/head.h"
#include "api/response/problem.h"
#include "api/response/response.h"
#include "api/routes/handler.h"
#include "api/store/access.h"
#include "api/store/store.h"

static enum pe_status copy_field(struct api_intake *intake, const struct api_head *head,
                                 const char *name, const char **to, struct pe_error *err)
{
    const char *value = api_head_field(head, name);

    if (!value)
        return PE_OK;
    *to = api_arena_copy(intake->request.arena, value);
    return *to ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
}

/* Joins the fields of a list (RFC 9110, 5.3). */
static enum pe_status copy_list(struct api_intake *intake, const struct api_head *head,
                                const char *name, const char **to, struct pe_error *err)
{
    const char *list = NULL;

    if (!api_head_repeats(head, name))
        return copy_field(intake, head, name, to, err);
    for (size_t i = 0; i < head->fields_count; i++) {
        if (strcasecmp(head->fields[i].name, name) != 0)
            continue;
        list = api_arena_print(intake->request.arena, "%s%s%s", list ? list : "", list ? "," : "",
                               head->fields[i].value);
        if (!list)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    }
    *to = list;
    return PE_OK;
}

static enum pe_status fields_copy(struct api_intake *intake, const struct api_head *head,
                                  struct pe_error *err)
{
    struct api_request *request = &intake->request;
    const char *type = api_head_field(head, "Content-Type");
    char *media;

    if (copy_list(intake, head, "Accept", &intake->accept, err) ||
        copy_list(intake, head, "Accept-Encoding", &intake->accept_encoding, err) ||
        copy_list(intake, head, "If-Match", &request->if_match, err) ||
        copy_list(intake, head, "If-None-Match", &request->if_none_match, err) ||
        copy_field(intake, head, "If-Range", &request->if_range, err) ||
        copy_field(intake, head, "Range", &request->range, err) ||
        copy_field(intake, head, "Host", &request->host, err) ||
        copy_field(intake, head, "X-Forwarded-Proto", &request->forwarded_proto, err) ||
        copy_field(intake, head, "Tensor-Dtype", &request->tensor_dtype, err) ||
        copy_field(intake, head, "Tensor-Shape", &request->tensor_shape, err))
        return err->status;
    if (!type)
        return PE_OK;
    type += strspn(type, " \t");
    media = api_arena_print(request->arena, "%.*s", (int)strcspn(type, "; \t"), type);
    if (!media)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    for (char *at = media; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    request->content_type = media;
    return PE_OK;
}

/* Against DNS rebinding: a page of another name that resolves to this server sends that name. */
static enum pe_status host_check(const struct api *api, const struct api_head *head,
                                 struct pe_error *err)
{
    const char *host = api_head_field(head, "Host"), *list = api->settings.allowed_hosts;
    size_t length;

    if (!host || !list)
        return PE_OK;
    length = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    for (; *list; list += *list == ',') {
        const size_t name = strcspn(list, ",");
        const char *end = strchr(host, '\0');
        if (name == length && length <= (size_t)(end - host) && strncasecmp(list, host, name) == 0)
            return PE_OK;
        list += name;
    }
    return pe_fail(err, PE_FORBIDDEN_HOST, "header:Host",
                   "the Host '%.80s' is not a name of this server; --allowed-host adds one", host);
}

static enum pe_status expectation_check(const struct api_head *head, struct pe_error *err)
{
    const char *expect = api_head_field(head, "Expect");

    if (!expect || strcasecmp(expect, "100-continue") == 0)
        return PE_OK;
    return pe_fail(err, PE_EXPECTATION, "header:Expect",
                   "only 100-continue can be expected, got '%.60s'", expect);
}

/* Before the upload: may this client store tables here? PE_WRITES_DISABLED, PE_UNAUTHORIZED. */
static enum pe_status write_check(struct api_intake *intake, const struct api_head *head,
                                  struct pe_error *err)
{
    const struct api *api = intake->request.api;

    if (!api_store_has_folder(api->store))
        return pe_fail(err, PE_WRITES_DISABLED, "",
                       "this server stores nothing; --tables names a folder to store in");
    if (!api->settings.token_file && !api->settings.anonymous_writes)
        return pe_fail(err, PE_WRITES_DISABLED, "",
                       "nobody may store here; --token-file lists the tokens of those who may");
    if (api->settings.token_file &&
        !api_access_allows(api->access, api_head_field(head, "Authorization"))) {
        api_response_header(intake->response, "WWW-Authenticate", "Bearer realm=\"posenc\"");
        intake->common_headers = intake->response->headers_count;
        return pe_fail(err, PE_UNAUTHORIZED, "header:Authorization",
                       "to store or delete, show a token: Authorization: Bearer TOKEN");
    }
    return PE_OK;
}

static enum pe_status query_read(struct api_intake *intake, const struct api_head *head,
                                 struct pe_error *err)
{
    struct api_request *request = &intake->request;
    char *query = api_arena_copy(request->arena, head->query ? head->query : "");

    if (!query)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the query");
    if (api_query_parse(request, query, err))
        return err->status;
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, "format") == 0) {
            if (intake->format_wanted && strcmp(intake->format_wanted, request->query[i].value))
                return pe_fail(err, PE_CONFLICT, "parameter:format", "format is given twice");
            intake->format_wanted = request->query[i].value;
        }
    return PE_OK;
}

/* The preflight of a response that depends on stored tables allows no other origin either. Mistakes
 * in the query are ignored. */
static void preflight_settle(struct api_intake *intake, const struct api_head *head)
{
    struct api_request *request = &intake->request;

    query_read(intake, head, &(struct pe_error){0});
    if (request->route->handler == &api_handler_list_encodings || api_stored_is_named(request))
        api_store_of(request);
    api_intake_restrict_cors(intake);
}

static enum pe_status head_read(struct api_intake *intake, const struct api_head *head,
                                struct pe_error *err)
{
    struct api_request *request = &intake->request;
    struct api_response *response = intake->response;
    const char *allow = NULL;
    enum pe_status status;

    if (host_check(request->api, head, err))
        return err->status;
    if (api_head_cache_find(intake, head))
        return api_body_prepare(intake, head, err);
    if (fields_copy(intake, head, err))
        return err->status;
    api_response_cache_find(intake, head);
    if (intake->cached_response)
        return PE_OK;
    status = api_route_find(request, head->path, &allow, err);
    if (request->route)
        response->route = request->route->pattern;
    if (status == PE_NOT_FOUND &&
        (strcmp(request->method, "TRACE") == 0 || strcmp(request->method, "CONNECT") == 0)) {
        allow = "GET, HEAD, POST, OPTIONS";
        *err = (struct pe_error){0};
        status = pe_fail(err, PE_WRONG_METHOD, "", "%s is not offered", request->method);
    }
    if (status == PE_WRONG_METHOD) {
        api_response_header(response, "Allow", allow);
        intake->common_headers = response->headers_count;
    }
    if (status)
        return status;
    if (strcmp(request->method, "OPTIONS") == 0) {
        preflight_settle(intake, head);
        api_cors_preflight(request->api, response, allow);
        request->route = NULL;
        intake->refusal = response;
        return api_body_prepare(intake, head, err);
    }
    if (request->route->writes && write_check(intake, head, err))
        return err->status;
    if (!api_type_is_open(request->content_type) &&
        api_body_type_check(intake, request->content_type, err))
        return err->status;
    if (expectation_check(head, err) || api_coding_find(head, &intake->body_coding, err) ||
        api_body_prepare(intake, head, err) || query_read(intake, head, err))
        return err->status;
    if (intake->body_coding && !intake->discards && api_decode_begin(intake, err))
        return err->status;
    return api_format_choose(intake, err);
}

struct api_response *api_begin(struct api *api, const struct api_head *head,
                               struct api_intake **out)
{
    struct api_intake *intake = api_intake_new(api, head);
    struct pe_error err = {0};
    struct api_response *refusal;

    *out = NULL;
    if (!intake)
        return api_problem_no_memory();
    if (head_read(intake, head, &err)) {
        api_post_advise(intake, head, &err);
        refusal = api_intake_fail(intake, &err);
        /* Without a body the connection can go on. */
        if (head->content_length != 0) {
            refusal->close = true;
            return refusal;
        }
        intake->refusal = refusal;
    }
    *out = intake;
    return NULL;
}

size_t api_text_elements(const char *text)
{
    return strstr(text, "..") ? pe_ranges_count(text) : 0;
}

enum { LIGHT_QUERY = 1 << 10, LIGHT_ARGUMENTS = 64 };

/* Is the query parsed quickly? Many arguments, long lists and ranges of many elements are not. */
static bool query_is_light(const struct api_request *request)
{
    size_t size = 0, elements = 0;

    if (request->query_count > LIGHT_ARGUMENTS)
        return false;
    for (size_t i = 0; i < request->query_count; i++) {
        size += strlen(request->query[i].name) + strlen(request->query[i].value);
        elements += api_text_elements(request->query[i].value);
    }
    return size <= LIGHT_QUERY && elements <= API_LOOP_ELEMENTS;
}

/* Does the request need no file? Stored tables are looked up in files. */
static bool needs_no_file(const struct api_request *request)
{
    const struct pe_encoding *encoding = request->name ? pe_encoding_find(request->name) : NULL;

    return !request->name || (encoding && encoding != api_stored_encoding());
}

enum api_cost api_intake_cost(const struct api_intake *intake)
{
    const struct api_route *route = intake->request.route;

    if (intake->refusal || intake->cached_response || !route)
        return API_COST_QUICK;
    if (!query_is_light(&intake->request))
        return API_COST_LONG;
    if (route->cost == API_COST_QUICK_UNENCODED)
        return intake->request.response_coding ? API_COST_LONG : API_COST_QUICK;
    /* Bodies are decoded on the pool. */
    if (route->cost == API_COST_MAYBE_QUICK &&
        (intake->decoding || !needs_no_file(&intake->request)))
        return API_COST_LONG;
    return route->cost;
}
