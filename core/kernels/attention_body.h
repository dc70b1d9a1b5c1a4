/* SPDX-License-Identifier: MIT */
/* The inner loops of attention for one type. attention_f32.c and attention_f64.c include it after
 * defining REAL, LANES and the constants of exp; so it has no include guard.
 *
 * The bytes are the same on every ISA because lanes run over keys or value columns: each sum takes
 * its terms in one order, and products and additions are rounded as FUSED defines. Sums along a row
 * have PARTIALS partial sums, whatever the width of a vector. */

#include "core/kernels/attention.h"
#include "core/kernels/vec.h"

enum { PARTIALS = PE_ATTENTION_PARTIALS, VECTORS = PARTIALS / LANES };

typedef BITS bits_vec __attribute__((vector_size(LANES * sizeof(BITS))));

/* A register tile takes two vectors of a panel, and two such spans where registers suffice, so that
 * an element of a row is broadcast once for both. An accumulator for each row and vector, the
 * vectors and one broadcast must fit the registers. */
enum { LINE_REALS = 64 / sizeof(REAL) }; /* of a line of the cache */
enum { SPAN = 2 * LANES, SPANS = PE_REGISTERS == 32 ? 2 : 1, TILE = 6 };

static inline real_vec load(const REAL *from)
{
    real_vec v;
    __builtin_memcpy(&v, from, sizeof(v));
    return v;
}

static inline void store(REAL *to, real_vec v)
{
    __builtin_memcpy(to, &v, sizeof(v));
}

static inline real_vec splat(REAL x)
{
    real_vec v = {0}; /* every lane is written below; gcc misses that with -fsanitize=thread */
    for (int lane = 0; lane < LANES; lane++)
        v[lane] = x;
    return v;
}

static inline real_vec choose(bits_vec mask, real_vec yes, real_vec no)
{
    return (real_vec)((mask & (bits_vec)yes) | (~mask & (bits_vec)no));
}

/* ---- out (+)= a * panels --------------------------------------------------------------------- */

/* Rows of the left operand, and where their products are written. */
struct operand {
    REAL *out;
    const REAL *a;
    size_t out_stride, a_stride, rows, depth;
    int accumulate;
};

/* One tile. SUM_RUN terms are summed from zero, and their sum is added to those before, so that a
 * long sum has the rounding errors of a short one; SIZE_MAX: one sum. `rows` and `spans` are
 * constants wherever this is called, so that the accumulators are registers. */
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

/* Prefetches what lies outside the L2 cache, a share of it before each tile: result lines of the
 * next tile, and rows of the next panels. */
PE_INLINE void prefetch_next(const struct operand *in, size_t row0, size_t rows,
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
        prefetch_next(in, row, TILE, from, panels, spans);
        tile(in, row, from, panels->row_stride, TILE, spans);
    }
    for (; in->rows - row >= 3; row += 3)
        tile(in, row, from, panels->row_stride, 3, spans);
    for (; row < in->rows; row++)
        tile(in, row, from, panels->row_stride, 1, spans);
}

/* Functions of their own, so that each has all registers. */
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

/* ---- packing --------------------------------------------------------------------------------- */

#if PE_LANES > 1
#define ZIP_LOW(i)  ((i) / 2 + (i) % 2 * LANES)
#define ZIP_HIGH(i) (ZIP_LOW(i) + LANES / 2)

/* A square of LANES columns. Each round interleaves the elements of vectors i and i + LANES / 2
 * into two adjacent vectors; log2(LANES) rounds transpose the square. */
