/* SPDX-License-Identifier: MIT */
#ifndef CORE_KERNELS_REAL_H
#define CORE_KERNELS_REAL_H

/* `real` is a vector of doubles, or a double in the scalar build, so that kernels have one source
 * for both. */

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

/* a * b + c where the bits may depend on the ISA within the error bound. */
PE_INLINE real multiply_add(real a, real b, real c)
{
#if PE_LANES > 1
    return vec_multiply_add_f64(a, b, c);
#else
    return a * b + c;
#endif
}

#define SIGN (UINT64_C(1) << 63)

PE_INLINE real magnitude_of(real x)
{
    return real_of(bits_of(x) & ~SIGN);
}

/* ---- phases --------------------------------------------------------------------------------- */

/* Adding it to a number of at most 2^51 leaves the nearest integer in the last bits. */
#define ROUNDER 0x1.8p52

PE_INLINE real fraction(real x)
{
    return x - ((x + ROUNDER) - ROUNDER);
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

/* The first double of a position, also in two halves of 26 bits (Veltkamp), and the second. */
struct position {
    double high, low, both, rest;
};

static inline struct position position_split(const double position[2])
{
    const double t = position[0], scaled = t * (0x1p27 + 1), high = scaled - (scaled - t);

    return (struct position){high, t - high, t, position[1]};
}

/* position * (high + middle + low) in turns, without full turns. The large products are exact. */
PE_INLINE struct sum turns(struct position t, real high, real middle, real low)
{
    struct sum sum = {fraction(high * t.high), high - high};

    sum = sum_add(sum, fraction(high * t.low));
    sum = sum_add(sum, fraction(middle * t.high));
    sum = sum_add(sum, middle * t.low);
    return sum_add(sum, low * t.both + (high + middle) * t.rest);
}

/* ---- rounding to odd ------------------------------------------------------------------------ */

/* A number cut off with its last bit set to 1 where anything was lost lies on the same side of
 * every shorter number as the original, so both round to the same number of two bits less, or
 * fewer. */

/* The bits of a double that a float lacks. */
#define CUT UINT64_C(0x1fffffff)

#define BITS_ODD(bits) (((bits) & ~CUT) | ((((bits)&CUT) + CUT) & (CUT + 1)))

/* x + rest rounded to odd, the rest below an ulp of x. */
PE_INLINE real sum_odd(real x, real rest)
{
    const word low = bits_of(rest), some = ((low & ~SIGN) + ~SIGN) >> 63; /* rest != 0 */
    const word beyond = (bits_of(x) ^ low) >> 63; /* the sum is nearer to 0 than x */

    return real_of((bits_of(x) - (beyond & some)) | some);
}

#endif
