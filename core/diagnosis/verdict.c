/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "core/diagnosis/diagnosis.h"

/* The four stages in which candidates are tried, and the verdict: docs/diagnosis.md. */

/* A candidate fits cleanly if no error exceeds so many roundings, of one operation or of several.
 */
#define ROUNDINGS_ONE     2.5
#define ROUNDINGS_SEVERAL 8.0

/* A candidate fits up to noise if its errors are small and look like noise: no outlier (in units of
 * the rms), and at most half of the squares explained by a wrong frequency or factor. */
#define NOISE_MOST      0x1p-7
#define NOISE_OUTLIER   10.0
#define NOISE_STRUCTURE 0.5
#define NOISE_QUIET     32 /* fewer quiet elements do not show the size of noise */
#define NOISE_OF_BUG    64 /* elements of rows that a bug beneath noise must explain */

/* One candidate is better than another if the sample is e^16 times as likely under it, with normal
 * errors as large as those of the best. */
#define DECISIVE 16.0
#define NEARLY   3.0

/* Where nothing fits, candidates with up to so many times the least error count as nearest. */
#define NEAR_ENOUGH 1.1

/* Mean squares that remain under the true scheme: in roundings of one value, and of noise. */
#define SQUARE_CLEAN (1.0 / 3)
#define SQUARE_NOISE 0x1p-60

/* Where nothing is expected, a candidate with a bug must leave at most this part of the noise that
 * the best scheme without a bug leaves: most schemes are unlisted, and many resemble a listed one.
 */
#define BUG_BETTER 0.35

/* ---- fits ----------------------------------------------------------------------------------- */

/* Which angle errors a stage allows, and whether it allows noise. */
struct stage {
    int allowance; /* PE_ALLOW_ */
    bool noisy;
};

static const struct stage stages[] = {{PE_ALLOW_HARMLESS, false},
                                      {PE_ALLOW_HARMLESS, true},
                                      {PE_ALLOW_FLOAT32, false},
                                      {PE_ALLOW_FLOAT32, true}};

static double noise_of(const struct pe_residual *residual)
{
    return residual->count > 0 ? sqrt(residual->noise_squares / (double)residual->count) : 0;
}

double pe_roundings_allowed(const struct pe_sample *sample)
{
    return sample->computed ? ROUNDINGS_SEVERAL : ROUNDINGS_ONE;
}

double pe_noise_of(double rms, double factor)
{
    const double scale = fmax(factor, 1);

    return rms <= NOISE_MOST * scale ? NOISE_OUTLIER * fmax(rms, 0x1p-24 * scale) : 0;
}

/* The typical error of a trial. In a short list of frequencies one wrong value dominates the rms
 * and would never be an outlier, so the mean of square roots is taken there. */
static double typical_error(const struct pe_trial *trial, int allowance)
{
    const double count = (double)trial->quiet_count;

    if (trial->sample->frequencies && trial->quiet_count > 0)
        return pow(trial->quiet_roots / count, 2);
    return trial->quiet_count < NOISE_QUIET ? noise_of(&trial->residuals[allowance])
                                            : sqrt(trial->quiet_squares / count);
}

double pe_noise_allowed(const struct pe_trial *trial, int allowance)
{
    return pe_noise_of(typical_error(trial, allowance), trial->factor);
}

static bool is_noise(const struct pe_trial *trial, struct stage stage)
{
    const struct pe_residual *residual = &trial->residuals[stage.allowance];

    /* Frequencies in bf16 with a few wrong ones are as near to cut ones as to rounded ones. */
    if (trial->candidate->distortion.truncated && trial->sample->frequencies)
        return false;
    return noise_of(residual) <= NOISE_MOST * fmax(trial->factor, 1) &&
           (trial->structure < NOISE_STRUCTURE || stage.allowance == PE_ALLOW_FLOAT32) &&
           residual->noise_most <= pe_noise_allowed(trial, stage.allowance);
}

