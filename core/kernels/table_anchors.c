/* SPDX-License-Identifier: MIT */
/* cos and sin of a position for many frequencies, and their powers, in doubles: one source for
 * vectors and for the scalar build. The bounds of all errors are proved in core/tables/bulk.c. */
#include "core/kernels/vec.h"

#if PE_LANES > 1
typedef vec_f64 real;
typedef vec_u64 word;
#define LANES PE_LANES_F64
#else
typedef double real;
typedef uint64_t word;
#define LANES 1
#endif

PE_INLINE real load(const double *from)
{
    real x;
    __builtin_memcpy(&x, from, sizeof(x));
    return x;
}

PE_INLINE void store(double *to, real x)
{
    __builtin_memcpy(to, &x, sizeof(x));
}

PE_INLINE word bits_of(real x)
{
    word bits;
    __builtin_memcpy(&bits, &x, sizeof(bits));
    return bits;
}

PE_INLINE real real_of(word bits)
{
    real x;
    __builtin_memcpy(&x, &bits, sizeof(x));
    return x;
}

#define SIGN (UINT64_C(1) << 63)

/* ---- turns ---------------------------------------------------------------------------------- */

/* Added to a number of at most 2^51: the last bits of the sum are the nearest whole number. */
#define WHOLE 0x1.8p52

PE_INLINE real fraction(real x)
{
    return x - ((x + WHOLE) - WHOLE);
}

struct sum {
    real high, low;
};

/* a + x. The low part takes the rounding error of a.high + x. */
PE_INLINE struct sum sum_add(struct sum a, real x)
{
    const real high = a.high + x, part = high - a.high;

    return (struct sum){high, a.low + ((a.high - (high - part)) + (x - part))};
}

/* The first double of a position, in two halves of 26 bits (Veltkamp) and whole, and the second. */
struct position {
    double high, low, both, rest;
};

static inline struct position position_split(const double position[2])
{
    const double t = position[0], scaled = t * (0x1p27 + 1), high = scaled - (scaled - t);

    return (struct position){high, t - high, t, position[1]};
}

/* position * (high + middle + low) in turns. The large products are exact, and whole turns are
 * taken off them at once. */
PE_INLINE struct sum turns(struct position t, real high, real middle, real low)
{
    struct sum sum = {fraction(high * t.high), high - high};

    sum = sum_add(sum, fraction(high * t.low));
    sum = sum_add(sum, fraction(middle * t.high));
    sum = sum_add(sum, middle * t.low);
    return sum_add(sum, low * t.both + (high + middle) * t.rest);
}

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
