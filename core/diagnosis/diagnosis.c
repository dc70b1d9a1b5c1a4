/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "core/base/work.h"
#include "core/diagnosis/diagnosis.h"
#include "core/scheme/rows.h"

static const struct pe_bug_info infos[] = {
#define BUG(name, code, explanation, fix) {code, explanation, fix},
#include "core/diagnosis/bugs.def"
#undef BUG
};

const struct pe_bug_info *pe_bug_info(enum pe_bug bug)
{
    return bug == PE_BUG_NONE ? NULL : &infos[bug - 1];
}

/* ---- trials ---------------------------------------------------------------------------------- */

/* All candidates beside all samples. */
struct search {
    struct pe_job job; /* first: a pointer to it points to the struct */
    struct pe_diagnosis *diagnosis;
    struct pe_sample *samples;
    size_t samples_count;
    struct pe_trial *trials; /* [candidates][samples] */
    size_t trials_count, schemes_done, candidates_done;
    struct pe_work *work;
    _Atomic bool failed; /* out of memory */
};

static void scheme_run(struct pe_job *job, size_t block)
{
    struct search *search = (struct search *)job;
    struct pe_error err = {0};

    if (pe_scheme_prepare(search->diagnosis->schemes[search->schemes_done + block], search->work,
                          &err))
        search->failed = true;
}

/* The bug of a candidate that explains an interpretation that is not expected. Pairs in the wrong
 * places may have frequencies of the width that they span. */
static enum pe_bug bug_of(enum pe_bug bug, const struct pe_sample *sample)
{
    static const enum pe_bug misplaced[] = {
        [PE_PAIRING_LAYOUT] = PE_BUG_LAYOUT_SWAPPED,
        [PE_PAIRING_ACROSS_HEAD] = PE_BUG_PAIRS_ACROSS_HEAD,
        [PE_PAIRING_WITHIN_PREFIX] = PE_BUG_PAIRS_WITHIN_PREFIX,
        [PE_PAIRING_MIXED] = PE_BUG_LAYOUT_MIXED,
    };

    if (bug != PE_BUG_NONE && !pe_sample_takes_widths(sample, bug))
        return bug;
    return sample->absolute ? PE_BUG_COLUMNS_SWAPPED : misplaced[sample->pairing];
}

static void candidate_run(struct pe_job *job, size_t block)
{
    struct search *search = (struct search *)job;
    const size_t index = search->candidates_done + block;
    const struct pe_candidate *candidate = &search->diagnosis->candidates[index];
    const size_t pairs = search->samples->pairs;
    struct pe_error err = {0};
    double *buffer = pe_memory_take(search->work, pairs, sizeof(*buffer), "residuals", &err);

    for (size_t i = 0; buffer && i < search->samples_count; i++) {
        const struct pe_sample *sample = &search->samples[i];
        struct pe_trial *trial = &search->trials[index * search->samples_count + i];
        *trial = (struct pe_trial){.candidate = candidate, .sample = sample};
        pe_residuals_measure(trial, buffer);
        if (sample->unexpected)
            trial->bug = bug_of(candidate->bug, sample);
    }
    if (!buffer)
        search->failed = true;
    pe_memory_give(search->work, buffer, pairs, sizeof(*buffer));
}

/* Makes room for a trial of each candidate beside each sample. */
static enum pe_status trials_extend(struct search *search, struct pe_error *err)
{
    const size_t count = search->samples_count * search->diagnosis->candidates_count;
    struct pe_trial *trials =
        pe_memory_take(search->work, count, sizeof(*trials), "a diagnosis", err);

    if (!trials)
        return err->status;
    if (search->trials_count > 0)
        memcpy(trials, search->trials, search->trials_count * sizeof(*trials));
    pe_memory_give(search->work, search->trials, search->trials_count, sizeof(*trials));
    search->trials = trials;
    search->trials_count = count;
    return PE_OK;
}

