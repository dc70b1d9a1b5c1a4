/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_ANGLE_H
#define CORE_EXACT_ANGLE_H

#include "core/exact/correct_rounding.h"

/* The angle t * w of a position and a frequency, reduced to the nearest quarter turn. */

/* A frequency: w, and w / 2 pi in turns as a truncated fixed-point number of 64.192 bits, least
 * limb first. */
struct pe_frequency {
    struct pe_exact w;
    uint64_t turns[4];
    /* 2^g / q, g <= 0, where w / 2 pi is known to be a whole multiple of it; 0: it is not. Whole
     * quarters of a turn are then recognized. */
    double quantum;
};

/* The largest power of 2 of which x, not 0, is a whole multiple; 0 below 2^-1000. */
double pe_lowest_bit(double x);

/* Sets a frequency to w < 2^63, of PE_FREQUENCY_BITS bits, which determine every bit of turns, and
 * without a quantum. Returns w / 2 pi. */
enum { PE_FREQUENCY_BITS = 320 };
struct pe_wide pe_frequency_set(struct pe_frequency *frequency, struct pe_wide w);

/* 2 pi as a double-double; its error is below 2^-105 of it. */
#define PE_TWO_PI ((struct pe_exact){0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52})

/* A position as an exact sum of three doubles, each below half an ulp of the one before it. */
struct pe_position {
    double part[3];
};

/* start + index * step, without rounding. */
struct pe_position pe_position_at(double start, double step, double index);

/* quarters * pi/2 + rest, |rest| <= pi/4 + 2^-30; `error` bounds the error of rest. */
struct pe_angle {
    unsigned quarters;
    struct pe_exact rest;
    double error;
};

/* Reduces t * w; rest and error of whole quarters that are recognized are 0. False: t * w is not 0
 * but below 2^-900, too small for double-doubles. */
bool pe_angle_reduce(struct pe_angle *angle, const struct pe_frequency *frequency,
                     const struct pe_position *position);

/* t * w, not reduced; its relative error is that of w and of three operations. */
struct pe_wide pe_angle_wide(struct pe_wide w, const struct pe_position *position);

/* cos and sin of quarters * pi/2 + rest, and bounds of their errors. */
struct pe_cos_sin {
    struct pe_exact cos, sin;
    double cos_error, sin_error;
};

/* Computed in doubles: errors of about 2^-50 of the value. */
struct pe_cos_sin pe_angle_cos_sin(const struct pe_angle *angle);
/* Computed in double-doubles: errors of about 2^-96 of the value. */
struct pe_cos_sin pe_angle_cos_sin_exact(const struct pe_angle *angle);

/* ---- points of the circle ------------------------------------------------------------------- */

/* Points of the circle in doubles, for estimates: unlike the functions of C libraries they are the
 * same bytes on every machine. */

struct pe_circle {
    double cos, sin;
};

/* |angle| < 2^53 radians. Errors are below PE_CIRCLE_ULPS of an ulp. Larger angles give NaN. */
#define PE_CIRCLE_ULPS 0.9
struct pe_circle pe_circle_at(double angle);

/* The angle of a point, in (-pi, pi], to 2^-50, at any distance from the origin; NaN where a
 * coordinate is not finite, 0 for the origin. */
double pe_circle_angle(struct pe_circle point);

#endif
