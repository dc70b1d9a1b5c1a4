/* SPDX-License-Identifier: MIT */
/* cos and sin of a position for many frequencies, and their powers, in sums of two doubles. The
 * bounds of all errors are proved in core/tables/rows_f64.c. */
#include "core/kernels/fine.h"

/* Taylor's coefficients: (-1)^k / (2k + 1)! and (-1)^k / (2k)!, the first six as sums of two. */
enum { FINE_TERMS = 6, SINE_TERMS = 12, COSINE_TERMS = 13 };

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

struct fine_cos_sin {
    struct fine cos, sin;
};

/* The sum of terms[k] z^k, 0 <= z < 0.62; the last ones need no second part. */
PE_INLINE struct fine series(struct fine z, const double (*terms)[2], const int last)
{
    real tail = z.hi * terms[last][0] + terms[last - 1][0];

    for (int k = last - 2; k > FINE_TERMS; k--)
        tail = tail * z.hi + terms[k][0];
    struct fine sum = {tail, tail - tail};
    for (int k = FINE_TERMS; k >= 0; k--) {
        const struct fine product = fine_product(z, sum);
        const real high = product.hi + terms[k][0];
        const real low = (terms[k][0] - high) + product.hi;
        sum = fine_quick(high, low + (product.lo + terms[k][1]));
    }
    return sum;
}

/* x, in radians, is at most an eighth of a turn. */
PE_INLINE struct fine_cos_sin fine_cos_sin_of(struct fine x)
{
    const struct fine z = fine_multiply(x, x);

    return (struct fine_cos_sin){series(z, cosine_terms, COSINE_TERMS),
                                 fine_multiply(x, series(z, sine_terms, SINE_TERMS))};
}

/* Either of both, by the mask, its sign changed by the other. */
PE_INLINE struct fine chosen(struct fine a, struct fine b, word mask, word sign)
{
    return (struct fine){
        real_of((bits_of(a.hi) ^ ((bits_of(a.hi) ^ bits_of(b.hi)) & mask)) ^ sign),
        real_of((bits_of(a.lo) ^ ((bits_of(a.lo) ^ bits_of(b.lo)) & mask)) ^ sign)};
}

PE_INLINE struct fine_cos_sin fine_turns_cos_sin(struct sum turns)
{
    const real nearest = 4 * turns.high + WHOLE;
    const struct fine rest = fine_two_sum(turns.high - 0.25 * (nearest - WHOLE), turns.low);
    const real two_pi[] = {0x1.921fb54442d18p+2 + (rest.hi - rest.hi),
                           0x1.1a62633145c07p-52 + (rest.hi - rest.hi)};
    const struct fine_cos_sin r =
        fine_cos_sin_of(fine_multiply(rest, (struct fine){two_pi[0], two_pi[1]}));
    const word quarters = bits_of(nearest), odd = 0 - (quarters & 1);

    return (struct fine_cos_sin){chosen(r.cos, r.sin, odd, ((quarters + 1) & 2) << 62),
                                 chosen(r.sin, r.cos, odd, (quarters & 2) << 62)};
}

void PE_KERNEL(table_anchors_f64)(struct pe_anchors_f64 *out, const struct pe_anchor_f64 *at,
                                  const struct pe_phases *phases, size_t count)
{
    const struct position t = position_split(at->position);
    const double amplitude = at->amplitude[0], scale = amplitude < 0 ? -amplitude : amplitude;

    for (size_t i = 0; i < count; i += LANES) {
        const real high = load(phases->high + i), none = high - high;
        const struct fine factor = {none + amplitude, none + at->amplitude[1]};
        const struct fine_cos_sin r =
            fine_turns_cos_sin(turns(t, high, load(phases->middle + i), load(phases->low + i)));
        const struct fine cos = fine_multiply(r.cos, factor), sin = fine_multiply(r.sin, factor);
        const real far = high * at->span * 0x1p-97;
        const real size = magnitude_of(r.sin.hi) + 2 * load(at->reach + i);

        fine_store(out->cos[0] + i, out->cos[1] + i, cos);
        fine_store(out->sin[0] + i, out->sin[1] + i, sin);
        fine_store(out->minus_sin[0] + i, out->minus_sin[1] + i, fine_negate(sin));
        store(out->cos_error + i, scale * (far + at->unit) + 0x1p-1000);
        store(out->sin_error + i, scale * (far + size * at->unit) + 0x1p-1000);
    }
}

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
            const struct fine ac = fine_load(cos[0] + a, cos[1] + a);
            const struct fine as = fine_load(sin[0] + a, sin[1] + a);
            const struct fine bc = fine_load(cos[0] + b, cos[1] + b);
            const struct fine bs = fine_load(sin[0] + b, sin[1] + b);
            fine_store(cos[0] + to, cos[1] + to, fine_products(ac, bc, fine_negate(as), bs));
            fine_store(sin[0] + to, sin[1] + to, fine_products(as, bc, ac, bs));
        }
        power += row == 2 * power ? power : 0;
    }
}
