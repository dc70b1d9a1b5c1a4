/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/server.h"

void srv_log(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

/* Text of a client is logged with all but harmless characters escaped as the format does, and cut
 * with three dots if it is too long. */
static void clean_copy(char *out, size_t size, const char *text, bool json)
{
    static const char dots[] = "...", digits[] = "0123456789abcdef";
    const size_t most = size - sizeof(dots), escape = json ? 6 : 4;
    size_t at = 0;

    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        const bool plain = c > ' ' && c < 127 && c != '"' && c != '\\';
        if (at + (plain ? 1 : escape) > most) {
            memcpy(out + at, dots, sizeof(dots) - 1);
            at += sizeof(dots) - 1;
            break;
        }
        if (plain) {
            out[at++] = *text;
            continue;
        }
        memcpy(out + at, json ? "\\u00" : "\\x", escape - 2);
        at += escape;
        out[at - 2] = digits[c >> 4];
        out[at - 1] = digits[c & 15];
    }
    out[at] = '\0';
}

/* The address of the client, or of the balancer in front. */
static void address_print(char *out, socklen_t size, struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    const void *number = NULL;

    if (address && address->sa_family == AF_INET)
        number = &((const struct sockaddr_in *)address)->sin_addr;
    else if (address && address->sa_family == AF_INET6)
        number = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (!number || !inet_ntop(address->sa_family, number, out, size))
        snprintf(out, size, "-");
}

static bool is_probe(const char *route)
{
    return strcmp(route, "/livez") == 0 || strcmp(route, "/readyz") == 0 ||
           strcmp(route, "/metrics") == 0;
}

/* A log that is not read must not block the service: lines that cannot be written at once are
 * dropped. A writable pipe takes PIPE_BUF bytes, and lines are shorter. */
static void line_write(const char *line, size_t size)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    if (poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) && write(STDOUT_FILENO, line, size) < 0)
        return;
}

static const char *or_dash(const char *text)
{
    return *text ? text : "-";
}

void srv_log_request(const struct srv *srv, const struct srv_request *request, double seconds)
{
    const struct srv_outcome *outcome = &request->outcome;
    const char *route = outcome->route ? outcome->route : "";
    const char *problem = outcome->problem ? outcome->problem : "";
    char client[INET6_ADDRSTRLEN], path[512], query[512], method[32], line[2048], stamp[32];
    const bool json = srv->log_json;
    struct tm utc;
    time_t now;
    int size;

    if (srv->log_off || (!srv->options.log_probes && is_probe(route)))
        return;
    now = time(NULL);
    address_print(client, sizeof(client), request->connection);
    clean_copy(path, sizeof(path), request->path, json);
    clean_copy(query, sizeof(query), request->query ? request->query : "", json);
    clean_copy(method, sizeof(method), request->method, json);
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (json)
        size = snprintf(line, sizeof(line),
                        "{\"time\":\"%s\",\"client\":\"%s\",\"method\":\"%s\",\"path\":\"%s\","
                        "\"query\":\"%s\",\"route\":\"%s\",\"status\":%d,\"problem\":\"%s\","
                        "\"bytes\":%llu,\"ms\":%.3f,\"request_id\":\"%s\",\"trace_id\":\"%s\"}\n",
                        stamp, client, method, path, query, route, outcome->status, problem,
                        (unsigned long long)outcome->size, seconds * 1e3, outcome->request_id,
                        request->trace_id);
    else
        size = snprintf(line, sizeof(line), "%s %s %s %s%s%s %s %d %s %lluB %.3fms %s %s\n", stamp,
                        client, or_dash(method), or_dash(path), *query ? "?" : "", query,
                        or_dash(route), outcome->status, or_dash(problem),
                        (unsigned long long)outcome->size, seconds * 1e3,
                        or_dash(outcome->request_id), or_dash(request->trace_id));
    if (size > 0)
        line_write(line, (size_t)size < sizeof(line) ? (size_t)size : sizeof(line) - 1);
}
