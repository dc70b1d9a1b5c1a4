/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/diagnosis/diagnosis.h"

/* An explanation fits cleanly if no error is larger than so many roundings of one value, or of a
 * value that several operations made. */
#define ROUNDINGS_ONE     2.5
#define ROUNDINGS_SEVERAL 8.0

/* A suspect fits up to noise if its errors are small, and look like noise: no value far outside of
 * the others, and not of the form that a wrong frequency or a wrong factor would give it. */
#define NOISE_MOST    0x1p-7
#define NOISE_OUTLIER 10.0
#define NOISE_FORM    0.5
#define NOISE_QUIET   32

/* One explanation is better than another if the sample is e^16 times as likely under it, with
 * errors as large as the best one leaves. */
#define DECISIVE 16.0
#define NEARLY   3.0

/* Where nothing fits, errors up to so many times as large as the nearest one's are as near. */
#define NEAR_ENOUGH 1.1

/* Mean squares that any explanation leaves: in roundings of one value, and of noise. */
#define SQUARE_CLEAN (1.0 / 3)
#define SQUARE_NOISE 0x1p-60

/* Where nothing is expected, a mistake must explain noise so much better than any scheme without
 * it: most schemes are in no list, and many are near to one that is. */
#define MISTAKE_BETTER 0.35

/* ---- fits ----------------------------------------------------------------------------------- */

/* One of the four stages: which float32 angle errors are granted, and whether noise is. */
struct stage {
    int grant;
    bool noisy;
};

static double noise_of(const struct pe_residual *residual)
{
    return residual->count > 0 ? sqrt(residual->noise_squares / (double)residual->count) : 0;
}

double pe_roundings_granted(const struct pe_sample *sample)
{
    return sample->computed ? ROUNDINGS_SEVERAL : ROUNDINGS_ONE;
}

double pe_noise_of(double rms, double factor)
{
    const double scale = fmax(factor, 1);

    return rms <= NOISE_MOST * scale ? NOISE_OUTLIER * fmax(rms, 0x1p-24 * scale) : 0;
}

/* How large the errors of a trial are in general. Among the few values of a list of frequencies one
 * wrong value makes most of the rms, and would then never stand out of it. */
static double usual_of(const struct pe_trial *trial, int grant)
{
    const double count = (double)trial->quiet_count;

    if (trial->sample->frequencies && trial->quiet_count > 0)
        return pow(trial->quiet_roots / count, 2);
    return trial->quiet_count < NOISE_QUIET ? noise_of(&trial->residuals[grant])
                                            : sqrt(trial->quiet_squares / count);
}

double pe_noise_granted(const struct pe_trial *trial, int grant)
{
    return pe_noise_of(usual_of(trial, grant), trial->factor);
}

static bool is_noise(const struct pe_trial *trial, struct stage stage)
{
    const struct pe_residual *residual = &trial->residuals[stage.grant];

    /* A few wrong ones among frequencies in bf16 are as near to cut ones as to rounded ones. */
    if (trial->suspect->distortion.truncated && trial->sample->frequencies)
        return false;
    return noise_of(residual) <= NOISE_MOST * fmax(trial->factor, 1) &&
           (trial->structure < NOISE_FORM || stage.grant == PE_GRANT_FLOAT32) &&
           residual->noise_most <= pe_noise_granted(trial, stage.grant);
}

static bool is_fit(const struct pe_trial *trial, struct stage stage)
{
    const struct pe_residual *residual = &trial->residuals[stage.grant];
    const size_t seen = trial->residuals[PE_GRANT_HARMLESS].count;

    if (!trial->is_possible || residual->count == 0 || residual->count < seen / 8 ||
        (stage.grant == PE_GRANT_FLOAT32 && trial->far_most <= 0))
        return false;
    if (stage.noisy)
        return is_noise(trial, stage);
    return residual->clean_excess <= pe_roundings_granted(trial->sample);
}

static double squares_of(const struct pe_trial *trial, struct stage stage)
{
    const struct pe_residual *residual = &trial->residuals[stage.grant];

    if (stage.grant == PE_GRANT_FLOAT32)
        return residual->likelihood;
    return stage.noisy ? residual->noise_squares
                       : fmax(residual->clean_squares, SQUARE_CLEAN * (double)residual->count);
}

/* How much less likely one explanation is than the best, as a logarithm. */
static double distance(const struct pe_trial *trial, const struct pe_trial *best,
                       struct stage stage)
{
    const double count = (double)best->residuals[stage.grant].count;
    const double least = stage.noisy ? SQUARE_NOISE : SQUARE_CLEAN;
    const double square =
        stage.grant == PE_GRANT_FLOAT32 ? 1 : fmax(squares_of(best, stage) / count, least);

    return (squares_of(trial, stage) - squares_of(best, stage)) / (2 * square);
}

/* ---- the verdict ---------------------------------------------------------------------------- */