static bool is_fit(const struct pe_trial *trial, struct stage stage)
{
    const struct pe_residual *residual = &trial->residuals[stage.allowance];
    const size_t seen = trial->residuals[PE_ALLOW_HARMLESS].count;

    if (!trial->is_possible || residual->count == 0 || residual->count < seen / 8 ||
        (stage.allowance == PE_ALLOW_FLOAT32 && trial->far_most <= 0))
        return false;
    if (stage.noisy)
        return is_noise(trial, stage);
    return residual->clean_excess <= pe_roundings_allowed(trial->sample);
}

static double squares_of(const struct pe_trial *trial, struct stage stage)
{
    const struct pe_residual *residual = &trial->residuals[stage.allowance];

    if (stage.allowance == PE_ALLOW_FLOAT32)
        return residual->likelihood;
    return stage.noisy ? residual->noise_squares
                       : fmax(residual->clean_squares, SQUARE_CLEAN * (double)residual->count);
}

/* The logarithm of how much less likely the sample is under a trial than under the best. */
static double distance(const struct pe_trial *trial, const struct pe_trial *best,
                       struct stage stage)
{
    const double count = (double)best->residuals[stage.allowance].count;
    const double least = stage.noisy ? SQUARE_NOISE : SQUARE_CLEAN;
    const double square =
        stage.allowance == PE_ALLOW_FLOAT32 ? 1 : fmax(squares_of(best, stage) / count, least);

    return (squares_of(trial, stage) - squares_of(best, stage)) / (2 * square);
}

/* ---- the verdict ---------------------------------------------------------------------------- */

/* Preference among trials that fit equally well. Combinations of two bugs are not tried. */
enum rank { RANK_MATCH, RANK_BUG, RANK_OTHER, RANK_MEASURED, RANK_NONE };

bool pe_sample_takes_widths(const struct pe_sample *sample, enum pe_bug bug)
{
    return bug == PE_BUG_WRONG_WIDTH && (sample->pairing == PE_PAIRING_ACROSS_HEAD ||
                                         sample->pairing == PE_PAIRING_WITHIN_PREFIX);
}

static enum rank rank_of(const struct pe_trial *trial, bool anything_expected)
{
    const struct pe_candidate *candidate = trial->candidate;
    const bool is_plain = candidate->bug == PE_BUG_NONE;
    const bool is_relevant = candidate->is_expected || !anything_expected;

    if (trial->sample->unexpected)
        return (is_plain || pe_sample_takes_widths(trial->sample, candidate->bug)) && is_relevant &&
                       !candidate->is_measured
                   ? RANK_BUG
                   : RANK_NONE;
    if (candidate->is_measured)
        return is_plain ? RANK_MEASURED : RANK_NONE;
    if (!is_relevant)
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

struct selection {
    struct pe_trial *trials;
    size_t count;
    bool anything_expected;
    struct stage stage;
    const struct pe_trial *best; /* of those that fit, or NULL */
};

/* The least rms of the candidates without a bug, whether they fit or not. */
static double plain_rms(const struct selection *selection)
{
    double rms = INFINITY;

    for (size_t i = 0; i < selection->count; i++)
        if (selection->trials[i].is_possible && selection->trials[i].bug == PE_BUG_NONE)
            rms = fmin(rms, selection->trials[i].rms);
    return rms;
}

/* Few values beneath noise are near one bug or another by chance. */
static bool is_shown(const struct pe_trial *trial, struct stage stage)
{
    return !stage.noisy || trial->bug == PE_BUG_NONE || trial->sample->frequencies ||
           trial->residuals[stage.allowance].count >= NOISE_OF_BUG;
}

static void fits_mark(struct selection *selection)
{
    const double most = selection->stage.noisy && !selection->anything_expected
                            ? BUG_BETTER * plain_rms(selection)
                            : INFINITY;

    selection->best = NULL;
    for (size_t i = 0; i < selection->count; i++) {
        struct pe_trial *trial = &selection->trials[i];
        trial->fits = rank_of(trial, selection->anything_expected) != RANK_NONE &&
                      is_fit(trial, selection->stage) && is_shown(trial, selection->stage) &&
                      (trial->bug == PE_BUG_NONE || trial->rms <= most);
        if (trial->fits && (!selection->best || squares_of(trial, selection->stage) <
                                                    squares_of(selection->best, selection->stage)))
            selection->best = trial;
    }
}

/* Chooses the best rank among the trials about as likely as the best, and in that rank the first
 * trial of the list that is nearly the likeliest. */
static struct pe_trial *preferred(const struct selection *selection)
{
    const struct pe_trial *likeliest = NULL;
    enum rank rank = RANK_NONE;

