/* SPDX-License-Identifier: MIT */
#include "core/tables/frequencies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/work.h"

/* ---- powers --------------------------------------------------------------------------------- */

/* A power of an iterator is a product of at most LINKS ratios, so that its error stays below 2^15
 * units of 2^-bits: docs/internals/exactness.md, "Frequencies". */
enum { LINKS = 256 };

static size_t steps_of(const struct pe_powers *powers, const void *context, size_t pair)
{
    if (!powers->compute_shared)
        return 0;
    return powers->steps ? powers->steps(context, pair) : pair;
}

static size_t series_of(const struct pe_powers *powers, const void *context, size_t pair)
{
    return powers->series ? powers->series(context, pair) : 0;
}

/* e^(-rate steps) */
static struct pe_wide power_of(const struct pe_wide *rate, size_t steps)
{
    return pe_wide_exp(pe_wide_negate(pe_wide_mul_uint(*rate, steps)));
}

static struct pe_wide scaled(const struct pe_powers *powers, const struct pe_wide *power,
                             const struct pe_shared *shared, const void *context, size_t pair)
{
    return powers->scaled ? powers->scaled(power, shared, context, pair) : *power;
}

struct pe_wide pe_powers_real(const struct pe_powers *powers, const void *context, unsigned bits,
                              size_t pair)
{
    const size_t steps = steps_of(powers, context, pair);
    struct pe_shared shared;
    struct pe_wide power = pe_wide_of_uint(bits, 1);

    if (powers->compute_shared && (steps > 0 || powers->scaled))
        powers->compute_shared(&shared, bits, context);
    if (steps > 0)
        power = power_of(&shared.number[series_of(powers, context, pair)], steps);
    return scaled(powers, &power, &shared, context, pair);
}

void pe_powers_begin(struct pe_power_iterator *iterator, const struct pe_powers *powers,
                     const void *context, unsigned bits)
{
    iterator->powers = powers;
    iterator->context = context;
    iterator->power = pe_wide_of_uint(bits, 1);
    iterator->steps = iterator->stride = iterator->links = iterator->series = 0;
    if (powers->compute_shared)
        powers->compute_shared(&iterator->shared, bits, context);
}

/* The first power of a series is computed as that of an iterator is. */
static void series_begin(struct pe_power_iterator *iterator, size_t series)
{
    iterator->power = pe_wide_of_uint(pe_wide_precision(&iterator->power), 1);
    iterator->steps = iterator->stride = iterator->links = 0;
    iterator->series = series;
}

/* The first two pairs whose steps differ define the stride. */
static void power_move(struct pe_power_iterator *iterator, size_t steps)
{
    const struct pe_wide *rate = &iterator->shared.number[iterator->series];

    if (iterator->stride == 0 && steps > iterator->steps) {
        iterator->stride = steps - iterator->steps;
        iterator->ratio = power_of(rate, iterator->stride);
    }
    if (steps == iterator->steps + iterator->stride && iterator->links < LINKS) {
        iterator->power = pe_wide_mul(iterator->power, iterator->ratio);
        iterator->links++;
    } else {
        iterator->power = steps > 0 ? power_of(rate, steps)
                                    : pe_wide_of_uint(pe_wide_precision(&iterator->power), 1);
        iterator->links = 0;
    }
    iterator->steps = steps;
}

struct pe_wide pe_powers_next(struct pe_power_iterator *iterator, size_t pair)
{
    const size_t steps = steps_of(iterator->powers, iterator->context, pair);
    const size_t series = series_of(iterator->powers, iterator->context, pair);

    if (series != iterator->series)
        series_begin(iterator, series);
    if (steps != iterator->steps)
        power_move(iterator, steps);
    return scaled(iterator->powers, &iterator->power, &iterator->shared, iterator->context, pair);
}

/* ---- frequencies ---------------------------------------------------------------------------- */

enum { CHECK_PAIRS = 64 }; /* pairs between two checks of the work */

struct pe_frequencies {
    struct pe_frequencies_spec spec;
    size_t count;
    const size_t *picked;          /* pairs of the spec; NULL: all in order */
    struct pe_scale amplitudes[3]; /* by enum pe_amplitude */
    double *phases;                /* three parts of each, `padded` apart; stored after turns */
    size_t padded;
    float *float32; /* stored after phases; NULL: tables use the real numbers */
    double fastest;
    struct pe_frequency turns[]; /* of each pair; with float32 one more, w = 1 */
};

/* ---- real numbers ---------------------------------------------------------------------------- */

struct pe_wide pe_frequencies_factor_real(unsigned bits, const void *context, size_t index)
{
    const struct pe_frequencies *f = context;

