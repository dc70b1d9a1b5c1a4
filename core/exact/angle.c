/* SPDX-License-Identifier: MIT */
#include "core/exact/angle.h"

#include <math.h>
#include <string.h>

#include "core/base/sanitizer.h"
#include "core/exact/wide_internal.h"

enum { LIMBS = 3 }; /* of the fraction of a turn: 192 bits, least first */

struct pe_position pe_position_at(double start, double step, double index)
{
    const struct pe_exact product = pe_two_product(step, index);
    const struct pe_exact low = pe_two_sum(start, product.lo);
    const struct pe_exact high = pe_two_sum(product.hi, low.hi);
    const struct pe_exact tail = pe_two_sum(high.lo, low.lo);
    const struct pe_exact first = pe_quick_sum(high.hi, tail.hi);
    const struct pe_exact second = pe_quick_sum(first.lo, tail.lo);

    return (struct pe_position){{first.hi, second.hi, second.lo}};
}

/* ---- reduction in fixed point --------------------------------------------------------------- */

/* Adds the fraction of part * turns to phase. part is ±m * 2^-shift with an integer m of 53 bits,
 * so the product is exact in 309 bits; its bits below 2^-192 are cut off. */
PE_WRAPS("a phase is modulo 1 turn")
static void phase_add(uint64_t phase[LIMBS], const uint64_t turns[4], double part)
{
    uint64_t product[6] = {0}, bits;
    unsigned __int128 carry = 0;

    memcpy(&bits, &part, sizeof(bits));
    const uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    const unsigned exponent = bits >> 52 & 2047;
    const unsigned shift = 1075 - exponent;
    const unsigned limb = shift / 64, bit = shift % 64;

    /* Zero, subnormals, and parts whose product lies below the last limb. */
    if (exponent == 0 || limb > 4)
        return;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)m * turns[i];
        product[i] = (uint64_t)carry;
        carry >>= 64;
    }
    product[4] = (uint64_t)carry;

    carry = 0;
    for (unsigned i = 0; i < LIMBS; i++) {
        const uint64_t low = i + limb < 6 ? product[i + limb] : 0;
        const uint64_t high = i + limb + 1 < 6 ? product[i + limb + 1] : 0;
        const uint64_t piece = bit ? low >> bit | high << (64 - bit) : low;

        if (part > 0) {
            carry += (unsigned __int128)phase[i] + piece;
            phase[i] = (uint64_t)carry;
            carry >>= 64;
        } else {
            const unsigned __int128 rest = (unsigned __int128)phase[i] - piece - carry;
            phase[i] = (uint64_t)rest;
            carry = rest >> 64 ? 1 : 0;
        }
    }
}

/* Subtracts the nearest quarter turns from a phase, leaves the magnitude of the difference, at most
 * an eighth of a turn, and returns its sign. */
PE_WRAPS("a phase is modulo 1 turn")
static int phase_split(uint64_t phase[LIMBS], unsigned *quarters)
{
    const uint64_t nearest = phase[2] + (UINT64_C(1) << 61);

    *quarters = (unsigned)(nearest >> 62);
    phase[2] -= (uint64_t)*quarters << 62;
    if (!(phase[2] >> 63))
        return 1;
    unsigned __int128 carry = 1;
    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)~phase[i];
        phase[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return -1;
}

static double power_of_two(int exponent)
{
    const uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double power;

    memcpy(&power, &bits, sizeof(power));
    return power;
}

/* The first 106 significant bits of a phase as a double-double. */
static struct pe_exact phase_value(const uint64_t phase[LIMBS])
{
    int top = LIMBS - 1;

    while (top > 0 && phase[top] == 0)
        top--;
    if (phase[top] == 0)
        return (struct pe_exact){0, 0};

    const int zeros = __builtin_clzll(phase[top]);
    const uint64_t next = top > 0 ? phase[top - 1] : 0, last = top > 1 ? phase[top - 2] : 0;
    const unsigned __int128 two = (unsigned __int128)phase[top] << 64 | next;
    const unsigned __int128 bits = zeros ? two << zeros | last >> (64 - zeros) : two;
    const int scale = 64 * (top + 1 - LIMBS) - zeros;