/* Preference among equally good explanations. Combinations of two mistakes are not tried. */
enum rank { RANK_MATCH, RANK_BUG, RANK_OTHER, RANK_MEASURED, RANK_NONE };

static enum rank rank_of(const struct pe_trial *trial, bool anything_expected)
{
    const struct pe_suspect *suspect = trial->suspect;
    const bool is_plain = suspect->bug == PE_BUG_NONE;
    const bool is_asked = suspect->is_expected || !anything_expected;

    if (trial->sample->unexpected)
        return is_plain && is_asked && !suspect->is_measured ? RANK_BUG : RANK_NONE;
    if (suspect->is_measured)
        return is_plain ? RANK_MEASURED : RANK_NONE;
    if (!is_asked)
        return is_plain ? RANK_OTHER : RANK_NONE;
    return is_plain ? RANK_MATCH : RANK_BUG;
}

static enum pe_verdict verdict_of(const struct pe_trial *trial, bool anything_expected)
{
    const enum rank rank = rank_of(trial, anything_expected);

    if (trial->bug != PE_BUG_NONE)
        return PE_VERDICT_KNOWN_BUG;
    if (!anything_expected)
        return PE_VERDICT_CONSISTENT;
    return rank == RANK_MATCH ? PE_VERDICT_MATCH : PE_VERDICT_OTHER_SCHEME;
}

bool pe_verdict_is_good(enum pe_verdict verdict)
{
    return verdict == PE_VERDICT_MATCH || verdict == PE_VERDICT_CONSISTENT;
}

struct jury {
    struct pe_trial *trials;
    size_t count;
    bool anything_expected;
    struct stage stage;
    const struct pe_trial *best; /* of those that fit */
};

/* The best that explains it without any mistake, whether it fits or not. */
static double plain_rms(const struct jury *jury)
{
    double rms = INFINITY;

    for (size_t i = 0; i < jury->count; i++)
        if (jury->trials[i].is_possible && jury->trials[i].bug == PE_BUG_NONE)
            rms = fmin(rms, jury->trials[i].rms);
    return rms;
}

static void fits_mark(struct jury *jury)
{
    const double most =
        jury->stage.noisy && !jury->anything_expected ? MISTAKE_BETTER * plain_rms(jury) : INFINITY;

    jury->best = NULL;
    for (size_t i = 0; i < jury->count; i++) {
        struct pe_trial *trial = &jury->trials[i];
        trial->fits = rank_of(trial, jury->anything_expected) != RANK_NONE &&
                      is_fit(trial, jury->stage) &&
                      (trial->bug == PE_BUG_NONE || trial->rms <= most);
        if (trial->fits &&
            (!jury->best || squares_of(trial, jury->stage) < squares_of(jury->best, jury->stage)))
            jury->best = trial;
    }
}

/* The first in rank among those that are as likely as the best; in that rank the first in the list
 * that is nearly as likely as any. */
static struct pe_trial *chosen(const struct jury *jury)
{
    const struct pe_trial *likeliest = NULL;
    enum rank rank = RANK_NONE;

    for (size_t i = 0; i < jury->count; i++) {
        const struct pe_trial *trial = &jury->trials[i];
        const enum rank its = rank_of(trial, jury->anything_expected);
        if (trial->fits && distance(trial, jury->best, jury->stage) < DECISIVE &&
            (its < rank || (its == rank &&
                            squares_of(trial, jury->stage) < squares_of(likeliest, jury->stage)))) {
            likeliest = trial;
            rank = its;
        }
    }
    for (size_t i = 0; i < jury->count; i++)
        if (jury->trials[i].fits && rank_of(&jury->trials[i], jury->anything_expected) == rank &&
            distance(&jury->trials[i], likeliest, jury->stage) < NEARLY)
            return &jury->trials[i];
    return NULL;
}

static bool same_scheme(const struct pe_scheme *a, const struct pe_scheme *b,
                        const struct pe_sample *sample)
{
    const struct pe_frequencies *f = pe_waves_of(a)->frequencies;
    const struct pe_frequencies *g = pe_waves_of(b)->frequencies;

    for (size_t pair = 0; pair < sample->pairs; pair++) {
        const double x = pe_frequencies_near(f, pair), y = pe_frequencies_near(g, pair);
        if (fabs(x - y) > 1e-9 * x)
            return false;
    }
    return sample->frequencies || fabs(pe_frequencies_amplitude(f, PE_AMPLITUDE_FACTOR) -
                                       pe_frequencies_amplitude(g, PE_AMPLITUDE_FACTOR)) < 1e-9;
}

static bool same_distortion(const struct pe_distortion *a, const struct pe_distortion *b)
{
    return a->frequencies == b->frequencies && a->positions == b->positions &&
           a->angles == b->angles && a->shift == b->shift && a->factors == b->factors &&
           a->half_minus_one == b->half_minus_one && a->backwards == b->backwards &&
           a->truncated == b->truncated && a->swapped == b->swapped;
}

