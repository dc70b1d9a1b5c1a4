/* SPDX-License-Identifier: MIT */
/* Rows of f64 in double-doubles: cosines and sines of an anchor, the powers of a step, and the rows
 * made of them. Error bounds: docs/internals/exactness.md, "Rows of f64". */
#include "core/kernels/vec_double_double.h"

/* ---- anchors -------------------------------------------------------------------------------- */

/* Taylor's coefficients: (-1)^k / (2k + 1)! and (-1)^k / (2k)!, those up to DOUBLE_TERMS as
 * double-doubles. */
enum { DOUBLE_TERMS = 6, SINE_TERMS = 12, COSINE_TERMS = 13 };

static const double sine_terms[][2] = {
    {1, 0},
    {-0x1.5555555555555p-3, -0x1.5555555555555p-57},
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {-0x1.a01a01a01a01ap-13, -0x1.a01a01a01a01ap-73},
    {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
    {-0x1.ae64567f544e4p-26, 0x1.c062e06d1f209p-80},
    {0x1.6124613a86d09p-33, 0x1.f28e0cc748ebep-87},
    {-0x1.ae7f3e733b81fp-41},
    {0x1.952c77030ad4ap-49},
    {-0x1.2f49b46814157p-57},
    {0x1.71b8ef6dcf572p-66},
    {-0x1.761b41316381ap-75},
    {0x1.3f3ccdd165fa9p-84},
};

static const double cosine_terms[][2] = {
    {1, 0},
    {-0.5, 0},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {-0x1.6c16c16c16c17p-10, 0x1.f49f49f49f49fp-65},
    {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
    {-0x1.27e4fb7789f5cp-22, -0x1.cbbc05b4fa99ap-76},
    {0x1.1eed8eff8d898p-29, -0x1.2aec959e14c06p-83},
    {-0x1.93974a8c07c9dp-37},
    {0x1.ae7f3e733b81fp-45},
    {-0x1.6827863b97d97p-53},
    {0x1.e542ba4020225p-62},
    {-0x1.0ce396db7f853p-70},
    {0x1.f2cf01972f578p-80},
    {-0x1.88e85fc6a4e5ap-89},
};

struct dd_cos_sin {
    struct dd cos, sin;
};

/* The sum of terms[k] z^k, 0 <= z < 0.62; doubles are enough for the last terms. */
PE_INLINE struct dd series(struct dd z, const double (*terms)[2], const int last)
{
    real tail = z.hi * terms[last][0] + terms[last - 1][0];

    for (int k = last - 2; k > DOUBLE_TERMS; k--)
        tail = tail * z.hi + terms[k][0];
    struct dd sum = {tail, tail - tail};
    for (int k = DOUBLE_TERMS; k >= 0; k--) {
        const struct dd product = dd_product(z, sum);
        const real high = product.hi + terms[k][0];
        const real low = (terms[k][0] - high) + product.hi;
        sum = dd_quick(high, low + (product.lo + terms[k][1]));
    }
    return sum;
}

/* x, in radians, is at most an eighth of a turn. */
PE_INLINE struct dd_cos_sin dd_cos_sin_of(struct dd x)
{
    const struct dd z = dd_multiply(x, x);

    return (struct dd_cos_sin){series(z, cosine_terms, COSINE_TERMS),
                               dd_multiply(x, series(z, sine_terms, SINE_TERMS))};
}

/* b where mask is set, else a, with the sign bit flipped by `sign`. */
PE_INLINE struct dd chosen(struct dd a, struct dd b, word mask, word sign)
{
    return (struct dd){real_of((bits_of(a.hi) ^ ((bits_of(a.hi) ^ bits_of(b.hi)) & mask)) ^ sign),
                       real_of((bits_of(a.lo) ^ ((bits_of(a.lo) ^ bits_of(b.lo)) & mask)) ^ sign)};
}

PE_INLINE struct dd_cos_sin dd_turns_cos_sin(struct sum turns)
{
    const real nearest = 4 * turns.high + ROUNDER;
    const struct dd rest = dd_two_sum(turns.high - 0.25 * (nearest - ROUNDER), turns.low);
    const real two_pi[] = {0x1.921fb54442d18p+2 + (rest.hi - rest.hi),
                           0x1.1a62633145c07p-52 + (rest.hi - rest.hi)};
    const struct dd_cos_sin r = dd_cos_sin_of(dd_multiply(rest, (struct dd){two_pi[0], two_pi[1]}));
    const word quarters = bits_of(nearest), odd = 0 - (quarters & 1);

    return (struct dd_cos_sin){chosen(r.cos, r.sin, odd, ((quarters + 1) & 2) << 62),
                               chosen(r.sin, r.cos, odd, (quarters & 2) << 62)};
}

void PE_KERNEL(table_anchors_f64)(struct pe_anchors_f64 *out, const struct pe_anchor_f64 *at,
                                  const struct pe_phases *phases, size_t count)
{
    const struct position t = position_split(at->position);
    const double amplitude = at->amplitude[0], scale = amplitude < 0 ? -amplitude : amplitude;

    for (size_t i = 0; i < count; i += LANES) {
        const real high = load(phases->high + i), none = high - high;
        const struct dd factor = {none + amplitude, none + at->amplitude[1]};
        const struct dd_cos_sin r =
            dd_turns_cos_sin(turns(t, high, load(phases->middle + i), load(phases->low + i)));
        const struct dd cos = dd_multiply(r.cos, factor), sin = dd_multiply(r.sin, factor);
        const real far = high * at->span * 0x1p-97;
        const real size = magnitude_of(r.sin.hi) + 2 * load(at->reach + i);

        dd_store(out->cos[0] + i, out->cos[1] + i, cos);
        dd_store(out->sin[0] + i, out->sin[1] + i, sin);
        dd_store(out->minus_sin[0] + i, out->minus_sin[1] + i, dd_negate(sin));
        store(out->cos_error + i, scale * (far + at->unit) + 0x1p-1000);
        store(out->sin_error + i, scale * (far + size * at->unit) + 0x1p-1000);
    }
}

/* ---- powers of a step ----------------------------------------------------------------------- */

void PE_KERNEL(table_steps_f64)(double *const cos[2], double *const sin[2], size_t stride,
                                size_t rows, size_t count)
{
    size_t power = 1;

    for (size_t i = 0; i < count; i++) {
        cos[0][i] = 1;
        cos[1][i] = sin[0][i] = sin[1][i] = 0;
    }
    for (size_t row = 2; row < rows; row++) {
        const size_t most = row == 2 * power ? power : row - power;
        for (size_t i = 0; i < count; i += LANES) {
            const size_t a = power * stride + i, b = most * stride + i, to = row * stride + i;
            const struct dd ac = dd_load(cos[0] + a, cos[1] + a);
            const struct dd as = dd_load(sin[0] + a, sin[1] + a);
            const struct dd bc = dd_load(cos[0] + b, cos[1] + b);
            const struct dd bs = dd_load(sin[0] + b, sin[1] + b);
            dd_store(cos[0] + to, cos[1] + to, dd_products(ac, bc, dd_negate(as), bs));
            dd_store(sin[0] + to, sin[1] + to, dd_products(as, bc, ac, bs));
        }
        power += row == 2 * power ? power : 0;
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Factors of LANES columns. */
struct factors {
    struct dd x, y;
    real error;
};

struct dd_step {
    struct dd p, q;
};

/* The power of the step at an offset of its arrays. */
PE_INLINE struct dd_step step_at(const struct pe_table_rows_f64 *in, size_t at)
{
    return (struct dd_step){dd_load(in->step_cos[0] + at, in->step_cos[1] + at),
                            dd_load(in->step_sin[0] + at, in->step_sin[1] + at)};
}

/* A bit for each lane whose two ends round differently, or are NaN. */
PE_INLINE uint64_t differing(real low, real high)
{
#if PE_LANES > 1
    const vec_u64 differ = (vec_u64)(low != high);
    uint64_t lanes[LANES], bits = 0;

    if (!__builtin_expect(vec_any((vec_u32)differ), 0))
        return 0;
    __builtin_memcpy(lanes, &differ, sizeof(lanes));
    for (size_t i = 0; i < LANES; i++)
        bits |= (lanes[i] & 1) << i;
    return bits;
#else
    return low != high;
#endif
}

/* Stores the first `count` lanes. */
PE_INLINE void store_lanes(double *to, real x, size_t count)
{
    double lanes[LANES];

    if (count >= LANES) {
        store(to, x);
        return;
    }
    store(lanes, x);
    for (size_t i = 0; i < count; i++)
        to[i] = lanes[i];
}

PE_INLINE void columns_down(double *out, double *rest, const struct pe_table_rows_f64 *in,
                            struct pe_table_undecided *undecided, size_t column, const size_t count)
{
    const uint64_t mask = (UINT64_C(1) << count) - 1;
    struct factors f = {dd_load(in->cos[0] + column, in->cos[1] + column),
                        dd_load(in->sin[0] + column, in->sin[1] + column),
                        load(in->error + column)};

    for (size_t row = 0; row < in->rows; row++) {
        const size_t at = row % PE_TABLE_ROTATION * in->step_stride + column;
        if (row > 0 && row % PE_TABLE_ROTATION == 0) {
            const struct dd_step rotation =
                step_at(in, PE_TABLE_ROTATION * in->step_stride + column);
            const struct dd x = dd_products(f.x, rotation.p, f.y, rotation.q);
            f.y = dd_products(f.y, rotation.p, dd_negate(f.x), rotation.q);
            f.x = x;
        }
        const struct dd_step step = step_at(in, at);
        const struct dd value = dd_products(f.x, step.p, f.y, step.q);
        const uint64_t differ =
            differing(value.hi + (value.lo - f.error), value.hi + (value.lo + f.error)) & mask;
        undecided->rows[row] |= differ << column;
        store_lanes(out + row * in->out_stride + column, value.hi, count);
        if (rest)
            store_lanes(rest + row * in->out_stride + column, value.lo, count);
    }
}

void PE_KERNEL(table_f64)(double *out, double *rest, const struct pe_table_rows_f64 *in,
                          struct pe_table_undecided *undecided)
{
    size_t column = 0;

    for (size_t row = 0; row < in->rows; row++)
        undecided->rows[row] = 0;
    for (; column + LANES <= in->columns; column += LANES)
        columns_down(out, rest, in, undecided, column, LANES);
    if (column < in->columns)
        columns_down(out, rest, in, undecided, column, in->columns - column);
}