    return pe_quick_sum((double)(uint64_t)(bits >> 75) * power_of_two(scale - 53),
                        (double)((uint64_t)(bits >> 22) & ((UINT64_C(1) << 53) - 1)) *
                            power_of_two(scale - 106));
}

struct pe_wide pe_frequency_set(struct pe_frequency *frequency, struct pe_wide w)
{
    const struct pe_wide half = pe_wide_div(w, pe_wide_pi(PE_FREQUENCY_BITS));
    const struct pe_wide turns = pe_wide_scale(half, -1);

    pe_wide_to_fixed(frequency->turns, LIMBS, &turns);
    frequency->quantum = 0;
    frequency->w.hi = pe_wide_double(w);
    frequency->w.lo = pe_wide_double(pe_wide_sub_double(w, frequency->w.hi));
    return turns;
}

double pe_lowest_bit(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    const uint64_t m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    const int exponent = (int)(bits >> 52 & 2047) - 1075 + __builtin_ctzll(m);
    return exponent < -1000 ? 0 : power_of_two(exponent);
}

/* Is the angle a whole number of quarter turns? In turns it is t times a whole multiple of the
 * quantum, so its distance from the nearest quarter is 0, or at least a quarter of the quantum
 * times the lowest bit of t (times 1, where t is whole). */
static bool is_quarter(const struct pe_angle *angle, double quantum,
                       const struct pe_position *position)
{
    const double *part = position->part;
    const double least = pe_lowest_bit(part[2] != 0 ? part[2] : part[1] != 0 ? part[1] : part[0]);

    return fabs(angle->rest.hi) + angle->error < 0.25 * quantum * fmin(least, 1);
}

bool pe_angle_reduce(struct pe_angle *angle, const struct pe_frequency *frequency,
                     const struct pe_position *position)
{
    const struct pe_exact t = {position->part[0], position->part[1]};
    const double near = frequency->w.hi * t.hi;

    if (t.hi == 0 || frequency->w.hi == 0) {
        *angle = (struct pe_angle){0, {copysign(0, t.hi), 0}, 0};
        return true;
    }
    if (fabs(near) < 0x1p-900)
        return false;
    if (fabs(near) < 0.5) {
        /* The third part of t and roundings are below 2^-100 of the product. */
        const struct pe_exact product = pe_exact_multiply(frequency->w, t);
        *angle = (struct pe_angle){0, product, fabs(near) * 0x1p-100};
        return true;
    }

    uint64_t phase[LIMBS] = {0};
    for (int i = 0; i < 3; i++)
        phase_add(phase, frequency->turns, position->part[i]);
    const int sign = phase_split(phase, &angle->quarters);
    const struct pe_exact rest = pe_exact_multiply(phase_value(phase), PE_TWO_PI);
    angle->rest = sign > 0 ? rest : pe_exact_negate(rest);
    /* turns is truncated at 2^-192 and multiplied by |t| < 2^53: 2^-139 turns; truncating the three
     * products adds 2^-192 each. */
    angle->error = fabs(rest.hi) * 0x1p-100 + 0x1p-135;
    if (frequency->quantum > 0 && is_quarter(angle, frequency->quantum, position)) {
        angle->rest = (struct pe_exact){0, 0};
        angle->error = 0;
    }
    return true;
}

/* The three parts of a position cannot cancel. */
struct pe_wide pe_angle_wide(struct pe_wide w, const struct pe_position *position)
{
    struct pe_wide angle = pe_wide_mul_double(w, position->part[0]);

    for (int i = 1; i < 3 && position->part[i] != 0; i++)
        angle = pe_wide_add(angle, pe_wide_mul_double(w, position->part[i]));
    return angle;
}

/* ---- sine and cosine ------------------------------------------------------------------------ */

/* cos and sin of quarters * pi/2 + r from those of r. */
static struct pe_cos_sin quarters_apply(struct pe_cos_sin r, unsigned quarters)
{
    if (quarters & 1)
        r = (struct pe_cos_sin){pe_exact_negate(r.sin), r.cos, r.sin_error, r.cos_error};
    if (quarters & 2)
        r = (struct pe_cos_sin){pe_exact_negate(r.cos), pe_exact_negate(r.sin), r.cos_error,
                                r.sin_error};
    return r;
}

