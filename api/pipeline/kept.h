/* SPDX-License-Identifier: MIT */
#ifndef API_PIPELINE_KEPT_H
#define API_PIPELINE_KEPT_H

#include "api/pipeline/intake.h"

/* Whole answers of views, kept by their request: path, query and what was asked to be accepted. The
 * next one who asks gets the same bytes without a parameter being read. */

/* Sets intake->answer, or intake->answer_key for the answer that will be made; neither for requests
 * whose answers are not kept. */
void api_answer_find(struct api_intake *intake, const struct api_head *head);

/* Makes the intake's response out of intake->answer. */
void api_answer_use(struct api_intake *intake);

/* A plan of moderate size gets a buffer, so that it is made whole before it is sent, and can be
 * kept (api_response_made); text of one block is made here and now. Leaves anything else as it is.
 * Called when the response has all its headers. */
void api_answer_whole(struct api_intake *intake);

/* What api_response_made needs to know. */
struct api_keep {
    struct api *api;
    const struct api_route *route;
    const char *key; /* NULL: not to be kept */
    size_t headers_begin, headers_end;
    unsigned char *bytes; /* a room of the arena, prefix and blocks */
};

#endif
