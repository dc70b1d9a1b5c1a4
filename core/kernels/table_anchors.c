/* SPDX-License-Identifier: MIT */
/* Anchors in doubles: cosines and sines of one position for many frequencies, their powers, and
 * scales that depend on the position. Error bounds: docs/internals/exactness.md, "Rows in
 * doubles". */
#include "core/kernels/vec_double_double.h"

/* ---- cos and sin ---------------------------------------------------------------------------- */

/* Polynomials in x^2 of (sin(x) / x - 1) / x^2 and (cos(x) - 1 + x^2 / 2) / x^4, which they equal
 * at six points up to an eighth of a turn. */
static const double sine_terms[] = {-0x1.5555555555555p-3,  0x1.1111111110bb2p-7,
                                    -0x1.a01a019e83a8fp-13, 0x1.71de3796878acp-19,
                                    -0x1.ae600b0015b56p-26, 0x1.5e0b190675a75p-33};
static const double cosine_terms[] = {0x1.5555555555555p-5,  -0x1.6c16c16c16967p-10,
                                      0x1.a01a019f4eaf1p-16, -0x1.27e4fa17d8c6fp-22,
                                      0x1.1eeb68e7eadb9p-29, -0x1.907da2752d350p-37};

struct cos_sin {
    real cos, sin;
};

/* x, in radians, is at most an eighth of a turn. */
PE_INLINE struct cos_sin cos_sin_of(real x)
{
    const real z = x * x, half = 0.5 * z, near = 1 - half, none = z - z;
    real sine = none + sine_terms[5], cosine = none + cosine_terms[5];

    for (int i = 4; i >= 0; i--) {
        sine = multiply_add(sine, z, none + sine_terms[i]);
        cosine = multiply_add(cosine, z, none + cosine_terms[i]);
    }
    return (struct cos_sin){near + multiply_add(z * z, cosine, (1 - near) - half),
                            multiply_add(x * z, sine, x)};
}

PE_INLINE struct cos_sin turns_cos_sin(struct sum turns)
{
    const real nearest = 4 * turns.high + ROUNDER;
    const real rest = (turns.high - 0.25 * (nearest - ROUNDER)) + turns.low;
    const struct cos_sin r = cos_sin_of(rest * 0x1.921fb54442d18p+2);
    const word quarters = bits_of(nearest), odd = 0 - (quarters & 1);
    const word cos = bits_of(r.cos), sin = bits_of(r.sin), swap = (cos ^ sin) & odd;

    return (struct cos_sin){real_of((cos ^ swap) ^ ((quarters + 1) & 2) << 62),
                            real_of((sin ^ swap) ^ (quarters & 2) << 62)};
}

/* The phase of a position of at most 26 bits, whose products with high and middle are exact. */
PE_INLINE struct sum short_turns(struct position t, real high, real middle, real low)
{
    const struct sum first = {fraction(high * t.both), high - high};
    const struct sum sum = sum_add(first, fraction(middle * t.both));

    return (struct sum){sum.high, sum.low + low * t.both};
}

/* `is_short` is a constant wherever this is called. */
PE_INLINE void anchors_compute(struct pe_anchors *out, const struct pe_anchor *at,
                               struct position t, const struct pe_phases *phases, size_t count,
                               const int is_short)
{
    const double amplitude = at->amplitude, magnitude = t.both < 0 ? -t.both : t.both;

    for (size_t i = 0; i < count; i += LANES) {
        const real high = load(phases->high + i), middle = load(phases->middle + i);
        const real low = load(phases->low + i);
        const struct cos_sin r = turns_cos_sin(is_short ? short_turns(t, high, middle, low)
                                                        : turns(t, high, middle, low));
        const real sin = r.sin * amplitude;
        const real far = high * magnitude * 0x1p-97;
        const real size = real_of(bits_of(r.sin) & ~SIGN) + 2 * load(at->reach + i);

        store(out->cos + i, r.cos * amplitude);
        store(out->sin + i, sin);
        store(out->minus_sin + i, -sin);
        store(out->cos_error + i, amplitude * (far + 0x1p-41) + 0x1p-140);
        store(out->sin_error + i, amplitude * (far + size * 0x1p-41) + 0x1p-140);
    }
}

