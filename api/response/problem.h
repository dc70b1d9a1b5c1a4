/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_PROBLEM_H
#define API_RESPONSE_PROBLEM_H

/* Problem documents (RFC 9457). */

#include "api/api.h"

/* Statuses of answers are from 1 to this, exclusive. */
#define API_PROBLEMS PE_CANCELLED

/* The status code of HTTP. */
int api_problem_status(enum pe_status status);

struct api_parameter_errors;

/* Makes the response a problem document of the error, and of all parameter errors if it is the
 * first of them. errors NULL: none. PE_CANCELLED, a timeout or a client that left, becomes PE_BUSY.
 * False: out of memory. */
bool api_problem_write(struct api *api, struct api_response *response,
                       const struct api_parameter_errors *errors, struct pe_error *err);
/* A constant response for when there is no memory for another. */
struct api_response *api_problem_no_memory(void);

#endif
