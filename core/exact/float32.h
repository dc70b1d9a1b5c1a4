/* SPDX-License-Identifier: MIT */
#ifndef CORE_EXACT_FLOAT32_H
#define CORE_EXACT_FLOAT32_H

/* Functions of floats and doubles whose results are correctly rounded, so that they are the same
 * everywhere; those of a C library may differ in the last bit. */

float pe_float32_power(float base, float exponent);
double pe_float64_power(double base, double exponent);
double pe_float64_log(double x);

#endif
