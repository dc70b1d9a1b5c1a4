/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_ASKED_H
#define TESTS_API_ASKED_H

/* A recorded request asked of a service of its own, with an allocation that fails. */

#include "tests/fuzz/request.h"

/* How an answer comes about: fed in pieces, on the loop where that goes, where what a request
 * writes is there already; and does all fail behind the first failure? */
struct way {
    bool in_pieces, quickly, has_stored, ever, is_short;
};

struct outcome {
    int status;
    const char *route; /* its pattern */
    bool cut;
    uint64_t hash; /* of the body before its coding, and of the header fields */
};

/* Makes in a folder the tables that the recorded requests ask for, as they are before any request;
 * has_stored: and one under the name that they write. Whatever else is there is removed. */
void asked_folder_make(const char *folder, bool has_stored);
void asked_folder_remove(const char *folder);

/* A service of a folder, that keeps nothing for later requests. NULL: memory is short. */
struct api *asked_service(const char *folder);

/* Asks to the last byte of the answer, with allocation k failing, 0 for none; *allocations: how
 * many there were. */
struct outcome asked_request(struct api *api, const struct request_text *request, struct way way,
                             unsigned long k, unsigned long *allocations);

#endif