/* Do two trials say the same in other words? */
static bool is_same(const struct pe_trial *a, const struct pe_trial *b)
{
    const struct pe_suspect *x = a->suspect, *y = b->suspect;

    return a->sample == b->sample && same_distortion(&x->distortion, &y->distortion) &&
           (x->scheme == y->scheme || same_scheme(x->scheme, y->scheme, a->sample));
}

/* The order is total, so that every qsort leaves the same; errors of impossible trials are no
 * numbers. */
static int by_squares(const void *a, const void *b)
{
    const struct pe_trial *x = a, *y = b;

    if (x->fits != y->fits)
        return x->fits ? -1 : 1;
    if (x->is_possible != y->is_possible)
        return x->is_possible ? -1 : 1;
    if (x->is_possible && x->rms != y->rms)
        return x->rms < y->rms ? -1 : 1;
    if (x->suspect != y->suspect)
        return x->suspect < y->suspect ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Is it among the trials that are kept already, or at least its mistake? */
static bool is_kept(const struct pe_diagnosis *diagnosis, const struct pe_trial *trial)
{
    for (size_t i = 0; i < diagnosis->trials_count; i++) {
        const struct pe_trial *kept = &diagnosis->trials[i];
        if (is_same(kept, trial) || (kept->bug != PE_BUG_NONE && kept->bug == trial->bug))
            return true;
    }
    return false;
}

/* Where nothing fits: a scheme without a mistake, if no other is much nearer. Rows that are damaged
 * are as far from one scheme as from another, and tell nothing. */
static const struct pe_trial *nearest(const struct jury *jury)
{
    const struct pe_trial *best = NULL;
    double least = INFINITY;

    for (size_t i = 0; i < jury->count; i++) {
        const struct pe_trial *trial = &jury->trials[i];
        if (!trial->is_possible || rank_of(trial, jury->anything_expected) == RANK_NONE)
            continue;
        least = fmin(least, trial->rms);
        if (rank_of(trial, jury->anything_expected) == RANK_MATCH &&
            (!best || trial->rms < best->rms))
            best = trial;
    }
    return best && best->rms <= NEAR_ENOUGH * least ? best : NULL;
}

/* The one that the verdict is about, then the others that explain as much, then the nearest. */
static void trials_keep(struct pe_diagnosis *diagnosis, const struct jury *jury,
                        const struct pe_trial *choice)
{
    for (size_t i = 0; i < jury->count; i++)
        jury->trials[i].fits =
            jury->trials[i].fits && distance(&jury->trials[i], jury->best, jury->stage) < DECISIVE;
    if (choice)
        diagnosis->trials[diagnosis->trials_count++] = *choice;
    qsort(jury->trials, jury->count, sizeof(*jury->trials), by_squares);
    for (size_t i = 0; i < jury->count; i++) {
        const struct pe_trial *trial = &jury->trials[i];
        if (diagnosis->trials_count == PE_FINDINGS_MAX || !trial->is_possible ||
            rank_of(trial, jury->anything_expected) == RANK_NONE || is_kept(diagnosis, trial))
            continue;
        diagnosis->ambiguous = diagnosis->ambiguous || trial->fits;
        diagnosis->trials[diagnosis->trials_count++] = *trial;
    }
}

static const struct stage stages[] = {{PE_GRANT_HARMLESS, false},
                                      {PE_GRANT_HARMLESS, true},
                                      {PE_GRANT_FLOAT32, false},
                                      {PE_GRANT_FLOAT32, true}};

bool pe_trial_explains(const struct pe_trial *trial, struct pe_explanation *explanation)
{
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        *explanation = (struct pe_explanation){trial, stages[i].grant, stages[i].noisy};
        if (is_fit(trial, stages[i]))
            return true;
    }
    return false;
}

void pe_trials_judge(struct pe_diagnosis *diagnosis, struct pe_trial *trials, size_t count,
                     bool anything_expected)
{
    struct jury jury = {trials, count, anything_expected, stages[0], NULL};
    struct pe_trial *choice = NULL;

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]) && !jury.best; i++) {
        jury.stage = stages[i];
        fits_mark(&jury);
    }
    diagnosis->verdict = PE_VERDICT_UNKNOWN;
    if (jury.best) {
        choice = chosen(&jury);
        if (jury.stage.grant == PE_GRANT_FLOAT32 && choice->bug == PE_BUG_NONE &&
            !choice->is_float32)
            choice->bug = PE_BUG_FLOAT32_ANGLE;
        diagnosis->verdict = verdict_of(choice, anything_expected);
        diagnosis->noisy = jury.stage.noisy;
        diagnosis->grant = jury.stage.grant;
    }
    trials_keep(diagnosis, &jury, jury.best ? choice : nearest(&jury));
}
