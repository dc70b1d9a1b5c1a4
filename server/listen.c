/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server.h"

enum { BACKLOG = 1024 };

static int listener_open(const struct addrinfo *address)
{
    const int on = 1;
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

/* SO_REUSEPORT lets two servers share a port silently; a plain bind fails if it is taken. */
static bool is_taken(const struct addrinfo *address)
{
    const int on = 1;
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool taken;

    if (fd < 0)
        return false;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    taken = bind(fd, address->ai_addr, address->ai_addrlen) != 0 && errno == EADDRINUSE;
    close(fd);
    return taken;
}

static void failure_describe(const char *host, const char *port, int why, char *message,
                             size_t size)
{
    const char *hint = why == EADDRINUSE ? "; choose another port, or end the program that has it"
                       : why == EACCES   ? "; ports below 1024 are for root, choose one above"
                       : why == EADDRNOTAVAIL ? "; this machine has no such address"
                                              : "";

    snprintf(message, size, "cannot listen on %s port %s: %s%s", host, port, strerror(why), hint);
}

bool srv_listen(const char *host, uint64_t *port, int *listeners, size_t count, char *message,
                size_t size)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *address;
    struct sockaddr_storage bound;
    socklen_t length = sizeof(bound);
    char text[8];
    size_t open = 0;
    int why;

    snprintf(text, sizeof(text), "%u", (unsigned)*port);
    why = getaddrinfo(host, text, &hints, &address);
    if (why) {
        snprintf(message, size, "--bind %s: %s", host, gai_strerror(why));
        return false;
    }
    errno = EADDRINUSE;
    while (open < count && !(open == 0 && *port != 0 && is_taken(address))) {
        listeners[open] = listener_open(address);
        if (listeners[open] < 0 || getsockname(listeners[open], (struct sockaddr *)&bound, &length))
            break;
        /* The others share the port of the first one. */
        memcpy(address->ai_addr, &bound, length);
        open++;
    }
    if (open == count)
        *port = ntohs(
            ((const struct sockaddr_in *)&bound)->sin_port); /* the same offset in sockaddr_in6 */
    else
        failure_describe(host, text, errno, message, size);
    for (size_t i = 0; open < count && i < open; i++)
        close(listeners[i]);
    freeaddrinfo(address);
    return open == count;
}
