/* SPDX-License-Identifier: MIT */

/* core/diagnosis/observations.c, rotated_tokens.c and kv_heads.c: tensors made in C, in every form
 * that is observed, as samples and by layer and head. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/diagnosis/observations.h"
#include "posenc/comparison.h"
#include "tests/core/refusing_work.h"
#include "tests/core/scheme_fixture.h"

enum { ROWS = 40, PAIRS = 8, DIM = 2 * PAIRS };

static unsigned long cases;
static double cosines[ROWS][PAIRS], sines[ROWS][PAIRS], w[PAIRS];

static void angles_make(double start)
{
    for (size_t pair = 0; pair < PAIRS; pair++)
        w[pair] = pow(10000, -(double)pair / PAIRS);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t pair = 0; pair < PAIRS; pair++) {
            cosines[row][pair] = cos((start + (double)row) * w[pair]);
            sines[row][pair] = sin((start + (double)row) * w[pair]);
        }
}

static struct pe_scheme *rope(void)
{
    struct pe_scheme *scheme = scheme_new("rope", "dim=16");

    ck_assert(!pe_scheme_prepare(scheme, NULL, &(struct pe_error){0}));
    return scheme;
}

static const struct pe_positions from_zero = {.step = 1, .count = ROWS};

/* The diagnosis of what was observed. */
struct outcome {
    enum pe_verdict verdict;
    enum pe_dtype precision;
    char layout[40], bug[40];
    struct pe_bad_rows bad;
    size_t samples;
};

static struct outcome outcome_of(const struct pe_observed *observed)
{
    struct pe_observations *observations;
    struct pe_diagnosis *diagnosis;
    struct pe_error err = {0};
    struct outcome outcome = {0};
    struct pe_axes axes;

