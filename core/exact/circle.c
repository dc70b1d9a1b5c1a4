/* SPDX-License-Identifier: MIT */
#include "core/exact/circle.h"

#include <math.h>

#include "core/exact/angle.h"

/* pi/2 in three pieces: the first two have 33 bits each, so that a whole number up to 2^20 times
 * one of them is a double. */
static const double quarter_pieces[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};

/* Up to 2^20 quarter turns are taken off by those pieces. */
#define NEAR 0x1p20

/* One radian as a frequency: 1 / 2 pi in turns. */
static const struct pe_turn radian = {
    {1, 0}, {0x36d8a5664f10e410, 0x7f09d5f47d4d3770, 0x28be60db9391054a, 0}};

/* The first subtraction is exact, for both numbers are multiples of 2^-53 and the difference is
 * below 1; the error of the others is below 2^-98. */
static struct pe_angle near_reduce(double x)
{
    const double k = nearbyint(x * M_2_PI);
    const struct pe_exact high = pe_two_sum(x - k * quarter_pieces[0], -(k * quarter_pieces[1]));
    const struct pe_exact rest = pe_two_sum(high.hi, -(k * quarter_pieces[2]));

    return (struct pe_angle){(unsigned)(int)k & 3, {rest.hi, rest.lo + high.lo}, 0};
}

/* Taylor's series: the first term left out is below 2^-58 of the value. Pairs of terms are summed
 * side by side, for speed. */
static double sine_series(double z)
{
    const double w = z * z;

    return -1.0 / 6 + z / 120 +
           w * ((-1.0 / 5040 + z * (1.0 / 362880)) +
                w * ((-1.0 / 39916800 + z * (1.0 / 6227020800)) +
                     w * (-1.0 / 1307674368000 + z * (1.0 / 355687428096000))));
}

static double cosine_series(double z)
{
    const double w = z * z;

    return 1.0 / 24 + z * (-1.0 / 720) +
           w * ((1.0 / 40320 + z * (-1.0 / 3628800)) +
                w * ((1.0 / 479001600 + z * (-1.0 / 87178291200)) + w * (1.0 / 20922789888000)));
}

struct pe_circle pe_circle_at(double angle)
{
    struct pe_angle reduced = {0};
    const struct pe_position position = {{angle, 0, 0}};

    if (!(fabs(angle) < 0x1p53))
        return (struct pe_circle){NAN, NAN};
    if (fabs(angle) < 0x1p-30)
        return (struct pe_circle){1, angle};
    if (fabs(angle) <= NEAR)
        reduced = near_reduce(angle);
    else
        pe_angle_reduce(&reduced, &radian, &position);
    const double x = reduced.rest.hi, y = reduced.rest.lo, z = x * x;
    const double half = 0.5 * z, near = 1 - half;
    const double sine = x + (x * z * sine_series(z) + y * (1 - half));
    const double cosine = near + (((1 - near) - half) + (z * z * cosine_series(z) - x * y));
    const struct pe_circle turned =
        reduced.quarters & 1 ? (struct pe_circle){-sine, cosine} : (struct pe_circle){cosine, sine};

    return reduced.quarters & 2 ? (struct pe_circle){-turned.cos, -turned.sin} : turned;
}

/* An angle in the first eighth of a turn: by the slope to 0.004, and corrected twice by the sine of
 * what is left, each time to a sixth of its third power. */
static double eighth_angle(double cosine, double sine)
{
    const double slope = sine / cosine, length = sqrt(cosine * cosine + sine * sine);
    double angle = slope * (M_PI_4 + 0.273 * (1 - slope));

    for (int i = 0; i < 2; i++) {
        const struct pe_circle at = pe_circle_at(angle);
        angle += (sine * at.cos - cosine * at.sin) / length;
    }
    return angle;
}

double pe_circle_angle(struct pe_circle point)
{
    const double most = fmax(fabs(point.cos), fabs(point.sin));
    const double cosine = fabs(point.cos) / most, sine = fabs(point.sin) / most;
    double angle;

    if (most == 0)
        return 0;
    if (!isfinite(point.cos) || !isfinite(point.sin))
        return NAN;
    angle = sine <= cosine ? eighth_angle(cosine, sine) : M_PI_2 - eighth_angle(sine, cosine);
    angle = point.cos < 0 ? M_PI - angle : angle;
    return point.sin < 0 ? -angle : angle;
}
