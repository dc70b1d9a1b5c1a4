/* SPDX-License-Identifier: MIT */
#include "core/tables/cosines.h"

#include <math.h>

/* Pairs between two looks at the work: a millisecond in double-doubles, and with all digits. */
enum { CHECK_FINE = 4096, CHECK_REAL = 64 };

/* ---- the factor before the sum -------------------------------------------------------------- */

/* A^2, or one over the number of pairs. */
static void scale_evaluate(mpfr_ptr out, const void *context, size_t index)
{
    const struct pe_cosines *cosines = context;

    if (cosines->mean) {
        mpfr_set_ui(out, 1, MPFR_RNDN);
        mpfr_div_ui(out, out, pe_frequencies_count(cosines->frequencies), MPFR_RNDN);
        return;
    }
    pe_frequencies_factor_real(out, cosines->frequencies, index);
    mpfr_sqr(out, out, MPFR_RNDN);
}

struct pe_cosines pe_cosines_of(const struct pe_frequencies *frequencies, bool mean)
{
    struct pe_cosines cosines = {frequencies, mean, {1, 0}};

    cosines.scale = pe_real_exact(scale_evaluate, &cosines, 0);
    return cosines;
}

/* ---- the sum: in doubles, else in double-doubles, else by MPFR ------------------------------- */

struct element {
    const struct pe_cosines *cosines;
    const struct pe_position *offset;
    struct pe_work *work; /* once it has ended, sums are given up and mean nothing */
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
        if (!pe_angle_reduce(&angle, pe_frequencies_turn(cosines->frequencies, pair),
                             element->offset) ||
            (pair % CHECK_FINE == CHECK_FINE - 1 && pe_work_ended(element->work)))
            return false;
        term = fine ? pe_angle_cos_sin_exact(&angle) : pe_angle_cos_sin(&angle);
        sum = pe_exact_add(sum, term.cos);
        /* Each addition errs by 2^-102 of the partial sum, which is at most the number of pairs. */
        error += term.cos_error + (double)pairs * 0x1p-101;
    }
    sum = pe_exact_multiply(sum, cosines->scale);
    return pe_exact_round(sum, error * cosines->scale.hi * (1 + 0x1p-20) + fabs(sum.hi) * 0x1p-98,
                          dtype, out);
}

/* offset * w of a pair. */
static void angle_evaluate(mpfr_ptr out, const struct pe_frequencies *frequencies, size_t pair,
                           const struct pe_position *offset)
{
    mpfr_t w, part;

    mpfr_inits2(mpfr_get_prec(out), w, part, (mpfr_ptr)NULL);
    pe_frequencies_real(w, frequencies, pair);
    mpfr_mul_d(out, w, offset->part[0], MPFR_RNDN);
    for (int i = 1; i < 3; i++) {
        mpfr_mul_d(part, w, offset->part[i], MPFR_RNDN);
        mpfr_add(out, out, part, MPFR_RNDN);
    }
    mpfr_clears(w, part, (mpfr_ptr)NULL);
}

/* Angles are below 2^117 (2^53 positions, w below 2^63) and good to 2^(18 - precision) of that, and
 * there are at most 2^19 of them: the sum is good to 2^(BITS_LOST + 4 - precision). */
enum { BITS_LOST = 150, PRECISION_LAST = 2 * PE_PRECISION_LAST };

/* Has the work ended? Then the sum is 1, which needs no more digits. */
static bool is_given_up(const struct element *element, size_t pair, mpfr_ptr sum)
{
    if (pair % CHECK_REAL != CHECK_REAL - 1 || !pe_work_ended(element->work))
        return false;
    mpfr_set_ui(sum, 1, MPFR_RNDN);
    return true;
}

/* Where a sum of cosines is much smaller than its terms, as many more digits are needed. */
static void sum_evaluate(mpfr_ptr out, const void *context, size_t index)
{
    const struct element *element = context;
    const struct pe_frequencies *frequencies = element->cosines->frequencies;
    const mpfr_prec_t wanted = mpfr_get_prec(out);
    mpfr_prec_t precision = wanted + BITS_LOST + 64;
    mpfr_t sum, term;

    mpfr_inits2(precision, sum, term, (mpfr_ptr)NULL);
    for (;; precision *= 2) {
        mpfr_set_prec(sum, precision);
        mpfr_set_prec(term, precision);
        mpfr_set_zero(sum, 1);
        for (size_t pair = 0; pair < pe_frequencies_count(frequencies); pair++) {
            if (is_given_up(element, pair, sum))
                break;
            angle_evaluate(term, frequencies, pair, element->offset);
            mpfr_cos(term, term, MPFR_RNDN);
            mpfr_add(sum, sum, term, MPFR_RNDN);
        }
        if (!mpfr_zero_p(sum) && mpfr_get_exp(sum) > wanted + BITS_LOST - precision)
            break;
        if (precision > PRECISION_LAST)
            break;
    }
    scale_evaluate(out, element->cosines, index);
    mpfr_mul(out, out, sum, MPFR_RNDN);
    mpfr_clears(sum, term, (mpfr_ptr)NULL);
}

