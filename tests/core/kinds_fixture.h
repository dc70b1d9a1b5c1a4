/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_KINDS_FIXTURE_H
#define TESTS_CORE_KINDS_FIXTURE_H

/* A prepared scheme of every encoding of the catalogue, and its views, for tests of the contract of
 * a kind. */

#include "core/scheme/bias.h"
#include "core/scheme/learned.h"
#include "core/scheme/relative.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

/* The table that learned encodings are given, f32. */
enum { SAMPLE_ROWS = 17, SAMPLE_COLUMNS = 6 };
const struct pe_tensor *sample_table(void);

/* With the parameters of its example, or better ones, and a table or weights if it learns some. */
struct pe_scheme *catalogue_scheme(const struct pe_encoding *encoding);

/* The example of a view, or "" if it has parameters of the encoding. */
const char *view_example(const struct pe_view_info *info, const struct pe_params *params);

/* A view of it with the parameters `text`; NULL: the view's example. */
struct pe_view *catalogue_view(const struct pe_scheme *scheme, const char *name, const char *text,
                               enum pe_dtype dtype);

/* All rows of an output, to be freed. */
void *catalogue_fill(const struct pe_view *view, size_t output);

/* Checks that rows filled in pieces of 1, 2, 3 ... have the same bytes as all at once. */
void pieces_alike(const struct pe_view *view);

/* Checks that the numbers of an output in f32, f16 and bf16 are those in f64, rounded. */
void dtypes_alike(const struct pe_scheme *scheme, const char *name, const char *text,
                  size_t output);

/* A cancelled work. */
struct pe_work *ended_work(void);

#endif
