/* SPDX-License-Identifier: MIT */
#include "core/diagnosis/diagnosis.h"

#include <math.h>
#include <stdlib.h>

#include "core/tables/frequencies.h"

/* An explanation fits cleanly if no error is larger than so many roundings of one value, or of a
 * value that several operations made. */
#define ROUNDINGS_ONE     2.5
#define ROUNDINGS_SEVERAL 8.0

/* It fits up to noise if what is left is small, and looks like noise: no value far outside of the
 * others, and not of the form that a wrong frequency or a wrong factor would give it. */
#define NOISE_MOST    0x1p-7
#define NOISE_OUTLIER 10.0
#define NOISE_FORM    0.5
#define NOISE_QUIET   32

/* One explanation is better than another if what was seen is e^16 times as likely under it, with
 * errors as large as the best one leaves. */
#define DECISIVE 16.0
#define NEARLY   3.0

/* Mean squares that any explanation leaves: of what one rounding explains, and of noise. */
#define SQUARE_CLEAN (1.0 / 3)
#define SQUARE_NOISE 0x1p-60

/* Where nothing is expected, a mistake must explain noise so much better than any scheme without
 * it: most schemes are in no list, and many are near to one that is. */
#define MISTAKE_BETTER 0.35

static const struct pe_bug_info infos[] = {
#define BUG(name, code, explanation, fix) {code, explanation, fix},
#include "core/diagnosis/bugs.def"
#undef BUG
};

const struct pe_bug_info *pe_bug_info(enum pe_bug bug)
{
    return bug == PE_BUG_NONE ? NULL : &infos[bug - 1];
}

/* ---- what fits ------------------------------------------------------------------------------ */

/* What is decided by: with which errors of angles granted, and whether with noise. */
struct stage {
    int grant;
    bool noisy;
};

static double noise_of(const struct pe_residual *residual)
{
    return residual->count > 0 ? sqrt(residual->noise_squares / (double)residual->count) : 0;
}

static bool is_noise(const struct pe_finding *finding, struct stage stage)
{
    const struct pe_residual *residual = &finding->residuals[stage.grant];
    const double all = noise_of(residual);
    const double quiet = finding->quiet_count < NOISE_QUIET
                             ? all
                             : sqrt(finding->quiet_squares / (double)finding->quiet_count);
    const double scale = fmax(finding->factor, 1);

    return all <= NOISE_MOST * scale &&
           (finding->structure < NOISE_FORM || stage.grant == PE_GRANT_FLOAT32) &&
           residual->noise_most <= NOISE_OUTLIER * fmax(quiet, 0x1p-24 * scale);
}

static bool is_fit(const struct pe_finding *finding, struct stage stage)
{
    const struct pe_residual *residual = &finding->residuals[stage.grant];
    const size_t seen = finding->residuals[PE_GRANT_HARMLESS].count;

    if (!finding->is_possible || residual->count == 0 || residual->count < seen / 8 ||
        (stage.grant == PE_GRANT_FLOAT32 && finding->far_most <= 0))
        return false;
    if (stage.noisy)
        return is_noise(finding, stage);
    return residual->clean_excess <=
           (finding->reading->computed ? ROUNDINGS_SEVERAL : ROUNDINGS_ONE);
}

static double squares_of(const struct pe_finding *finding, struct stage stage)
{
    const struct pe_residual *residual = &finding->residuals[stage.grant];

    if (stage.grant == PE_GRANT_FLOAT32)
        return residual->likelihood;
    return stage.noisy ? residual->noise_squares
                       : fmax(residual->clean_squares, SQUARE_CLEAN * (double)residual->count);
}

/* How much less likely one explanation is than the best, as a logarithm. */
static double distance(const struct pe_finding *finding, const struct pe_finding *best,
                       struct stage stage)
{
    const double count = (double)best->residuals[stage.grant].count;
    const double least = stage.noisy ? SQUARE_NOISE : SQUARE_CLEAN;
    const double square =
        stage.grant == PE_GRANT_FLOAT32 ? 1 : fmax(squares_of(best, stage) / count, least);

    return (squares_of(finding, stage) - squares_of(best, stage)) / (2 * square);
}

/* ---- the verdict ---------------------------------------------------------------------------- */

/* What explains equally well is believed in that order. Two mistakes at once are none that is
 * known. */
enum rank { RANK_MATCH, RANK_BUG, RANK_OTHER, RANK_MEASURED, RANK_NONE };

static enum rank rank_of(const struct pe_finding *finding, bool anything_expected)
{
    const struct pe_suspect *suspect = finding->suspect;
    const bool is_plain = suspect->bug == PE_BUG_NONE;
    const bool is_asked = suspect->is_expected || !anything_expected;

    if (finding->reading->unexpected)
        return is_plain && is_asked && !suspect->is_measured ? RANK_BUG : RANK_NONE;
    if (suspect->is_measured)
        return is_plain ? RANK_MEASURED : RANK_NONE;
    if (!is_asked)
        return is_plain ? RANK_OTHER : RANK_NONE;
    return is_plain ? RANK_MATCH : RANK_BUG;
}

