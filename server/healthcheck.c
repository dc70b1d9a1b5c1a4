/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "server/server.h"

/* A connected socket; -1: *why has the reason. */
static int connected(const struct srv_options *options, const char **why)
{
    /* A server that listens on all addresses is reached on loopback. */
    const char *address = strcmp(options->bind, "0.0.0.0") == 0 ? "127.0.0.1"
                          : strcmp(options->bind, "::") == 0    ? "::1"
                                                                : options->bind;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    const struct timeval patience = {.tv_sec = 3};
    struct addrinfo *found;
    char port[8];
    int fd = -1, code;

    snprintf(port, sizeof(port), "%u", (unsigned)options->port);
    code = getaddrinfo(address, port, &hints, &found);
    *why = gai_strerror(code);
    if (code != 0)
        return -1;
    for (struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            *why = strerror(errno);
            continue;
        }
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            *why = strerror(errno);
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

static int failed(const struct srv_options *options, const char *why)
{
    srv_log("posencd: --healthcheck of --bind %s --port %u: %s", options->bind,
            (unsigned)options->port, why);
    return 1;
}

int srv_healthcheck(const struct srv_options *options)
{
    char request[512], answer[64] = "";
    const char *path =
        strcmp(options->service.base_path, "/") == 0 ? "" : options->service.base_path;
    const char *names =
        *options->service.allowed_host ? options->service.allowed_host : "localhost";
    const char *why;
    const int fd = connected(options, &why);
    size_t have = 0;

    if (fd < 0)
        return failed(options, why);
    const int size = snprintf(request, sizeof(request),
                              "GET %s/readyz HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n\r\n",
                              path, (int)strcspn(names, ","), names);
    if (size < (int)sizeof(request) && write(fd, request, (size_t)size) == size)
        for (ssize_t got; have + 1 < sizeof(answer) &&
                          (got = read(fd, answer + have, sizeof(answer) - 1 - have)) > 0;)
            have += (size_t)got;
    close(fd);
    if (strncmp(answer, "HTTP/1.1 200", 12) == 0)
        return 0;
    if (!have)
        return failed(options, "there was no answer");
    answer[strcspn(answer, "\r\n")] = '\0';
    return failed(options, answer);
}
