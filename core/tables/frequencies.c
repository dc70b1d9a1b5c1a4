/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/spend.h"
#include "core/tables/frequencies_parts.h"

enum { CHECK_PAIRS = 64 }; /* between two looks at the work: a millisecond or two */

/* ---- making them ---------------------------------------------------------------------------- */

void pe_frequencies_factor_real(mpfr_ptr out, const void *context, size_t index)
{
    const struct pe_frequencies *f = context;

    if (f->spec.factor)
        f->spec.factor(out, f->spec.context, index);
    else
        mpfr_set_ui(out, 1, MPFR_RNDN);
}

static void inverse_evaluate(mpfr_ptr out, const void *context, size_t index)
{
    pe_frequencies_factor_real(out, context, index);
    mpfr_ui_div(out, 1, out, MPFR_RNDN);
}

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
        .value = pe_real_exact(inverse_evaluate, f, 0), .real = inverse_evaluate, .context = f};
}

/* w / 2 pi in three parts for core/tables/bulk.c, from w in `value`, which is lost. */
static void phase_split(struct pe_frequencies *f, size_t pair, mpfr_ptr value)
{
    static const mpfr_prec_t bits[] = {26, 26, 53};
    mpfr_t part;

    f->fastest = fmax(f->fastest, mpfr_get_d(value, MPFR_RNDU));
    mpfr_init2(part, mpfr_get_prec(value));
    mpfr_const_pi(part, MPFR_RNDN);
    mpfr_mul_2ui(part, part, 1, MPFR_RNDN);
    mpfr_div(value, value, part, MPFR_RNDN);
    for (size_t i = 0; i < 3; i++) {
        mpfr_set_prec(part, bits[i]);
        mpfr_set(part, value, MPFR_RNDN);
        f->phases[i * f->padded + pair] = mpfr_get_d(part, MPFR_RNDN);
        mpfr_sub(value, value, part, MPFR_RNDN);
    }
    mpfr_clear(part);
}

void pe_frequencies_real(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_frequencies *f = context;

    if (pair == f->count)
        mpfr_set_ui(out, 1, MPFR_RNDN);
    else
        f->spec.frequency(out, f->spec.context, f->picked ? f->picked[pair] : pair);
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
    mpfr_t w;

    mpfr_init2(w, PE_TURN_BITS);
    for (size_t pair = 0; pair < f->count + (f->float32 != NULL); pair++) {
        if (pair % CHECK_PAIRS == 0 && pe_work_check(work, err))
            break;
        pe_frequencies_real(w, f, pair);
        pe_turn_set(&f->turns[pair], w);
        if (pair == f->count)
            break;
        phase_split(f, pair, w);
        if (f->float32)
            f->float32[pair] = f->spec.float32(f->spec.context, pair);
    }
    mpfr_clear(w);
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    return err->status;
}

enum pe_status pe_frequencies_new(struct pe_frequencies **out,
                                  const struct pe_frequencies_spec *spec, struct pe_work *work,
                                  struct pe_error *err)
{
    const double one = spec->work > 0 ? spec->work : PE_FREQUENCY_WORK;
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

/* The frequency that tables are made with: in float32 arithmetic, the rounded one. */
static void told_evaluate(mpfr_ptr out, const void *context, size_t pair)
{
    const struct pe_frequencies *f = context;

    if (f->float32)
        mpfr_set_flt(out, f->float32[pair], MPFR_RNDN);
    else
        pe_frequencies_real(out, f, pair);
}

static void wavelength_evaluate(mpfr_ptr out, const void *context, size_t pair)
{
    mpfr_t w;

    mpfr_init2(w, mpfr_get_prec(out));
    told_evaluate(w, context, pair);
    mpfr_const_pi(out, MPFR_RNDN);
    mpfr_mul_2ui(out, out, 1, MPFR_RNDN);
    mpfr_div(out, out, w, MPFR_RNDN);
    mpfr_clear(w);
}

void pe_frequencies_write(const struct pe_frequencies *f, size_t pair, enum pe_dtype dtype,
                          void *frequency, void *wavelength)
{
    if (frequency)
        pe_real_round(told_evaluate, f, pair, dtype, frequency);
    if (wavelength)
        pe_real_round(wavelength_evaluate, f, pair, dtype, wavelength);
}

double pe_frequencies_amplitude(const struct pe_frequencies *f, enum pe_amplitude amplitude)
{
    return f->amplitudes[amplitude].value.hi;
}

double pe_frequencies_near(const struct pe_frequencies *f, size_t pair)
{
    return f->float32 ? (double)f->float32[pair] : f->turns[pair].w.hi;
}

const struct pe_turn *pe_frequencies_turn(const struct pe_frequencies *f, size_t pair)
{
    return &f->turns[pair];
}

bool pe_frequencies_in_float32(const struct pe_frequencies *f)
{
    return f->float32 != NULL;
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
