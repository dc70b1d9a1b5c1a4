/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_READERS_H
#define TESTS_API_READERS_H

/* Rows of request bodies with the expected answers. A rotation by 0 returns the tensors as read. */

#include "tests/api/harness.h"

extern unsigned long cases; /* checked */

#define QUERY "/v1/rotation?encoding=rope&axes=sd&dim=2&layout=half&delta=0"

struct row {
    const char *body;
    int status;
    const char *code, *place; /* NULL: not checked */
};

void answer_check(const struct answer *answer, const struct row *row, const char *label);

#endif
