/* SPDX-License-Identifier: MIT */
#include "server/server.h"

static void memory_ready(struct srv_post *post)
{
    struct srv_request *request = (struct srv_request *)post;

    request->sleeping = false;
    srv_loop_resume(request->loop, request->connection);
}

static void memory_wake(void *context)
{
    struct srv_request *request = context;

    srv_loop_post(request->loop, &request->post);
}

bool srv_upload_waits(struct srv_request *request, size_t size)
{
    request->post.ready = memory_ready;
    if (request->response || !api_feed_waits(request->intake, size, memory_wake, request))
        return false;
    request->sleeping = true;
    srv_loop_suspend(request->loop, request->connection);
    return true;
}
