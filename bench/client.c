/* SPDX-License-Identifier: MIT */
/* A client that asks the same over and over: a blocking socket and a thread a connection. It checks
 * the status and, where one is told, the length of every answer, and prints what it counted as
 * JSON.
 * "{}" in a path or header stands for a number that never came before, so that no kept answer is
 * of use. */
#include "bench/answer.h"

#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RECEIVE = 256 << 10, HEAD_MAX = 4096, CONNECTIONS_MAX = 256, SILENCE_MAX = 120 };

/* Each run of the client counts from the microsecond of its start. */
#define NUMBERS 1000000000u

static _Atomic uint64_t number_next;

struct options {
    uint16_t port;
    int connections, status;
    double seconds;    /* after which no request is begun */
    uint64_t requests; /* most of one connection; 0: any */
    uint64_t bytes;    /* of an answer's body; UINT64_MAX: any */
    const char *method, *path, *body_file;
    char fields[HEAD_MAX / 2];
    char head[HEAD_MAX];
    size_t head_length, body_length;
    const char *number; /* where the head has its number, or NULL */
    char *body;
};

struct client {
    pthread_t thread;
    const struct options *options;
    uint64_t requests;
    double seconds, first_bytes;
    double *times; /* of each request */
    char failure[96];
};

static int connect_to(uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const struct timeval silence = {.tv_sec = SILENCE_MAX};
    const int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof(silence));
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static size_t head_make(const struct options *o, char *head)
{
    return (size_t)snprintf(head, HEAD_MAX, "%.*s%" PRIu64 "%s", (int)(o->number - o->head),
                            o->head, number_next++ % NUMBERS, o->number + 2);
}

static void time_note(struct client *client, double seconds)
{
    const uint64_t count = client->requests++;

    if ((count & (count - 1)) == 0) {
        client->times = realloc(client->times, 2 * (count + 1) * sizeof(*client->times));
        if (!client->times)
            exit(1);
    }
    client->times[count] = seconds;
}

static bool ask_once(struct client *client, struct wire *wire)
{
    const struct options *o = client->options;
    const double began = answer_now();
    char made[HEAD_MAX + 32];
    const char *head = o->number ? made : o->head;
    const size_t length = o->number ? head_make(o, made) : o->head_length;
    struct answer answer;

    if (!wire_send(wire->fd, head, length, o->body, o->body_length))
        snprintf(client->failure, sizeof(client->failure), "the request was not taken");
    else if (!answer_read(wire, o->status, &answer))
        snprintf(client->failure, sizeof(client->failure), "the answer ended early");
    else if (answer.status != o->status)
        snprintf(client->failure, sizeof(client->failure), "status %d instead of %d", answer.status,
                 o->status);
    else if (o->bytes != UINT64_MAX && answer.bytes != o->bytes)
        snprintf(client->failure, sizeof(client->failure), "%" PRIu64 " bytes instead of %" PRIu64,
                 answer.bytes, o->bytes);
    if (client->failure[0])
        return false;
    client->first_bytes += answer.first_byte - began;
    time_note(client, answer_now() - began);
    return true;
}

