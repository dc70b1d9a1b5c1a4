/* SPDX-License-Identifier: MIT */
#include "core/views/short.h"

#include <math.h>

static double rounded(double value, enum pe_dtype dtype)
{
    unsigned char out[sizeof(double)];

    pe_from_f64(out, dtype, &value, 1);
    pe_to_f64(&value, out, dtype, 1);
    return value;
}

static struct pe_wide wave(unsigned bits, const void *context, size_t is_sin)
{
    const struct pe_wide angle = pe_wide_of(bits, *(const double *)context);

    return is_sin ? pe_wide_sin(angle) : pe_wide_cos(angle);
}

/* RN of the cosine and sine of a number of the type; NaN where it overflowed. */
static void waves_round(const struct pe_frequencies *one, double angle, enum pe_dtype dtype,
                        double waves[2])
{
    unsigned char out[2][sizeof(double)];
    const struct pe_position position = {{angle, 0, 0}};

    waves[0] = waves[1] = NAN;
    if (!isfinite(angle))
        return;
    if (fabs(angle) < 0x1p53)
        pe_frequencies_pair(one, 0, &position, PE_AMPLITUDE_ONE, dtype, out[0], out[1]);
    else
        for (size_t is_sin = 0; is_sin < 2; is_sin++)
            pe_real_round(wave, &angle, is_sin, dtype, out[is_sin]);
    for (size_t i = 0; i < 2; i++)
        pe_to_f64(&waves[i], out[i], dtype, 1);
}

double pe_short_frequency(const struct pe_frequencies *f, size_t pair, enum pe_dtype dtype)
{
    unsigned char out[sizeof(double)];
    double w;

    pe_frequencies_write(f, pair, dtype, out, NULL);
    pe_to_f64(&w, out, dtype, 1);
    return w;
}

static double position_round(const struct pe_position *position, enum pe_dtype dtype)
{
    unsigned char out[sizeof(double)];
    double t;

    pe_exact_round((struct pe_exact){position->part[0], position->part[1]}, 0, dtype, out);
    pe_to_f64(&t, out, dtype, 1);
    return t;
}

void pe_short_waves(const struct pe_short *from, double w, const struct pe_position *position,
                    double values[2])
{
    const enum pe_dtype type = from->type;
    const double factor =
        rounded(pe_frequencies_amplitude(from->frequencies, PE_AMPLITUDE_FACTOR), type);
    /* A product of two short numbers is exact in doubles: it is rounded once. */
    const double angle = rounded(position_round(position, type) * w, type);

    waves_round(from->one, angle, type, values);
    for (size_t i = 0; i < 2; i++)
        values[i] = rounded(rounded(values[i] * factor, type), from->dtype);
}