static enum pe_verdict verdict_of(const struct pe_finding *finding, bool anything_expected)
{
    const enum rank rank = rank_of(finding, anything_expected);

    if (finding->bug != PE_BUG_NONE)
        return PE_VERDICT_KNOWN_BUG;
    return rank == RANK_MATCH || (rank == RANK_MEASURED && !anything_expected)
               ? PE_VERDICT_MATCH
               : PE_VERDICT_OTHER_SCHEME;
}

struct jury {
    struct pe_finding *findings;
    size_t count;
    bool anything_expected;
    struct stage stage;
    const struct pe_finding *best; /* of those that fit */
};

/* The best that explains it without any mistake, whether it fits or not. */
static double plain_rms(const struct jury *jury)
{
    double rms = INFINITY;

    for (size_t i = 0; i < jury->count; i++)
        if (jury->findings[i].is_possible && jury->findings[i].bug == PE_BUG_NONE)
            rms = fmin(rms, jury->findings[i].rms);
    return rms;
}

static void fits_mark(struct jury *jury)
{
    const double most =
        jury->stage.noisy && !jury->anything_expected ? MISTAKE_BETTER * plain_rms(jury) : INFINITY;

    jury->best = NULL;
    for (size_t i = 0; i < jury->count; i++) {
        struct pe_finding *finding = &jury->findings[i];
        finding->fits = rank_of(finding, jury->anything_expected) != RANK_NONE &&
                        is_fit(finding, jury->stage) &&
                        (finding->bug == PE_BUG_NONE || finding->rms <= most);
        if (finding->fits &&
            (!jury->best || squares_of(finding, jury->stage) < squares_of(jury->best, jury->stage)))
            jury->best = finding;
    }
}

/* The first in rank among those that are as likely as the best; in that rank the first in the list
 * that is nearly as likely as any. */
static struct pe_finding *chosen(const struct jury *jury)
{
    const struct pe_finding *likeliest = NULL;
    enum rank rank = RANK_NONE;

    for (size_t i = 0; i < jury->count; i++) {
        const struct pe_finding *finding = &jury->findings[i];
        const enum rank its = rank_of(finding, jury->anything_expected);
        if (finding->fits && distance(finding, jury->best, jury->stage) < DECISIVE &&
            (its < rank || (its == rank && squares_of(finding, jury->stage) <
                                               squares_of(likeliest, jury->stage)))) {
            likeliest = finding;
            rank = its;
        }
    }
    for (size_t i = 0; i < jury->count; i++)
        if (jury->findings[i].fits &&
            rank_of(&jury->findings[i], jury->anything_expected) == rank &&
            distance(&jury->findings[i], likeliest, jury->stage) < NEARLY)
            return &jury->findings[i];
    return NULL;
}

static bool same_scheme(const struct pe_scheme *a, const struct pe_scheme *b,
                        const struct pe_reading *reading)
{
    for (size_t pair = 0; pair < reading->pairs; pair++) {
        const double x = pe_frequencies_near(a->frequencies, pair);
        const double y = pe_frequencies_near(b->frequencies, pair);
        if (fabs(x - y) > 1e-9 * x)
            return false;
    }
    return reading->frequencies ||
           fabs(pe_frequencies_amplitude(a->frequencies, PE_AMPLITUDE_FACTOR) -
                pe_frequencies_amplitude(b->frequencies, PE_AMPLITUDE_FACTOR)) < 1e-9;
}

static bool same_distortion(const struct pe_distortion *a, const struct pe_distortion *b)
{
    return a->frequencies == b->frequencies && a->positions == b->positions &&
           a->angles == b->angles && a->shift == b->shift && a->factors == b->factors &&
           a->half_minus_one == b->half_minus_one && a->backwards == b->backwards;
}

/* Do two findings say the same in other words? */
static bool is_same(const struct pe_finding *a, const struct pe_finding *b)
{
    const struct pe_suspect *x = a->suspect, *y = b->suspect;

    return a->reading == b->reading && same_distortion(&x->distortion, &y->distortion) &&
           (x->scheme == y->scheme || same_scheme(x->scheme, y->scheme, a->reading));
}

static int by_squares(const void *a, const void *b)
{
    const struct pe_finding *x = a, *y = b;

    if (x->fits != y->fits)
        return x->fits ? -1 : 1;
    return x->rms < y->rms ? -1 : x->rms > y->rms;
}

/* Is it among the findings that are kept already, or at least its mistake? */
static bool is_kept(const struct pe_diagnosis *diagnosis, const struct pe_finding *finding)
{
    for (size_t i = 0; i < diagnosis->findings_count; i++) {
        const struct pe_finding *kept = &diagnosis->findings[i];
        if (is_same(kept, finding) || (kept->bug != PE_BUG_NONE && kept->bug == finding->bug))
            return true;
    }
    return false;
}

