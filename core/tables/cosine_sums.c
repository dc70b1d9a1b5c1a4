/* SPDX-License-Identifier: MIT */
#include "core/tables/cosine_sums.h"

#include <math.h>

#include "core/base/sizes.h"

/* Pairs between two checks of the work: a millisecond in double-doubles, and in wide numbers. */
enum { CHECK_FINE = 4096, CHECK_REAL = 64 };

/* ---- the factor before the sum -------------------------------------------------------------- */

/* A^2, or one over the number of pairs. */
static struct pe_wide scale_real(unsigned bits, const void *context, size_t index)
{
    const struct pe_cosines *cosines = context;

    if (cosines->mean)
        return pe_wide_div_uint(pe_wide_of_uint(bits, 1),
                                pe_frequencies_count(cosines->frequencies));
    const struct pe_wide factor = pe_frequencies_factor_real(bits, cosines->frequencies, index);
    return pe_wide_mul(factor, factor);
}

struct pe_cosines pe_cosines_of(const struct pe_frequencies *frequencies, bool mean)
{
    struct pe_cosines cosines = {frequencies, mean, {1, 0}};

    cosines.scale = pe_real_exact(scale_real, &cosines, 0);
    return cosines;
}

/* ---- the sum: in doubles, else in double-doubles, else wide --------------------------------- */

/* Rounds sum * scale; false: undecided. */
static bool product_round(const struct pe_cosines *cosines, struct pe_exact sum, double error,
                          enum pe_dtype dtype, void *out)
{
    const struct pe_exact value = pe_exact_multiply(sum, cosines->scale);

    return pe_exact_round(
        value, error * cosines->scale.hi * (1 + 0x1p-20) + fabs(value.hi) * 0x1p-98, dtype, out);
}

struct element {
    const struct pe_cosines *cosines;
    const struct pe_position *offset;
    struct pe_work *work; /* once it has ended, results are undefined */
};

static bool sum_try(const struct element *element, bool fine, enum pe_dtype dtype, void *out)
{
    const struct pe_cosines *cosines = element->cosines;
    const size_t pairs = pe_frequencies_count(cosines->frequencies);
    struct pe_exact sum = {0, 0};
    double error = 0;

    for (size_t pair = 0; pair < pairs; pair++) {
        struct pe_angle angle;
        struct pe_cos_sin term;
        if (!pe_angle_reduce(&angle, pe_frequencies_at(cosines->frequencies, pair),
                             element->offset) ||
            (pair % CHECK_FINE == CHECK_FINE - 1 && pe_work_ended(element->work)))
            return false;
        term = fine ? pe_angle_cos_sin_exact(&angle) : pe_angle_cos_sin(&angle);
        sum = pe_exact_add(sum, term.cos);
        /* Each addition errs by 2^-102 of the partial sum, which is at most the number of pairs. */
        error += term.cos_error + (double)pairs * 0x1p-101;
    }
    return product_round(cosines, sum, error, dtype, out);
}

/* The largest angle of an offset. It and all others are off by 2^(17 - bits) of it, and their
 * cosines and sines by no more than that and 2^(2 - bits). */
static struct pe_wide largest_angle(const struct element *element)
{
    return pe_wide_mul_double(pe_wide_of(64, pe_frequencies_fastest(element->cosines->frequencies)),
                              fabs(element->offset->part[0]));
}

static bool has_ended(const struct element *element, size_t pair)
{
    return pair % CHECK_REAL == CHECK_REAL - 1 && pe_work_ended(element->work);
}

