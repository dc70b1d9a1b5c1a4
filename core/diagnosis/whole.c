/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/base/fail.h"
#include "core/base/least.h"
#include "core/base/memory.h"
#include "core/base/spend.h"
#include "core/diagnosis/diagnosis.h"
#include "core/tables/bulk.h"

/* Every row of what was observed, against the explanation that was found of some of them: whether
 * errors stay as small as in those, and whether the values are, bit for bit, those of the scheme's
 * own tables. */

/* Elements of cos, or of sin, that are looked at together, and how often that is done in a row. */
enum { CHUNK = 2048, CHUNKS = 16 };

struct arithmetic {
    const char *name;
    const struct pe_frequencies *frequencies; /* NULL: the scheme is not made in it */
    _Atomic bool apart;
};

struct whole {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    const struct pe_sample *sample;
    struct pe_sample_rows rows;
    size_t chunk_rows, block_rows;
    struct pe_bounds bounds;
    struct pe_prediction prediction;
    struct arithmetic arithmetics[PE_ARITHMETICS];
    const struct arithmetic *own; /* the one whose values the prediction explains */
    struct pe_bad_rows *found;    /* [blocks] */
    struct pe_work *work;
    _Atomic bool failed;
};

/* Memory of a chunk. */
struct chunk {
    double *seen[2], *made[2]; /* cosines and sines */
    double *weight, *table[2];
    bool is_bad[CHUNK]; /* of each row, by any head */
};

enum { CHUNK_PARTS = 7 };

/* ---- a chunk -------------------------------------------------------------------------------- */

/* Columns that a table does not have are NaN in every row. */
static bool is_missing(const struct pe_sample *sample, bool is_sin, size_t pair)
{
    return isnan((is_sin ? sample->sin : sample->cos)[pair]);
}

