/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_ANALYSIS_FIXTURE_H
#define TESTS_CORE_ANALYSIS_FIXTURE_H

/* All outputs of an analysis as doubles, filled row by row in turns; and what one refuses. */

#include "tests/core/table_fixture.h"

struct analysed {
    struct opened opened;
    double *outputs[PE_OUTPUTS_MAX];
    size_t counts[PE_OUTPUTS_MAX];
};

void analysed_free(struct analysed *a);
struct analysed analysed_new(const char *encoding, const char *text, const char *name,
                             const char *view_text, enum pe_dtype dtype);
void expect_analysis_refused(const char *encoding, const char *text, const char *name,
                             const char *view_text, enum pe_status status, const char *where);

/* base^(-2 pair / dim) / factor, and its cosine or sine at t. */
struct oracle_scheme {
    double base, factor;
    size_t dim;
};

void oracle_frequency(mpfr_ptr out, const struct oracle_scheme *s, size_t pair);

#endif
