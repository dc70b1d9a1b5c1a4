/* SPDX-License-Identifier: MIT */
#include "core/exact/correct_rounding.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

static atomic_ulong undecided;

unsigned long pe_exact_undecided(void)
{
    return atomic_load(&undecided);
}
void pe_exact_count_undecided(void)
{
    atomic_fetch_add(&undecided, 1);
}

/* hi + lo rounded to odd: truncated towards zero, with the last bit set where anything was cut off.
 * It lies on the same side of every number of at most 51 bits, so rounding it to a narrower type is
 * correct. */
static double round_to_odd(double hi, double lo)
{
    uint64_t bits;

    if (lo == 0)
        return hi;
    if ((lo < 0) == (hi > 0))
        hi = nextafter(hi, 0);
    memcpy(&bits, &hi, sizeof(bits));
    bits |= 1;
    memcpy(&hi, &bits, sizeof(hi));
    return hi;
}

static void write_sum(double hi, double lo, enum pe_dtype dtype, void *out)
{
    const struct pe_exact sum = pe_two_sum(hi, lo);
    const double value = dtype == PE_F64 ? sum.hi : round_to_odd(sum.hi, sum.lo);

    pe_from_f64(out, dtype, &value, 1);
}

bool pe_exact_round(struct pe_exact value, double error, enum pe_dtype dtype, void *out)
{
    unsigned char other[sizeof(double)];

    write_sum(value.hi, value.lo + error, dtype, out);
    if (error == 0)
        return true;
    write_sum(value.hi, value.lo - error, dtype, other);
    return memcmp(out, other, pe_dtype_info(dtype)->size) == 0;
}

/* Is a number of 64 bits within the error of the last level? Then sets value to it: a value that is
 * so near to a tie is taken to be the tie. It is a quotient of whole numbers, not marked as exact.
 */
static bool is_short(struct pe_wide *value, struct pe_wide error)
{
    const struct pe_wide away = pe_wide_scale(pe_wide_abs(*value), -1100);
    struct pe_wide near =
        pe_wide_sign(*value) < 0 ? pe_wide_sub(*value, away) : pe_wide_add(*value, away);

    near = pe_wide_cut(near, 64);
    near.inexact = false;
    if (pe_wide_compare(pe_wide_abs(pe_wide_sub(near, *value)), error) > 0)
        return false;
    *value = near;
    return true;
}

bool pe_precision_round(unsigned bits, struct pe_wide value, struct pe_wide error,
                        enum pe_dtype dtype, void *out)
{
    if (pe_wide_round(value, error, dtype, out))
        return true;
    if (bits < PE_PRECISION_LAST)
        return false;
    if (is_short(&value, error)) {
        pe_wide_write(value, dtype, out);
        return true;
    }
    pe_wide_write(value, dtype, out);
    pe_exact_count_undecided();
    return true;
}

static bool real_try(pe_real *real, const void *context, size_t index, unsigned bits,
                     enum pe_dtype dtype, void *out)
{
    const struct pe_wide value = real(bits, context, index);

    if (value.inexact)
        return pe_precision_round(
            bits, value, pe_wide_scale(pe_wide_abs(value), 16 - (int64_t)bits), dtype, out);
    pe_wide_write(value, dtype, out);
    return true;
}

void pe_real_round(pe_real *real, const void *context, size_t index, enum pe_dtype dtype, void *out)
{
    unsigned bits = PE_PRECISION_FIRST;

    while (!real_try(real, context, index, bits, dtype, out))
        bits = pe_precision_next(bits);
}

struct pe_exact pe_real_exact(pe_real *real, const void *context, size_t index)
{
    const struct pe_wide value = real(PE_PRECISION_FIRST, context, index);
    const double hi = pe_wide_double(value);

    return (struct pe_exact){hi, pe_wide_double(pe_wide_sub_double(value, hi))};
}
