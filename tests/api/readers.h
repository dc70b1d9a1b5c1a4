/* SPDX-License-Identifier: MIT */
#ifndef TESTS_API_READERS_H
#define TESTS_API_READERS_H

/* Bodies and what they get. A rotation by 0 gives back what was read. */

#include "tests/api/harness.h"

extern unsigned long cases; /* looked at */

#define QUERY "/v1/rotation?encoding=rope&axes=sd&dim=2&layout=half&delta=0"

struct row {
    const char *body;
    int status;
    const char *code, *place; /* NULL: not looked at */
};

void answer_check(const struct answer *answer, const struct row *row, const char *label);

#endif