    for (size_t i = 0; i < selection->count; i++) {
        const struct pe_trial *trial = &selection->trials[i];
        const enum rank of_trial = rank_of(trial, selection->anything_expected);
        if (trial->fits && distance(trial, selection->best, selection->stage) < DECISIVE &&
            (of_trial < rank ||
             (of_trial == rank &&
              squares_of(trial, selection->stage) < squares_of(likeliest, selection->stage)))) {
            likeliest = trial;
            rank = of_trial;
        }
    }
    for (size_t i = 0; i < selection->count; i++)
        if (selection->trials[i].fits &&
            rank_of(&selection->trials[i], selection->anything_expected) == rank &&
            distance(&selection->trials[i], likeliest, selection->stage) < NEARLY)
            return &selection->trials[i];
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
           a->factor == b->factor && a->rotations == b->rotations &&
           a->axes_order == b->axes_order && a->half_minus_one == b->half_minus_one &&
           a->backwards == b->backwards && a->truncated == b->truncated && a->swapped == b->swapped;
}

/* Do two trials predict the same values? */
static bool is_same(const struct pe_trial *a, const struct pe_trial *b)
{
    const struct pe_candidate *x = a->candidate, *y = b->candidate;

    return a->sample == b->sample && x->sections == y->sections &&
           same_distortion(&x->distortion, &y->distortion) &&
           (x->scheme == y->scheme || same_scheme(x->scheme, y->scheme, a->sample));
}

/* A total order, so that the result does not depend on qsort; errors of impossible trials may be
 * NaN. */
static int by_squares(const void *a, const void *b)
{
    const struct pe_trial *x = a, *y = b;

    if (x->fits != y->fits)
        return x->fits ? -1 : 1;
    if (x->is_possible != y->is_possible)
        return x->is_possible ? -1 : 1;
    if (x->is_possible && x->rms != y->rms)
        return x->rms < y->rms ? -1 : 1;
    if (x->candidate != y->candidate)
        return x->candidate < y->candidate ? -1 : 1;
    return x->sample < y->sample ? -1 : x->sample > y->sample;
}

/* Is it a bug that is more than "another scaling than the expected one", which may be none? */
static bool is_specific(enum pe_bug bug)
{
    return bug != PE_BUG_NONE && bug != PE_BUG_SCALING_WRONG;
}

/* Is the trial, or another one with the same bug, in the result already? */
static bool is_included(const struct pe_diagnosis *diagnosis, const struct pe_trial *trial)
{
    for (size_t i = 0; i < diagnosis->trials_count; i++) {
        const struct pe_trial *other = &diagnosis->trials[i];
        const bool are_bugs = is_specific(other->bug) && is_specific(trial->bug);
        if ((is_same(other, trial) && !are_bugs) ||
            (other->bug != PE_BUG_NONE && other->bug == trial->bug))
            return true;
    }
    return false;
}

/* Where nothing fits: the nearest relevant scheme without a bug, if no other is much nearer.
 * Damaged rows are about as far from one scheme as from another. */
static const struct pe_trial *nearest(const struct selection *selection)
{
    const struct pe_trial *best = NULL;
    double least = INFINITY;

    for (size_t i = 0; i < selection->count; i++) {
        const struct pe_trial *trial = &selection->trials[i];
        if (!trial->is_possible || rank_of(trial, selection->anything_expected) == RANK_NONE)
            continue;
        least = fmin(least, trial->rms);
        if (rank_of(trial, selection->anything_expected) == RANK_MATCH &&
            (!best || trial->rms < best->rms))
            best = trial;
    }
    return best && best->rms <= NEAR_ENOUGH * least ? best : NULL;
}

/* The trial of the verdict, then the others that fit as well, then the nearest. */
static void trials_include(struct pe_diagnosis *diagnosis, const struct selection *selection,
                           const struct pe_trial *choice)
{
    for (size_t i = 0; i < selection->count; i++)
        selection->trials[i].fits =
            selection->trials[i].fits &&
            distance(&selection->trials[i], selection->best, selection->stage) < DECISIVE;
    if (choice)
        diagnosis->trials[diagnosis->trials_count++] = *choice;
    qsort(selection->trials, selection->count, sizeof(*selection->trials), by_squares);
    for (size_t i = 0; i < selection->count; i++) {
        const struct pe_trial *trial = &selection->trials[i];
        if (diagnosis->trials_count == PE_FINDINGS_MAX || !trial->is_possible ||
            rank_of(trial, selection->anything_expected) == RANK_NONE ||
            is_included(diagnosis, trial))
            continue;
        diagnosis->ambiguous = diagnosis->ambiguous || trial->fits;
        diagnosis->trials[diagnosis->trials_count++] = *trial;
    }
}

bool pe_trial_explains(const struct pe_trial *trial, struct pe_fit *fit)
{
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        *fit = (struct pe_fit){trial, stages[i].allowance, stages[i].noisy};
        if (is_fit(trial, stages[i]))
            return true;
    }
    return false;
}