/* 1 / (n * (n + 1)) and 1 / (n * (n - 1)) for n = 2, 4, ..., 16: the ratios of Taylor's terms. */
static const double sine_ratios[] = {1.0 / 6,   1.0 / 20,  1.0 / 42,  1.0 / 72,
                                     1.0 / 110, 1.0 / 156, 1.0 / 210, 1.0 / 272};
static const double cosine_ratios[] = {1.0 / 2,  1.0 / 12,  1.0 / 30,  1.0 / 56,
                                       1.0 / 90, 1.0 / 132, 1.0 / 182, 1.0 / 240};

/* Taylor's series: the first term left out is below 2^-58 of the value for |x| < 0.7854 + 2^-30,
 * and the last roundings come to less than 2^-50. */
struct pe_cos_sin pe_angle_cos_sin(const struct pe_angle *angle)
{
    const double x = angle->rest.hi, y = angle->rest.lo, z = x * x;
    double sine = 0, cosine = 0;
    struct pe_cos_sin r;

    for (int i = 7; i > 0; i--) {
        sine = (1 - sine) * (z * sine_ratios[i]);
        cosine = (1 - cosine) * (z * cosine_ratios[i]);
    }
    sine = (1 - sine) * (z * sine_ratios[0]);
    const double half = 0.5 * z, near = 1 - half;
    r.sin = (struct pe_exact){x - (x * sine - y * (1 - half)), 0};
    r.cos = (struct pe_exact){near + (((1 - near) - half) + (half * cosine - x * y)), 0};
    r.sin_error = fabs(r.sin.hi) * 0x1p-49 + angle->error;
    r.cos_error = fabs(r.cos.hi) * 0x1p-49 + angle->error;
    return quarters_apply(r, angle->quarters);
}

/* Taylor's series, nested so that coefficients are divisions by integers: the first term left out
 * is below 2^-106, and the roundings of 14 nested steps below 2^-97 of the value. */
struct pe_cos_sin pe_angle_cos_sin_exact(const struct pe_angle *angle)
{
    const struct pe_exact x = angle->rest, z = pe_exact_multiply(x, x), one = {1, 0};
    struct pe_exact sine = one, cosine = one;
    struct pe_cos_sin r;

    for (int n = 28; n >= 2; n -= 2) {
        const struct pe_exact s = pe_exact_divide(pe_exact_multiply(z, sine), n * (n + 1));
        const struct pe_exact c = pe_exact_divide(pe_exact_multiply(z, cosine), n * (n - 1));
        sine = pe_exact_add(one, pe_exact_negate(s));
        cosine = pe_exact_add(one, pe_exact_negate(c));
    }
    r.sin = pe_exact_multiply(x, sine);
    r.cos = cosine;
    r.sin_error = fabs(r.sin.hi) * 0x1p-96 + angle->error;
    r.cos_error = fabs(r.cos.hi) * 0x1p-96 + angle->error;
    return quarters_apply(r, angle->quarters);
}

/* ---- points of the circle ------------------------------------------------------------------- */

/* pi/2 in three pieces: the first two have 33 bits each, so that an integer up to 2^20 times one of
 * them is exact. */
static const double quarter_pieces[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2e037073p-69};

/* Angles up to it are reduced by these pieces. */
#define NEAR 0x1p20

/* w = 1. */
static const struct pe_frequency radian = {
    {1, 0}, {0x36d8a5664f10e410, 0x7f09d5f47d4d3770, 0x28be60db9391054a, 0}, 0};

/* The first subtraction is exact, since both numbers are multiples of 2^-53 and differ by less than
 * 1; the error of the others is below 2^-98. */
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
    const struct pe_circle rotated =
        reduced.quarters & 1 ? (struct pe_circle){-sine, cosine} : (struct pe_circle){cosine, sine};

    return reduced.quarters & 2 ? (struct pe_circle){-rotated.cos, -rotated.sin} : rotated;
}

/* An angle in the first eighth of a turn: from the slope to 0.004, then corrected twice by the sine
 * of the error, which leaves a sixth of its third power. */
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
