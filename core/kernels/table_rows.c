/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

/* Rows of tables of cos and sin: core/rows.c says what they are and proves their errors. Counts are
 * multiples of 8. Plain double operations in one order, the same at every ISA. */

#if PE_LANES > 1
typedef vec_f64 lane;
typedef int64_t lane_bits __attribute__((vector_size(PE_LANES * 4)));
typedef float lane_f32 __attribute__((vector_size(PE_LANES * 2)));
enum { LANES = PE_LANES_F64 };
#define NARROW(v) __builtin_convertvector(v, lane_f32)
#else
typedef double lane;
typedef int64_t lane_bits;
typedef float lane_f32;
enum { LANES = 1 };
#define PE_INLINE __attribute__((always_inline)) static inline
#define NARROW(v) ((float)(v))
#endif

PE_INLINE lane lane_load(const double *from)
{
    lane v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
}

PE_INLINE void lane_store(double *to, lane v)
{
    __builtin_memcpy(to, &v, sizeof(v));
}

PE_INLINE void lane_store_f32(float *to, lane v)
{
    const lane_f32 narrow = NARROW(v);
    __builtin_memcpy(to, &narrow, sizeof(narrow));
}

PE_INLINE lane lane_abs(lane v)
{
    lane_bits bits;
    __builtin_memcpy(&bits, &v, sizeof(bits));
    bits &= INT64_MAX;
    __builtin_memcpy(&v, &bits, sizeof(v));
    return v;
}

void PE_KERNEL(table_interval)(float *low, float *high, const double *a, const double *u,
                               const double *b, const double *v, const double *absolute,
                               const double *relative, double amplitude, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        const lane x =
            (lane_load(a + i) * lane_load(u + i) - lane_load(b + i) * lane_load(v + i)) * amplitude;
        const lane error = lane_load(absolute + i) + lane_abs(x) * lane_load(relative + i);
        lane_store_f32(low + i, x - error);
        lane_store_f32(high + i, x + error);
    }
}

/* ---- sums of two, as in core/double_double.h ------------------------------------------------- */

struct sum {
    lane hi, lo;
};

PE_INLINE struct sum quick_sum(lane a, lane b)
{
    const lane sum = a + b;

    return (struct sum){sum, b - (sum - a)};
}

PE_INLINE struct sum two_sum(lane a, lane b)
{
    const lane sum = a + b, part = sum - a;

    return (struct sum){sum, (a - (sum - part)) + (b - part)};
}

PE_INLINE struct sum multiply(struct sum a, struct sum b)
{
    const lane as = a.hi * (0x1p27 + 1), bs = b.hi * (0x1p27 + 1);
    const lane ah = as - (as - a.hi), bh = bs - (bs - b.hi);
    const lane al = a.hi - ah, bl = b.hi - bh, product = a.hi * b.hi;
    const lane rest = ((ah * bh - product) + ah * bl + al * bh) + al * bl;

    return quick_sum(product, rest + (a.hi * b.lo + a.lo * b.hi));
}

PE_INLINE struct sum add(struct sum a, struct sum b)
{
    const struct sum low = two_sum(a.lo, b.lo);
    struct sum high = two_sum(a.hi, b.hi);

    high = quick_sum(high.hi, high.lo + low.hi);
    return quick_sum(high.hi, high.lo + low.lo);
}

PE_INLINE struct sum negate(struct sum a)
{
    return (struct sum){-a.hi, -a.lo};
}

PE_INLINE struct sum sum_load(const double *from, size_t i, size_t stride)
{
    return (struct sum){lane_load(from + i), lane_load(from + stride + i)};
}

PE_INLINE void sum_store(double *to, size_t i, size_t stride, struct sum v)
{
    lane_store(to + i, v.hi);
    lane_store(to + stride + i, v.lo);
}

void PE_KERNEL(table_turn)(double *cos, double *sin, const double *cos_by, const double *sin_by,
                           size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        const struct sum c = sum_load(cos, i, count), s = sum_load(sin, i, count);
        const struct sum u = sum_load(cos_by, i, count), v = sum_load(sin_by, i, count);

        sum_store(cos, i, count, add(multiply(c, u), negate(multiply(s, v))));
        sum_store(sin, i, count, add(multiply(s, u), multiply(c, v)));
    }
}
