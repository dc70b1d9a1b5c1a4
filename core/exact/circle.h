/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_CIRCLE_H
#define CORE_EXACT_CIRCLE_H

/* Points of the circle in doubles, for estimates: unlike those of the C library they are the same
 * bytes on every machine. Exact values come from angle.h. */

struct pe_circle {
    double cos, sin;
};

/* |angle| < 2^53 radians. Each is within PE_CIRCLE_ULPS of an ulp of the real number; NaN and what
 * is infinite or larger make NaN. */
#define PE_CIRCLE_ULPS 0.9
struct pe_circle pe_circle_at(double angle);

/* The angle of a point in (-pi, pi], to 2^-50, wherever it lies but in the origin; NaN for one with
 * a part that is not finite, 0 for the origin. */
double pe_circle_angle(struct pe_circle point);

#endif