    ck_assert_msg(!pe_observed_axes(observed, &axes, &err), "%s", err.detail);
    ck_assert_uint_eq(axes.head_dim, 2 * PAIRS);
    ck_assert_uint_eq(pe_observed_dim(observed), DIM);
    ck_assert(pe_observed_work(observed) > 0);
    ck_assert_msg(!pe_observations_new(&observations, observed, NULL, &err), "%s", err.detail);
    const struct pe_sample *samples = pe_observations_samples(observations);
    outcome.samples = pe_observations_count(observations);
    ck_assert(
        !pe_diagnose(&diagnosis, observed->expected, samples, outcome.samples, NULL, NULL, &err));
    const struct pe_finding *best = pe_diagnosis_finding(diagnosis, 0);
    outcome.verdict = pe_diagnosis_verdict(diagnosis);
    outcome.precision = samples->precision;
    if (best && best->sample->layout)
        snprintf(outcome.layout, sizeof(outcome.layout), "%s", best->sample->layout);
    if (best && best->bug)
        snprintf(outcome.bug, sizeof(outcome.bug), "%s", best->bug->code);
    if (pe_diagnosis_bad_rows(diagnosis))
        outcome.bad = *pe_diagnosis_bad_rows(diagnosis);
    pe_diagnosis_free(diagnosis);
    pe_observations_free(observations);
    cases++;
    return outcome;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Twice the rows, along any axis of them, cost more. */
TEST(work_grows_with_each_axis)
{
    static float values[2 * 2 * 3 * 4 * DIM];
    const struct pe_tensor of_axes = {PE_F32, 4, {2, 3, 4, DIM}, values};
    const struct pe_tensor of_pairs = {PE_F32, 4, {2, 4, PAIRS, 2}, values};

    for (size_t form = 0; form < 6; form++) {
        const struct pe_tensor usual = form == 3 ? of_pairs : of_axes;
        for (unsigned axis = 0; axis + (form == 3 ? 2 : 1) < usual.rank; axis++) {
            struct pe_tensor one = usual, two = usual;
            struct pe_observed less = {.size = sizeof(less)}, more;
            less.axes = "bhsd";
            if (form >= 4)
                less.q = less.q_rotated = &of_axes;
            more = less;
            *(const struct pe_tensor **[]){&less.cos,       &less.sin, &less.table,
                                           &less.freqs_cis, &less.q,   &less.k}[form] = &one;
            *(const struct pe_tensor **[]){&more.cos,       &more.sin, &more.table,
                                           &more.freqs_cis, &more.q,   &more.k}[form] = &two;
            two.shape[axis] *= 2;
            ck_assert_msg(pe_observed_work(&less) > 0, "form %zu", form);
            ck_assert_msg(pe_observed_work(&more) > pe_observed_work(&less), "form %zu, axis %u",
                          form, axis);
        }
    }
}

/* Every form of the same table is a match, in its layout: pairs once; twice in either layout; with
 * an axis of 1; as complex numbers; as frequencies. */
TEST(test_forms_of_rotary_tables)
{
    OWNED_SCHEME plain = rope();
    static double twice[2][ROWS][DIM], neighbours[2][ROWS][DIM], complex[ROWS][PAIRS][2];

    angles_make(0);
    for (size_t i = 0; i < ROWS * PAIRS; i++) {
        const size_t row = i / PAIRS, pair = i % PAIRS;
        const double both[] = {cosines[row][pair], sines[row][pair]};
        for (size_t part = 0; part < 2; part++) {
            twice[part][row][pair] = twice[part][row][pair + PAIRS] = both[part];
            neighbours[part][row][2 * pair] = neighbours[part][row][2 * pair + 1] = both[part];
            complex[row][pair][part] = both[part];
        }
    }
    const struct pe_tensor tensors[] = {
        {PE_F64, 2, {ROWS, PAIRS}, cosines},     {PE_F64, 2, {ROWS, PAIRS}, sines},
        {PE_F64, 2, {ROWS, DIM}, twice[0]},      {PE_F64, 2, {ROWS, DIM}, twice[1]},
        {PE_F64, 2, {ROWS, DIM}, neighbours[0]}, {PE_F64, 2, {ROWS, DIM}, neighbours[1]},
        {PE_F64, 3, {1, ROWS, DIM}, twice[0]},   {PE_F64, 3, {1, ROWS, DIM}, twice[1]},
        {PE_F64, 3, {ROWS, PAIRS, 2}, complex},  {PE_F64, 1, {PAIRS}, w}};
    static const char *const layouts[] = {"", "half", "interleaved", "half"};
    struct pe_observed observed = SIZED(pe_observed, .expected = plain, .positions = from_zero);
    struct outcome outcome;

    for (size_t i = 0; i < 4; i++) {
        observed.cos = &tensors[2 * i];
        observed.sin = &tensors[2 * i + 1];
        outcome = outcome_of(&observed);
        ck_assert_int_eq(outcome.verdict, PE_VERDICT_MATCH);
        ck_assert_str_eq(outcome.layout, layouts[i]);
    }
    observed.cos = observed.sin = NULL;
    observed.freqs_cis = &tensors[8];
    ck_assert_int_eq(outcome_of(&observed).verdict, PE_VERDICT_MATCH);
    observed.freqs_cis = NULL;
    observed.inv_freq = &tensors[9];
    observed.positions = (struct pe_positions){0};
    struct pe_observations *observations;
    struct pe_error err = {0};
    ck_assert(!pe_observations_new(&observations, &observed, NULL, &err));
    ck_assert_mem_eq(pe_observations_samples(observations)->frequencies, w, sizeof(w));
    ck_assert_uint_eq(pe_observations_count(observations), 1);
    pe_observations_free(observations);
}

/* Both copies of a pair are checked in all rows, and the first bad row is named. */
TEST(test_copies_of_a_pair)
{
    OWNED_SCHEME plain = rope();
    enum { MANY = 5000 };
    double(*twice)[DIM] = calloc(MANY, sizeof(*twice));
    const struct pe_tensor cos_tensor = {PE_F64, 2, {MANY, DIM}, twice};
    const struct pe_observed observed = SIZED(pe_observed, .cos = &cos_tensor, .expected = plain,
                                              .positions = {.step = 1, .count = MANY});

    ck_assert_ptr_nonnull(twice);
    angles_make(0);
    for (size_t i = 0; i < MANY * PAIRS; i++)
        twice[i / PAIRS][i % PAIRS] = twice[i / PAIRS][i % PAIRS + PAIRS] =
            cos((double)(i / PAIRS) * w[i % PAIRS]);
    twice[4321][PAIRS + 3] += 0.5;
    const struct outcome outcome = outcome_of(&observed);
    ck_assert_int_eq(outcome.verdict, PE_VERDICT_UNKNOWN);
    ck_assert(outcome.bad.count == 1 && outcome.bad.row == 4321 && outcome.bad.pair == 3 &&
              isnan(outcome.bad.seen));
    free(twice);
}

/* Rows that are added, in the four orders; another order than the expected one is a mistake. */
TEST(test_orders_of_added_columns)
{
    static const char *const orders[] = {
        "interleaved", "concatenated", "interleaved, cosines first", "concatenated, cosines first"};
    OWNED_SCHEME plain = scheme_new("sinusoidal", "dim=16");
    static double table[ROWS][DIM];
    const struct pe_tensor tensor = {PE_F64, 2, {ROWS, DIM}, table};
    struct pe_observed observed =
        SIZED(pe_observed, .table = &tensor, .expected = plain, .positions = from_zero);

    ck_assert(!pe_scheme_prepare(plain, NULL, &(struct pe_error){0}));
    observed.layout = pe_diagnosis_columns(plain, NULL);
    ck_assert_str_eq(observed.layout, "interleaved");
    angles_make(0);
    for (size_t order = 0; order < 4; order++) {
        for (size_t i = 0; i < ROWS * PAIRS; i++) {
            const size_t row = i / PAIRS, pair = i % PAIRS;
            const size_t first = order % 2 ? pair : 2 * pair,
                         second = order % 2 ? pair + PAIRS : 2 * pair + 1;
            table[row][order < 2 ? first : second] = sines[row][pair];
            table[row][order < 2 ? second : first] = cosines[row][pair];
        }
        const struct outcome outcome = outcome_of(&observed);
        ck_assert_uint_eq(outcome.samples, 4);
        ck_assert_str_eq(outcome.layout, orders[order]);
        ck_assert_int_eq(outcome.verdict, order == 0 ? PE_VERDICT_MATCH : PE_VERDICT_KNOWN_BUG);
        ck_assert_str_eq(outcome.bug, order == 0 ? "" : "columns-swapped");
    }
}

/* The coarsest dtype that holds every value, however they are stored; values of 0 and 1 do not
 * show one. */
TEST(test_precision)
{
    static const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};
    struct pe_precision seen = {0};
    double value;

