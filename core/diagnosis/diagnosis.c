/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/diagnosis.h"
#include "core/base/fail.h"
#include "core/base/memory.h"
#include "core/base/spend.h"
#include "core/base/text.h"

static const struct pe_bug_info infos[] = {
#define BUG(name, code, explanation, fix) {code, explanation, fix},
#include "core/diagnosis/bugs.def"
#undef BUG
};

const struct pe_bug_info *pe_bug_info(enum pe_bug bug)
{
    return bug == PE_BUG_NONE ? NULL : &infos[bug - 1];
}

/* ---- the work ------------------------------------------------------------------------------- */

struct inquiry {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    struct pe_diagnosis *diagnosis;
    struct pe_sample *samples;
    size_t samples_count;
    struct pe_trial *trials; /* [suspects][samples] */
    struct pe_work *work;
    _Atomic bool failed; /* for want of memory */
};

static void scheme_run(struct pe_job *job, size_t block)
{
    struct inquiry *inquiry = (struct inquiry *)job;
    struct pe_error err = {0};

    if (pe_scheme_prepare(inquiry->diagnosis->schemes[block], inquiry->work, &err))
        inquiry->failed = true;
}

static void suspect_run(struct pe_job *job, size_t block)
{
    struct inquiry *inquiry = (struct inquiry *)job;
    const struct pe_suspect *suspect = &inquiry->diagnosis->suspects[block];
    const size_t pairs = inquiry->samples->pairs;
    struct pe_error err = {0};
    double *room = pe_memory_take(inquiry->work, pairs, sizeof(*room), "residuals", &err);

    for (size_t i = 0; room && i < inquiry->samples_count; i++) {
        const struct pe_sample *sample = &inquiry->samples[i];
        struct pe_trial *trial = &inquiry->trials[block * inquiry->samples_count + i];
        *trial = (struct pe_trial){.suspect = suspect, .sample = sample};
        pe_residuals_measure(trial, room);
        if (sample->unexpected && trial->bug == PE_BUG_NONE)
            trial->bug = sample->absolute ? PE_BUG_COLUMNS_SWAPPED : PE_BUG_LAYOUT_SWAPPED;
    }
    if (!room)
        inquiry->failed = true;
    pe_memory_give(inquiry->work, room, pairs, sizeof(*room));
}

static size_t trials_count(const struct inquiry *inquiry)
{
    return inquiry->samples_count * inquiry->diagnosis->suspects_count;
}

static bool inquiry_run(struct inquiry *inquiry, struct pe_pool *pool, struct pe_error *err)
{
    const struct pe_diagnosis *diagnosis = inquiry->diagnosis;

    inquiry->job = (struct pe_job){
        .run = scheme_run, .blocks = diagnosis->schemes_count, .work = inquiry->work};
    if (!pe_pool_run(pool, &inquiry->job) || inquiry->failed)
        return false;
    inquiry->trials = pe_memory_take(inquiry->work, trials_count(inquiry), sizeof(*inquiry->trials),
                                     "a diagnosis", err);
    if (!inquiry->trials)
        return false;
    inquiry->job = (struct pe_job){
        .run = suspect_run, .blocks = diagnosis->suspects_count, .work = inquiry->work};
    return pe_pool_run(pool, &inquiry->job) && !inquiry->failed;
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
    if (sample->rows > 0 &&
        (sample->frequencies || !sample->positions || (!sample->cos && !sample->sin)))
        return pe_fail(err, PE_MISSING, "",
                       "a sample has rows with positions and cos, sin or both, or else frequencies "
                       "and no rows");
    return PE_OK;
}

/* Copies of the samples, which lie as far apart as their user's struct is long. */
static enum pe_status samples_read(struct inquiry *inquiry, const struct pe_sample *samples,
                                   size_t count, struct pe_error *err)
{
    if (count == 0)
        return pe_fail(err, PE_INVALID, "", "a diagnosis needs one sample at least");
    inquiry->samples =
        pe_memory_take(inquiry->work, count, sizeof(*inquiry->samples), "the samples", err);
    if (!inquiry->samples)
        return err->status;
    inquiry->samples_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct pe_sample *given = sample_given(samples, i);
        if (pe_struct_read(&inquiry->samples[i], sizeof(*samples), given, err) ||
            sample_check(&inquiry->samples[i], inquiry->samples, err))
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

/* The part of each trial that its user sees. */
static void findings_tell(struct pe_diagnosis *diagnosis, const struct inquiry *inquiry,
                          const struct pe_sample *samples)
{
    for (size_t i = 0; i < diagnosis->trials_count; i++) {
        const struct pe_trial *trial = &diagnosis->trials[i];
        diagnosis->findings[i] = (struct pe_finding){
            .scheme = trial->suspect->scheme,
            .sample = sample_given(samples, (size_t)(trial->sample - inquiry->samples)),
            .bug = pe_bug_info(trial->bug),
            .fits = trial->fits,
            .max_abs = trial->max_abs,
            .max_ulp = trial->max_ulp,
            .rms = trial->rms,
            .is_near = trial->is_near};
    }
}

/* Nanoseconds, about: the schemes that are tried are made for each pair, and their values for each
 * element. */
double pe_diagnosis_work(size_t rows, size_t pairs)
{
    enum { PAIR = 400000, ELEMENT = 20000 };

    return (double)pairs * (PAIR + ELEMENT * (double)rows);
}

enum pe_status pe_diagnose(struct pe_diagnosis **out, const struct pe_scheme *expected,
                           const struct pe_sample *samples, size_t count, struct pe_pool *pool,
                           struct pe_work *work, struct pe_error *err)
{
    struct pe_diagnosis *diagnosis;
    struct inquiry inquiry = {.work = work};

    *out = NULL;
    diagnosis = inquiry.diagnosis = pe_memory_take(work, 1, sizeof(*diagnosis), "a diagnosis", err);
    if (!diagnosis)
        return err->status;
    diagnosis->work = work;
    if (samples_read(&inquiry, samples, count, err) || expected_check(expected, err) ||
        pe_spend(work, pe_diagnosis_work(inquiry.samples->rows, inquiry.samples->pairs), err)) {
        pe_memory_give(work, inquiry.samples, count, sizeof(*inquiry.samples));
        pe_diagnosis_free(diagnosis);
        return err->status;
    }
    pe_suspects_list(diagnosis, expected, inquiry.samples, count, err);
    if (!err->status && inquiry_run(&inquiry, pool, err)) {
        pe_trials_judge(diagnosis, inquiry.trials, diagnosis->suspects_count * count,
                        expected != NULL);
    } else {
        if (!err->status && !pe_work_check(work, err))
            pe_no_memory(err, "a diagnosis");
    }
    if (!err->status && !pe_whole_look(diagnosis, pool, err)) {
        findings_tell(diagnosis, &inquiry, samples);
        *out = diagnosis;
    }
    pe_memory_give(work, inquiry.trials, trials_count(&inquiry), sizeof(*inquiry.trials));
    pe_memory_give(work, inquiry.samples, count, sizeof(*inquiry.samples));
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
    pe_memory_give(diagnosis->work, diagnosis, 1, sizeof(*diagnosis));
}

/* ---- the public face ------------------------------------------------------------------------- */

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
