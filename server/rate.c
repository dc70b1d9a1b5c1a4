/* SPDX-License-Identifier: MIT */
#include "server/server.h"
#include "server/tcp.h"

/* Clients that trickle: the library's own timeout knows only silence. A rate is judged over a
 * window as long as --header-timeout, so that a pause is no crime. */

/* Were there too few bytes since the window began? It begins anew wherever this can be told. */
static bool is_low(struct srv_rate *rate, uint64_t now_ms, uint64_t bytes, uint64_t window_ms,
                   uint64_t least)
{
    const uint64_t came = bytes - rate->bytes, passed = now_ms - rate->since_ms;

    if (rate->since_ms != 0 && passed < window_ms)
        return false;
    const bool low = rate->since_ms != 0 && (double)came < (double)least * (double)passed / 1e3;
    *rate = (struct srv_rate){now_ms, bytes};
    return low;
}

/* A body is not slow while it waits for the server. */
bool srv_body_is_slow(struct srv_request *request, uint64_t now_ms)
{
    const struct srv_config *config = &request->loop->srv->config;

    if (request->sleeping)
        request->body_rate.since_ms = 0;
    return config->body_rate_min > 0 && !request->sleeping &&
           is_low(&request->body_rate, now_ms, request->received, config->header_timeout,
                  config->body_rate_min);
}

/* A reader is not slow while there is nothing to read. */
bool srv_reader_is_slow(struct srv_request *request, int fd, uint64_t now_ms)
{
    const struct srv_config *config = &request->loop->srv->config;
    struct srv_rate *rate = &request->read_rate;
    uint64_t taken;

    if (config->read_rate_min == 0 ||
        (rate->since_ms != 0 && now_ms - rate->since_ms < config->header_timeout) ||
        !srv_tcp_taken(fd, &taken))
        return false;
    if (request->sleeping || !srv_tcp_has_unsent(fd))
        rate->since_ms = 0;
    return is_low(rate, now_ms, taken, config->header_timeout, config->read_rate_min);
}
