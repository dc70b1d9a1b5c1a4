/* SPDX-License-Identifier: MIT */
#ifndef API_PIPELINE_JUDGE_H
#define API_PIPELINE_JUDGE_H

#include "api/request/service.h"

/* Between the two phases of a request, once: is what `open` announced within the limits, and can
 * the format hold it? Does the client have it already, and is `prepare` needed? Sets the response's
 * status where it is 304, and intake->prepares. */
enum api_status api_judge(struct api_intake *intake, struct api_error *err);

/* Turns a 200 whose ETag the client has into a 304. */
void api_validate(struct api_intake *intake);

#endif