    ck_assert_int_eq(pe_precision_dtype(&seen, PE_F32), PE_F32);
    for (size_t i = 0; i < COUNT_OF(dtypes); i++, cases++) {
        double values[] = {0, 1, -1, pe_round_to(0.3, dtypes[i]), pe_round_to(-0.7, dtypes[i])};
        const struct pe_tensor tensor = {PE_F64, 1, {COUNT_OF(values)}, values};
        double out[COUNT_OF(values)];
        seen = (struct pe_precision){0};
        ck_assert(!pe_finite_read((struct pe_named_tensor){"x", &tensor}, 0, 1, 3, &seen, NULL, out,
                                  &(struct pe_error){0}));
        ck_assert_int_eq(pe_precision_dtype(&seen, PE_F64), PE_F64);
        ck_assert(!pe_finite_read((struct pe_named_tensor){"x", &tensor}, 0, 1, COUNT_OF(values),
                                  &seen, NULL, out, &(struct pe_error){0}));
        ck_assert_int_eq(pe_precision_dtype(&seen, PE_F64), dtypes[i]);
        ck_assert_mem_eq(out, values, sizeof(out));
    }
    const double bad[] = {1, NAN};
    const struct pe_tensor tensor = {PE_F64, 1, {2}, (void *)bad};
    struct pe_error err = {0};
    ck_assert_int_eq(
        pe_finite_read((struct pe_named_tensor){"x", &tensor}, 1, 1, 1, NULL, NULL, &value, &err),
        PE_INVALID);
    ck_assert_str_eq(err.where, "tensor:x");
}

/* Half of the sampled rows are neighbours at the start, the last is the last, none descend; wide
 * rows are fewer. */
TEST(test_sampled_rows)
{
    ck_assert_uint_eq(pe_sampled_rows_count(10, 64), 10);
    ck_assert_uint_eq(pe_sampled_rows_count(100000, 64), 256);
    ck_assert_uint_eq(pe_sampled_rows_count(100000, 128), 128);
    ck_assert_uint_eq(pe_sampled_rows_count(100000, 2048), 16);
    for (size_t total = 1; total < 70000; total = total * 3 + 1, cases++) {
        struct pe_allocations memory = {.purpose = "rows"};
        struct pe_sampled_rows sampled;
        ck_assert(!pe_sampled_rows_new(&sampled, total, 64, &memory, &(struct pe_error){0}));
        for (size_t i = 0; i < (sampled.count + 1) / 2; i++)
            ck_assert_uint_eq(sampled.rows[i], i);
        for (size_t i = 1; i < sampled.count; i++)
            ck_assert(sampled.rows[i] >= sampled.rows[i - 1]);
        ck_assert_uint_eq(sampled.rows[sampled.count - 1], total - 1);
        pe_allocations_free(&memory);
    }
}

