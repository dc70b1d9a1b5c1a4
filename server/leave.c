/* SPDX-License-Identifier: MIT */
#include <sys/socket.h>

#include "server/server.h"

/* Work that ends sooner is not worth a probe. */
enum { PROBE_NS = 20000000 };

void srv_request_abandon(struct srv_request *request, bool timed_out)
{
    if (request->streamed)
        api_response_cancel(request->streamed);
    if (request->state != REQUEST_WORKING || atomic_load(&request->abandoned))
        return;
    atomic_store(&request->abandoned, true);
    request->timed_out = timed_out;
    api_intake_cancel(request->working);
    if (request->stream)
        srv_stream_cancel(request->stream);
    else
        pe_pool_cancel(request->loop->srv->pool, &request->job);
}

bool srv_request_computes(const struct srv_request *request)
{
    return request->state == REQUEST_WORKING ||
           (request->state == REQUEST_ANSWERED && request->sleeping);
}

void srv_request_probe(struct srv_request *request, int fd)
{
    static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";

    if (request->state == REQUEST_ANSWERED && request->sleeping)
        srv_stream_probe(request->stream);
    if (request->state != REQUEST_WORKING || request->probed || !request->takes_interim ||
        uv_hrtime() - request->queued_ns < PROBE_NS)
        return;
    request->probed = true;
    if (send(fd, interim, sizeof(interim) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
        srv_request_abandon(request, false);
}
