/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_LIMITS_H
#define API_ROUTES_LIMITS_H

/* The estimated size and cost of a result, and the limits on them. */

#include "api/routes/handler.h"

struct api_amounts {
    unsigned __int128 elements, bytes;
    double rendering, work; /* ns: of the pipeline, and of everything */
    double first_work;      /* before the first row */
    double rows_work;       /* of all rows, which api_amounts_send adds to the work */
};

struct api_amounts api_amounts_of(const struct api_request *request,
                                  const struct api_result *result);
/* Adds the work of the rows that are sent, a fraction of all, and of writing them. */
void api_amounts_send(struct api_amounts *amounts, const struct api_result *result,
                      double fraction);

/* counts_work: also compare the cost, with that so far, with --work-max. PE_TOO_LARGE. */
enum pe_status api_limits_check(const struct api_request *request, const struct api_result *result,
                                const struct api_amounts *amounts, bool counts_work,
                                struct pe_error *err);

#endif
