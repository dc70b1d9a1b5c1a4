/* SPDX-License-Identifier: MIT */
#ifndef API_PIPELINE_KEPT_H
#define API_PIPELINE_KEPT_H

#include "api/pipeline/intake.h"

/* Responses of views that are kept whole for the next request alike in path, query and Accept
 * fields, which gets the bytes without a parameter being read. */

/* Sets intake->kept, or intake->kept_key for the response that will be made; neither where
 * responses are not kept. */
void api_kept_find(struct api_intake *intake, const struct api_head *head);

/* Makes the intake's response out of intake->kept. */
void api_kept_use(struct api_intake *intake);

/* Gives a plan of moderate size a buffer, so that it is made whole before it is sent and can be
 * kept (api_response_made); text of one block is made here and now. Other bodies stay as they are.
 * Called when the response has all its headers. */
void api_kept_prepare(struct api_intake *intake);

/* How to keep a response: for api_response_made. */
struct api_keep {
    struct api *api;
    const struct api_route *route;
    const char *key; /* NULL: not to be kept */
    size_t headers_begin, headers_end;
    unsigned char *bytes; /* a room of the arena, prefix and blocks */
};

#endif
