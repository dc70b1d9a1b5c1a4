/* SPDX-License-Identifier: MIT */
#include "core/exact/correct_rounding.h"

#include <math.h>

#include "core/exact/elementary.h"

static struct pe_wide power(unsigned bits, const void *context, size_t index)
{
    const double *base_exponent = context;

    (void)index;
    return pe_wide_pow(pe_wide_of(bits, base_exponent[0]), pe_wide_of(64, base_exponent[1]));
}

static struct pe_wide logarithm(unsigned bits, const void *context, size_t index)
{
    (void)index;
    return pe_wide_log(pe_wide_of(bits, *(const double *)context));
}

float pe_float32_power(float base, float exponent)
{
    const double ln = base > 1 ? exponent * pe_log1p((double)base - 1) : INFINITY;
    float rounded;

    /* In doubles first: the exponent is below 64 and good to 2^-47 of itself. */
    if (fabs(ln) < 64) {
        const struct pe_exact near = {pe_exp(ln), 0};
        if (pe_exact_round(near, near.hi * 0x1p-40, PE_F32, &rounded))
            return rounded;
    }
    pe_real_round(power, (const double[]){base, exponent}, 0, PE_F32, &rounded);
    return rounded;
}

double pe_float64_power(double base, double exponent)
{
    double rounded;

    pe_real_round(power, (const double[]){base, exponent}, 0, PE_F64, &rounded);
    return rounded;
}

double pe_float64_log(double x)
{
    double rounded;

    pe_real_round(logarithm, &x, 0, PE_F64, &rounded);
    return rounded;
}
