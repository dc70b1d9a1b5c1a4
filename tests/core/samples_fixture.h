/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_SAMPLES_FIXTURE_H
#define TESTS_CORE_SAMPLES_FIXTURE_H

/* Tables and biases of every encoding with random parameters, and what each element should be, from
 * the formula by MPFR. */

#include "tests/core/table_fixture.h"

enum { SAMPLE_ROWS = 64, SAMPLE_COLUMNS = 64, SAMPLE_AXES = 3, SAMPLE_BITS = 256 };

struct sample {
    uint64_t random; /* the state of a generator: anything but 0 */
    char text[1600], view[6000];
    size_t begin, columns;
    double at[SAMPLE_ROWS][SAMPLE_AXES]; /* coordinates of rows */
    struct {
        mpfr_t w; /* its frequency */
        size_t axis;
        bool is_sin;
    } column[SAMPLE_COLUMNS];
    double list[SAMPLE_ROWS * SAMPLE_COLUMNS]; /* a learned table, or parameters of heads */
    struct pe_tensor learned;
    double number[3]; /* other parameters */
    bool flag;
};

/* One view of an encoding. */
struct sample_kind {
    const char *encoding, *view;
    /* Writes the parameters, and what `real` needs. */
    void (*draw)(struct sample *sample);
    /* The element as a real number, the row counted from `begin`. */
    void (*real)(mpfr_ptr out, const struct sample *sample, size_t row, size_t column);
};

/* `encoding` NULL past the end. */
extern const struct sample_kind sample_kinds[];

void sample_begin(struct sample *sample, uint64_t seed);
void sample_end(struct sample *sample);

#endif
