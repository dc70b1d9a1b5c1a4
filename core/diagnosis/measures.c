/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/text.h"
#include "core/diagnosis/diagnosis.h"
#include "core/exact/angle.h"
#include "core/exact/elementary.h"

/* Numbers that are in no list are read off the sample: frequencies, and from them a base. */

/* The furthest that rows may be apart: beyond it float32 angles mislead. */
#define FAR 1000.0

/* Frequencies are powers of no base if a line leaves more than this part of their logarithms'
 * squares. */
#define CURVED 0.01

/* A turn is known but for whole ones, so the first step is one that no frequency up to 1 takes
 * around; each further one is measured by the frequency that the nearer ones gave. */
double pe_turn_measure(const struct pe_sample *sample, size_t pair)
{
    double w = NAN;

    for (size_t row = 1; sample->cos && sample->sin && sample->axes < 2 && row < sample->rows;
         row++) {
        const double far = sample->positions[row] - sample->positions[0];
        const double c0 = sample->cos[pair], s0 = sample->sin[pair];
        const double c1 = sample->cos[row * sample->pairs + pair];
        const double s1 = sample->sin[row * sample->pairs + pair];
        const double turn =
            pe_circle_angle((struct pe_circle){c1 * c0 + s1 * s0, s1 * c0 - c1 * s0});
        if (!(far > 0 && far <= FAR) || isnan(turn) || (isnan(w) && far > 3))
            continue;
        w = (turn + (isnan(w) ? 0 : 2 * M_PI * rint((far * w - turn) / (2 * M_PI)))) / far;
    }
    return w;
}

/* The slope of ln w over pair / divisor, from 0 at the first: least squares. */
double pe_base_measure(const struct pe_sample *sample, size_t divisor)
{
    double products = 0, squares = 0, logarithms = 0, base;

    for (size_t pair = 1; pair < sample->pairs; pair++) {
        const double x = (double)pair / (double)divisor;
        const double w =
            sample->frequencies ? sample->frequencies[pair] : pe_turn_measure(sample, pair);
        if (!(w > 0 && w < 1))
            continue;
        /* The error of ln w is that of a turn over w, where turns were measured. */
        const double weight = sample->frequencies ? 1 : w * w;
        products -= weight * x * pe_log(w);
        squares += weight * x * x;
        logarithms += weight * pe_log(w) * pe_log(w);
    }
    if (logarithms - products * products / squares > CURVED * logarithms)
        return NAN;
    base = squares > 0 ? pe_exp(fmin(products / squares, 100)) : NAN;
    return base > 1.01 && base < 1e12 ? base : NAN;
}

double pe_digits_keep(double number, int digits)
{
    char text[40];
    const char *at = text;

    pe_text_print(text, sizeof(text), "%.*e", digits - 1, number);
    return pe_text_number(&at, &number) ? number : NAN;
}