/* Tries the candidates that were listed since the last call. */
static bool search_run(struct search *search, struct pe_pool *pool, struct pe_error *err)
{
    const struct pe_diagnosis *diagnosis = search->diagnosis;

    search->job = (struct pe_job){.run = scheme_run,
                                  .blocks = diagnosis->schemes_count - search->schemes_done,
                                  .work = search->work};
    if (!pe_pool_run(pool, &search->job) || search->failed || trials_extend(search, err))
        return false;
    search->schemes_done = diagnosis->schemes_count;
    search->job = (struct pe_job){.run = candidate_run,
                                  .blocks = diagnosis->candidates_count - search->candidates_done,
                                  .work = search->work};
    if (!pe_pool_run(pool, &search->job) || search->failed)
        return false;
    search->candidates_done = diagnosis->candidates_count;
    return true;
}

/* Is no interpretation of the values one of a table? */
static bool are_uninitialized(const struct search *search)
{
    for (size_t i = 0; i < search->samples_count; i++)
        if (!pe_sample_is_uninitialized(&search->samples[i]))
            return false;
    return true;
}

/* All candidates; the rare ones only where they can change the verdict. */
static enum pe_status candidates_try(struct search *search, const struct pe_scheme *expected,
                                     struct pe_pool *pool, struct pe_error *err)
{
    struct pe_diagnosis *diagnosis = search->diagnosis;

    if (pe_candidates_list(diagnosis, expected, search->samples, search->samples_count, err))
        return err->status;
    if (search_run(search, pool, err) &&
        (pe_trials_are_decided(search->trials, search->trials_count, expected != NULL) ||
         (!pe_candidates_list_rare(diagnosis, expected, search->samples, err) &&
          search_run(search, pool, err))))
        return PE_OK;
    if (!err->status && !pe_work_check(search->work, err))
        pe_no_memory(err, "a diagnosis");
    return err->status;
}

static const struct pe_sample *sample_given(const struct pe_sample *samples, size_t index)
{
    return (const struct pe_sample *)(const void *)((const char *)samples + index * samples->size);
}

static enum pe_status sample_check(const struct pe_sample *sample, const struct pe_sample *first,
                                   struct pe_error *err)
{
    if (sample->pairs == 0 || sample->pairs > PE_SAMPLE_PAIRS_MAX)
        return pe_fail(err, PE_TOO_LARGE, "", "a sample has 1 to %d pairs, got %zu",
                       PE_SAMPLE_PAIRS_MAX, sample->pairs);
    if (sample->pairs != first->pairs || sample->rows != first->rows)
        return pe_fail(err, PE_SHAPE_MISMATCH, "",
                       "samples are several ways to read the same values: one has %zu rows of %zu "
                       "pairs, another %zu of %zu",
                       first->rows, first->pairs, sample->rows, sample->pairs);
    if (!pe_dtype_is_float(sample->dtype) || !pe_dtype_is_float(sample->precision))
        return pe_fail(err, PE_UNSUPPORTED, "",
                       "dtype and precision of a sample are f64, f32, f16 or bf16");
    if ((unsigned)sample->pairing > PE_PAIRING_MIXED)
        return pe_fail(err, PE_INVALID, "", "the pairing of a sample is one of enum pe_pairing");
    if (sample->rows > 0 &&
        (sample->frequencies || !sample->positions || (!sample->cos && !sample->sin)))
        return pe_fail(err, PE_MISSING, "",
                       "a sample has rows with positions and cos, sin or both, or else frequencies "
                       "and no rows");
    return PE_OK;
}

/* Copies the samples, whose stride is the size of the caller's struct. */
static enum pe_status samples_read(struct search *search, const struct pe_sample *samples,
                                   size_t count, struct pe_error *err)
{
    if (count == 0)
        return pe_fail(err, PE_INVALID, "", "a diagnosis needs one sample at least");
    search->samples =
        pe_memory_take(search->work, count, sizeof(*search->samples), "the samples", err);
    if (!search->samples)
        return err->status;
    search->samples_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct pe_sample *given = sample_given(samples, i);
        if (pe_struct_read(&search->samples[i], sizeof(*samples), given, err) ||
            sample_check(&search->samples[i], search->samples, err))
            return err->status;
        if (given->size != samples->size)
            return pe_fail(err, PE_INVALID, "", "samples of one list have one size");
    }
    return PE_OK;
}