/* The error of n cosines is n times that of one, and their sum adds n^2 2^(1 - bits). */
static bool wide_sum_round(const struct element *element, unsigned bits, enum pe_dtype dtype,
                           void *out)
{
    const struct pe_frequencies *frequencies = element->cosines->frequencies;
    const size_t pairs = pe_frequencies_count(frequencies);
    const struct pe_wide one = pe_wide_add_double(largest_angle(element), (double)pairs + 2);
    struct pe_wide sum = pe_wide_of_uint(bits, 0);
    struct pe_power_iterator iterator;

    pe_frequencies_begin(&iterator, frequencies, bits);
    for (size_t pair = 0; pair < pairs; pair++) {
        if (has_ended(element, pair))
            return true;
        const struct pe_wide w = pe_frequencies_next(&iterator, frequencies, pair);
        sum = pe_wide_add(sum, pe_wide_cos(pe_angle_wide(w, element->offset)));
    }
    const struct pe_wide scale = scale_real(bits, element->cosines, 0);
    const struct pe_wide error = pe_wide_mul(scale, pe_wide_mul_uint(one, pairs));
    return pe_precision_round(bits, pe_wide_mul(sum, scale),
                              pe_wide_scale(error, 20 - (int64_t)bits), dtype, out);
}

static void sum_write(const struct element *element, enum pe_dtype dtype, void *out)
{
    unsigned bits = PE_PRECISION_FIRST;

    while (!wide_sum_round(element, bits, dtype, out))
        bits = pe_precision_next(bits);
}

/* The product where all cosines are 1: A^2 times the number of pairs. Where A is exact this may be
 * a tie, which no interval decides, and is computed exactly. */
static void ones_write(const struct pe_cosines *cosines, enum pe_dtype dtype, void *out,
                       struct pe_work *work)
{
    const struct element element = {cosines, &(struct pe_position){{0, 0, 0}}, work};
    const double one = 1;

    if (cosines->mean) {
        pe_from_f64(out, dtype, &one, 1);
        return;
    }
    const struct pe_wide factor =
        pe_frequencies_factor_real(PE_PRECISION_FIRST, cosines->frequencies, 0);
    if (factor.inexact) {
        sum_write(&element, dtype, out);
        return;
    }
    const struct pe_wide square = pe_wide_mul(pe_wide_cut(factor, PE_PRECISION_LAST), factor);
    pe_wide_write(pe_wide_mul_uint(square, pe_frequencies_count(cosines->frequencies)), dtype, out);
}

enum pe_status pe_cosines_write(const struct pe_cosines *cosines, const struct pe_position *offset,
                                enum pe_dtype dtype, void *out, struct pe_work *work,
                                struct pe_error *err)
{
    const struct element element = {cosines, offset, work};

    if (pe_work_check(work, err))
        return err->status;
    if (offset->part[0] == 0 || pe_frequencies_fastest(cosines->frequencies) == 0)
        ones_write(cosines, dtype, out, work);
    else if ((dtype == PE_F64 || !sum_try(&element, false, dtype, out)) &&
             !sum_try(&element, true, dtype, out))
        sum_write(&element, dtype, out);
    return pe_work_check(work, err);
}

/* ---- distances ------------------------------------------------------------------------------ */

enum pe_status pe_cosines_distance_squared(const struct pe_frequencies *frequencies,
                                           const struct pe_position *half, double *squared,
                                           struct pe_work *work, struct pe_error *err)
{
    const double factor = pe_frequencies_amplitude(frequencies, PE_AMPLITUDE_FACTOR);
    double sum = 0;

    for (size_t pair = 0; pair < pe_frequencies_count(frequencies); pair++) {
        const struct pe_frequency *turn = pe_frequencies_at(frequencies, pair);
        struct pe_angle angle;
        double sine = turn->w.hi * half->part[0]; /* of an angle too small to reduce */
        if (pair % CHECK_FINE == 0 && pe_work_check(work, err))
            return err->status;
        if (pe_angle_reduce(&angle, turn, half))
            sine = pe_angle_cos_sin(&angle).sin.hi;
        sum += sine * sine;
    }
    *squared = 4 * factor * factor * sum;
    return PE_OK;
}

/* n sines that are off by d each change the root of their squares by d sqrt(n) at most (triangle
 * inequality). n + 4 operations add 2^(1 - bits) each. */
