/* SPDX-License-Identifier: MIT */
/* Products of attention: a part of attention_body.h, which includes it once for each type; so it
 * has no include guard. */

/* ---- out (+)= a * panels --------------------------------------------------------------------- */

/* Rows of the left operand and where their products go. */
struct operand {
    REAL *out;
    const REAL *a;
    size_t out_stride, a_stride, rows, depth;
    int accumulate;
};

/* SUM_RUN terms are summed from zero on, and their sum is added to those before: the rounding
 * errors of a long sum are then those of a short one. SIZE_MAX: one sum goes on.
 *
 * One tile. `rows` and `spans` are constants wherever this is called: the accumulators are
 * registers. */
__attribute__((always_inline)) static inline void tile(const struct operand *in, size_t row0,
                                                       const REAL *const from[],
                                                       size_t panel_stride, const size_t rows,
                                                       const size_t spans)
{
    const int continues = SUM_RUN == SIZE_MAX;
    const size_t out_stride = in->out_stride, a_stride = in->a_stride, vectors = 2 * spans;
    const REAL *left = from[0], *right = from[spans - 1], *a = in->a + row0 * a_stride;
    REAL *const out = in->out + row0 * out_stride;
    size_t depth = in->depth;
    int accumulate = in->accumulate;
    real_vec sums[TILE][2 * SPANS];

    do {
        const size_t run = depth < SUM_RUN ? depth : SUM_RUN;
#pragma GCC unroll 16
        for (size_t row = 0; row < rows; row++)
#pragma GCC unroll 4
            for (size_t i = 0; i < vectors; i++)
                sums[row][i] =
                    continues && accumulate ? load(out + row * out_stride + i * LANES) : splat(0);
        for (size_t k = 0; k < run; k++, left += panel_stride, right += panel_stride) {
            real_vec b[2 * SPANS];
#pragma GCC unroll 4
            for (size_t i = 0; i < vectors; i++)
                b[i] = load((i < 2 ? left : right) + i % 2 * LANES);
#pragma GCC unroll 16
            for (size_t row = 0; row < rows; row++) {
                const real_vec x = splat(a[row * a_stride + k]);
#pragma GCC unroll 4
                for (size_t i = 0; i < vectors; i++)
                    sums[row][i] = FUSED(x, b[i], sums[row][i]);
            }
        }
#pragma GCC unroll 16
        for (size_t row = 0; row < rows; row++)
#pragma GCC unroll 4
            for (size_t i = 0; i < vectors; i++) {
                REAL *to = out + row * out_stride + i * LANES;
                store(to, !continues && accumulate ? load(to) + sums[row][i] : sums[row][i]);
            }
        accumulate = 1;
        a += run;
        depth -= run;
    } while (depth > 0);
}

/* Asks for what comes next where it is outside the L2 cache, a share of it before each tile: lines
 * of the results of the tile below this one, and rows of the panels that are taken after these. */
PE_INLINE void ahead_fetch(const struct operand *in, size_t row0, size_t rows,
                           const REAL *const from[], const struct pe_panels *panels, size_t spans)
{
    const size_t begin = row0 * in->depth / in->rows, end = (row0 + rows) * in->depth / in->rows;
    const REAL *out = in->out + (row0 + rows) * in->out_stride;

    if (panels->next == 0)
        return;
    for (size_t row = 0; row < rows && row0 + rows + row < in->rows; row++, out += in->out_stride)
        for (size_t i = 0; i < spans * SPAN; i += LINE_REALS)
            __builtin_prefetch(out + i, 1);
    for (size_t k = begin; k < end; k++)
        for (size_t span = 0; span < spans; span++)
            for (size_t i = 0; i < SPAN; i += LINE_REALS)
                __builtin_prefetch(from[span] + panels->next + k * panels->row_stride + i);
}

PE_INLINE void strip(const struct operand *in, const REAL *const from[],
                     const struct pe_panels *panels, const size_t spans)
{
    size_t row = 0;

    for (; in->rows - row >= TILE; row += TILE) {
        ahead_fetch(in, row, TILE, from, panels, spans);
        tile(in, row, from, panels->row_stride, TILE, spans);
    }
    for (; in->rows - row >= 3; row += 3)
        tile(in, row, from, panels->row_stride, 3, spans);
    for (; row < in->rows; row++)
        tile(in, row, from, panels->row_stride, 1, spans);
}

/* Functions of their own, for each has all registers. */
__attribute__((noinline)) static void
strip_narrow(const struct operand *in, const REAL *const from[], const struct pe_panels *panels)
{
    strip(in, from, panels, 1);
}

#if PE_REGISTERS == 32
__attribute__((noinline)) static void strip_wide(const struct operand *in, const REAL *const from[],
                                                 const struct pe_panels *panels)
{
    strip(in, from, panels, 2);
}
#else
#define strip_wide strip_narrow
#endif

void KERNEL_NAME(gemm)(void *out, size_t out_stride, const void *a, size_t a_stride,
                       const struct pe_panels *panels, size_t rows, size_t depth, int accumulate)
{
    enum { WIDTH = PE_PANEL_SIZE / sizeof(REAL) };
    const REAL *first = panels->first;
    const size_t columns = panels->count * WIDTH;
    struct operand in = {out, a, out_stride, a_stride, rows, depth, accumulate};

    for (size_t column = 0, width; column < columns; column += width, in.out += width) {
        width = SPANS == 2 && columns - column > SPAN ? 2 * SPAN : SPAN;
        const size_t last = column + width - SPAN;
        const REAL *const from[] = {first + column / WIDTH * panels->step + column % WIDTH,
                                    first + last / WIDTH * panels->step + last % WIDTH};
        if (width > SPAN)
            strip_wide(&in, from, panels);
        else
            strip_narrow(&in, from, panels);
    }
}
