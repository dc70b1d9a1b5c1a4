/* SPDX-License-Identifier: MIT */
#ifndef POSENC_TOLERANCE_H
#define POSENC_TOLERANCE_H

#include "posenc/schemes.h"

/* Tolerances: the interval of a cosine or sine, or of a rotated element, that a named way of
 * computing may give, by bounds that docs/internals/exactness.md proves. A value outside has
 * another cause than the rounding of that way. */

/* The ways. All of them compute frequencies, angles, cos and sin in float32; then cos and sin are
 * rounded to, and rotations computed in: */
enum pe_path {
    PE_PATH_F32_ANGLE,  /* float32 */
    PE_PATH_BF16_CACHE, /* bf16 */
    PE_PATH_F16_Q       /* f16 */
};

/* Both ends are values that the way may give. */
struct pe_interval {
    double low, high;
    double real;  /* the number without any rounding, in double */
    double error; /* how far float32 may be from it; rounding to a coarser dtype comes on top */
};

/* A pair of a query or key. */
struct pe_tolerance_pair {
    double x[2];                 /* before it was rotated, exact */
    struct pe_interval cos, sin; /* by pe_tolerance_interval */
};

struct pe_tolerance;

PE_DECLARATIONS_BEGIN

/* "f32-angle", "bf16-cache", "f16-q"; NULL past the last one. */
PE_API const char *pe_path_name(enum pe_path path);

/* The dtype to which a path rounds cos and sin: PE_F32 for one that is none. */
PE_API enum pe_dtype pe_path_dtype(enum pe_path path);

/* Of the cosines and sines of a prepared scheme whose positions are one number each; its own
 * arithmetic does not matter. The scheme must outlive it. PE_UNSUPPORTED for other schemes and
 * paths, PE_CANCELLED, PE_OUT_OF_MEMORY. Then immutable: any thread. */
PE_API enum pe_status pe_tolerance_new(struct pe_tolerance **tolerance,
                                       const struct pe_scheme *scheme, enum pe_path path,
                                       struct pe_work *work, struct pe_error *err);
PE_API void pe_tolerance_free(struct pe_tolerance *tolerance);

/* Of the cosine, or the sine, of a pair at a position |t| <= 2^53 - 1, attention factor included,
 * rounded to the path's dtype, and the result to `dtype`. PE_OUT_OF_RANGE for a pair that the
 * scheme does not have or a position that is out of range. */
PE_API enum pe_status pe_tolerance_interval(const struct pe_tolerance *tolerance, size_t pair,
                                            double position, bool is_sin, enum pe_dtype dtype,
                                            struct pe_interval *interval);
/* Of an element of a table of the scheme: `output` 1 of a rotary one is its sines. PE_UNSUPPORTED
 * for a column that is no sine or cosine of a pair. */
PE_API enum pe_status pe_tolerance_element(const struct pe_tolerance *tolerance, size_t output,
                                           size_t column, double position, enum pe_dtype dtype,
                                           struct pe_interval *interval);
/* Of both elements of a pair that was rotated: x0 cos - x1 sin and x0 sin + x1 cos, each operation
 * rounded to the path's dtype, or none but the last. */
PE_API void pe_tolerance_rotated(const struct pe_tolerance *tolerance,
                                 const struct pe_tolerance_pair *pair,
                                 struct pe_interval intervals[2]);

PE_DECLARATIONS_END

#endif
