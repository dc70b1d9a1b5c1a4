/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_FOURIER_SUM_H
#define CORE_ENCODINGS_FOURIER_SUM_H

#include "core/exact/angle.h"

/* Sines and cosines of sums of products of frequencies and coordinates, for fourier.c. Sums are
 * reduced before they are rounded, and each result is rounded once. */

enum { PE_FOURIER_AXES_MAX = 8 };
enum { PE_FOURIER_RADIAN, PE_FOURIER_HALF_TURN, PE_FOURIER_TURN };

/* A given number u stands for (u + offset) multiplier / divisor, of whole multiplier and divisor.
 */
struct pe_fourier_coordinate {
    double offset, multiplier, divisor;
};

/* What all sums of a scheme share. */
struct pe_fourier_sum {
    size_t axes, pairs;
    size_t bands; /* frequencies of an axis; of a matrix its columns, which are pairs */
    bool is_matrix, is_linear, alternating;
    const double *list;               /* of frequencies or of a matrix; NULL: neither */
    double rise[PE_FOURIER_AXES_MAX]; /* linear: from a frequency to the next, times divisor */
    double divisor;                   /* of all frequencies, a whole number */
    double scale;
    int unit;
    double least, most; /* bounds of |frequency scale| but for 0, to some roundings */
    bool is_log;        /* coordinates are logarithms of the given numbers */
    double common;      /* the least common multiple of the divisors of the coordinates */
    struct pe_fourier_coordinate coordinates[PE_FOURIER_AXES_MAX];
};

/* The frequency of a band of an axis, times the divisor: exact. */
double pe_fourier_number(const struct pe_fourier_sum *sum, size_t axis, size_t band);

/* A number with the bound of its relative error; 0: it is exact. */
struct pe_fourier_near {
    struct pe_exact value;
    double error;
};

struct pe_fourier_point {
    const struct pe_fourier_sum *sum;
    double u[PE_FOURIER_AXES_MAX];
    struct pe_fourier_near x[PE_FOURIER_AXES_MAX]; /* the coordinates */
};

/* The point of `axes` given numbers: finite, above 0 where they have logarithms. */
struct pe_fourier_point pe_fourier_point_of(const struct pe_fourier_sum *sum, const double *u);

/* RN(cos) and RN(sin) of a pair, in a floating dtype. */
void pe_fourier_pair(const struct pe_fourier_point *point, size_t pair, enum pe_dtype dtype,
                     void *cos, void *sin);

/* RN of a coordinate. */
void pe_fourier_coordinate_write(const struct pe_fourier_point *point, size_t axis,
                                 enum pe_dtype dtype, void *out);

/* Bounds of the absolute values of given numbers but for 0; most 0: there are none. */
struct pe_fourier_reach {
    double least, most;
};

/* Estimated nanoseconds of an element. */
double pe_fourier_cost(const struct pe_fourier_sum *sum, const struct pe_fourier_reach *reach,
                       enum pe_dtype dtype);

#endif
