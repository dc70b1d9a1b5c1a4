/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_PROBLEM_H
#define API_RESPONSE_PROBLEM_H

/* A failure becomes a problem document (RFC 9457) here and nowhere else. */

#include "api/api.h"

/* Statuses from 1 up to here, without it, are those that an answer can have. */
#define API_PROBLEMS PE_CANCELLED

/* The status code of HTTP. */
int api_problem_status(enum pe_status status);

struct api_mistakes;

/* Makes the response a problem document: of the failure, and of all mistakes where it is the first
 * of several. NULL: there are none. Work that was cancelled becomes PE_BUSY: its time was up, or no
 * client waits for it. False: memory is short. */
bool api_problem_write(struct api *api, struct api_response *response,
                       const struct api_mistakes *mistakes, struct pe_error *err);
/* For when there is no memory for anything else; one for all, never written to. */
struct api_response *api_problem_no_memory(void);

#endif