static bool distance_round(const struct element *element, unsigned bits, enum pe_dtype dtype,
                           void *out)
{
    const struct pe_frequencies *frequencies = element->cosines->frequencies;
    const size_t pairs = pe_frequencies_count(frequencies);
    const struct pe_wide all = pe_wide_mul_uint(largest_angle(element), pairs);
    struct pe_wide sum = pe_wide_of_uint(bits, 0);
    struct pe_power_iterator iterator;

    pe_frequencies_begin(&iterator, frequencies, bits);
    for (size_t pair = 0; pair < pairs; pair++) {
        if (has_ended(element, pair))
            return true;
        const struct pe_wide w = pe_frequencies_next(&iterator, frequencies, pair);
        const struct pe_wide sine = pe_wide_sin(pe_angle_wide(w, element->offset));
        sum = pe_wide_add(sum, pe_wide_mul(sine, sine));
    }
    const struct pe_wide twice = pe_wide_scale(pe_frequencies_factor_real(bits, frequencies, 0), 1);
    return pe_precision_round(bits, pe_wide_mul(twice, pe_wide_sqrt(sum)),
                              pe_wide_scale(pe_wide_mul(twice, all), 20 - (int64_t)bits), dtype,
                              out);
}

enum pe_status pe_cosines_distance(const struct pe_frequencies *frequencies,
                                   const struct pe_position *half, enum pe_dtype dtype, void *out,
                                   struct pe_work *work, struct pe_error *err)
{
    const struct pe_cosines cosines = {frequencies, false, {1, 0}};
    const struct element element = {&cosines, half, work};

    unsigned bits = PE_PRECISION_FIRST;

    while (!distance_round(&element, bits, dtype, out))
        bits = pe_precision_next(bits);
    return pe_work_check(work, err);
}

/* ---- many offsets --------------------------------------------------------------------------- */

enum { ROWS = 128 }; /* offsets summed at once */

/* The rounding error of a sum of n cosines in doubles as eight partial sums: n / 8 + 8 roundings,
 * each below 2^-53 of n. */
static double roundings(size_t n)
{
    return ((double)n / 8 + 8) * (double)n * 0x1p-52;
}

/* Offsets that the sums leave undecided, 0 among them, are made one by one. */
static enum pe_status group_fill(const struct pe_cosines *cosines,
                                 const struct pe_positions *offsets, size_t begin, size_t end,
                                 enum pe_dtype dtype, char *out, struct pe_work *work,
                                 struct pe_error *err)
{
    const size_t size = pe_dtype_info(dtype)->size;
    const bool fine = dtype == PE_F64;
    double high[ROWS], low[ROWS], error[ROWS];
    const struct pe_table_sums sums = {high, fine ? low : NULL, error};
    const double more = fine ? 0 : roundings(pe_frequencies_count(cosines->frequencies));
    bool within;

    if (pe_table_sum(&sums, cosines->frequencies, offsets, begin, end, &within, work, err))
        return err->status;
    for (size_t i = 0; i < end - begin; i++) {
        const struct pe_position offset = pe_position_of(offsets, begin + i);
        char *element = out + i * size;
        const bool decided = within && offset.part[0] != 0 &&
                             product_round(cosines, (struct pe_exact){high[i], fine ? low[i] : 0},
                                           error[i] + more, dtype, element);
        if (!decided && pe_cosines_write(cosines, &offset, dtype, element, work, err))
            return err->status;
    }
    return PE_OK;
}

enum pe_status pe_cosines_fill(const struct pe_cosines *cosines, const struct pe_positions *offsets,
                               size_t begin, size_t end, enum pe_dtype dtype, void *out,
                               struct pe_work *work, struct pe_error *err)
{
    const size_t size = pe_dtype_info(dtype)->size;

    for (size_t row = begin; row < end; row += ROWS)
        if (group_fill(cosines, offsets, row, pe_min(end, row + ROWS), dtype,
                       (char *)out + (row - begin) * size, work, err))
            return err->status;
    return PE_OK;
}