static inline void square_transpose(REAL *panel, const REAL *columns, size_t stride)
{
    enum { WIDTH = PE_PANEL_SIZE / sizeof(REAL) };
    real_vec from[LANES], to[LANES];

#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        from[i] = load(columns + i * stride);
#pragma GCC unroll 4
    for (size_t round = 1; round < LANES; round *= 2) {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES / 2; i++) {
            to[2 * i] =
                __builtin_shufflevector(from[i], from[i + LANES / 2], PE_LIST(LANES, ZIP_LOW));
            to[2 * i + 1] =
                __builtin_shufflevector(from[i], from[i + LANES / 2], PE_LIST(LANES, ZIP_HIGH));
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            from[i] = to[i];
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        store(panel + i * WIDTH, from[i]);
}
#else
static inline void square_transpose(REAL *panel, const REAL *columns, size_t stride)
{
    (void)stride;
    *panel = *columns;
}
#endif

void KERNEL_NAME(transpose)(void *panel, const void *columns, size_t stride, size_t depth)
{
    enum { WIDTH = PE_PANEL_SIZE / sizeof(REAL) };
    const REAL *from = columns;
    REAL *to = panel;
    size_t k = 0;

    for (; k + LANES <= depth; k += LANES)
        for (size_t i = 0; i < WIDTH; i += LANES)
            square_transpose(to + k * WIDTH + i, from + i * stride + k, stride);
    for (; k < depth; k++)
        for (size_t i = 0; i < WIDTH; i++)
            to[k * WIDTH + i] = from[i * stride + k];
}

/* Adding it to exponent bits sets the highest bit where they are at least `least`. */
static inline BITS to_highest(BITS least)
{
    return ~((BITS)-1 >> 1) - least;
}

void KERNEL_NAME(find_nonfinite)(bool *nonfinite, bool *large, const void *row, size_t count)
{
    const REAL *from = row;
    const BITS exponent = ((BITS)-1 >> (MANTISSA_BITS + 1)) << MANTISSA_BITS;
    const BITS bias = exponent / 2 & exponent, highest = ~((BITS)-1 >> 1);
    const BITS to_nonfinite = to_highest(exponent);
    const BITS to_large = to_highest(bias + ((BITS)PE_LARGE_EXPONENT << MANTISSA_BITS));
    bits_vec nonfinites = {0}, larges = {0};
    BITS bits, nonfinite_bits = 0, large_bits = 0;
    size_t i = 0;

    for (; i + LANES <= count; i += LANES) {
        const bits_vec exponents = (bits_vec)load(from + i) & exponent;
        nonfinites |= exponents + to_nonfinite;
        larges |= exponents + to_large;
    }
    for (; i < count; i++) {
        __builtin_memcpy(&bits, from + i, sizeof(bits));
        nonfinite_bits |= (bits & exponent) + to_nonfinite;
        large_bits |= (bits & exponent) + to_large;
    }
    for (int lane = 0; lane < LANES; lane++) {
        nonfinite_bits |= nonfinites[lane];
        large_bits |= larges[lane];
    }
    *nonfinite = (nonfinite_bits & highest) != 0;
    *large = (large_bits & highest) != 0;
}

/* ---- rows of logits -------------------------------------------------------------------------- */

void KERNEL_NAME(logits)(void *row, const void *bias, size_t count, double scale, double *max)
{
    REAL *to = row, lanes[PARTIALS];
    const REAL *add = bias;
    const real_vec factor = splat((REAL)scale);
    real_vec most[VECTORS];

    for (int i = 0; i < VECTORS; i++)
        most[i] = splat(-(REAL)__builtin_inf());
    for (size_t j = 0; j < count; j += PARTIALS)
        for (int i = 0; i < VECTORS; i++) {
            const real_vec x = load(to + j + i * LANES);
            const real_vec y = add ? FUSED(x, factor, load(add + j + i * LANES)) : x * factor;
            store(to + j + i * LANES, y);
            most[i] = MOST(y, most[i]);
        }
    for (int i = 0; i < VECTORS; i++)
        store(lanes + i * LANES, most[i]);
    *max = (double)lanes[0];
    for (int i = 1; i < PARTIALS; i++)
        *max = (double)lanes[i] > *max ? (double)lanes[i] : *max;
}

static REAL partials_sum(const REAL *in)
{
    REAL sums[PARTIALS];

    __builtin_memcpy(sums, in, sizeof(sums));
    for (int half = PARTIALS / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            sums[i] += sums[i + half];
    return sums[0];
}

/* e^x * unit = (1 + tail) * power for x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, the tail a
 * series of e^r - 1 that begins with r, the power 2^n * unit. n * LN2_HIGH is exact, its low bits
 * being zero. NaN stays NaN; below EXP_MIN, where results would be subnormal, both are undefined.
 */
struct exponential {
    real_vec tail, power;
};

static inline struct exponential exp_parts(real_vec x, real_vec unit)
{
    const real_vec shifted = FUSED(x, splat((REAL)1.44269504088896340736), splat(ROUND_MAGIC));
    const real_vec n = shifted - ROUND_MAGIC;
    const real_vec r = FUSED(n, splat(-LN2_LOW), FUSED(n, splat(-LN2_HIGH), x));
    static const REAL terms[] = EXP_TERMS;
    real_vec p = splat(terms[0]);

#pragma GCC unroll 16
    for (size_t i = 1; i < sizeof(terms) / sizeof(terms[0]); i++)
        p = FUSED(p, r, splat(terms[i]));
    const bits_vec power = ((bits_vec)shifted << MANTISSA_BITS) + (bits_vec)unit;
    return (struct exponential){FUSED(p * r, r, r), (real_vec)power};
}

/* Subnormal results are 0. Scaling by a power of two is exact, so there is one rounding. */
static inline real_vec exp_vec(real_vec x, real_vec unit)
{
    const struct exponential e = exp_parts(x, unit);

    return choose((bits_vec)(x < splat(EXP_MIN)), splat(0), FUSED(e.tail, e.power, e.power));
}

/* tanh |y| = -m / (2 + m) with m = e^(-2 |y|) - 1, whose relative error is small near 0; and
 * 1 - 2 e / (1 + e) with e = e^(-2 |y|), whose error is small where e is. */
static inline real_vec tanh_vec(real_vec y)
{
    const bits_vec sign = (bits_vec)splat(-(REAL)0.0);
    const real_vec x = (real_vec)((bits_vec)y & ~sign) * (REAL)-2;
    const struct exponential parts = exp_parts(x, splat(1));
    const bits_vec none = (bits_vec)(x < splat(EXP_MIN));
    const real_vec e = choose(none, splat(0), FUSED(parts.tail, parts.power, parts.power));
    const real_vec m = parts.tail * parts.power + (parts.power - (REAL)1);
    const bits_vec far = (bits_vec)(e < splat((REAL)0.25));
    const real_vec part = choose(far, e + e, -m) / choose(far, e + (REAL)1, m + (REAL)2);
    const bits_vec t = (bits_vec)choose(far, (REAL)1 - part, part);

    return (real_vec)((t & ~sign) | ((bits_vec)y & sign));
}

void KERNEL_NAME(softcap)(void *row, size_t count, double factor, double cap)
{
    REAL *to = row;
    const real_vec by = splat((REAL)factor), most = splat((REAL)cap);

    for (size_t j = 0; j < count; j += LANES)
        store(to + j, most * tanh_vec(load(to + j) * by));
}

void KERNEL_NAME(softmax)(void *row, size_t count, double max, double unit, void *partials,
                          size_t next)
{
    REAL *to = row, *lanes = partials;
    const real_vec top = splat(max == -__builtin_inf() ? 0 : (REAL)max), one = splat((REAL)unit);
    real_vec sums[VECTORS];

    for (int i = 0; i < VECTORS; i++)
        sums[i] = load(lanes + i * LANES);
    for (size_t j = 0; j < count; j += PARTIALS) {
        __builtin_prefetch(to + next + j, 1);
        for (int i = 0; i < VECTORS; i++) {
            const real_vec e = exp_vec(load(to + j + i * LANES) - top, one);
            store(to + j + i * LANES, e);
            sums[i] += e;
        }
    }
    for (int i = 0; i < VECTORS; i++)
        store(lanes + i * LANES, sums[i]);
}

void KERNEL_NAME(sum)(void *out, const void *row, size_t count)
{
    const REAL *from = row;
    REAL lanes[PARTIALS], total;
    real_vec sums[VECTORS];
    size_t j = 0;

    for (int i = 0; i < VECTORS; i++)
        sums[i] = splat(0);
    for (; j + PARTIALS <= count; j += PARTIALS)
        for (int i = 0; i < VECTORS; i++)
            sums[i] += load(from + j + i * LANES);
    for (int i = 0; i < VECTORS; i++)
        store(lanes + i * LANES, sums[i]);
    for (int i = 0; j < count; i++, j++)
        lanes[i] += from[j];
    total = partials_sum(lanes);
    __builtin_memcpy(out, &total, sizeof(total));
}

void KERNEL_NAME(divide)(void *row, size_t count, double divisor)
{
    REAL *to = row;
    const real_vec by = splat((REAL)divisor);
    size_t j = 0;

    for (; j + LANES <= count; j += LANES)
        store(to + j, load(to + j) / by);
    for (; j < count; j++)
        to[j] /= (REAL)divisor;
}