bool pe_trials_are_decided(const struct pe_trial *trials, size_t count, bool anything_expected)
{
    for (size_t i = 0; i < count; i++) {
        const struct pe_residual *residual = &trials[i].residuals[PE_ALLOW_HARMLESS];
        if (trials[i].bug == PE_BUG_NONE && rank_of(&trials[i], anything_expected) == RANK_MATCH &&
            is_fit(&trials[i], stages[0]) &&
            residual->clean_squares <= SQUARE_CLEAN * (double)residual->count)
            return true;
    }
    return false;
}

void pe_trials_select(struct pe_diagnosis *diagnosis, struct pe_trial *trials, size_t count,
                      bool anything_expected)
{
    struct selection selection = {trials, count, anything_expected, stages[0], NULL};
    struct pe_trial *choice = NULL;

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]) && !selection.best; i++) {
        selection.stage = stages[i];
        fits_mark(&selection);
    }
    diagnosis->verdict = PE_VERDICT_UNKNOWN;
    if (selection.best) {
        choice = preferred(&selection);
        if (selection.stage.allowance == PE_ALLOW_FLOAT32 && choice->bug == PE_BUG_NONE &&
            !choice->is_float32)
            choice->bug = PE_BUG_FLOAT32_ANGLE;
        diagnosis->verdict = verdict_of(choice, anything_expected);
        diagnosis->noisy = selection.stage.noisy;
        diagnosis->allowance = selection.stage.allowance;
    }
    trials_include(diagnosis, &selection, selection.best ? choice : nearest(&selection));
}

void pe_verdict_set_uninitialized(struct pe_diagnosis *diagnosis)
{
    if (diagnosis->verdict != PE_VERDICT_UNKNOWN || diagnosis->trials_count == 0)
        return;
    diagnosis->verdict = PE_VERDICT_KNOWN_BUG;
    diagnosis->trials[0].bug = PE_BUG_UNINITIALIZED;
    diagnosis->trials[0].fits = true;
}