/* The one that the verdict is about, then the others that explain as much, then the nearest. */
static void findings_keep(struct pe_diagnosis *diagnosis, const struct jury *jury,
                          const struct pe_finding *choice)
{
    for (size_t i = 0; i < jury->count; i++)
        jury->findings[i].fits = jury->findings[i].fits &&
                                 distance(&jury->findings[i], jury->best, jury->stage) < DECISIVE;
    if (choice)
        diagnosis->findings[diagnosis->findings_count++] = *choice;
    qsort(jury->findings, jury->count, sizeof(*jury->findings), by_squares);
    for (size_t i = 0; i < jury->count; i++) {
        const struct pe_finding *finding = &jury->findings[i];
        if (diagnosis->findings_count == PE_FINDINGS_MAX || !finding->is_possible ||
            rank_of(finding, jury->anything_expected) == RANK_NONE || is_kept(diagnosis, finding))
            continue;
        diagnosis->ambiguous = diagnosis->ambiguous || finding->fits;
        diagnosis->findings[diagnosis->findings_count++] = *finding;
    }
}

static void judge(struct pe_diagnosis *diagnosis, struct pe_finding *findings, size_t count,
                  bool anything_expected)
{
    static const struct stage stages[] = {{PE_GRANT_HARMLESS, false},
                                          {PE_GRANT_HARMLESS, true},
                                          {PE_GRANT_FLOAT32, false},
                                          {PE_GRANT_FLOAT32, true}};
    struct jury jury = {findings, count, anything_expected, stages[0], NULL};
    struct pe_finding *choice = NULL;

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]) && !jury.best; i++) {
        jury.stage = stages[i];
        fits_mark(&jury);
    }
    diagnosis->verdict = PE_VERDICT_UNKNOWN;
    if (jury.best) {
        choice = chosen(&jury);
        if (jury.stage.grant == PE_GRANT_FLOAT32 && choice->bug == PE_BUG_NONE)
            choice->bug = PE_BUG_FLOAT32_ANGLE;
        diagnosis->verdict = verdict_of(choice, anything_expected);
        diagnosis->noisy = jury.stage.noisy;
    }
    findings_keep(diagnosis, &jury, choice);
}

/* ---- the work ------------------------------------------------------------------------------- */

struct work {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    struct pe_diagnosis *diagnosis;
    const struct pe_reading *readings;
    size_t readings_count;
    struct pe_finding *findings; /* [suspects][readings] */
    _Atomic bool failed;         /* for want of memory */
};

static void scheme_run(struct pe_job *job, size_t block)
{
    struct work *work = (struct work *)job;
    struct pe_error err = {0};

    if (pe_scheme_prepare(work->diagnosis->schemes[block], &err))
        work->failed = true;
}

static void suspect_run(struct pe_job *job, size_t block)
{
    struct work *work = (struct work *)job;
    const struct pe_suspect *suspect = &work->diagnosis->suspects[block];
    double *room = malloc((work->readings->pairs + 1) * sizeof(*room));

    for (size_t i = 0; room && i < work->readings_count; i++) {
        const struct pe_reading *reading = &work->readings[i];
        struct pe_finding *finding = &work->findings[block * work->readings_count + i];
        *finding = (struct pe_finding){.suspect = suspect, .reading = reading};
        pe_residuals_measure(finding, room);
        if (reading->unexpected && finding->bug == PE_BUG_NONE)
            finding->bug = reading->absolute ? PE_BUG_COLUMNS_SWAPPED : PE_BUG_LAYOUT_SWAPPED;
    }
    if (!room)
        work->failed = true;
    free(room);
}

static bool work_do(struct work *work, struct pe_pool *pool)
{
    const struct pe_diagnosis *diagnosis = work->diagnosis;

    work->job = (struct pe_job){.run = scheme_run, .blocks = diagnosis->schemes_count};
    pe_pool_run(pool, &work->job);
    if (work->failed)
        return false;
    work->findings =
        calloc(work->readings_count * diagnosis->suspects_count + 1, sizeof(*work->findings));
    if (!work->findings)
        return false;
    work->job = (struct pe_job){.run = suspect_run, .blocks = diagnosis->suspects_count};
    pe_pool_run(pool, &work->job);
    return !work->failed;
}

enum pe_status pe_diagnose(struct pe_diagnosis **out, const struct pe_scheme *expected,
                           const struct pe_reading *readings, size_t count, struct pe_pool *pool,
                           struct pe_error *err)
{
    struct pe_diagnosis *diagnosis = calloc(1, sizeof(*diagnosis));
    struct work work = {.diagnosis = diagnosis, .readings = readings, .readings_count = count};
    bool done;

    *out = NULL;
    if (!diagnosis)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a diagnosis");
    pe_suspects_list(diagnosis, expected, readings);
    done = work_do(&work, pool);
    if (done) {
        judge(diagnosis, work.findings, diagnosis->suspects_count * count, expected != NULL);
        *out = diagnosis;
    } else {
        pe_diagnosis_free(diagnosis);
    }
    free(work.findings);
    return done ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a diagnosis");
}

void pe_diagnosis_free(struct pe_diagnosis *diagnosis)
{
    for (size_t i = 0; diagnosis && i < diagnosis->schemes_count; i++)
        pe_scheme_free(diagnosis->schemes[i]);
    free(diagnosis);
}
