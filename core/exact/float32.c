/* SPDX-License-Identifier: MIT */
#include "core/exact/float32.h"

#include <mpfr.h>

/* MPFR rounds each function once, to the precision of its result. No result here is so small that a
 * float or a double would hold it as a subnormal, with fewer bits. */

static double power(double base, double exponent, mpfr_prec_t bits)
{
    mpfr_t x, y, result;
    double rounded;

    mpfr_inits2(53, x, y, (mpfr_ptr)NULL);
    mpfr_init2(result, bits);
    mpfr_set_d(x, base, MPFR_RNDN);
    mpfr_set_d(y, exponent, MPFR_RNDN);
    mpfr_pow(result, x, y, MPFR_RNDN);
    rounded = mpfr_get_d(result, MPFR_RNDN);
    mpfr_clears(x, y, result, (mpfr_ptr)NULL);
    return rounded;
}

float pe_float32_power(float base, float exponent)
{
    return (float)power(base, exponent, 24);
}

double pe_float64_power(double base, double exponent)
{
    return power(base, exponent, 53);
}

double pe_float64_log(double x)
{
    mpfr_t value;
    double rounded;

    mpfr_init2(value, 53);
    mpfr_set_d(value, x, MPFR_RNDN);
    mpfr_log(value, value, MPFR_RNDN);
    rounded = mpfr_get_d(value, MPFR_RNDN);
    mpfr_clear(value);
    return rounded;
}