static void *run(void *argument)
{
    struct client *client = argument;
    const struct options *o = client->options;
    const int fd = connect_to(o->port);
    struct wire wire;
    double began;

    if (fd < 0 || !wire_open(&wire, fd, RECEIVE)) {
        snprintf(client->failure, sizeof(client->failure), "no connection");
        return NULL;
    }
    began = answer_now();
    do {
        if (!ask_once(client, &wire))
            break;
        client->seconds = answer_now() - began;
    } while (client->seconds < o->seconds && (!o->requests || client->requests < o->requests));
    wire_close(&wire);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The times of all connections in order; their number is `count`. */
static double *times_sorted(const struct options *options, const struct client *clients,
                            uint64_t count)
{
    double *all = malloc(count * sizeof(*all)), *at = all;

    if (!all)
        exit(1);
    for (int i = 0; i < options->connections; i++) {
        memcpy(at, clients[i].times, clients[i].requests * sizeof(*at));
        at += clients[i].requests;
    }
    qsort(all, count, sizeof(*all), compare);
    return all;
}

static int report(const struct options *options, const struct client *clients)
{
    double rate = 0, first_bytes = 0, *times;
    uint64_t requests = 0;

    for (int i = 0; i < options->connections; i++) {
        const struct client *client = &clients[i];

        if (client->failure[0]) {
            fprintf(stderr, "%s\n", client->failure);
            return 1;
        }
        rate += (double)client->requests / client->seconds;
        first_bytes += client->first_bytes;
        requests += client->requests;
    }
    times = times_sorted(options, clients, requests);
    printf("{\"requests\":%" PRIu64 ",\"rate\":%.9g,\"first_byte_ms\":%.6g,\"p50_ms\":%.6g,"
           "\"p99_ms\":%.6g}\n",
           requests, rate, 1e3 * first_bytes / (double)requests, 1e3 * times[requests / 2],
           1e3 * times[requests * 99 / 100]);
    free(times);
    return 0;
}

static int measure(const struct options *options)
{
    static struct client clients[CONNECTIONS_MAX];

    for (int i = 0; i < options->connections; i++) {
        clients[i].options = options;
        if (pthread_create(&clients[i].thread, NULL, run, &clients[i]) != 0) {
            perror("pthread_create");
            exit(1);
        }
    }
    for (int i = 0; i < options->connections; i++)
        pthread_join(clients[i].thread, NULL);
    return report(options, clients);
}

static bool read_body(struct options *options)
{
    FILE *file = fopen(options->body_file, "rb");
    bool good = file && fseek(file, 0, SEEK_END) == 0;

    if (good) {
        options->body_length = (size_t)ftell(file);
        options->body = malloc(options->body_length);
        rewind(file);
        good = options->body &&
               fread(options->body, 1, options->body_length, file) == options->body_length;
    }
    if (file)
        fclose(file);
    if (!good)
        perror(options->body_file);
    return good;
}

static bool write_head(struct options *options)
{
    char length[64] = "";
    int written;

    if (options->body_file)
        snprintf(length, sizeof(length), "Content-Length: %zu\r\n", options->body_length);
    written = snprintf(options->head, sizeof(options->head),
                       "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s%s\r\n", options->method,
                       options->path, options->fields, length);
    options->head_length = (size_t)written;
    options->number = strstr(options->head, "{}");
    number_next = (uint64_t)(answer_now() * 1e6);
    return options->head_length < sizeof(options->head);
}

static void add_field(struct options *options, const char *field)
{
    const size_t have = strlen(options->fields);

    snprintf(options->fields + have, sizeof(options->fields) - have, "%s\r\n", field);
}

static bool take_option(struct options *options, int option)
{
    switch (option) {
    case 'p':
        options->port = (uint16_t)atoi(optarg);
        return true;
    case 'c':
        options->connections = atoi(optarg);
        return options->connections > 0 && options->connections <= CONNECTIONS_MAX;
    case 's':
        options->seconds = atof(optarg);
        return true;
    case 'n':
        options->requests = strtoull(optarg, NULL, 10);
        return true;
    case 'S':
        options->status = atoi(optarg);
        return true;
    case 'b':
        options->bytes = strtoull(optarg, NULL, 10);
        return true;
    case 'H':
        add_field(options, optarg);
        return true;
    case 'f':
        options->body_file = optarg;
        options->method = "POST";
        return true;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    static const struct option names[] = {
        {"port", required_argument, NULL, 'p'},
        {"connections", required_argument, NULL, 'c'},
        {"seconds", required_argument, NULL, 's'},
        {"requests", required_argument, NULL, 'n'},
        {"status", required_argument, NULL, 'S'},
        {"bytes", required_argument, NULL, 'b'},
        {"header", required_argument, NULL, 'H'},
        {"body", required_argument, NULL, 'f'},
        {NULL, 0, NULL, 0},
    };
    static struct options options = {
        .connections = 1, .status = 200, .seconds = 1, .bytes = UINT64_MAX, .method = "GET"};
    int option;

    while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
        if (!take_option(&options, option))
            return 2;
    if (optind + 1 != argc || !options.port) {
        fprintf(stderr, "usage: client --port N [--connections N] [--seconds S] [--requests N]\n"
                        "              [--status N] [--bytes N] [--header H] [--body FILE] PATH\n");
        return 2;
    }
    options.path = argv[optind];
    if (options.body_file && !read_body(&options))
        return 1;
    return write_head(&options) ? measure(&options) : 2;
}
