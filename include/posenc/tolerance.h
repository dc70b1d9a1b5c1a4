/* SPDX-License-Identifier: MIT */
#ifndef POSENC_TOLERANCE_H
#define POSENC_TOLERANCE_H

#include "posenc/schemes.h"

/* Tolerances: the interval in which a path of computation can place a cosine or sine, or a rotated
 * element, by bounds that docs/internals/exactness.md proves. A value outside has another cause
 * than the rounding of that path. */

/* Paths of computation. All compute frequencies, angles, cos and sin in float32; then they round
 * cos and sin to, and compute rotations in: */
enum pe_path {
    PE_PATH_F32_ANGLE,  /* float32 */
    PE_PATH_BF16_CACHE, /* bf16 */
    PE_PATH_F16_Q       /* f16 */
};

/* Includes both ends. */
struct pe_interval {
    double low, high;
    double real;  /* the number without any rounding, in double */
    double error; /* the largest error of float32, before rounding to a coarser dtype */
};

/* A pair of a query or key. */
struct pe_tolerance_pair {
    double x[2];                 /* before the rotation, exact */
    struct pe_interval cos, sin; /* by pe_tolerance_interval */
};

struct pe_tolerance;

PE_DECLARATIONS_BEGIN

/* "f32-angle", "bf16-cache", "f16-q"; NULL past the last one. */
PE_API const char *pe_path_name(enum pe_path path);

/* The dtype to which a path rounds cos and sin; PE_F32 for an invalid path. */
PE_API enum pe_dtype pe_path_dtype(enum pe_path path);

/* The tolerance of the cosines and sines of a prepared scheme whose positions are one number each,
 * whatever its own arithmetic. The scheme must outlive it. PE_UNSUPPORTED for other schemes and
 * paths, PE_CANCELLED, PE_OUT_OF_MEMORY. Immutable: any thread. */
PE_API enum pe_status pe_tolerance_new(struct pe_tolerance **tolerance,
                                       const struct pe_scheme *scheme, enum pe_path path,
                                       struct pe_work *work, struct pe_error *err);
PE_API void pe_tolerance_free(struct pe_tolerance *tolerance);

/* The interval of the cosine, or the sine, of a pair at a position |t| <= 2^53 - 1, attention
 * factor included, rounded to the path's dtype and then to `dtype`. PE_OUT_OF_RANGE for the pair or
 * the position. */
PE_API enum pe_status pe_tolerance_interval(const struct pe_tolerance *tolerance, size_t pair,
                                            double position, bool is_sin, enum pe_dtype dtype,
                                            struct pe_interval *interval);
/* The interval of an element of the scheme's table; output 1 of a rotary scheme is its sines.
 * PE_UNSUPPORTED for a column that is no sine or cosine of a pair. */
PE_API enum pe_status pe_tolerance_element(const struct pe_tolerance *tolerance, size_t output,
                                           size_t column, double position, enum pe_dtype dtype,
                                           struct pe_interval *interval);
/* The intervals of both elements of a rotated pair, x0 cos - x1 sin and x0 sin + x1 cos, with each
 * operation rounded to the path's dtype, or only the last one. */
PE_API void pe_tolerance_rotated(const struct pe_tolerance *tolerance,
                                 const struct pe_tolerance_pair *pair,
                                 struct pe_interval intervals[2]);

PE_DECLARATIONS_END

#endif