/* ---- queries and keys ------------------------------------------------------------------------ */

static double number_at(size_t i)
{
    return (double)(i * 2654435761u % 2001) / 1000 - 1;
}

/* Rotates one head in either layout. */
static void head_rotate(double *x, double t, bool half)
{
    for (size_t pair = 0; pair < PAIRS; pair++) {
        double *a = &x[half ? pair : 2 * pair], *b = &x[half ? pair + PAIRS : 2 * pair + 1];
        const double c = cos(t * w[pair]), s = sin(t * w[pair]), before = *a;
        *a = before * c - *b * s;
        *b = before * s + *b * c;
    }
}

enum { BATCH = 2, HEADS = 3, WIDE = DIM + 4 };

/* [BATCH, HEADS, ROWS, WIDE], with four elements that do not rotate. */
static double queries[BATCH][HEADS][ROWS][WIDE], rotated[BATCH][HEADS][ROWS][WIDE];

static void queries_make(bool half)
{
    angles_make(0);
    for (size_t i = 0; i < sizeof(queries) / sizeof(double); i++)
        (&queries[0][0][0][0])[i] = number_at(i);
    memcpy(rotated, queries, sizeof(rotated));
    for (size_t i = 0; i < BATCH * HEADS * ROWS; i++)
        head_rotate((&rotated[0][0][0][0]) + i * WIDE, (double)(i % ROWS), half);
}

/* Both layouts are sampled; the wrong one is a mistake; one damaged head of a late batch row, and
 * an element that should not rotate, are found with their row. */
TEST(test_rotated_queries)
{
    OWNED_SCHEME part = scheme_new("rope", "dim=20 rotary_dim=16");
    const struct pe_tensor q = {PE_F64, 4, {BATCH, HEADS, ROWS, WIDE}, queries};
    const struct pe_tensor q_rotated = {PE_F64, 4, {BATCH, HEADS, ROWS, WIDE}, rotated};
    const struct pe_observed observed =
        SIZED(pe_observed, .q = &q, .q_rotated = &q_rotated, .axes = "bhsd", .expected = part,
              .layout = "half", .positions = from_zero);
    struct pe_observations *observations;
    struct pe_error err = {0};

    ck_assert(!pe_scheme_prepare(part, NULL, &err));
    ck_assert_uint_eq(pe_observed_dim(&observed), WIDE);
    for (int i = 0; i < 4; i++, cases++) {
        struct pe_diagnosis *diagnosis;
        queries_make(i != 1);
        if (i == 2)
            rotated[1][2][30][PAIRS + 5] += 0.5;
        if (i == 3)
            rotated[0][1][7][DIM + 2] += 0.1;
        ck_assert_msg(!pe_observations_new(&observations, &observed, NULL, &err), "%s", err.detail);
        const struct pe_sample *samples = pe_observations_samples(observations);
        const size_t count = pe_observations_count(observations);
        ck_assert(count == 2 && samples->pairs == PAIRS && samples->computed);
        ck_assert(!pe_diagnose(&diagnosis, part, samples, count, NULL, NULL, &err));
        const struct pe_finding *best = pe_diagnosis_finding(diagnosis, 0);
        const struct pe_bad_rows *bad = pe_diagnosis_bad_rows(diagnosis);
        ck_assert_int_eq(pe_diagnosis_verdict(diagnosis), i == 0   ? PE_VERDICT_MATCH
                                                          : i == 1 ? PE_VERDICT_KNOWN_BUG
                                                                   : PE_VERDICT_UNKNOWN);
        ck_assert_str_eq(best->sample->layout, i == 1 ? "interleaved" : "half");
        ck_assert(i != 1 || strcmp(best->bug->code, "layout-swapped") == 0);
        ck_assert(!bad == (i < 2));
        if (i == 2)
            ck_assert(bad->count == 1 && bad->row == ROWS + 30 && bad->pair == 5 &&
                      bad->position == 30);
        if (i == 3)
            ck_assert(bad->count == 1 && bad->row == 7 && bad->pair == DIM + 2);
        pe_diagnosis_free(diagnosis);
        pe_observations_free(observations);
    }
}

