/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/server.h"

/* The URI and the fields of a head, where the HTTP library's own way with them would end in a
 * connection that is closed without an answer. */

/* An argument of a query takes 64 bytes of the connection's memory where the library reads it, and
 * a connection whose memory is full gets no answer. So the query is taken away, which is read in
 * api/ alone. The text is the library's own buffer, which it cuts up itself right behind this call:
 * an empty query ends its walk over the arguments. */
char *srv_uri_take(const char *uri)
{
    char *copy = strdup(uri ? uri : "");
    char *query = uri ? strchr((char *)uri, '?') : NULL;

    if (copy && query && query[1])
        query[1] = '\0';
    return copy;
}

/* The host of an absolute target, moved to the left over a slash so that it ends before the path;
 * *target is what stands behind it. */
static char *host_cut(char **target)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const size_t scheme = strlen(schemes[i]);
        if (strncasecmp(*target, schemes[i], scheme) != 0)
            continue;
        char *host = *target + scheme;
        const size_t length = strcspn(host, "/?#");
        *target = host + length;
        memmove(host - 1, host, length);
        host[length - 1] = '\0';
        return host - 1;
    }
    return NULL;
}

const char *srv_target_cut(struct srv_request *request)
{
    char *path = request->uri;
    const char *host = host_cut(&path);
    char *query = strchr(path, '?');

    request->query = query ? query + 1 : NULL;
    if (query)
        *query = '\0';
    request->path = host && !*path ? "/" : path;
    return host;
}

void srv_uri_refuse(struct srv_request *request)
{
    struct pe_error err = {0};

    pe_fail(&err, PE_URI_TOO_LONG, "",
            "a path and its query have at most %d bytes here, got %zu; a POST takes parameters in "
            "its body",
            SRV_URI_MAX, strlen(request->uri));
    request->uri[SRV_URI_MAX] = '\0';
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
    struct api_head head = {.method = request->method, .fields = fields};

    for (size_t i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++) {
        const char *value =
            MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, repeated[i]);
        if (value)
            fields[head.fields_count++] = (struct api_field){repeated[i], value};
    }
    return api_refuse(request->loop->srv->api, &head, err);
}

/* traceparent: 00-<32 digits>-<16>-<2> */
void srv_trace_copy(struct srv_request *request, const struct api_head *head)
{
    for (size_t i = 0; i < head->fields_count; i++) {
        const char *value = head->fields[i].value;
        if (strcasecmp(head->fields[i].name, "traceparent") == 0 && strlen(value) >= 55 &&
            strspn(value + 3, "0123456789abcdef") == 32)
            memcpy(request->trace_id, value + 3, 32);
    }
}

static const char *expectation(const struct api_head *head)
{
    for (size_t i = 0; i < head->fields_count; i++)
        if (strcasecmp(head->fields[i].name, "Expect") == 0)
            return head->fields[i].value;
    return NULL;
}

bool srv_expects_continue(const struct api_head *head)
{
    return expectation(head);
}

/* There is no body to wait for, and behind its interim response the library would take the next
 * request for one. So the word is spoilt in the library's own buffer, where it looks for it. */
void srv_expectation_drop(const struct api_head *head)
{
    char *value = (char *)expectation(head);

    if (value && *value)
        *value = '-';
}
