/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/server.h"
#include "server/tcp.h"

/* ---- rates ----------------------------------------------------------------------------------- */

/* Slow clients: MHD's own timeout covers only silence. Rates are measured over a window as long as
 * --header-timeout, so that a pause is allowed. */

/* Were there too few bytes since the window began? Begins the next window when this one is over. */
static bool is_low(struct srv_rate *rate, uint64_t now_ms, uint64_t bytes, uint64_t window_ms,
                   uint64_t least)
{
    const uint64_t added = bytes - rate->bytes, passed = now_ms - rate->since_ms;

    if (rate->since_ms != 0 && passed < window_ms)
        return false;
    const bool low = rate->since_ms != 0 && (double)added < (double)least * (double)passed / 1e3;
    *rate = (struct srv_rate){now_ms, bytes};
    return low;
}

/* Is less than --body-rate-min arriving? The time in which the body waits for the server does not
 * count. */
static bool body_is_slow(struct srv_request *request, uint64_t now_ms)
{
    const struct srv_options *options = &request->loop->srv->options;

    if (request->sleeping)
        request->body_rate.since_ms = 0;
    return options->body_rate_min > 0 && !request->sleeping &&
           is_low(&request->body_rate, now_ms, request->received, options->header_timeout,
                  options->body_rate_min);
}

/* Is less than --read-rate-min being acknowledged? The time in which there is nothing to read does
 * not count. */
static bool reader_is_slow(struct srv_request *request, int fd, uint64_t now_ms)
{
    const struct srv_options *options = &request->loop->srv->options;
    struct srv_rate *rate = &request->read_rate;
    uint64_t taken;

    if (options->read_rate_min == 0 ||
        (rate->since_ms != 0 && now_ms - rate->since_ms < options->header_timeout) ||
        !srv_tcp_taken(fd, &taken))
        return false;
    if (request->sleeping || !srv_tcp_has_unsent(fd))
        rate->since_ms = 0;
    return is_low(rate, now_ms, taken, options->header_timeout, options->read_rate_min);
}

/* ---- after a refused upload ------------------------------------------------------------------ */

/* A client that is refused in the middle of its upload may write all of it before it reads. If the
 * socket were closed, the kernel would answer further bytes with a reset, which can overtake the
 * answer. So only the sending side is shut, and bytes that still arrive are read and dropped for a
 * while (RFC 9112, 9.6). */

enum {
    LINGERS_MAX = 256,    /* of one loop; more are closed at once */
    TOTAL_MS = 10000,     /* at most */
    SILENCE_MS = 2000,    /* without a byte */
    READ_MAX = 256 << 10, /* bytes read in one callback */
};

struct srv_linger {
    uv_poll_t poll; /* first: a closed handle is its linger */
    struct srv_linger *next, *previous;
    struct srv_loop *loop;
    int fd;
    uint64_t began_ms, last_ms;
};

static void linger_closed(uv_handle_t *handle)
{
    free(handle);
}

static void linger_end(struct srv_linger *linger)
{
    struct srv_loop *loop = linger->loop;

    *(linger->previous ? &linger->previous->next : &loop->lingers) = linger->next;
    if (linger->next)
        linger->next->previous = linger->previous;
    loop->lingers_count--;
    uv_close((uv_handle_t *)&linger->poll, linger_closed);
    close(linger->fd);
}