static enum pe_status expected_check(const struct pe_scheme *expected, struct pe_error *err)
{
    if (expected && (!expected->prepared || !pe_diagnosis_takes(expected)))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding",
                       "what is expected must be a prepared scheme of cosines and sines");
    return PE_OK;
}

/* The public part of each trial. */
static void findings_fill(struct pe_diagnosis *diagnosis, const struct search *search,
                          const struct pe_sample *samples)
{
    for (size_t i = 0; i < diagnosis->trials_count; i++) {
        const struct pe_trial *trial = &diagnosis->trials[i];
        diagnosis->findings[i] = (struct pe_finding){
            .scheme = trial->candidate->scheme,
            .sample = sample_given(samples, (size_t)(trial->sample - search->samples)),
            .bug = pe_bug_info(trial->bug),
            .fits = trial->fits,
            .max_abs = trial->max_abs,
            .max_ulp = trial->max_ulp,
            .rms = trial->rms,
            .is_near = trial->is_near};
    }
}

/* Schemes cost time for each pair, predictions for each element. */
double pe_diagnosis_work(size_t rows, size_t pairs)
{
    enum { PAIR = 400000, ELEMENT = 20000 };

    return (double)pairs * (PAIR + ELEMENT * (double)rows);
}

/* More than two interpretations of a rotation are those of queries beside keys; those of tables
 * that are added have fewer candidates. */
static double samples_work(const struct search *search)
{
    const struct pe_sample *sample = search->samples;
    const double times = search->samples_count > 2 && !sample->absolute ? 2 : 1;

    return times * pe_diagnosis_work(sample->rows, sample->pairs);
}

enum pe_status pe_diagnose(struct pe_diagnosis **out, const struct pe_scheme *expected,
                           const struct pe_sample *samples, size_t count, struct pe_pool *pool,
                           struct pe_work *work, struct pe_error *err)
{
    struct pe_diagnosis *diagnosis;
    struct search search = {.work = work};

    *out = NULL;
    diagnosis = search.diagnosis = pe_memory_take(work, 1, sizeof(*diagnosis), "a diagnosis", err);
    if (!diagnosis)
        return err->status;
    diagnosis->work = work;
    if (samples_read(&search, samples, count, err) || expected_check(expected, err) ||
        pe_spend(work, samples_work(&search), err)) {
        pe_memory_give(work, search.samples, count, sizeof(*search.samples));
        pe_diagnosis_free(diagnosis);
        return err->status;
    }
    if (!candidates_try(&search, expected, pool, err)) {
        pe_trials_select(diagnosis, search.trials, search.trials_count, expected != NULL);
        if (diagnosis->verdict == PE_VERDICT_UNKNOWN && are_uninitialized(&search))
            pe_verdict_set_uninitialized(diagnosis);
    }
    if (!err->status && !pe_all_rows_check(diagnosis, pool, err)) {
        findings_fill(diagnosis, &search, samples);
        *out = diagnosis;
    }
    pe_memory_give(work, search.trials, search.trials_count, sizeof(*search.trials));
    pe_memory_give(work, search.samples, count, sizeof(*search.samples));
    if (!*out)
        pe_diagnosis_free(diagnosis);
    return err->status;
}

void pe_diagnosis_free(struct pe_diagnosis *diagnosis)
{
    if (!diagnosis)
        return;
    for (size_t i = 0; i < diagnosis->schemes_count; i++)
        pe_scheme_free(diagnosis->schemes[i]);
    for (size_t i = 0; i < diagnosis->sections_count; i++)
        pe_scheme_free(diagnosis->sections[i]);
    pe_memory_give(diagnosis->work, diagnosis, 1, sizeof(*diagnosis));
}

