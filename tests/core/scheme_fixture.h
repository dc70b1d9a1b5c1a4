/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_SCHEME_FIXTURE_H
#define TESTS_CORE_SCHEME_FIXTURE_H

/* Schemes, views, their numbers and rotations, from the texts of their parameters, "name=value
 * name=value". Calls fail the test unless they say otherwise. */

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/views/view.h"
#include "posenc/rotation.h"
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

/* Returns the first failure; the result is to be freed also then. */
enum pe_status request_try(const struct request *request, struct opened *out, struct pe_error *err);
struct opened request_open(const struct request *request);
void opened_free(struct opened *opened);
/* Expects a refusal with this status and place: the name of a parameter, or error.where. */
void request_refused(const struct request *request, enum pe_status status, const char *where);
struct pe_scheme *scheme_new(const char *encoding, const char *text);

OWNED(opened, struct opened, opened_free(it))
#define OWNED_OPENED OWNER(opened) struct opened

/* Fills rows [begin, end) of an output. */
void rows_fill(const struct pe_view *view, size_t output, size_t begin, size_t end, void *out);

struct refused {
    const char *text;
    enum pe_status status;
    const char *where;
};

/* Expects that the parameters of an encoding are refused. */
void refusals_check(const char *encoding, const struct refused *cases, size_t count);

/* ---- numbers of views ------------------------------------------------------------------------ */

/* The first output. */
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

/* All outputs as doubles, filled row by row from the last to the first. */
struct analysed {
    struct opened opened;
    double *outputs[PE_OUTPUTS_MAX];
    size_t counts[PE_OUTPUTS_MAX];
};

struct analysed analysed_new(const char *encoding, const char *text, const char *name,
                             const char *view_text, enum pe_dtype dtype);
void analysed_free(struct analysed *a);
void expect_analysis_refused(const char *encoding, const char *text, const char *name,
                             const char *view_text, enum pe_status status, const char *where);

/* ---- rotations ------------------------------------------------------------------------------- */

struct pe_rotation *rotation_new(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                 struct pe_pool *pool);

#endif