/* ---- a cache by layer and head --------------------------------------------------------------- */

enum { LAYERS = 3, KINDS = 2 };

/* [LAYERS, keys and values, BATCH, HEADS, ROWS, DIM] */
static float before[LAYERS][KINDS][BATCH][HEADS][ROWS][DIM],
    after[LAYERS][KINDS][BATCH][HEADS][ROWS][DIM];

static double batch_shift; /* of the positions of the second batch row */

static void cache_make(void)
{
    double x[DIM];

    batch_shift = 0;
    angles_make(0);
    for (size_t i = 0; i < sizeof(before) / sizeof(float) / DIM; i++) {
        const size_t row = i % ROWS, kind = i / (ROWS * HEADS * BATCH) % KINDS;
        float *from = &before[0][0][0][0][0][0] + i * DIM, *to = &after[0][0][0][0][0][0] + i * DIM;
        for (size_t j = 0; j < DIM; j++)
            x[j] = from[j] = (float)number_at(i * DIM + j);
        if (kind == 0)
            head_rotate(x, (double)row, true);
        for (size_t j = 0; j < DIM; j++)
            to[j] = (float)x[j];
    }
}

/* A head that is rotated by other positions. */
static void head_shift(size_t layer, size_t row, size_t head, double shift)
{
    for (size_t i = 0; i < ROWS; i++) {
        double x[DIM];
        pe_to_f64(x, before[layer][0][row][head][i], PE_F32, DIM);
        head_rotate(x, (double)i + shift, true);
        pe_from_f64(after[layer][0][row][head][i], PE_F32, x, DIM);
    }
}

/* Of the full cache, with positions of each batch row. */
static enum pe_status kv_diagnose(struct pe_kv_diagnosis **diagnosis,
                                  const struct pe_scheme *expected, struct pe_pool *pool,
                                  struct pe_work *work, struct pe_error *err)
{
    const struct pe_tensor q = {PE_F32, 6, {LAYERS, KINDS, BATCH, HEADS, ROWS, DIM}, before};
    const struct pe_tensor q_rotated = {PE_F32, 6, {LAYERS, KINDS, BATCH, HEADS, ROWS, DIM}, after};
    double positions[BATCH][ROWS], nanoseconds = 0;
    struct pe_kv_spec spec =
        SIZED(pe_kv_spec, .q = &q, .q_rotated = &q_rotated, .expected = expected,
              .positions = {.values = positions[0], .count = ROWS, .batch = BATCH});

    for (size_t i = 0; i < BATCH * ROWS; i++)
        positions[i / ROWS][i % ROWS] = (double)(i % ROWS) + batch_shift * (double)(i / ROWS);
    ck_assert(!pe_kv_axes_parse(&spec.axes, NULL, &q, err));
    ck_assert(!pe_kv_diagnosis_check(&spec, &nanoseconds, err) && nanoseconds > 0);
    cases++;
    return pe_diagnose_kv(diagnosis, &spec, pool, work, err);
}

/* One explanation covers all keys; then two mistakes, a damaged row, a changed value and a cell of
 * zeros are named with layer and head, with any number of threads. */
