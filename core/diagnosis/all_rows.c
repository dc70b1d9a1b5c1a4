/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/diagnosis/diagnosis.h"
#include "core/tables/table_fill.h"

/* Checks every observed row against the candidate that explains the sampled ones: errors must
 * stay about as small as those of the sample. The values are also compared, bit for bit, with the
 * tables of the candidate's scheme. */

/* ---- bounds of errors ------------------------------------------------------------------------ */

/* The largest error of all values may exceed the largest of the sample so many times. */
#define MARGIN_ROUNDING 2.0
#define MARGIN_ANGLE    2.0
#define MARGIN_FRACTION 4.0

/* Rounding may hide errors of angles in a sample, up to so many allowed roundings. */
#define MARGIN_HIDDEN 4.0

/* How far a value may be from its prediction. */
struct bounds {
    const struct pe_trial *trial;
    int allowance;             /* PE_ALLOW_ */
    double fraction;           /* of the allowed error of an angle */
    double relative, absolute; /* rounding: a part of the value, and beside it */
    double least;              /* of values, where rounding scales with the magnitude of the pair */
    double noise;              /* absolute; 0: none */
    double smallest;           /* error of rounding a value that is nearly 0 */
};

/* One value of a row and its prediction. */
struct bounded {
    double error;         /* NaN: the value is NaN */
    double value;         /* predicted */
    double angle, spread; /* of the prediction, and the relative error of float32's */
    double scale;         /* from errors to noise of equal variance */
    double length;        /* of the pair before the rotation; 0: unknown */
};

static double angle_error_allowed(const struct bounds *bounds, double angle)
{
    return pe_angle_error_allowed(bounds->trial, bounds->allowance, angle) * bounds->trial->factor;
}

static double rounding(const struct bounds *bounds, double value)
{
    const double magnitude = fabs(value) > bounds->least ? fabs(value) : bounds->least;

    return bounds->relative * magnitude + bounds->absolute;
}

/* The error of float32 angles that rounding hides in the sample. */
static double hidden(const struct bounds *bounds, const struct bounded *value)
{
    const double most = MARGIN_HIDDEN * rounding(bounds, bounds->trial->factor);

    return fmin(value->spread * value->angle * bounds->trial->factor, most);
}

/* False for a NaN. */
static bool is_within(const struct bounds *bounds, const struct bounded *value)
{
    const double allowed = angle_error_allowed(bounds, value->angle);
    const double tiny = value->length > 0 ? bounds->smallest / value->length : 0;
    const double rounded = rounding(bounds, value->value) + tiny;
    const double noise = bounds->noise > 0 ? bounds->noise / value->scale : 0;
    const double angle = fmax(bounds->fraction * allowed, hidden(bounds, value));

    return value->error <= angle + (rounded > noise ? rounded : noise) ||
           (allowed > PE_ANGLE_ERROR_INFORMATIVE * bounds->trial->factor && !isnan(value->error));
}

/* The rows of the sample and their prediction. */
struct sample_errors {
    const struct bounds *bounds;
    const struct pe_sample *sample;
    struct pe_prediction prediction;
    double *cos, *sin; /* of one row */
};

/* Raises *fraction to the largest part of the allowed angle error that a row's values use, and adds
 * the squares of errors beyond the allowed one to *squares. */