static void linger_read(uv_poll_t *poll, int status, int events)
{
    struct srv_linger *linger = (struct srv_linger *)poll;
    char dropped[8 << 10];
    ssize_t size = 1;

    (void)events;
    linger->last_ms = uv_now(&linger->loop->uv);
    for (size_t all = 0; status == 0 && size > 0 && all < READ_MAX; all += (size_t)size)
        size = recv(linger->fd, dropped, sizeof(dropped), MSG_DONTWAIT | MSG_TRUNC);
    if (status != 0 || size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        linger_end(linger);
}

/* Before the descriptor of a connection is closed. */
static void linger_start(struct srv_loop *loop, int fd)
{
    struct srv_linger *linger;

    if (loop->lingers_count == LINGERS_MAX)
        return;
    linger = calloc(1, sizeof(*linger));
    if (!linger)
        return;
    linger->loop = loop;
    linger->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (linger->fd < 0 || uv_poll_init(&loop->uv, &linger->poll, linger->fd) != 0) {
        if (linger->fd >= 0)
            close(linger->fd);
        free(linger);
        return;
    }
    linger->began_ms = linger->last_ms = uv_now(&loop->uv);
    linger->next = loop->lingers;
    if (linger->next)
        linger->next->previous = linger;
    loop->lingers = linger;
    loop->lingers_count++;
    uv_poll_start(&linger->poll, UV_READABLE, linger_read);
}

void srv_lingers_check(struct srv_loop *loop, bool end)
{
    const uint64_t now = uv_now(&loop->uv);

    for (struct srv_linger *linger = loop->lingers, *next; linger; linger = next) {
        next = linger->next;
        if (end || now - linger->began_ms > TOTAL_MS || now - linger->last_ms > SILENCE_MS)
            linger_end(linger);
    }
}

/* ---- connections ----------------------------------------------------------------------------- */

/* A probe is answered within this time. */
enum { PROBE_ANSWER_MS = 200 };

/* Is a probe under way that shows whether the client of a running request has left? */
static bool may_be_leaving(const struct srv_connection *c, uint64_t now)
{
    return c->half_closed && c->request && srv_request_is_computing(c->request) &&
           now - c->half_closed_ms < PROBE_ANSWER_MS;
}

static void disconnect_fire(uv_poll_t *watch, int status, int events)
{
    struct srv_connection *c = watch->data;

    (void)status;
    (void)events;
    /* Level-triggered: it would fire forever. From here on the tick checks. */
    uv_poll_stop(watch);
    c->half_closed = true;
    c->half_closed_ms = uv_now(&c->loop->uv);
    shutdown(c->fd, SHUT_RD);
    c->loop->again = true;
    if (may_be_leaving(c, c->half_closed_ms))
        srv_loop_check_soon(c->loop);
}

static void connection_add(struct srv_loop *loop, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct srv_connection *c = info ? calloc(1, sizeof(*c)) : NULL;

    *context = c;
    if (!c)
        return;
    c->loop = loop;
    c->connection = connection;
    c->counted = api_connection_began(loop->srv->api, SRV_CONNECTION_SIZE);
    c->fd = info->connect_fd;
    c->idle_since_ms = uv_now(&loop->uv);
    c->watch.data = c;
    c->watched = uv_poll_init(&loop->uv, &c->watch, c->fd) == 0;
    if (c->watched)
        uv_poll_start(&c->watch, UV_DISCONNECT, disconnect_fire);
    c->next = loop->connections;
    if (c->next)
        c->next->previous = c;
    loop->connections = c;
    if (!c->counted)
        shutdown(c->fd, SHUT_RDWR);
}

static void watch_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void connection_remove(struct srv_loop *loop, struct srv_connection *c)
{
    if (!c)
        return;
    if (c->counted)
        api_connection_ended(loop->srv->api, SRV_CONNECTION_SIZE);
    *(c->previous ? &c->previous->next : &loop->connections) = c->next;
    if (c->next)
        c->next->previous = c->previous;
    if (c->request)
        c->request->client = NULL;
    if (c->lingers)
        linger_start(loop, c->fd);
    if (c->watched)
        uv_close((uv_handle_t *)&c->watch, watch_closed);
    else
        free(c);
    /* At the limit of connections MHD accepts again only in its next run. */
    loop->again = true;
}

void srv_connection_notify(void *cls, struct MHD_Connection *connection, void **socket_context,
                           enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        connection_add(cls, connection, socket_context);
    else
        connection_remove(cls, *socket_context);
}

struct srv_connection *srv_connection_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    return info ? info->socket_context : NULL;
}

/* A client that shut down its side may still wait for the answer; a closed socket shows as an error
 * or as both sides closed. */
static bool is_gone(const struct srv_connection *c)
{
    struct pollfd state = {.fd = c->fd, .events = 0};

    return poll(&state, 1, 0) == 1 && (state.revents & (POLLERR | POLLHUP));
}

/* Checks the deadlines of a request; true: the connection has to be closed. */
static bool request_is_late(struct srv_request *request, int fd, uint64_t now)
{
    const struct srv_options *options = &request->loop->srv->options;

    switch (request->state) {
    case REQUEST_NEW:
    case REQUEST_REFUSED:
        return now - request->began_ms > options->header_timeout;
    case REQUEST_BODY:
        if (!body_is_slow(request, now))
            return false;
        srv_request_refuse_slow(request);
        return true;
    case REQUEST_WORKING:
        if (now - request->began_ms > options->request_timeout)
            srv_request_cancel(request, true);
        return false;
    case REQUEST_READY:
        return false;
    case REQUEST_ANSWERED:
        return reader_is_slow(request, fd, now);
    }
    return false;
}

/* For a connection between two requests. The first head counts as begun with the connection. */
static bool is_idle_too_long(const struct srv_connection *c, uint64_t now)
{
    const struct srv_options *options = &c->loop->srv->options;
    const uint64_t limit = !c->served && options->header_timeout < options->idle_timeout
                               ? options->header_timeout
                               : options->idle_timeout;

    return now - c->idle_since_ms > limit;
}

/* Discards the bytes that a slow reader has not acknowledged: the kernel would keep them for as
 * long as the client does not read. */
