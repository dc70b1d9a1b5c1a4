/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_FAILING_REQUESTS_H
#define TESTS_API_FAILING_REQUESTS_H

/* A recorded request, made with an allocation that fails. */

#include "tests/fuzz/request.h"

/* How a request is made: fed in pieces; finished on the loop if possible; with its result stored
 * before; with all allocations failing after the first. */
struct way {
    bool in_pieces, quickly, has_stored, ever, is_short;
};

struct outcome {
    int status;
    const char *route; /* its pattern */
    bool cut;
    uint64_t hash; /* of the body before its coding, and of the header fields */
};

/* Makes a folder with the tables that the recorded requests need; has_stored: also one under the
 * name that they write. Other files of the folder are removed. */
void tables_folder_make(const char *folder, bool has_stored);
void tables_folder_remove(const char *folder);

/* A service of a folder, without a cache. NULL: memory is short. */
struct api *service_start(const char *folder);

/* Makes a request up to the last byte of its answer, with allocation k failing (0: none);
 * *allocations: their number. */
struct outcome failing_request(struct api *api, const struct request_text *request, struct way way,
                               unsigned long k, unsigned long *allocations);

#endif