static bool values_same(const struct pe_sample *sample, bool is_sin, const double *seen,
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

/* Are rows those of a table of that arithmetic? */
static bool chunk_same(struct whole *whole, struct arithmetic *arithmetic,
                       const struct chunk *chunk, size_t begin, size_t rows, struct pe_error *err)
{
    const struct pe_sample *sample = whole->sample;
    const enum pe_dtype dtype = sample->precision;
    const struct pe_table table = {.cos = sample->cos ? chunk->table[0] : NULL,
                                   .sin = sample->sin ? chunk->table[1] : NULL,
                                   .cos_count = sample->pairs,
                                   .sin_count = sample->pairs,
                                   .pair_step = 1,
                                   .row_size = sample->pairs * pe_dtype_info(dtype)->size};

    if (!arithmetic->frequencies || arithmetic->apart ||
        pe_table_fill(&table, arithmetic->frequencies, &whole->rows.positions, begin, begin + rows,
                      PE_AMPLITUDE_FACTOR, dtype, whole->work, err))
        return false;
    for (int part = 0; part < 2; part++) {
        if (!chunk->seen[part])
            continue;
        pe_to_f64(chunk->made[part], chunk->table[part], dtype, rows * sample->pairs);
        if (!values_same(sample, part == 1, chunk->seen[part], chunk->made[part], rows)) {
            arithmetic->apart = true;
            return false;
        }
    }
    return true;
}

/* The first bad value of a row, cosines first. False: there is none. */
static bool row_judge(const struct whole *whole, const struct chunk *chunk, size_t begin,
                      size_t row, struct pe_bad_rows *bad)
{
    const struct pe_sample *sample = whole->sample;

    for (int part = 0; part < 2; part++)
        for (size_t pair = 0; chunk->seen[part] && pair < sample->pairs; pair++) {
            const size_t at = row * sample->pairs + pair;
            const double seen = chunk->seen[part][at], made = chunk->made[part][at];
            const struct pe_bounded value = {
                .error = fabs(seen - made),
                .value = made,
                .angle = pe_prediction_angle(&whole->prediction, begin + row, pair),
                .spread = whole->prediction.spread[pair],
                .scale = chunk->weight ? sqrt(chunk->weight[at]) : 1,
                .length = whole->rows.unit > 0 ? sqrt(chunk->weight[at] / whole->rows.unit) : 0};
            if (pe_bounds_pass(&whole->bounds, &value) ||
                (isnan(seen) && (sample->computed || is_missing(sample, part == 1, pair))))
                continue;
            *bad = (struct pe_bad_rows){
                .pair = pair,
                .is_sin = part == 1,
                .position = pe_prediction_position(&whole->prediction, begin + row, pair),
                .seen = seen,
                .predicted = made};
            return true;
        }
    return false;
}

/* Do the elements of a head that do not turn stay? */
static bool row_keeps(const struct whole *whole, size_t head, size_t row, struct pe_bad_rows *bad)
{
    *bad = (struct pe_bad_rows){.position = pe_prediction_position(&whole->prediction, row, 0)};
    return !whole->rows.is_kept || whole->rows.is_kept(whole->rows.context, head, row, bad);
}

/* One head of the rows that no head before it has spoiled. `first` is the first bad one of them. */
static void head_judge(const struct whole *whole, struct chunk *chunk, size_t head, size_t begin,
                       size_t rows, struct pe_bad_rows *first)
{
    for (size_t row = 0; row < rows; row++) {
        struct pe_bad_rows bad;
        if (chunk->is_bad[row] || (!row_judge(whole, chunk, begin, row, &bad) &&
                                   row_keeps(whole, head, begin + row, &bad)))
            continue;
        chunk->is_bad[row] = true;
        bad.count = first->count + 1;
        bad.row = begin + row;
        if (first->count == 0 || bad.row < first->row)
            *first = bad;
        first->count = bad.count;
    }
}

static void rows_read(const struct whole *whole, const struct chunk *chunk, size_t head,
                      size_t begin, size_t rows)
{
    const struct pe_sample_rows *all = &whole->rows;

    if (all->heads > 0)
        all->read_head(all->context, head, begin, rows, chunk->seen[0], chunk->seen[1],
                       chunk->weight);
    else
        all->read(all->context, begin, rows, chunk->seen[0], chunk->seen[1], chunk->weight);
}

/* Every head of some rows, the first of which was read. PE_CANCELLED. */
static enum pe_status chunk_judge(struct whole *whole, struct chunk *chunk, size_t begin,
                                  size_t rows, struct pe_bad_rows *found, struct pe_error *err)
{
    struct pe_bad_rows first = {0};

    memset(chunk->is_bad, 0, sizeof(chunk->is_bad));
    pe_prediction_rows(&whole->prediction, begin, rows, chunk->made[0], chunk->made[1]);
    head_judge(whole, chunk, 0, begin, rows, &first);
    for (size_t head = 1; head < whole->rows.heads; head++) {
        if (pe_work_check(whole->work, err))
            return err->status;
        rows_read(whole, chunk, head, begin, rows);
        head_judge(whole, chunk, head, begin, rows, &first);
    }
    if (found->count == 0)
        *found = first;
    else
        found->count += first.count;
    return PE_OK;
}

/* ---- all of them ---------------------------------------------------------------------------- */

static size_t room_of(const struct whole *whole)
{
    return CHUNK_PARTS * whole->chunk_rows * whole->sample->pairs;
}

static struct chunk chunk_of(const struct whole *whole, double *room)
{
    const struct pe_sample *sample = whole->sample;
    const size_t some = whole->chunk_rows * sample->pairs;

    return (struct chunk){
        .seen = {sample->cos ? room : NULL, sample->sin ? room + some : NULL},
        .made = {room + 2 * some, room + 3 * some},
        .table = {room + 4 * some, room + 5 * some},
        .weight = sample->weight ? room + 6 * some : NULL,
    };
}

static void rows_run(struct pe_job *job, size_t block)
{
    struct whole *whole = (struct whole *)job;
    const size_t all = whole->rows.positions.count, first = block * whole->block_rows;
    const size_t end = pe_least(all, first + whole->block_rows);
    struct pe_error err = {0};
    double *room = pe_memory_take(whole->work, room_of(whole), sizeof(*room), "rows", &err);

    for (size_t row = first; room && row < end && !err.status; row += whole->chunk_rows) {
        const size_t rows = pe_least(whole->chunk_rows, end - row);
        struct chunk chunk = chunk_of(whole, room);
        bool explained = false;
        if (pe_work_check(whole->work, &err))
            break;
        rows_read(whole, &chunk, 0, row, rows);
        for (size_t i = 0; i < PE_ARITHMETICS; i++)
            if (chunk_same(whole, &whole->arithmetics[i], &chunk, row, rows, &err) &&
                &whole->arithmetics[i] == whole->own)
                explained = true;
        if (!explained)
            chunk_judge(whole, &chunk, row, rows, &whole->found[block], &err);
    }
    if (err.status)
        whole->failed = true;
    pe_memory_give(whole->work, room, room_of(whole), sizeof(*room));
}

/* Rows of a sample that has no others. */
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

static void found_join(const struct whole *whole, struct pe_bad_rows *bad)
{
    *bad = (struct pe_bad_rows){0};
    for (size_t i = 0; i < whole->job.blocks; i++) {
        const size_t count = bad->count;
        if (count == 0)
            *bad = whole->found[i];
        else
            bad->count = count + whole->found[i].count;
    }
}

static void verdict_settle(struct pe_diagnosis *diagnosis, const struct whole *whole)
{
    for (size_t i = 0; i < PE_ARITHMETICS; i++)
        if (whole->arithmetics[i].frequencies && !whole->arithmetics[i].apart)
            diagnosis->identical[diagnosis->identical_count++] = whole->arithmetics[i].name;
    if (diagnosis->bad.count == 0 || !pe_verdict_is_good(diagnosis->verdict))
        return;
    diagnosis->verdict = PE_VERDICT_UNKNOWN;
    diagnosis->ambiguous = diagnosis->noisy = false;
    for (size_t i = 0; i < diagnosis->trials_count; i++)
        diagnosis->trials[i].fits = false;
}

/* Frequencies alone: each is compared with those of the arithmetics. */
static void frequencies_compare(struct whole *whole)
{
    const struct pe_sample *sample = whole->sample;

    for (size_t i = 0; i < PE_ARITHMETICS; i++)
        for (size_t pair = 0; whole->arithmetics[i].frequencies && pair < sample->pairs; pair++) {
            uint64_t bits;
            double w;
            pe_frequencies_write(whole->arithmetics[i].frequencies, pair, sample->precision, &bits,
                                 NULL);
            pe_to_f64(&w, &bits, sample->precision, 1);
            if (w != sample->frequencies[pair])
                whole->arithmetics[i].apart = true;
        }
}

/* The scheme of the first trial in both arithmetics, and which of them its prediction explains. */
static enum pe_status arithmetics_make(struct whole *whole, struct pe_diagnosis *diagnosis,
                                       struct pe_error *err)
{
    static const char *const names[PE_ARITHMETICS] = {"exact", "hf"};
    const struct pe_trial *trial = &diagnosis->trials[0];
    const struct pe_scheme *scheme = trial->suspect->scheme;

    for (size_t i = 0; i < PE_ARITHMETICS; i++) {
        struct arithmetic *arithmetic = &whole->arithmetics[i];
        const bool is_own = trial->is_float32 == (i == 1);
        char change[40] = "arithmetic=";
        arithmetic->name = names[i];
        if (whole->sample->computed || whole->sample->axes > 1)
            continue;
        const struct pe_scheme *its =
            is_own ? scheme
                   : pe_suspect_variant(diagnosis, scheme, strcat(change, arithmetic->name));
        if (its && !is_own &&
            pe_scheme_prepare(diagnosis->schemes[diagnosis->schemes_count - 1], whole->work, err))
            return err->status;
        arithmetic->frequencies = its ? pe_suspect_waves(its) : NULL;
        if (is_own && trial->bug == PE_BUG_NONE)
            whole->own = arithmetic;
    }
    return diagnosis->listed ? pe_no_memory(err, "a diagnosis") : PE_OK;
}

static enum pe_status rows_look(struct whole *whole, const struct pe_explanation *explanation,
                                struct pe_bad_rows *bad, struct pe_pool *pool, struct pe_error *err)
{
    const size_t pairs = whole->sample->pairs, rows = whole->rows.positions.count;
    double *steps =
        pe_memory_take(whole->work, PE_PREDICTION_ROOM * pairs, sizeof(*steps), "a diagnosis", err);
    double *room = NULL;

    whole->chunk_rows = pairs < CHUNK ? CHUNK / pairs : 1;
    whole->block_rows = CHUNKS * whole->chunk_rows;
    whole->job = (struct pe_job){.run = rows_run,
                                 .blocks = (rows + whole->block_rows - 1) / whole->block_rows,
                                 .work = whole->work};
    whole->found =
        pe_memory_take(whole->work, whole->job.blocks, sizeof(*whole->found), "a diagnosis", err);
    if (steps && whole->found)
        room = pe_memory_take(whole->work, room_of(whole), sizeof(*room), "a diagnosis", err);
    if (room) {
        const struct chunk chunk = chunk_of(whole, room);
        pe_prediction_begin(&whole->prediction, explanation->trial, &whole->rows.positions, steps);
        pe_bounds_make(&whole->bounds, explanation, &whole->prediction, chunk.made, whole->work,
                       err);
    }
    if (!err->status && pe_pool_run(pool, &whole->job) && !whole->failed)
        found_join(whole, bad);
    else if (!err->status && !pe_work_check(whole->work, err))
        pe_no_memory(err, "a diagnosis");
    pe_memory_give(whole->work, room, room_of(whole), sizeof(*room));
    pe_memory_give(whole->work, whole->found, whole->job.blocks, sizeof(*whole->found));
    pe_memory_give(whole->work, steps, PE_PREDICTION_ROOM * pairs, sizeof(*steps));
    return err->status;
}

double pe_diagnosis_rows_work(size_t rows, size_t pairs, enum pe_dtype dtype)
{
    const double element = dtype == PE_F64 ? 250 : 10;

    return element * (double)rows * (double)pairs;
}

/* All rows of a sample: those that are posted with it, or those that it is made of. */
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

static enum pe_status rows_spend(const struct whole *whole, struct pe_error *err)
{
    const size_t heads = whole->rows.heads > 0 ? whole->rows.heads : 1;

    return pe_spend(whole->work,
                    pe_diagnosis_rows_work(heads * whole->rows.positions.count,
                                           whole->sample->pairs, whole->sample->precision),
                    err);
}

enum pe_status pe_whole_look(struct pe_diagnosis *diagnosis, struct pe_pool *pool,
                             struct pe_error *err)
{
    const struct pe_explanation explanation = {diagnosis->trials, diagnosis->grant,
                                               diagnosis->noisy};
    const struct pe_sample *sample =
        diagnosis->trials_count > 0 ? diagnosis->trials[0].sample : NULL;
    struct whole whole = {.sample = sample, .work = diagnosis->work};

    diagnosis->tried = diagnosis->verdict;
    diagnosis->tried_noisy = diagnosis->noisy;
    if (!sample)
        return PE_OK;
    if (rows_of(sample, &whole.rows, err) || arithmetics_make(&whole, diagnosis, err) ||
        rows_spend(&whole, err))
        return err->status;
    if (sample->frequencies)
        frequencies_compare(&whole);
    else if (rows_look(&whole, &explanation, &diagnosis->bad, pool, err))
        return err->status;
    verdict_settle(diagnosis, &whole);
    return PE_OK;
}

enum pe_status pe_whole_hold(const struct pe_explanation *explanation, struct pe_bad_rows *bad,
                             struct pe_pool *pool, struct pe_work *work, struct pe_error *err)
{
    struct whole whole = {.sample = explanation->trial->sample, .work = work};

    return rows_of(whole.sample, &whole.rows, err) || rows_spend(&whole, err)
               ? err->status
               : rows_look(&whole, explanation, bad, pool, err);
}
