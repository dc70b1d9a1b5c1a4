/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_KINDS_FIXTURE_H
#define TESTS_CORE_KINDS_FIXTURE_H

/* A prepared scheme of every encoding of the catalogue, and its views, so that the contract of a
 * kind is asked of all that are of it. */

#include "core/scheme/bias.h"
#include "core/scheme/learned.h"
#include "core/scheme/relative.h"
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

/* Rows and columns of the table that learned encodings are given, f32. */
enum { SAMPLE_ROWS = 17, SAMPLE_COLUMNS = 6 };
const struct pe_tensor *sample_table(void);

/* With the parameters of its example, or better ones, and a table or weights where it learns. */
struct pe_scheme *catalogue_scheme(const struct pe_encoding *encoding);

/* The example of a view without those parameters that are its encoding's: "" or all of it. */
const char *view_example(const struct pe_view_info *info, const struct pe_params *params);

/* A view of it by the view's example; `text` instead where not NULL. */
struct pe_view *catalogue_view(const struct pe_scheme *scheme, const char *name, const char *text,
                               enum pe_dtype dtype);

/* Output 0 whole, in memory of the caller's. */
void *catalogue_fill(const struct pe_view *view, size_t output);

/* Rows of every output in pieces of 1, 2, 3 ... must have the bytes of the whole. */
void cuts_alike(const struct pe_view *view);

/* The numbers of an output in f32, f16 and bf16 must be those in f64, rounded. */
void dtypes_alike(const struct pe_scheme *scheme, const char *name, const char *text,
                  size_t output);

/* A work that was cancelled, for calls that must say so. */
struct pe_work *ended_work(void);

#endif