    return f->spec.factor ? f->spec.factor(bits, f->spec.context, index) : pe_wide_of_uint(bits, 1);
}

static struct pe_wide inverse_real(unsigned bits, const void *context, size_t index)
{
    return pe_wide_div(pe_wide_of_uint(bits, 1), pe_frequencies_factor_real(bits, context, index));
}

static size_t pair_of(const struct pe_frequencies *f, size_t pair)
{
    return f->picked ? f->picked[pair] : pair;
}

struct pe_wide pe_frequencies_real(unsigned bits, const void *context, size_t pair)
{
    const struct pe_frequencies *f = context;

    return pair == f->count
               ? pe_wide_of_uint(bits, 1)
               : pe_powers_real(&f->spec.powers, f->spec.context, bits, pair_of(f, pair));
}

void pe_frequencies_begin(struct pe_power_iterator *iterator, const struct pe_frequencies *f,
                          unsigned bits)
{
    pe_powers_begin(iterator, &f->spec.powers, f->spec.context, bits);
}

struct pe_wide pe_frequencies_next(struct pe_power_iterator *iterator,
                                   const struct pe_frequencies *f, size_t pair)
{
    return pe_powers_next(iterator, pair_of(f, pair));
}

/* ---- making them ---------------------------------------------------------------------------- */

static void amplitudes_compute(struct pe_frequencies *f)
{
    const struct pe_scale one = {.value = {1, 0}};
    const double given = f->spec.factor ? f->spec.given : 1;

    f->amplitudes[PE_AMPLITUDE_ONE] = f->amplitudes[PE_AMPLITUDE_FACTOR] = one;
    f->amplitudes[PE_AMPLITUDE_INVERSE] = one;
    if (given == 1)
        return;
    f->amplitudes[PE_AMPLITUDE_FACTOR] =
        isnan(given) ? (struct pe_scale){.value = pe_real_exact(pe_frequencies_factor_real, f, 0),
                                         .real = pe_frequencies_factor_real,
                                         .context = f}
                     : (struct pe_scale){.value = {given, 0}};
    f->amplitudes[PE_AMPLITUDE_INVERSE] = (struct pe_scale){
        .value = pe_real_exact(inverse_real, f, 0), .real = inverse_real, .context = f};
}

/* w / 2 pi in three parts, for the kernels. */
static void phase_split(struct pe_frequencies *f, size_t pair, struct pe_wide turns)
{
    static const unsigned bits[] = {26, 26, 53};

    for (size_t i = 0; i < 3; i++) {
        const double part = pe_wide_double_of_bits(turns, bits[i]);
        f->phases[i * f->padded + pair] = part;
        turns = pe_wide_sub_double(turns, part);
    }
}

static struct pe_frequencies *frequencies_alloc(const struct pe_frequencies_spec *spec,
                                                size_t count, struct pe_work *work,
                                                struct pe_error *err)
{
    const size_t padded = (count + PE_TABLE_PAD - 1) / PE_TABLE_PAD * PE_TABLE_PAD;
    const size_t turns = count + (spec->float32 != NULL);
    struct pe_frequencies *f = pe_memory_take(
        work, 1,
        sizeof(*f) + turns * (sizeof(f->turns[0]) + sizeof(float)) + 3 * padded * sizeof(double),
        "frequencies", err);

    if (!f)
        return NULL;
    f->spec = *spec;
    f->count = count;
    f->phases = (double *)(f->turns + turns);
    f->padded = padded;
    if (spec->float32)
        f->float32 = (float *)(f->phases + 3 * padded);
    return f;
}

static enum pe_status turns_compute(struct pe_frequencies *f, struct pe_work *work,
                                    struct pe_error *err)
{
    struct pe_power_iterator iterator;

    pe_frequencies_begin(&iterator, f, PE_FREQUENCY_BITS);
    for (size_t pair = 0; pair < f->count; pair++) {
        if (pair % CHECK_PAIRS == 0 && pe_work_check(work, err))
            return err->status;
        const struct pe_wide w = pe_frequencies_next(&iterator, f, pair);
        phase_split(f, pair, pe_frequency_set(&f->turns[pair], w));
        if (f->spec.powers.quantum)
            f->turns[pair].quantum = f->spec.powers.quantum(f->spec.context, pair);
        f->fastest = fmax(f->fastest, pe_wide_double_outward(w));
        if (f->float32)
            f->float32[pair] = f->spec.float32(f->spec.context, pair);
    }
    if (f->float32)
        pe_frequency_set(&f->turns[f->count], pe_wide_of_uint(PE_FREQUENCY_BITS, 1));
    return PE_OK;
}