/* All cosines are 1, so the product is A^2 times the number of pairs. Where A is a double this may
 * be a tie, which no interval decides, and is computed exactly. An A that is made of roots or
 * logarithms never has so few digits. */
static void whole_write(const struct pe_cosines *cosines, enum pe_dtype dtype, void *out,
                        struct pe_work *work)
{
    const struct element element = {cosines, &(struct pe_position){{0, 0, 0}}, work};
    const double one = 1;
    mpfr_t value;

    if (cosines->mean) {
        pe_from_f64(out, dtype, &one, 1);
        return;
    }
    mpfr_init2(value, PE_PRECISION_FIRST);
    pe_frequencies_factor_real(value, cosines->frequencies, 0);
    if (mpfr_min_prec(value) <= 53) {
        mpfr_sqr(value, value, MPFR_RNDN);
        mpfr_mul_ui(value, value, pe_frequencies_count(cosines->frequencies), MPFR_RNDN);
        pe_mpfr_write(value, dtype, out);
    } else {
        pe_real_round(sum_evaluate, &element, 0, dtype, out);
    }
    mpfr_clear(value);
}

enum pe_status pe_cosines_write(const struct pe_cosines *cosines, const struct pe_position *offset,
                                enum pe_dtype dtype, void *out, struct pe_work *work,
                                struct pe_error *err)
{
    const struct element element = {cosines, offset, work};

    if (pe_work_check(work, err))
        return err->status;
    if (offset->part[0] == 0 || pe_frequencies_fastest(cosines->frequencies) == 0)
        whole_write(cosines, dtype, out, work);
    else if ((dtype == PE_F64 || !sum_try(&element, false, dtype, out)) &&
             !sum_try(&element, true, dtype, out))
        pe_real_round(sum_evaluate, &element, 0, dtype, out);
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
        const struct pe_turn *turn = pe_frequencies_turn(frequencies, pair);
        struct pe_angle angle;
        double sine = turn->w.hi * half->part[0]; /* an angle so small that it is its own sine */
        if (pair % CHECK_FINE == 0 && pe_work_check(work, err))
            return err->status;
        if (pe_angle_reduce(&angle, turn, half))
            sine = pe_angle_cos_sin(&angle).sin.hi;
        sum += sine * sine;
    }
    *squared = 4 * factor * factor * sum;
    return PE_OK;
}

static void distance_evaluate(mpfr_ptr out, const void *context, size_t index)
{
    const struct element *element = context;
    const struct pe_frequencies *frequencies = element->cosines->frequencies;
    mpfr_t sum, term;

    /* No sine of an angle below 2^117 is smaller than 2^-BITS_LOST times its angle's last bit. */
    mpfr_inits2(mpfr_get_prec(out) + 2 * BITS_LOST, sum, term, (mpfr_ptr)NULL);
    mpfr_set_zero(sum, 1);
    for (size_t pair = 0; pair < pe_frequencies_count(frequencies); pair++) {
        if (is_given_up(element, pair, sum))
            break;
        angle_evaluate(term, frequencies, pair, element->offset);
        mpfr_sin(term, term, MPFR_RNDN);
        mpfr_sqr(term, term, MPFR_RNDN);
        mpfr_add(sum, sum, term, MPFR_RNDN);
    }
    mpfr_sqrt(sum, sum, MPFR_RNDN);
    pe_frequencies_factor_real(out, frequencies, index);
    mpfr_mul(out, out, sum, MPFR_RNDN);
    mpfr_mul_2ui(out, out, 1, MPFR_RNDN);
    mpfr_clears(sum, term, (mpfr_ptr)NULL);
}

enum pe_status pe_cosines_distance(const struct pe_frequencies *frequencies,
                                   const struct pe_position *half, enum pe_dtype dtype, void *out,
                                   struct pe_work *work, struct pe_error *err)
{
    const struct pe_cosines cosines = {frequencies, false, {1, 0}};
    const struct element element = {&cosines, half, work};

    pe_real_round(distance_evaluate, &element, 0, dtype, out);
    return pe_work_check(work, err);
}