/* ---- expected schemes ------------------------------------------------------------------------ */

bool pe_diagnosis_takes(const struct pe_scheme *scheme)
{
    const struct pe_encoding *encoding = scheme->encoding;
    const struct pe_waves *waves = pe_waves_of(scheme);

    if (!waves || !waves->frequencies)
        return false;
    if (encoding->rotary)
        return true;
    return pe_rows_are_free(encoding) && encoding->rows->sines &&
           encoding->rows->sines->column_pair &&
           (encoding->rows->width(scheme) + 1) / 2 - waves->pairs <= 1;
}

/* In the row of position 0 sines are 0 and cosines 1. */
const char *pe_diagnosis_columns(const struct pe_scheme *scheme, struct pe_work *work)
{
    static const char *const layouts[] = {
        "interleaved", "concatenated", "interleaved, cosines first", "concatenated, cosines first"};
    const struct pe_encoding *encoding = scheme->encoding;
    const struct pe_positions zero = {.count = 1};
    const struct pe_rows_part part = {&zero, 0, 1, PE_F64};
    const char *layout = NULL;
    struct pe_error err = {0};
    double *row;

    if (encoding->rotary || !pe_diagnosis_takes(scheme))
        return NULL;
    const size_t width = encoding->rows->width(scheme);
    row = pe_memory_take(work, width, sizeof(*row), "a row", &err);
    if (row && !encoding->rows->fill(scheme, &part, row, work, &err))
        layout = layouts[(row[0] != 0 ? 2 : 0) +
                         (encoding->rows->sines->column_pair(scheme, 1) != 0 ? 1 : 0)];
    pe_memory_give(work, row, width, sizeof(*row));
    return layout;
}

/* ---- another sample -------------------------------------------------------------------------- */

/* The rms of noise may be so many times as large or as small as the diagnosis's. */
#define NOISE_RATIO_MAX 4.0

/* Nanoseconds of predicting a value and measuring its error. */
#define ELEMENT_WORK 70.0

