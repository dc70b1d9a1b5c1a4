/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_VIEW_FIXTURE_H
#define TESTS_CORE_VIEW_FIXTURE_H

/* One output of a view from the texts of its parameters. */

#include "tests/core/scheme_fixture.h"

struct viewed {
    struct opened opened;
    const struct pe_output *output;
    void *data;
    size_t count;
};

/* weights NULL: none. */
struct viewed viewed_new(const char *encoding, const char *text, const char *name,
                         const char *view_text, const struct pe_tensor *weights,
                         enum pe_dtype dtype);
void viewed_free(struct viewed *viewed);

OWNED(viewed, struct viewed, viewed_free(it))
#define OWNED_VIEWED OWNER(viewed) struct viewed

#endif