void PE_KERNEL(table_anchors)(struct pe_anchors *out, const struct pe_anchor *at,
                              const struct pe_phases *phases, size_t count)
{
    const struct position t = position_split(at->position);

    if (t.low < 0 || t.low > 0 || t.rest < 0 || t.rest > 0)
        anchors_compute(out, at, t, phases, count, 0);
    else
        anchors_compute(out, at, t, phases, count, 1);
}

/* ---- powers --------------------------------------------------------------------------------- */

PE_INLINE void multiply(double *cos, double *sin, size_t to, size_t a, size_t b, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        const real ac = load(cos + a + i), as = load(sin + a + i);
        const real bc = load(cos + b + i), bs = load(sin + b + i);

        store(cos + to + i, ac * bc - as * bs);
        store(sin + to + i, as * bc + ac * bs);
    }
}

void PE_KERNEL(table_steps)(double *cos, double *sin, size_t stride, size_t rows, size_t count)
{
    size_t power = 1;

    for (size_t i = 0; i < count; i++) {
        cos[i] = 1;
        sin[i] = 0;
    }
    for (size_t row = 2; row < rows; row++) {
        const size_t most = row == 2 * power ? power : row - power;
        multiply(cos, sin, row * stride, power * stride, most * stride, count);
        power += row == 2 * power ? power : 0;
    }
}

void PE_KERNEL(table_rotations)(double *x, double *y, size_t rows)
{
    enum { STRIDE = PE_LIST_COLUMNS };
    size_t step = rows;

    for (size_t power = 1; power < rows; power *= 2, step++)
        for (size_t row = power; row < rows && row < 2 * power; row++)
            multiply(x, y, row * STRIDE, step * STRIDE, (row - power) * STRIDE, STRIDE);
}

void PE_KERNEL(table_interleave)(double *out, const double *a, const double *b, size_t count)
{
#if PE_LANES > 1
#define ZIPPED_LOW(i)  (((i)&1) * LANES + (i) / 2)
#define ZIPPED_HIGH(i) (((i)&1) * LANES + ((i) + LANES) / 2)
    for (size_t i = 0; i < count; i += LANES) {
        const real x = load(a + i), y = load(b + i);

        store(out + 2 * i, __builtin_shufflevector(x, y, PE_LIST(PE_LANES_F64, ZIPPED_LOW)));
        store(out + 2 * i + LANES,
              __builtin_shufflevector(x, y, PE_LIST(PE_LANES_F64, ZIPPED_HIGH)));
    }
#else
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
    }
#endif
}

/* ---- scales --------------------------------------------------------------------------------- */

/* ln 2 in 42 bits, so that an integer below 2^11 times it is exact, and the remainder. */
#define LN2_HIGH 0x1.62e42fefa38p-1
#define LN2_LOW  0x1.ef35793c7673p-45

/* 1 / n!, n = 0, 1, ..., 13. */
static const double terms[] = {1,
                               1,
                               1.0 / 2,
                               1.0 / 6,
                               1.0 / 24,
                               1.0 / 120,
                               1.0 / 720,
                               1.0 / 5040,
                               1.0 / 40320,
                               1.0 / 362880,
                               1.0 / 3628800,
                               1.0 / 39916800,
                               1.0 / 479001600,
                               1.0 / 6227020800};

/* e^x, |x| < 128. */
PE_INLINE real exponential(struct dd x)
{
    const real nearest = x.hi * 0x1.71547652b82fep+0 + ROUNDER, k = nearest - ROUNDER;
    const real rest = ((x.hi - k * LN2_HIGH) - k * LN2_LOW) + x.lo;
    real sum = rest * terms[13] + terms[12];

    for (int n = 11; n >= 0; n--)
        sum = sum * rest + terms[n];
    return real_of(bits_of(sum) + (bits_of(nearest) << 52));
}

void PE_KERNEL(table_scale)(struct pe_anchors *anchors, const double *high, const double *low,
                            const double distance[2], size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        const struct dd log = dd_load(high + i, low + i);
        const real none = log.hi - log.hi;
        const struct dd from = {none + distance[0], none + distance[1]};
        const real scale = exponential(dd_multiply(log, from));

        store(anchors->cos + i, load(anchors->cos + i) * scale);
        store(anchors->sin + i, load(anchors->sin + i) * scale);
        store(anchors->minus_sin + i, load(anchors->minus_sin + i) * scale);
        store(anchors->cos_error + i, load(anchors->cos_error + i) * (3 * scale));
        store(anchors->sin_error + i, load(anchors->sin_error + i) * (3 * scale));
    }
}