TEST(test_kv_cache)
{
    OWNED_SCHEME plain = rope();
    struct pe_pool *pools[2] = {NULL};
    struct pe_kv_diagnosis *diagnosis;
    struct pe_error err = {0};

    ck_assert(!pe_pool_new(&pools[1], 3, false, &err));
    cache_make();
    ck_assert(!kv_diagnose(&diagnosis, plain, NULL, NULL, &err));
    ck_assert_uint_eq(pe_kv_diagnosis_first_bad(diagnosis), SIZE_MAX);
    ck_assert(pe_kv_diagnosis_explanation(diagnosis, 0)->cells == LAYERS * BATCH * HEADS);
    ck_assert_ptr_null(pe_kv_diagnosis_explanation(diagnosis, 1));
    ck_assert_ptr_null(pe_kv_diagnosis_cell(diagnosis, LAYERS * KINDS * BATCH * HEADS));
    pe_kv_diagnosis_free(diagnosis);

    head_shift(1, 0, 2, 1);
    head_shift(2, 1, 0, 1);
    after[2][0][0][1][17][3] += 0.5F;
    after[2][1][1][2][9][4] += 0.25F;
    memset(before[0][0][1][1], 0, sizeof(before[0][0][1][1]));
    memset(after[0][0][1][1], 0, sizeof(after[0][0][1][1]));
    for (size_t i = 0; i < 2; i++) {
        const struct pe_kv_cell *cell;
        ck_assert(!kv_diagnose(&diagnosis, plain, pools[i], NULL, &err));
        /* Cells are [LAYERS][KINDS][BATCH][HEADS], heads [LAYERS][KINDS][HEADS]. */
        ck_assert_uint_eq(pe_kv_diagnosis_first_bad(diagnosis), 1 * HEADS + 1);
        cell = pe_kv_diagnosis_head(diagnosis, 1);
        ck_assert(cell->verdict == PE_VERDICT_UNKNOWN && cell->explanation == -1 &&
                  !cell->undecided);
        cell = pe_kv_diagnosis_cell(diagnosis, (1 * KINDS * BATCH + 0) * HEADS + 2);
        ck_assert(cell->verdict == PE_VERDICT_KNOWN_BUG && cell->explanation == 1);
        const struct pe_kv_explanation *late = pe_kv_diagnosis_explanation(diagnosis, 1);
        ck_assert(late->cells == 2 && late->first_cell == KINDS * BATCH * HEADS + 2);
        ck_assert_str_eq(pe_diagnosis_finding(late->diagnosis, 0)->bug->code,
                         "off-by-one-position");
        cell = pe_kv_diagnosis_head(diagnosis, 2 * KINDS * HEADS + 1);
        ck_assert(cell->verdict == PE_VERDICT_UNKNOWN && cell->bad.count == 1 &&
                  cell->bad.row == 17);
        cell = pe_kv_diagnosis_head(diagnosis, (2 * KINDS + 1) * HEADS + 2);
        ck_assert(cell->verdict == PE_VERDICT_UNKNOWN && cell->bad.count == 1 &&
                  cell->bad.row == 9 && cell->bad.pair == 4 && cell->bad.position == 9 &&
                  fabs(cell->max_abs - 0.25) < 1e-6);
        cell = pe_kv_diagnosis_head(diagnosis, 2 * KINDS * HEADS);
        ck_assert(cell->verdict == PE_VERDICT_KNOWN_BUG && cell->bad.count == 0);
        ck_assert_ptr_null(pe_kv_diagnosis_head(diagnosis, LAYERS * KINDS * HEADS));
        pe_kv_diagnosis_free(diagnosis);
    }
    pe_pool_free(pools[1]);
}

/* Each batch row has its own positions. */
TEST(test_kv_positions_of_batch_rows)
{
    OWNED_SCHEME plain = rope();
    struct pe_kv_diagnosis *diagnosis;

    cache_make();
    batch_shift = 11;
    for (size_t i = 0; i < LAYERS * HEADS; i++)
        head_shift(i / HEADS, 1, i % HEADS, batch_shift);
    ck_assert(!kv_diagnose(&diagnosis, plain, NULL, NULL, &(struct pe_error){0}));
    ck_assert_uint_eq(pe_kv_diagnosis_first_bad(diagnosis), SIZE_MAX);
    ck_assert_uint_eq(pe_kv_diagnosis_explanation(diagnosis, 0)->cells, LAYERS * BATCH * HEADS);
    ck_assert_ptr_null(pe_kv_diagnosis_explanation(diagnosis, 1));
    pe_kv_diagnosis_free(diagnosis);
}

/* A value that changed is reported at its position, listed or by a step. */
TEST(test_kv_positions_by_a_step)
{
    const struct pe_tensor q = {PE_F32, 6, {LAYERS, KINDS, BATCH, HEADS, ROWS, DIM}, before};
    const struct pe_tensor q_rotated = {PE_F32, 6, {LAYERS, KINDS, BATCH, HEADS, ROWS, DIM}, after};
    struct pe_kv_spec spec = SIZED(pe_kv_spec, .q = &q, .q_rotated = &q_rotated,
                                   .positions = {.start = 7, .step = 3, .count = ROWS});
    struct pe_kv_diagnosis *diagnosis;
    struct pe_error err = {0};

    cache_make();
    after[2][1][1][2][9][4] += 0.25F;
    ck_assert(!pe_kv_axes_parse(&spec.axes, NULL, &q, &err));
    ck_assert(!pe_diagnose_kv(&diagnosis, &spec, NULL, NULL, &err));
    const struct pe_kv_cell *cell = pe_kv_diagnosis_head(diagnosis, (2 * KINDS + 1) * HEADS + 2);
    ck_assert(cell->verdict == PE_VERDICT_UNKNOWN && cell->bad.row == 9);
    ck_assert_double_eq(cell->bad.position, 7 + 3 * 9);
    pe_kv_diagnosis_free(diagnosis);
    cases++;
}

