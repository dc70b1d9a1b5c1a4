/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include "core/exact/parts.h"

/* ---- as it is -------------------------------------------------------------------------------- */

int pe_wide_sign(struct pe_wide x)
{
    return x.kind == PE_WIDE_ZERO || x.kind == PE_WIDE_NAN ? 0 : x.negative ? -1 : 1;
}

int64_t pe_wide_exponent(struct pe_wide x)
{
    return x.kind == PE_WIDE_FINITE ? x.exponent : x.kind == PE_WIDE_ZERO ? INT64_MIN : INT64_MAX;
}

unsigned pe_wide_length(struct pe_wide x)
{
    unsigned low = 0;

    if (x.kind != PE_WIDE_FINITE)
        return 0;
    while (x.limb[low] == 0)
        low++;
    return 64 * (x.count - low) - (unsigned)__builtin_ctzll(x.limb[low]);
}

/* ---- as a double ----------------------------------------------------------------------------- */

enum rounding { NEAREST, INWARD, OUTWARD };

/* |x| in `bits` bits, or in those that a double of its size has. */
static double magnitude(const struct pe_wide *x, unsigned bits, enum rounding rounding)
{
    const uint64_t top = x->limb[x->count - 1];
    const bool more = x->inexact || pe_limbs_any(x->limb, x->count - 1u);

    if (x->exponent > DBL_MAX_EXP)
        return rounding == INWARD ? DBL_MAX : INFINITY;
    if (x->exponent < -1074)
        return rounding == OUTWARD ? 0x1p-1074 : 0;
    const unsigned room = (unsigned)(x->exponent + 1074), keep = room < bits ? room : bits;
    const uint64_t kept = keep ? top >> (64 - keep) : 0, rest = top << keep;
    const bool half = rest >> 63, behind = (rest & ~((uint64_t)1 << 63)) != 0 || more;
    const bool up = rounding == NEAREST ? half && (behind || kept & 1)
                                        : rounding == OUTWARD && (rest != 0 || more);

    return ldexp((double)(kept + up), (int)x->exponent - (int)keep);
}

static double to_double(const struct pe_wide *x, unsigned bits, enum rounding rounding)
{
    double size = 0;

    if (x->kind == PE_WIDE_NAN)
        return NAN;
    if (x->kind == PE_WIDE_INFINITE)
        size = INFINITY;
    if (x->kind == PE_WIDE_FINITE)
        size = magnitude(x, bits, rounding);
    return x->negative ? -size : size;
}

double pe_wide_double(struct pe_wide x)
{
    return to_double(&x, 53, NEAREST);
}

double pe_wide_double_of_bits(struct pe_wide x, unsigned bits)
{
    return to_double(&x, bits, NEAREST);
}

double pe_wide_double_inward(struct pe_wide x)
{
    return to_double(&x, 53, INWARD);
}

double pe_wide_double_outward(struct pe_wide x)
{
    return to_double(&x, 53, OUTWARD);
}

/* ---- as a number of a dtype -------------------------------------------------------------------
 */

/* Types narrower than a double are rounded from a double that is itself cut off, its last bit set
 * where anything was ("round to odd"): the second rounding is as good as one. */
void pe_wide_write(struct pe_wide x, enum pe_dtype dtype, void *out)
{
    double value = to_double(&x, 53, dtype == PE_F64 ? NEAREST : INWARD);

    if (dtype != PE_F64 && x.kind == PE_WIDE_FINITE &&
        (x.inexact || pe_wide_compare_double(x, value) != 0)) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof(bits));
        bits |= 1;
        memcpy(&value, &bits, sizeof(value));
    }
    pe_from_f64(out, dtype, &value, 1);
}

/* Each end is cut off towards zero and marked, and so written as the end itself would be. */
bool pe_wide_round(struct pe_wide x, struct pe_wide error, enum pe_dtype dtype, void *out)
{
    unsigned char other[sizeof(double)];

    x.inexact = error.inexact = false;
    if (x.kind == PE_WIDE_INFINITE)
        error = pe_wide_of(64, 0);
    pe_wide_write(pe_wide_sub(x, error), dtype, other);
    pe_wide_write(pe_wide_add(x, error), dtype, out);
    return memcmp(out, other, pe_dtype_info(dtype)->size) == 0;
}