static void row_measure(const struct sample_errors *errors, size_t row, double *fraction,
                        double *squares)
{
    const struct pe_sample *sample = errors->sample;

    pe_prediction_rows(&errors->prediction, row, 1, errors->cos, errors->sin);
    for (size_t i = 0; i < 2 * sample->pairs; i++) {
        const size_t pair = i / 2, at = row * sample->pairs + pair;
        const double *seen = i % 2 ? sample->sin : sample->cos;
        const double made = i % 2 ? errors->sin[pair] : errors->cos[pair];
        if (!seen || isnan(seen[at]))
            continue;
        const double error = fabs(seen[at] - made);
        const double allowed = angle_error_allowed(
            errors->bounds, pe_prediction_angle(&errors->prediction, row, pair));
        const double weight = sample->weight ? sample->weight[at] : 1;
        if (allowed > 0)
            *fraction = fmax(*fraction, (error - rounding(errors->bounds, made)) / allowed);
        if (error > allowed)
            *squares += weight * (error - allowed) * (error - allowed);
    }
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* *fraction over all sampled rows, and the rms of the errors of the median row, which is the noise
 * where most rows are good. */
static enum pe_status sample_measure(const struct sample_errors *errors, struct pe_work *work,
                                     double *fraction, double *rms, struct pe_error *err)
{
    const struct pe_sample *sample = errors->sample;
    const size_t parts = sample->cos && sample->sin ? 2 : 1;
    double *squares;

    if (sample->rows == 0)
        return PE_OK;
    squares = pe_memory_take(work, sample->rows, sizeof(*squares), "a diagnosis", err);
    if (!squares)
        return err->status;
    for (size_t row = 0; row < sample->rows; row++)
        row_measure(errors, row, fraction, &squares[row]);
    qsort(squares, sample->rows, sizeof(*squares), by_size);
    *rms = sqrt(squares[sample->rows / 2] / (double)(sample->pairs * parts));
    pe_memory_give(work, squares, sample->rows, sizeof(*squares));
    return PE_OK;
}

/* `of` is the prediction of all rows; `buffers` hold a row of cosines and one of sines. */
static enum pe_status bounds_make(struct bounds *bounds, const struct pe_fit *fit,
                                  const struct pe_prediction *of, double *const buffers[2],
                                  struct pe_work *work, struct pe_error *err)
{
    const struct pe_trial *trial = fit->trial;
    const struct pe_sample *sample = trial->sample;
    const struct pe_positions positions = {
        .values = sample->positions, .count = sample->rows, .axes = sample->axes};
    const double times = MARGIN_ROUNDING * pe_roundings_allowed(sample);
    const double least = pe_rounding_of(sample->precision, 0);
    struct sample_errors errors = {bounds, sample, *of, buffers[0], buffers[1]};
    double fraction = 0, rms = 0;

    errors.prediction.positions = &positions;
    errors.prediction.evenly_spaced = false;
    *bounds = (struct bounds){.trial = trial,
                              .allowance = fit->allowance,
                              .fraction = MARGIN_ANGLE,
                              .relative = times * (pe_rounding_of(sample->precision, 1) - least),
                              .absolute = times * (least + 0x1p-23 * trial->factor),
                              .least = sample->computed ? trial->factor : 0,
                              .smallest = times * least};
    if (sample_measure(&errors, work, &fraction, &rms, err))
        return err->status;
    if (!trial->fits)
        bounds->noise = pe_noise_of(rms, trial->factor);
    else if (fit->noisy)
        bounds->noise = pe_noise_allowed(trial, fit->allowance);
    else if (sample->precision <= PE_F32) /* coarser dtypes hide the errors of most angles */
        bounds->fraction = fmin(MARGIN_ANGLE, MARGIN_FRACTION * fraction);
    return PE_OK;
}

/* ---- a chunk of rows ------------------------------------------------------------------------- */

/* Elements of cos, or of sin, in a chunk; chunks in a block. */
enum { CHUNK = 2048, CHUNKS = 16 };

struct arithmetic {
    const char *name;
    const struct pe_frequencies *frequencies; /* NULL: the scheme has no such arithmetic */
    _Atomic bool differs;
};

struct check {
    struct pe_job job; /* first: a pointer to it points to the struct */
    const struct pe_sample *sample;
    struct pe_sample_rows rows;
    size_t chunk_rows, block_rows;
    struct bounds bounds;
    struct pe_prediction prediction;
    struct arithmetic arithmetics[PE_ARITHMETICS];
    const struct arithmetic *own; /* whose tables the prediction explains; NULL: none */
    struct pe_bad_rows *found;    /* [blocks] */
    struct pe_work *work;
    _Atomic bool failed; /* out of memory */
};

struct chunk {
    double *seen[2], *made[2]; /* cosines and sines */
    double *weight, *table[2];
    bool is_bad[CHUNK]; /* of each row, by any head */
};

enum { CHUNK_PARTS = 7 };

/* Columns that the table lacks are NaN in every row. */
static bool is_missing(const struct pe_sample *sample, bool is_sin, size_t pair)
{
    return isnan((is_sin ? sample->sin : sample->cos)[pair]);
}

static bool values_equal(const struct pe_sample *sample, bool is_sin, const double *seen,
                         const double *table, size_t rows)
{
    if (memcmp(seen, table, rows * sample->pairs * sizeof(*seen)) == 0)
        return true;
    for (size_t i = 0; i < rows * sample->pairs; i++)
        if (memcmp(&seen[i], &table[i], sizeof(*seen)) != 0 &&
            !is_missing(sample, is_sin, i % sample->pairs))
            return false;
    return true;
}

/* Are the rows equal to a table of that arithmetic? */
static bool chunk_equals(struct check *check, struct arithmetic *arithmetic,
                         const struct chunk *chunk, size_t begin, size_t rows, struct pe_error *err)
{
    const struct pe_sample *sample = check->sample;
    const enum pe_dtype dtype = sample->precision;
    const struct pe_table table = {.cos = sample->cos ? chunk->table[0] : NULL,
                                   .sin = sample->sin ? chunk->table[1] : NULL,
                                   .cos_count = sample->pairs,
                                   .sin_count = sample->pairs,
                                   .pair_step = 1,
                                   .row_size = sample->pairs * pe_dtype_info(dtype)->size};

    if (!arithmetic->frequencies || arithmetic->differs ||
        pe_table_fill(&table, arithmetic->frequencies, &check->rows.positions, begin, begin + rows,
                      PE_AMPLITUDE_FACTOR, dtype, check->work, err))
        return false;
    for (int part = 0; part < 2; part++) {
        if (!chunk->seen[part])
            continue;
        pe_to_f64(chunk->made[part], chunk->table[part], dtype, rows * sample->pairs);
        if (!values_equal(sample, part == 1, chunk->seen[part], chunk->made[part], rows)) {
            arithmetic->differs = true;
            return false;
        }
    }
    return true;
}

/* Finds the first bad value of a row, cosines first. False: there is none. */
static bool row_check(const struct check *check, const struct chunk *chunk, size_t begin,
                      size_t row, struct pe_bad_rows *bad)
{
    const struct pe_sample *sample = check->sample;

    for (int part = 0; part < 2; part++)
        for (size_t pair = 0; chunk->seen[part] && pair < sample->pairs; pair++) {
            const size_t at = row * sample->pairs + pair;
            const double seen = chunk->seen[part][at], made = chunk->made[part][at];
            const struct bounded value = {
                .error = fabs(seen - made),
                .value = made,
                .angle = pe_prediction_angle(&check->prediction, begin + row, pair),
                .spread = check->prediction.spread[pair],
                .scale = chunk->weight ? sqrt(chunk->weight[at]) : 1,
                .length = check->rows.unit > 0 ? sqrt(chunk->weight[at] / check->rows.unit) : 0};
            if (is_within(&check->bounds, &value) ||
                (isnan(seen) && (sample->computed || is_missing(sample, part == 1, pair))))
                continue;
            *bad = (struct pe_bad_rows){
                .pair = pair,
                .is_sin = part == 1,
                .position = pe_prediction_position(&check->prediction, begin + row, pair),
                .seen = seen,
                .predicted = made};
            return true;
        }
    return false;
}

/* Are the elements of a head that do not rotate unchanged? */
static bool is_unrotated(const struct check *check, size_t head, size_t row,
                         struct pe_bad_rows *bad)
{
    *bad = (struct pe_bad_rows){.position = pe_prediction_position(&check->prediction, row, 0)};
    return !check->rows.is_kept || check->rows.is_kept(check->rows.context, head, row, bad);
}

/* One head of the rows that are not bad yet. `first`: the first bad row so far, and their count. */
static void head_check(const struct check *check, struct chunk *chunk, size_t head, size_t begin,
                       size_t rows, struct pe_bad_rows *first)
{
    for (size_t row = 0; row < rows; row++) {
        struct pe_bad_rows bad;
        if (chunk->is_bad[row] || (!row_check(check, chunk, begin, row, &bad) &&
                                   is_unrotated(check, head, begin + row, &bad)))
            continue;
        chunk->is_bad[row] = true;
        bad.count = first->count + 1;
        bad.row = begin + row;
        if (first->count == 0 || bad.row < first->row)
            *first = bad;
        first->count = bad.count;
    }
}

static void rows_read(const struct check *check, const struct chunk *chunk, size_t head,
                      size_t begin, size_t rows)
{
    const struct pe_sample_rows *all = &check->rows;

    if (all->heads > 0)
        all->read_head(all->context, head, begin, rows, chunk->seen[0], chunk->seen[1],
                       chunk->weight);
    else
        all->read(all->context, begin, rows, chunk->seen[0], chunk->seen[1], chunk->weight);
}

/* Every head of a chunk whose first head is read already. PE_CANCELLED. */
static enum pe_status chunk_check(struct check *check, struct chunk *chunk, size_t begin,
                                  size_t rows, struct pe_bad_rows *found, struct pe_error *err)
{
    struct pe_bad_rows first = {0};

    memset(chunk->is_bad, 0, sizeof(chunk->is_bad));
    pe_prediction_rows(&check->prediction, begin, rows, chunk->made[0], chunk->made[1]);
    head_check(check, chunk, 0, begin, rows, &first);
    for (size_t head = 1; head < check->rows.heads; head++) {
        if (pe_work_check(check->work, err))
            return err->status;
        rows_read(check, chunk, head, begin, rows);
        head_check(check, chunk, head, begin, rows, &first);
    }
    if (found->count == 0)
        *found = first;
    else
        found->count += first.count;
    return PE_OK;
}

/* ---- all rows -------------------------------------------------------------------------------- */

static size_t chunk_size(const struct check *check)
{
    return CHUNK_PARTS * check->chunk_rows * check->sample->pairs;
}

static struct chunk chunk_of(const struct check *check, double *buffer)
{
    const struct pe_sample *sample = check->sample;
    const size_t some = check->chunk_rows * sample->pairs;

    return (struct chunk){
        .seen = {sample->cos ? buffer : NULL, sample->sin ? buffer + some : NULL},
        .made = {buffer + 2 * some, buffer + 3 * some},
        .table = {buffer + 4 * some, buffer + 5 * some},
        .weight = sample->weight ? buffer + 6 * some : NULL,
    };
}

static void rows_run(struct pe_job *job, size_t block)
{
    struct check *check = (struct check *)job;
    const size_t all = check->rows.positions.count, first = block * check->block_rows;
    const size_t end = pe_min(all, first + check->block_rows);
    struct pe_error err = {0};
    double *buffer = pe_memory_take(check->work, chunk_size(check), sizeof(*buffer), "rows", &err);

    for (size_t row = first; buffer && row < end && !err.status; row += check->chunk_rows) {
        const size_t rows = pe_min(check->chunk_rows, end - row);
        struct chunk chunk = chunk_of(check, buffer);
        bool explained = false;
        if (pe_work_check(check->work, &err))
            break;
        rows_read(check, &chunk, 0, row, rows);
        for (size_t i = 0; i < PE_ARITHMETICS; i++)
            if (chunk_equals(check, &check->arithmetics[i], &chunk, row, rows, &err) &&
                &check->arithmetics[i] == check->own)
                explained = true;
        if (!explained)
            chunk_check(check, &chunk, row, rows, &check->found[block], &err);
    }
    if (err.status)
        check->failed = true;
    pe_memory_give(check->work, buffer, chunk_size(check), sizeof(*buffer));
}

/* `read` of a sample that is complete by itself. */
static void sample_read(const void *context, size_t begin, size_t rows, double *cos, double *sin,
                        double *weight)
{
    const struct pe_sample *sample = context;
    const size_t at = begin * sample->pairs, size = rows * sample->pairs * sizeof(double);

    if (cos)
        memcpy(cos, sample->cos + at, size);
    if (sin)
        memcpy(sin, sample->sin + at, size);
    if (weight)
        memcpy(weight, sample->weight + at, size);
}

static void found_join(const struct check *check, struct pe_bad_rows *bad)
{
    *bad = (struct pe_bad_rows){0};
    for (size_t i = 0; i < check->job.blocks; i++) {
        const size_t count = bad->count;
        if (count == 0)
            *bad = check->found[i];
        else
            bad->count = count + check->found[i].count;
    }
}

static void verdict_correct(struct pe_diagnosis *diagnosis, const struct check *check)
{
    for (size_t i = 0; i < PE_ARITHMETICS; i++)
        if (check->arithmetics[i].frequencies && !check->arithmetics[i].differs)
            diagnosis->identical[diagnosis->identical_count++] = check->arithmetics[i].name;
    if (diagnosis->bad.count == 0 || !pe_verdict_is_good(diagnosis->verdict))
        return;
    diagnosis->verdict = PE_VERDICT_UNKNOWN;
    diagnosis->ambiguous = diagnosis->noisy = false;
    for (size_t i = 0; i < diagnosis->trials_count; i++)
        diagnosis->trials[i].fits = false;
}

/* A list of frequencies is compared with those of each arithmetic. */
static void frequencies_compare(struct check *check)
{
    const struct pe_sample *sample = check->sample;

    for (size_t i = 0; i < PE_ARITHMETICS; i++)
        for (size_t pair = 0; check->arithmetics[i].frequencies && pair < sample->pairs; pair++) {
            uint64_t bits;
            double w;
            pe_frequencies_write(check->arithmetics[i].frequencies, pair, sample->precision, &bits,
                                 NULL);
            pe_to_f64(&w, &bits, sample->precision, 1);
            if (w != sample->frequencies[pair])
                check->arithmetics[i].differs = true;
        }
}

/* The scheme of the first trial in both arithmetics. */
static enum pe_status arithmetics_make(struct check *check, struct pe_diagnosis *diagnosis,
                                       struct pe_error *err)
{
    static const char *const names[PE_ARITHMETICS] = {"exact", "hf"};
    const struct pe_trial *trial = &diagnosis->trials[0];
    const struct pe_scheme *scheme = trial->candidate->scheme;

    for (size_t i = 0; i < PE_ARITHMETICS; i++) {
        struct arithmetic *arithmetic = &check->arithmetics[i];
        const bool is_own = trial->is_float32 == (i == 1);
        char change[40] = "arithmetic=";
        arithmetic->name = names[i];
        if (check->sample->computed || check->sample->axes > 1)
            continue;
        const struct pe_scheme *variant =
            is_own ? scheme
                   : pe_candidate_variant(diagnosis, scheme, strcat(change, arithmetic->name));
        if (variant && !is_own &&
            pe_scheme_prepare(diagnosis->schemes[diagnosis->schemes_count - 1], check->work, err))
            return err->status;
        arithmetic->frequencies = variant ? pe_scheme_frequencies(variant) : NULL;
        if (is_own && trial->bug == PE_BUG_NONE)
            check->own = arithmetic;
    }
    return pe_candidates_check(diagnosis, err);
}

static enum pe_status rows_check(struct check *check, const struct pe_fit *fit,
                                 struct pe_bad_rows *bad, struct pe_pool *pool,
                                 struct pe_error *err)
{
    const size_t pairs = check->sample->pairs, rows = check->rows.positions.count;
    double *steps = pe_memory_take(check->work, PE_PREDICTION_BUFFERS * pairs, sizeof(*steps),
                                   "a diagnosis", err);
    double *buffer = NULL;

    check->chunk_rows = pairs < CHUNK ? CHUNK / pairs : 1;
    check->block_rows = CHUNKS * check->chunk_rows;
    check->job = (struct pe_job){.run = rows_run,
                                 .blocks = (rows + check->block_rows - 1) / check->block_rows,
                                 .work = check->work};
    check->found =
        pe_memory_take(check->work, check->job.blocks, sizeof(*check->found), "a diagnosis", err);
    if (steps && check->found)
        buffer =
            pe_memory_take(check->work, chunk_size(check), sizeof(*buffer), "a diagnosis", err);
    if (buffer) {
        const struct chunk chunk = chunk_of(check, buffer);
        pe_prediction_begin(&check->prediction, fit->trial, &check->rows.positions, steps);
        bounds_make(&check->bounds, fit, &check->prediction, chunk.made, check->work, err);
    }
    if (!err->status && pe_pool_run(pool, &check->job) && !check->failed)
        found_join(check, bad);
    else if (!err->status && !pe_work_check(check->work, err))
        pe_no_memory(err, "a diagnosis");
    pe_memory_give(check->work, buffer, chunk_size(check), sizeof(*buffer));
    pe_memory_give(check->work, check->found, check->job.blocks, sizeof(*check->found));
    pe_memory_give(check->work, steps, PE_PREDICTION_BUFFERS * pairs, sizeof(*steps));
    return err->status;
}

double pe_diagnosis_rows_work(size_t rows, size_t pairs, enum pe_dtype dtype)
{
    const double element = dtype == PE_F64 ? 250 : 10;

    return element * (double)rows * (double)pairs;
}

/* All rows of a sample: sample->all, or its own. */
static enum pe_status rows_of(const struct pe_sample *sample, struct pe_sample_rows *rows,
                              struct pe_error *err)
{
    if (sample->all)
        return pe_struct_read(rows, sizeof(*rows), sample->all, err);
    *rows = (struct pe_sample_rows){
        .positions = {.values = sample->positions, .count = sample->rows, .axes = sample->axes},
        .read = sample_read,
        .context = sample};
    return PE_OK;
}

static enum pe_status rows_spend(const struct check *check, struct pe_error *err)
{
    const size_t heads = check->rows.heads > 0 ? check->rows.heads : 1;

    return pe_spend(check->work,
                    pe_diagnosis_rows_work(heads * check->rows.positions.count,
                                           check->sample->pairs, check->sample->precision),
                    err);
}

enum pe_status pe_all_rows_check(struct pe_diagnosis *diagnosis, struct pe_pool *pool,
                                 struct pe_error *err)
{
    const struct pe_fit fit = {diagnosis->trials, diagnosis->allowance, diagnosis->noisy};
    const struct pe_sample *sample =
        diagnosis->trials_count > 0 ? diagnosis->trials[0].sample : NULL;
    struct check check = {.sample = sample, .work = diagnosis->work};

    diagnosis->sample_verdict = diagnosis->verdict;
    diagnosis->sample_noisy = diagnosis->noisy;
    if (!sample || diagnosis->trials[0].bug == PE_BUG_UNINITIALIZED)
        return PE_OK;
    if (rows_of(sample, &check.rows, err) || arithmetics_make(&check, diagnosis, err) ||
        rows_spend(&check, err))
        return err->status;
    if (sample->frequencies)
        frequencies_compare(&check);
    else if (rows_check(&check, &fit, &diagnosis->bad, pool, err))
        return err->status;
    verdict_correct(diagnosis, &check);
    return PE_OK;
}

enum pe_status pe_all_rows_test(const struct pe_fit *fit, struct pe_bad_rows *bad,
                                struct pe_pool *pool, struct pe_work *work, struct pe_error *err)
{
    struct check check = {.sample = fit->trial->sample, .work = work};

    return rows_of(check.sample, &check.rows, err) || rows_spend(&check, err)
               ? err->status
               : rows_check(&check, fit, bad, pool, err);
}