static enum pe_status held_check(const struct pe_diagnosis *diagnosis,
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

/* Measures a candidate on the sample into `trial`; `buffer` is [pairs]. False: the residuals are
 * over each of the allowed errors of verdict.c, with noise or without. */
static bool trial_measure(const struct pe_candidate *candidate, const struct pe_sample *sample,
                          double *buffer, struct pe_trial *trial, struct pe_fit *fit)
{
    *trial = (struct pe_trial){.candidate = candidate, .sample = sample};
    pe_residuals_measure(trial, buffer);
    return pe_trial_explains(trial, fit);
}

/* Does the sample fit in the way of the diagnosis? Without noise where that found noise is fine;
 * but where the bug was float32, the float32 errors must be visible here too. */
static bool is_alike(const struct pe_diagnosis *diagnosis, const struct pe_trial *trial,
                     const struct pe_fit *fit)
{
    const struct pe_trial *first = &diagnosis->trials[0];

    if (fit->allowance > diagnosis->allowance ||
        (first->bug == PE_BUG_FLOAT32_ANGLE && fit->allowance != diagnosis->allowance))
        return false;
    return !fit->noisy || (diagnosis->sample_noisy && trial->rms <= NOISE_RATIO_MAX * first->rms &&
                           first->rms <= NOISE_RATIO_MAX * trial->rms);
}

/* True if the sample is right although the diagnosis found a bug in another one. */
static bool is_right(const struct pe_diagnosis *diagnosis, const struct pe_sample *sample,
                     double *buffer)
{
    struct pe_fit fit;
    struct pe_trial trial;

    if (pe_verdict_is_good(diagnosis->sample_verdict) || sample->unexpected)
        return false;
    for (size_t i = 0; i < diagnosis->candidates_count; i++) {
        const struct pe_candidate *candidate = &diagnosis->candidates[i];
        if (candidate->bug == PE_BUG_NONE && candidate->is_expected &&
            trial_measure(candidate, sample, buffer, &trial, &fit) &&
            fit.allowance <= diagnosis->allowance && !fit.noisy)
            return true;
    }
    return false;
}

static enum pe_status sample_hold(const struct pe_diagnosis *diagnosis,
                                  const struct pe_sample *sample, struct pe_pool *pool,
                                  struct pe_work *work, double *buffer, struct pe_held *held,
                                  struct pe_error *err)
{
    struct pe_fit fit;
    struct pe_trial trial;
    const bool fits = trial_measure(diagnosis->trials[0].candidate, sample, buffer, &trial, &fit);
    const bool is_uninitialized = diagnosis->trials[0].bug == PE_BUG_UNINITIALIZED;

    held->verdict = PE_VERDICT_UNKNOWN;
    held->max_abs = trial.max_abs;
    held->rms = trial.rms;
    if (is_uninitialized) {
        held->fits = !fits && pe_sample_is_uninitialized(sample);
        held->verdict = held->fits ? PE_VERDICT_KNOWN_BUG : PE_VERDICT_UNKNOWN;
        return PE_OK;
    }
    if (diagnosis->sample_verdict == PE_VERDICT_UNKNOWN || !fits ||
        !is_alike(diagnosis, &trial, &fit) || is_right(diagnosis, sample, buffer))
        return PE_OK;
    trial.fits = held->fits = true;
    held->noisy = fit.noisy;
    if (pe_all_rows_test(&fit, &held->bad, pool, work, err))
        return err->status;
    if (held->bad.count == 0 || !pe_verdict_is_good(diagnosis->sample_verdict))
        held->verdict = diagnosis->sample_verdict;
    return PE_OK;
}

enum pe_status pe_diagnosis_hold(const struct pe_diagnosis *diagnosis,
                                 const struct pe_sample *sample, struct pe_pool *pool,
                                 struct pe_work *work, struct pe_held *held, struct pe_error *err)
{
    struct pe_sample copy;
    double *buffer;

    if (held->size != sizeof(*held))
        return pe_fail(err, PE_INVALID, "", "the size of what is held must be set");
    *held = (struct pe_held){.size = sizeof(*held)};
    if (pe_struct_read(&copy, sizeof(copy), sample, err) || held_check(diagnosis, &copy, err))
        return err->status;
    buffer = pe_memory_take(work, copy.pairs, sizeof(*buffer), "residuals", err);
    if (buffer && pe_spend(work, ELEMENT_WORK * (double)copy.rows * (double)copy.pairs, err))
        pe_memory_give(work, buffer, copy.pairs, sizeof(*buffer));
    if (!buffer || err->status)
        return err->status;
    sample_hold(diagnosis, &copy, pool, work, buffer, held, err);
    pe_memory_give(work, buffer, copy.pairs, sizeof(*buffer));
    return err->status;
}

/* ---- the outcome ----------------------------------------------------------------------------- */

const struct pe_bug_info *pe_bug_at(size_t index)
{
    return index < sizeof(infos) / sizeof(infos[0]) ? &infos[index] : NULL;
}

enum pe_verdict pe_diagnosis_verdict(const struct pe_diagnosis *diagnosis)
{
    return diagnosis->verdict;
}

bool pe_diagnosis_is_ambiguous(const struct pe_diagnosis *diagnosis)
{
    return diagnosis->ambiguous;
}

bool pe_diagnosis_is_noisy(const struct pe_diagnosis *diagnosis)
{
    return diagnosis->noisy;
}

const struct pe_bad_rows *pe_diagnosis_bad_rows(const struct pe_diagnosis *diagnosis)
{
    return diagnosis->bad.count > 0 ? &diagnosis->bad : NULL;
}

const char *pe_diagnosis_identical(const struct pe_diagnosis *diagnosis, size_t index)
{
    return index < diagnosis->identical_count ? diagnosis->identical[index] : NULL;
}

const struct pe_finding *pe_diagnosis_finding(const struct pe_diagnosis *diagnosis, size_t index)
{
    return index < diagnosis->trials_count ? &diagnosis->findings[index] : NULL;
}
