/* SPDX-License-Identifier: MIT */
#include "tests/core/bias_reference.h"

double slope_of(size_t heads, size_t head)
{
    return exp2(-8.0 * (double)(head + 1) / (double)heads);
}

size_t t5_bucket_of(double distance)
{
    const double n = fabs(distance);
    const double far = n < 8 ? n : fmin(8 + floor(log(n / 8) / log(16) * 8 + 1e-9), 15);

    return (size_t)(far + (distance > 0 ? 16 : 0));
}

double sandwich_sum(size_t dim, double base, double distance)
{
    double sum = 0;

    for (size_t k = 1; k <= dim / 2; k++)
        sum += cos(distance * pow(base, -2.0 * (double)k / (double)dim));
    return sum;
}