enum pe_status pe_frequencies_new(struct pe_frequencies **out,
                                  const struct pe_frequencies_spec *spec, struct pe_work *work,
                                  struct pe_error *err)
{
    const double one = spec->cost > 0 ? spec->cost : PE_FREQUENCY_COST;
    struct pe_frequencies *f = *out = NULL;

    if (pe_spend(work, (double)spec->count * one, err))
        return err->status;
    f = *out = frequencies_alloc(spec, spec->count, work, err);
    if (!f)
        return err->status;
    amplitudes_compute(f);
    if (turns_compute(f, work, err)) {
        pe_frequencies_free(f);
        *out = NULL;
    }
    return err->status;
}

enum pe_status pe_frequencies_pick(struct pe_frequencies **out, const struct pe_frequencies *from,
                                   const size_t *pairs, size_t count, struct pe_work *work,
                                   struct pe_error *err)
{
    struct pe_frequencies *f = *out = frequencies_alloc(&from->spec, count, work, err);

    if (!f)
        return err->status;
    f->picked = pairs;
    amplitudes_compute(f);
    f->fastest = from->fastest;
    for (size_t i = 0; i < count; i++) {
        f->turns[i] = from->turns[pairs[i]];
        if (from->float32)
            f->float32[i] = from->float32[pairs[i]];
        for (size_t part = 0; part < 3; part++)
            f->phases[part * f->padded + i] = from->phases[part * from->padded + pairs[i]];
    }
    if (from->float32)
        f->turns[count] = from->turns[from->count];
    return PE_OK;
}

void pe_frequencies_free(struct pe_frequencies *frequencies)
{
    free(frequencies);
}

size_t pe_frequencies_count(const struct pe_frequencies *frequencies)
{
    return frequencies->count;
}

/* The frequency that tables use: the rounded one in float32 arithmetic. */
static struct pe_wide table_real(unsigned bits, const void *context, size_t pair)
{
    const struct pe_frequencies *f = context;

    return f->float32 ? pe_wide_of(bits, f->float32[pair]) : pe_frequencies_real(bits, f, pair);
}

static struct pe_wide wavelength_real(unsigned bits, const void *context, size_t pair)
{
    return pe_wide_div(pe_wide_scale(pe_wide_pi(bits), 1), table_real(bits, context, pair));
}

/* In double-doubles first: w is stored to 2^-105, and its quotient is good to 2^-98. */
void pe_frequencies_write(const struct pe_frequencies *f, size_t pair, enum pe_dtype dtype,
                          void *frequency, void *wavelength)
{
    const struct pe_exact w =
        f->float32 ? (struct pe_exact){f->float32[pair], 0} : f->turns[pair].w;
    const bool usable = w.hi > 0x1p-800 && w.hi < 0x1p800;
    const struct pe_exact length = usable ? pe_exact_over(PE_TWO_PI, w) : w;

    if (frequency && !(usable && pe_exact_round(w, w.hi * 0x1p-104, dtype, frequency)))
        pe_real_round(table_real, f, pair, dtype, frequency);
    if (wavelength && !(usable && pe_exact_round(length, length.hi * 0x1p-97, dtype, wavelength)))
        pe_real_round(wavelength_real, f, pair, dtype, wavelength);
}

double pe_frequencies_amplitude(const struct pe_frequencies *f, enum pe_amplitude amplitude)
{
    return f->amplitudes[amplitude].value.hi;
}

const struct pe_scale *pe_frequencies_scale(const struct pe_frequencies *f,
                                            enum pe_amplitude amplitude)
{
    return &f->amplitudes[amplitude];
}

double pe_frequencies_near(const struct pe_frequencies *f, size_t pair)
{
    return f->float32 ? (double)f->float32[pair] : f->turns[pair].w.hi;
}

const struct pe_frequency *pe_frequencies_at(const struct pe_frequencies *f, size_t pair)
{
    return &f->turns[pair];
}

bool pe_frequencies_in_float32(const struct pe_frequencies *f)
{
    return f->float32 != NULL;
}

const float *pe_frequencies_float32(const struct pe_frequencies *f)
{
    return f->float32;
}

double pe_frequencies_fastest(const struct pe_frequencies *f)
{
    return f->fastest;
}

struct pe_phases pe_frequencies_phases(const struct pe_frequencies *f, size_t pair)
{
    return (struct pe_phases){f->phases + pair, f->phases + f->padded + pair,
                              f->phases + 2 * f->padded + pair};
}
