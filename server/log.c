/* SPDX-License-Identifier: MIT */
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

/* Text of a client goes into a log as harmless characters only. */
static void clean_copy(char *out, size_t size, const char *text)
{
    size_t at = 0;

    for (; *text && at + 1 < size; text++)
        out[at++] = *text > ' ' && *text < 127 && *text != '"' && *text != '\\' ? *text : '?';
    out[at] = '\0';
}

/* A log that nobody reads must not stop the service: what cannot be written at once is lost. A pipe
 * that says it is writable has room for PIPE_BUF bytes, which a line stays below. */
static void line_write(const char *line, size_t size)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    if (poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) && write(STDOUT_FILENO, line, size) < 0)
        return;
}

void srv_log_request(const struct srv *srv, const struct srv_request *request, double seconds)
{
    const struct srv_outcome *outcome = &request->outcome;
    char path[256], method[16], line[1024], stamp[32];
    struct tm utc;
    time_t now;
    int size;

    if (srv->log_off)
        return;
    now = time(NULL);
    clean_copy(path, sizeof(path), request->uri);
    clean_copy(method, sizeof(method), request->method);
    gmtime_r(&now, &utc);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%SZ", &utc);
    size = snprintf(
        line, sizeof(line),
        srv->log_json ? "{\"time\":\"%s\",\"method\":\"%s\",\"path\":\"%s\",\"route\":\"%s\","
                        "\"status\":%d,\"bytes\":%llu,\"ms\":%.3f,\"request_id\":\"%s\","
                        "\"trace_id\":\"%s\"}\n"
                      : "%s %s %s %s %d %lluB %.3fms %s %s\n",
        stamp, method, path, outcome->route ? outcome->route : "", outcome->status,
        (unsigned long long)outcome->size, seconds * 1e3, outcome->request_id, request->trace_id);
    if (size > 0)
        line_write(line, (size_t)size < sizeof(line) ? (size_t)size : sizeof(line) - 1);
}
