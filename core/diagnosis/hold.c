/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "core/base/memory.h"
#include "core/base/spend.h"
#include "core/diagnosis/diagnosis.h"

/* Whether the explanation that a diagnosis found explains another sample: a head of a cache, once
 * the one before it is understood. One suspect is tried, not hundreds. */

/* Noise is of a kind if its rms is at most so many times as large, or as small. */
#define NOISE_ALIKE 4.0

/* Nanoseconds of a value that one suspect predicts, its error measured. */
#define ELEMENT_WORK 70.0

static enum pe_status sample_check(const struct pe_diagnosis *diagnosis,
                                   const struct pe_sample *sample, struct pe_error *err)
{
    const size_t pairs = diagnosis->trials_count > 0 ? diagnosis->findings[0].sample->pairs : 0;

    if (sample->pairs != pairs)
        return pe_fail(err, PE_SHAPE_MISMATCH, "", "a sample of %zu pairs is held against %zu",
                       sample->pairs, pairs);
    if (!pe_dtype_is_float(sample->dtype) || !pe_dtype_is_float(sample->precision))
        return pe_fail(err, PE_UNSUPPORTED, "",
                       "dtype and precision of a sample are f64, f32, f16 or bf16");
    if (sample->rows == 0 || sample->frequencies || !sample->positions ||
        (!sample->cos && !sample->sin))
        return pe_fail(err, PE_MISSING, "",
                       "a sample that is held has rows with positions and cos, sin or both");
    return PE_OK;
}

/* A trial of the sample with a suspect; `room` is for the pairs. False: it does not fit by itself.
 */
static bool is_explained(const struct pe_suspect *suspect, const struct pe_sample *sample,
                         double *room, struct pe_trial *trial, struct pe_explanation *explanation)
{
    *trial = (struct pe_trial){.suspect = suspect, .sample = sample};
    pe_residuals_measure(trial, room);
    return pe_trial_explains(trial, explanation);
}

/* Is the sample explained in the way of the diagnosis? Clean errors where that found noise are; but
 * where float32 was to blame, float32 must hurt here too. */
static bool is_alike(const struct pe_diagnosis *diagnosis, const struct pe_trial *trial,
                     const struct pe_explanation *explanation)
{
    const struct pe_trial *first = &diagnosis->trials[0];

    if (explanation->grant > diagnosis->grant ||
        (first->bug == PE_BUG_FLOAT32_ANGLE && explanation->grant != diagnosis->grant))
        return false;
    return !explanation->noisy ||
           (diagnosis->tried_noisy && trial->rms <= NOISE_ALIKE * first->rms &&
            first->rms <= NOISE_ALIKE * trial->rms);
}

/* Where the explanation is a mistake: is the sample right, after all? */
static bool is_right(const struct pe_diagnosis *diagnosis, const struct pe_sample *sample,
                     double *room)
{
    struct pe_explanation explanation;
    struct pe_trial trial;

    if (pe_verdict_is_good(diagnosis->tried) || sample->unexpected)
        return false;
    for (size_t i = 0; i < diagnosis->suspects_count; i++) {
        const struct pe_suspect *suspect = &diagnosis->suspects[i];
        if (suspect->bug == PE_BUG_NONE && suspect->is_expected &&
            is_explained(suspect, sample, room, &trial, &explanation) &&
            explanation.grant <= diagnosis->grant && !explanation.noisy)
            return true;
    }
    return false;
}

static enum pe_status hold(const struct pe_diagnosis *diagnosis, const struct pe_sample *sample,
                           struct pe_pool *pool, struct pe_work *work, double *room,
                           struct pe_held *held, struct pe_error *err)
{
    struct pe_explanation explanation;
    struct pe_trial trial;
    const bool fits =
        is_explained(diagnosis->trials[0].suspect, sample, room, &trial, &explanation);

    held->verdict = PE_VERDICT_UNKNOWN;
    held->max_abs = trial.max_abs;
    held->rms = trial.rms;
    if (diagnosis->tried == PE_VERDICT_UNKNOWN || !fits ||
        !is_alike(diagnosis, &trial, &explanation) || is_right(diagnosis, sample, room))
        return PE_OK;
    trial.fits = held->fits = true;
    held->noisy = explanation.noisy;
    if (pe_whole_hold(&explanation, &held->bad, pool, work, err))
        return err->status;
    if (held->bad.count == 0 || !pe_verdict_is_good(diagnosis->tried))
        held->verdict = diagnosis->tried;
    return PE_OK;
}

enum pe_status pe_diagnosis_hold(const struct pe_diagnosis *diagnosis,
                                 const struct pe_sample *sample, struct pe_pool *pool,
                                 struct pe_work *work, struct pe_held *held, struct pe_error *err)
{
    struct pe_sample copy;
    double *room;

    if (held->size != sizeof(*held))
        return pe_fail(err, PE_INVALID, "", "the size of what is held must be set");
    *held = (struct pe_held){.size = sizeof(*held)};
    if (pe_struct_read(&copy, sizeof(copy), sample, err) || sample_check(diagnosis, &copy, err))
        return err->status;
    room = pe_memory_take(work, copy.pairs, sizeof(*room), "residuals", err);
    if (room && pe_spend(work, ELEMENT_WORK * (double)copy.rows * (double)copy.pairs, err))
        pe_memory_give(work, room, copy.pairs, sizeof(*room));
    if (!room || err->status)
        return err->status;
    hold(diagnosis, &copy, pool, work, room, held, err);
    pe_memory_give(work, room, copy.pairs, sizeof(*room));
    return err->status;
}
