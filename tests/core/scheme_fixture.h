/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_SCHEME_FIXTURE_H
#define TESTS_CORE_SCHEME_FIXTURE_H

/* Schemes and views from the texts of their parameters, "name=value name=value". */

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/views/view.h"
#include "tests/core/owned.h"

struct request {
    const char *encoding, *text;
    const char *view, *view_text; /* NULL: a scheme alone */
    enum pe_dtype dtype;
    const struct pe_tensor *learned; /* the table or the weights of the encoding; NULL: none */
};

struct opened {
    struct pe_scheme *scheme;
    struct pe_view *view;
};

/* The first failure; what was opened till then is to be freed. */
enum pe_status request_try(const struct request *request, struct opened *out, struct pe_error *err);
/* The request must be granted. */
struct opened request_open(const struct request *request);
void opened_free(struct opened *opened);
/* The request must be refused with this status, at this place: a parameter's name, or another as it
 * stands in the error. */
void request_refused(const struct request *request, enum pe_status status, const char *where);
struct pe_scheme *scheme_new(const char *encoding, const char *text);

OWNED(opened, struct opened, opened_free(it))
#define OWNED_OPENED OWNER(opened) struct opened

/* Rows [begin, end) of an output; they must come. */
void rows_fill(const struct pe_view *view, size_t output, size_t begin, size_t end, void *out);

struct refused {
    const char *text;
    enum pe_status status;
    const char *where;
};

/* The parameters of an encoding must be refused. */
void refusals_check(const char *encoding, const struct refused *cases, size_t count);

#endif
