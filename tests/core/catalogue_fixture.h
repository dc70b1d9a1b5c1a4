/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_CATALOGUE_FIXTURE_H
#define TESTS_CORE_CATALOGUE_FIXTURE_H

/* Every view of every encoding, so that a property of all of them is asserted in one place: a new
 * encoding is held to it without a test of its own. */

#include "tests/core/scheme_fixture.h"

/* Calls `check` with the example of each view in the catalogue, and with more rows, columns and
 * places where the view takes them. Returns how often. */
size_t catalogue_walk(void (*check)(const struct request *request));

/* All rows of an output in one call; to be freed. `row`: bytes of one. */
char *output_whole(const struct pe_view *view, size_t index, size_t *row);

/* Does the view of a request have a parameter? */
bool request_takes(const struct request *request, const char *name);

#endif
