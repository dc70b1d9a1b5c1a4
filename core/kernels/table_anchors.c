/* SPDX-License-Identifier: MIT */
/* cos and sin of a position for many frequencies, and their powers, in doubles: one source for
 * vectors and for the scalar build. The bounds of all errors are proved in core/bulk/quick.c. */
#include "core/kernels/real.h"

/* ---- cos and sin ---------------------------------------------------------------------------- */

/* 1 / (n * (n + 1)) and 1 / (n * (n - 1)) for n = 2, 4, ..., 16: the ratios of Taylor's terms. */
static const double sine_ratios[] = {1.0 / 6,   1.0 / 20,  1.0 / 42,  1.0 / 72,
                                     1.0 / 110, 1.0 / 156, 1.0 / 210, 1.0 / 272};
static const double cosine_ratios[] = {1.0 / 2,  1.0 / 12,  1.0 / 30,  1.0 / 56,
                                       1.0 / 90, 1.0 / 132, 1.0 / 182, 1.0 / 240};

struct cos_sin {
    real cos, sin;
};

/* x, in radians, is at most an eighth of a turn. */
PE_INLINE struct cos_sin cos_sin_of(real x)
{
    const real z = x * x, half = 0.5 * z, near = 1 - half;
    real sine = z * sine_ratios[7], cosine = z * cosine_ratios[7];

    for (int i = 6; i > 0; i--) {
        sine = (1 - sine) * (z * sine_ratios[i]);
        cosine = (1 - cosine) * (z * cosine_ratios[i]);
    }
    sine = (1 - sine) * (z * sine_ratios[0]);
    return (struct cos_sin){near + (((1 - near) - half) + half * cosine), x - x * sine};
}

PE_INLINE struct cos_sin turns_cos_sin(struct sum turns)
{
    const real nearest = 4 * turns.high + WHOLE;
    const real rest = (turns.high - 0.25 * (nearest - WHOLE)) + turns.low;
    const struct cos_sin r = cos_sin_of(rest * 0x1.921fb54442d18p+2);
    const word quarters = bits_of(nearest), odd = 0 - (quarters & 1);
    const word cos = bits_of(r.cos), sin = bits_of(r.sin), swap = (cos ^ sin) & odd;

    return (struct cos_sin){real_of((cos ^ swap) ^ ((quarters + 1) & 2) << 62),
                            real_of((sin ^ swap) ^ (quarters & 2) << 62)};
}

void PE_KERNEL(table_anchors)(struct pe_anchors *out, const struct pe_anchor *at,
                              const struct pe_phases *phases, size_t count)
{
    const struct position t = position_split(at->position);
    const double amplitude = at->amplitude, magnitude = t.both < 0 ? -t.both : t.both;

    for (size_t i = 0; i < count; i += LANES) {
        const real high = load(phases->high + i);
        const struct cos_sin r =
            turns_cos_sin(turns(t, high, load(phases->middle + i), load(phases->low + i)));
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

void PE_KERNEL(table_zip)(double *out, const double *a, const double *b, size_t count)
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
