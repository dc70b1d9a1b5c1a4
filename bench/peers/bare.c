/* SPDX-License-Identifier: MIT */
#include "bench/peers/bare.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_MAX = 16384, BACKLOG = 1024 };

struct connection {
    int fd;
    bare_serve_connection *serve;
};

static void *run(void *argument)
{
    struct connection connection = *(struct connection *)argument;
    struct wire wire;

    free(argument);
    if (wire_open(&wire, connection.fd, HEAD_MAX))
        connection.serve(&wire);
    wire_close(&wire);
    return NULL;
}

static int listen_anywhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        perror("listen");
        return -1;
    }
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return fd;
}

static bool start_thread(int fd, bare_serve_connection *serve)
{
    struct connection *connection = malloc(sizeof(*connection));
    pthread_t thread;

    if (!connection)
        return false;
    *connection = (struct connection){fd, serve};
    if (pthread_create(&thread, NULL, run, connection) != 0) {
        free(connection);
        return false;
    }
    pthread_detach(thread);
    return true;
}

int bare_serve(bare_serve_connection *serve)
{
    const int listener = listen_anywhere();
    const int on = 1;

    if (listener < 0)
        return 1;
    for (;;) {
        const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0) {
            perror("accept");
            return 1;
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (!start_thread(fd, serve))
            close(fd);
    }
}