/* Positions that are not those of the cache's tokens and batch rows. */
TEST(test_kv_positions_refused)
{
    static const double list[(BATCH + 1) * ROWS];
    const struct pe_tensor q = {PE_F32, 6, {LAYERS, KINDS, BATCH, HEADS, ROWS, DIM}, before};
    const struct pe_tensor q_rotated = {PE_F32, 6, {LAYERS, KINDS, BATCH, HEADS, ROWS, DIM}, after};
    const struct pe_positions wrong[] = {
        {.values = list, .count = ROWS - 1},
        {.step = 1, .count = ROWS + 1},
        {.values = list, .count = ROWS, .batch = BATCH + 1},
        {.values = list, .count = ROWS - 1, .batch = BATCH},
        {.step = 1, .count = ROWS, .batch = BATCH}, /* batch rows have lists */
    };
    struct pe_kv_spec spec = SIZED(pe_kv_spec, .q = &q, .q_rotated = &q_rotated);
    struct pe_kv_diagnosis *diagnosis;

    cache_make();
    ck_assert(!pe_kv_axes_parse(&spec.axes, NULL, &q, &(struct pe_error){0}));
    for (size_t i = 0; i < COUNT_OF(wrong); i++, cases++) {
        struct pe_error err = {0};
        spec.positions = wrong[i];
        ck_assert_msg(pe_diagnose_kv(&diagnosis, &spec, NULL, NULL, &err) == PE_SHAPE_MISMATCH,
                      "%zu: %s", i, err.detail);
        ck_assert_ptr_null(diagnosis);
        ck_assert_str_eq(err.where, "parameter:positions");
    }
}

/* Cells that no explanation fits are left undecided once there are explanations enough. */
TEST(test_undecided_cells)
{
    OWNED_SCHEME plain = rope();
    size_t undecided = 0, unknown = 0;
    struct pe_kv_diagnosis *diagnosis;
    const struct pe_kv_cell *cell;

    cache_make();
    for (size_t i = 0; i < LAYERS * BATCH * HEADS; i++)
        head_shift(i / (BATCH * HEADS), i / HEADS % BATCH, i % HEADS, 0.37 * (double)(i + 1));
    ck_assert(!kv_diagnose(&diagnosis, plain, NULL, NULL, &(struct pe_error){0}));
    for (size_t i = 0; (cell = pe_kv_diagnosis_cell(diagnosis, i)); i++) {
        undecided += cell->undecided;
        unknown += cell->verdict == PE_VERDICT_UNKNOWN;
    }
    ck_assert_uint_eq(unknown, LAYERS * BATCH * HEADS);
    ck_assert_uint_eq(undecided, LAYERS * BATCH * HEADS - PE_KV_EXPLANATIONS_MAX);
    pe_kv_diagnosis_free(diagnosis);
}

/* A refused reservation fails the call; all memory is given back.
 */
TEST(test_kv_short_of_memory)
{
    OWNED_SCHEME plain = rope();
    enum pe_status status = PE_OUT_OF_MEMORY;
    long most = 0;

    cache_make();
    head_shift(1, 0, 2, 1);
    for (; status; most += 1 + most / 8) {
        struct refusing refusing;
        struct pe_work *work = refusing_work(&refusing, most);
        struct pe_kv_diagnosis *diagnosis;
        struct pe_error err = {0};
        status = kv_diagnose(&diagnosis, plain, NULL, work, &err);
        ck_assert_int_eq(status, refusing.left < 0 ? PE_OUT_OF_MEMORY : PE_OK);
        ck_assert(!diagnosis == (status != PE_OK));
        pe_kv_diagnosis_free(diagnosis);
        pe_work_free(work);
        ck_assert_uint_eq(refusing.held, 0);
    }
    ck_assert_int_gt(most, 100);
}

CHECK_WAY(.cases = &cases);
