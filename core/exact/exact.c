/* SPDX-License-Identifier: MIT */
#include "core/exact/exact.h"

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

/* A double on the same side of every number of at most 51 bits as hi + lo: truncated towards zero
 * with the last bit set where anything was cut off ("round to odd"), so that a second rounding to a
 * narrower type is as good as one. */
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

void pe_mpfr_write(mpfr_srcptr value, enum pe_dtype dtype, void *out)
{
    double rounded;

    if (dtype == PE_F64) {
        rounded = mpfr_get_d(value, MPFR_RNDN);
    } else {
        rounded = mpfr_get_d(value, MPFR_RNDZ);
        if (mpfr_cmp_d(value, rounded) != 0) {
            uint64_t bits;
            memcpy(&bits, &rounded, sizeof(bits));
            bits |= 1;
            memcpy(&rounded, &bits, sizeof(rounded));
        }
    }
    pe_from_f64(out, dtype, &rounded, 1);
}

bool pe_mpfr_round(mpfr_srcptr value, mpfr_srcptr error, enum pe_dtype dtype, void *out)
{
    unsigned char other[sizeof(double)];
    mpfr_t end;

    mpfr_init2(end, mpfr_get_prec(value) + 64);
    mpfr_sub(end, value, error, MPFR_RNDD);
    pe_mpfr_write(end, dtype, other);
    mpfr_add(end, value, error, MPFR_RNDU);
    pe_mpfr_write(end, dtype, out);
    mpfr_clear(end);
    return memcmp(out, other, pe_dtype_info(dtype)->size) == 0;
}

void pe_real_round(pe_real *real, const void *context, size_t index, enum pe_dtype dtype, void *out)
{
    bool decided = false;

    for (mpfr_prec_t precision = PE_PRECISION_FIRST; !decided; precision *= 2) {
        mpfr_t value, error;

        mpfr_inits2(precision, value, error, (mpfr_ptr)NULL);
        real(value, context, index);
        mpfr_abs(error, value, MPFR_RNDU);
        mpfr_div_2ui(error, error, (unsigned long)precision - 16, MPFR_RNDU);
        if (mpfr_inf_p(value)) /* a pole: infinity is exact */
            mpfr_set_zero(error, 1);
        decided = pe_mpfr_round(value, error, dtype, out);
        if (!decided && precision >= PE_PRECISION_LAST) {
            pe_mpfr_write(value, dtype, out);
            pe_exact_count_undecided();
            decided = true;
        }
        mpfr_clears(value, error, (mpfr_ptr)NULL);
    }
}

struct pe_exact pe_real_exact(pe_real *real, const void *context, size_t index)
{
    struct pe_exact exact;
    mpfr_t value;

    mpfr_init2(value, PE_PRECISION_FIRST);
    real(value, context, index);
    exact.hi = mpfr_get_d(value, MPFR_RNDN);
    mpfr_sub_d(value, value, exact.hi, MPFR_RNDN);
    exact.lo = mpfr_get_d(value, MPFR_RNDN);
    mpfr_clear(value);
    return exact;
}
