/* SPDX-License-Identifier: MIT */
/* The kernels of both layouts for a dtype whose elements are loaded a vector at a time. Included by
 * rotate.c once a dtype, so it has no include guard. In addition to the macros of rotate_rows.h it
 * takes, and undefines,
 *   VEC, LANES     a vector of REAL, and how many it holds
 *   load_real      loads LANES numbers of type REAL
 *   load, store    load LANES elements as REAL, round and store them */

#if PE_LANES > 1
struct NAME(half_factors) {
    VEC cos, sin;
};

PE_INLINE struct NAME(half_factors) NAME(half_load)(const REAL *cos, const REAL *sin)
{
    return (struct NAME(half_factors)){load_real(cos), load_real(sin)};
}

PE_INLINE void NAME(half_step)(ELEMENT *row, size_t pair, size_t half,
                               const struct NAME(half_factors) * f)
{
    const VEC x = load(row + pair), y = load(row + half + pair);

    store(row + pair, x * f->cos - y * f->sin);
    store(row + half + pair, x * f->sin + y * f->cos);
}

/* For each pair cos twice, and -sin beside sin: (x, y) * cos + (y, x) * (-sin, sin) rounds as the
 * formula does, since a + -b is a - b. */
struct NAME(interleaved_factors) {
    VEC cos[2], sin[2];
};

PE_INLINE struct NAME(interleaved_factors) NAME(interleaved_load)(const REAL *cos, const REAL *sin)
{
    const VEC c = load_real(cos), s = load_real(sin), sign = {PE_LIST(LANES, SIGN)};

    return (struct NAME(interleaved_factors)){
        {__builtin_shufflevector(c, c, PE_LIST(LANES, PE_TWICE_LOW)),
         __builtin_shufflevector(c, c, PE_LIST(LANES, TWICE_HIGH))},
        {__builtin_shufflevector(s, s, PE_LIST(LANES, PE_TWICE_LOW)) * sign,
         __builtin_shufflevector(s, s, PE_LIST(LANES, TWICE_HIGH)) * sign}};
}

PE_INLINE void NAME(interleaved_step)(ELEMENT *row, size_t pair, size_t half,
                                      const struct NAME(interleaved_factors) * f)
{
    ELEMENT *const at = row + 2 * pair;

    (void)half;
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const VEC v = load(at + i * LANES);
        const VEC swapped = __builtin_shufflevector(v, v, PE_LIST(LANES, PE_SWAPPED));

        store(at + i * LANES, v * f->cos[i] + swapped * f->sin[i]);
    }
}
#endif

#define LAYOUT(part) NAME(half_##part)
#define KERNEL_NAME  NAME(rotate_half)
#define FIRST        pair
#define SECOND       half + pair
#define STEP         LANES
#define STEPS        4
#include "core/kernels/rotate_rows.h"

#define LAYOUT(part) NAME(interleaved_##part)
#define KERNEL_NAME  NAME(rotate_interleaved)
#define FIRST        2 * pair
#define SECOND       2 * pair + 1
#define STEP         LANES
#define STEPS        4
#include "core/kernels/rotate_rows.h"

#undef NAME
#undef ELEMENT
#undef REAL
#undef VEC
#undef LANES
#undef load_real
#undef load
#undef store
#undef widen
#undef narrow
