/* SPDX-License-Identifier: MIT */
/* Rotation of bf16. A bf16 is the upper half of an f32, so a 32-bit lane holds two of them, which a
 * shift and a mask make floats, without a move across lanes. In the interleaved layout they are a
 * pair; in the half layout they are neighbours in one half of the row, so that cos and sin are
 * split into those of even and of odd pairs. */
#include "core/kernels/vec.h"

#define NAME(part) part##_bf16
#define ELEMENT    uint16_t
#define REAL       float
#define widen(x)   f32_from_bf16(x)
#define narrow(x)  bf16_from_f32(x)

#if PE_LANES > 1

struct two {
    vec even, odd;
};

PE_INLINE struct two load(const uint16_t *from)
{
    vec_u32 v;

    __builtin_memcpy(&v, from, sizeof(v));
    return (struct two){(vec)(v << 16), (vec)(v & 0xffff0000)};
}

/* The result in the upper half of each lane. NaN needs no special case: the low half of a NaN that
 * was read as bf16, or computed here, is zero. */
PE_INLINE vec_u32 rounded(vec x)
{
    const vec_u32 bits = (vec_u32)x;

    return bits + 0x7fff + (bits >> 16 & 1);
}

PE_INLINE void store(uint16_t *to, vec even, vec odd)
{
#ifdef PE_HAS_BF16_PAIR
    const vec_u32 v = vec_bf16_pair(even, odd);
#else
    const vec_u32 v = rounded(even) >> 16 | (rounded(odd) & 0xffff0000);
#endif

    __builtin_memcpy(to, &v, sizeof(v));
}

struct NAME(half_factors) {
    struct two cos, sin;
};

PE_INLINE struct two deinterleave(const float *from)
{
    const vec low = vec_load(from), high = vec_load(from + PE_LANES);

    return (struct two){__builtin_shufflevector(low, high, PE_LIST(PE_LANES, PE_EVEN)),
                        __builtin_shufflevector(low, high, PE_LIST(PE_LANES, PE_ODD))};
}

PE_INLINE struct NAME(half_factors) NAME(half_load)(const float *cos, const float *sin)
{
    return (struct NAME(half_factors)){deinterleave(cos), deinterleave(sin)};
}

PE_INLINE void NAME(half_step)(uint16_t *row, size_t pair, size_t half,
                               const struct NAME(half_factors) * f)
{
    const struct two x = load(row + pair), y = load(row + half + pair);

    store(row + pair, x.even * f->cos.even - y.even * f->sin.even,
          x.odd * f->cos.odd - y.odd * f->sin.odd);
    store(row + half + pair, x.even * f->sin.even + y.even * f->cos.even,
          x.odd * f->sin.odd + y.odd * f->cos.odd);
}

/* A step takes two vectors of pairs; one vector may be left, for example 16 pairs at 512 bits. */
PE_INLINE size_t half_remainder(uint16_t *rows, const float *cos, const float *sin, size_t done,
                                size_t heads, size_t head_dim, size_t half)
{
    if (done + PE_LANES > half)
        return done;

    const vec c = vec_load(cos + done), s = vec_load(sin + done);
    for (size_t head = 0; head < heads; head++, rows += head_dim) {
        uint16_t *const first = rows + done, *const second = rows + half + done;
        const vec x = (vec)(vec_load_u16(first) << 16), y = (vec)(vec_load_u16(second) << 16);

        vec_store_u16(first, rounded(x * c - y * s) >> 16);
        vec_store_u16(second, rounded(x * s + y * c) >> 16);
    }
    return done + PE_LANES;
}

struct NAME(interleaved_factors) {
    vec cos, sin;
};

PE_INLINE struct NAME(interleaved_factors)
    NAME(interleaved_load)(const float *cos, const float *sin)
{
    return (struct NAME(interleaved_factors)){vec_load(cos), vec_load(sin)};
}

PE_INLINE void NAME(interleaved_step)(uint16_t *row, size_t pair, size_t half,
                                      const struct NAME(interleaved_factors) * f)
{
    const struct two v = load(row + 2 * pair);

    (void)half;
    store(row + 2 * pair, v.even * f->cos - v.odd * f->sin, v.even * f->sin + v.odd * f->cos);
}
#endif

#define LAYOUT(part) NAME(half_##part)
#define KERNEL_NAME  NAME(rotate_half)
#define FIRST        pair
#define SECOND       half + pair
#define STEP         (2 * PE_LANES)
#define STEPS        2
#define REMAINDER    half_remainder
#include "core/kernels/rotate_rows.h"

#define LAYOUT(part) NAME(interleaved_##part)
#define KERNEL_NAME  NAME(rotate_interleaved)
#define FIRST        2 * pair
#define SECOND       2 * pair + 1
#define STEP         PE_LANES
#define STEPS        4
#include "core/kernels/rotate_rows.h"