static void connection_cut(struct srv_connection *c)
{
    const struct linger discard = {.l_onoff = 1, .l_linger = 0};

    if (c->request && c->request->state == REQUEST_ANSWERED)
        setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &discard, sizeof(discard));
    shutdown(c->fd, SHUT_RDWR);
}

/* Unread bytes may be a complete head. */
static bool has_unread(const struct srv_connection *c)
{
    char byte;

    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Does the connection have to be closed? end: the server is ending, and waits only for requests
 * whose head is complete. */
static bool is_over(const struct srv_connection *c, bool end, uint64_t now)
{
    struct srv_request *request = c->request;

    if (end && (!request || request->state == REQUEST_NEW) && !has_unread(c))
        return true;
    return request ? request_is_late(request, c->fd, now) : is_idle_too_long(c, now);
}

void srv_connection_request_ended(struct srv_connection *c, const struct srv_request *request)
{
    /* Between requests a client may send empty lines, which nothing counts. */
    enum { COUNT_ANEW = 1024 };

    c->request = NULL;
    c->idle_since_ms = uv_now(&c->loop->uv);
    c->received += request->head_bytes + request->received;
    if (request->chunked || ++c->requests % COUNT_ANEW == 0)
        srv_tcp_received(c->fd, &c->received);
}

static void connection_check(struct srv_loop *loop, struct srv_connection *c, bool end)
{
    const uint64_t now = uv_now(&loop->uv);

    if (c->half_closed) {
        /* After data and FIN in one event MHD gets no further edge and misses the end; the shutdown
         * makes one. Repeated, because it can race with MHD's own read. */
        shutdown(c->fd, SHUT_RD);
        loop->again = true;
        if (c->request)
            srv_request_probe(c->request, c->fd);
        if (c->request && is_gone(c))
            srv_request_cancel(c->request, false);
        if (may_be_leaving(c, now))
            srv_loop_check_soon(loop);
    }
    if (is_over(c, end, now))
        connection_cut(c);
}

void srv_connections_check(struct srv_loop *loop, bool end)
{
    uv_update_time(&loop->uv);
    loop->checks_soon = false;
    for (struct srv_connection *c = loop->connections, *next; c; c = next) {
        next = c->next;
        connection_check(loop, c, end);
    }
}

/* ---- heads that the library cannot hold ------------------------------------------------------ */

/* The size of the head that the connection is sending, as far as it was received; 0: unknown. The
 * library has fields only once there is a request. Of a connection that it has answered and will
 * close it has freed them. */
static size_t head_begun(const struct srv_connection *c)
{
    uint64_t received;

    if (c->lingers || (c->request && c->request->state != REQUEST_NEW) || !c->counted ||
        !srv_tcp_received(c->fd, &received) || received <= c->received)
        return 0;
    const size_t bytes = (size_t)(received - c->received);
    return c->request ? srv_head_size(c->connection, bytes) : bytes;
}

/* By the callbacks of a request, so that it is counted and logged. */
static void head_refuse(struct srv_connection *c, size_t size)
{
    void *begun = NULL;

    c->lingers = true;
    if (!c->request)
        begun = srv_request_begin(c->loop, "", c->connection);
    if (!c->request || c->request->state == REQUEST_REFUSED)
        return;
    c->request->state = REQUEST_REFUSED;
    srv_head_refuse(c->request, size);
    if (begun)
        srv_request_complete(c->loop, c->connection, &begun, MHD_REQUEST_TERMINATED_WITH_ERROR);
}

/* The library has no callback for a head that exceeds its memory: it answers in HTML, and closes.
 * But it logs that before it answers, so the refusal is written to the socket then, whose sending
 * side is shut, so that the library's answer is dropped. The message does not name the connection:
 * each one that has sent more of a head than SRV_HEAD_MAX is refused, and no other. If none is
 * found, the library's answer is sent. A search reads the state of each socket, in about 1 us, and
 * may take a tenth of the loop's time. */
static void heads_check(struct srv_loop *loop)
{
    enum { WAIT_NS = 10000 };
    const uint64_t now = uv_hrtime();

    if (now < loop->heads_next_ns)
        return;
    loop->heads_next_ns = now;
    for (struct srv_connection *c = loop->connections; c; c = c->next) {
        const size_t size = head_begun(c);
        loop->heads_next_ns += WAIT_NS;
        if (size > SRV_HEAD_MAX)
            head_refuse(c, size);
    }
}

void srv_connection_log(void *cls, const char *format, va_list arguments)
{
    static const char refusal[] = "Error processing request (HTTP response code is %u ";
    unsigned int status;

    if (strncmp(format, refusal, sizeof(refusal) - 1) != 0)
        return;
    status = va_arg(arguments, unsigned int);
    if (status == MHD_HTTP_URI_TOO_LONG || status == MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE)
        heads_check(cls);
}
