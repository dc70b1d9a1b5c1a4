/* SPDX-License-Identifier: MIT */
/* clang-format off: it would reflow the table. */
/* The kernel of one layout: a loop over tokens, columns and heads. Included once for each layout,
 * so it has no include guard. The including file defines these macros, which are undefined at the
 * end:
 *   LAYOUT(part)    the name of a part of the layout: token and columns, which are defined here;
 *                   struct factors, load (cos and sin of a step) and step (rotates one step), which
 *                   the including file defines
 *   KERNEL_NAME     the name of the kernel
 *   FIRST, SECOND   the indices of the two elements of a pair in a row
 *   STEP            the number of pairs that a step rotates
 *   STEPS           the number of steps whose factors fit the registers
 *   REMAINDER       optional: rotates the pairs from `done` on that do not fill a step, and returns
 *                   the first one that is left
 * and these, which stay defined:
 *   NAME(part)      the name of a part of the dtype
 *   ELEMENT, REAL   the types in memory and in arithmetic; widen and narrow convert one number */
/* clang-format on */

#if PE_LANES > 1
/* Rotates a few columns in every head, so that their cos and sin are read once a token and stay in
 * registers. `steps` is a constant wherever this is called. */
PE_INLINE void LAYOUT(columns)(ELEMENT *row, const REAL *cos, const REAL *sin, size_t pair,
                               size_t heads, size_t head_dim, size_t half, const size_t steps)
{
    struct LAYOUT(factors) factors[STEPS];

#pragma GCC unroll 4
    for (size_t i = 0; i < steps; i++)
        factors[i] = LAYOUT(load)(cos + pair + i * STEP, sin + pair + i * STEP);
    for (size_t head = 0; head < heads; head++, row += head_dim) {
        const uintptr_t ahead = (uintptr_t)(row + 2 * pair) + PREFETCH;
#pragma GCC unroll 8
        for (size_t at = 0; at < 2 * steps * STEP * sizeof(ELEMENT); at += LINE)
            __builtin_prefetch((const void *)(ahead + at), 1);
#pragma GCC unroll 4
        for (size_t i = 0; i < steps; i++)
            LAYOUT(step)(row, pair + i * STEP, half, &factors[i]);
    }
}
#endif

PE_INLINE void LAYOUT(token)(ELEMENT *rows, const REAL *cos, const REAL *sin, size_t heads,
                             size_t head_dim, size_t half)
{
    size_t done = 0;

#if PE_LANES > 1
    for (; done + STEPS * STEP <= half; done += STEPS * STEP)
        LAYOUT(columns)(rows, cos, sin, done, heads, head_dim, half, STEPS);
    for (; done + STEP <= half; done += STEP)
        LAYOUT(columns)(rows, cos, sin, done, heads, head_dim, half, 1);
#ifdef REMAINDER
    done = REMAINDER(rows, cos, sin, done, heads, head_dim, half);
#endif
#endif
    if (done == half)
        return;
    for (size_t head = 0; head < heads; head++, rows += head_dim)
        for (size_t pair = done; pair < half; pair++) {
            const REAL x = widen(rows[FIRST]), y = widen(rows[SECOND]);

            rows[FIRST] = narrow(x * cos[pair] - y * sin[pair]);
            rows[SECOND] = narrow(x * sin[pair] + y * cos[pair]);
        }
}

void PE_KERNEL(KERNEL_NAME)(ELEMENT *data, const REAL *cos, const REAL *sin, size_t tokens,
                            size_t heads, size_t head_dim, size_t rotary_dim)
{
    const size_t half = rotary_dim / 2;

    for (size_t token = 0; token < tokens; token++) {
        LAYOUT(token)(data, cos, sin, heads, head_dim, half);
        data += heads * head_dim;
        cos += half;
        sin += half;
    }
}

#undef LAYOUT
#undef KERNEL_NAME
#undef FIRST
#undef SECOND
#undef STEP
#undef STEPS
#undef REMAINDER
