/* SPDX-License-Identifier: MIT */

/* core/diagnosis: tables made in C, with and without mistakes, and numbers measured from them. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diagnosis/diagnosis.h"
#include "core/tables/table_fill.h"
#include "posenc/comparison.h"
#include "tests/core/refusing_work.h"
#include "tests/core/scheme_fixture.h"

enum { ROWS = 200, PAIRS = 16 };

static unsigned long cases;
static double positions[ROWS], cosines[ROWS * PAIRS], sines[ROWS * PAIRS], w[PAIRS];

static struct pe_sample sample(void)
{
    return SIZED(pe_sample, .rows = ROWS, .pairs = PAIRS, .positions = positions, .cos = cosines,
                 .sin = sines, .dtype = PE_F64, .precision = PE_F64);
}

/* cos and sin of (position + shift) * w in f64, for the given positions start, start + 1, ... */
static void table_make(double start, double base, double shift)
{
    for (size_t pair = 0; pair < PAIRS; pair++)
        w[pair] = pow(base, -(double)pair / PAIRS);
    for (size_t i = 0; i < ROWS * PAIRS; i++) {
        positions[i / PAIRS] = start + (double)(i / PAIRS);
        cosines[i] = cos((positions[i / PAIRS] + shift) * w[i % PAIRS]);
        sines[i] = sin((positions[i / PAIRS] + shift) * w[i % PAIRS]);
    }
}

static struct pe_scheme *rope(const char *text)
{
    struct pe_scheme *scheme;
    struct pe_params params;
    struct pe_error err = {0};

    ck_assert(!pe_params_parse(&params, "rope", text, &err));
    ck_assert(!pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, &err));
    pe_params_free(&params);
    return scheme;
}

static void check(const struct pe_scheme *expected, enum pe_verdict verdict, enum pe_bug bug)
{
    const struct pe_sample seen = sample();
    struct pe_diagnosis *diagnosis;
    struct pe_error err = {0};

    ck_assert(!pe_diagnose(&diagnosis, expected, &seen, 1, NULL, NULL, &err));
    ck_assert_int_eq(diagnosis->verdict, verdict);
    ck_assert(diagnosis->trials_count > 0 && diagnosis->trials_count <= PE_FINDINGS_MAX);
    if (verdict != PE_VERDICT_UNKNOWN) {
        ck_assert_int_eq(diagnosis->trials[0].bug, bug);
        ck_assert(diagnosis->trials[0].fits && !diagnosis->ambiguous);
    }
    pe_diagnosis_free(diagnosis);
    cases++;
}

TEST(test_verdicts)
{
    struct pe_scheme *plain = rope("dim=32"), *other = rope("dim=32 base=500000");

    for (double start = 0; start < 4000; start += 1000 * NUMBERS_STEP_OF(3)) {
        table_make(start, 10000, 0);
        check(NULL, PE_VERDICT_CONSISTENT, PE_BUG_NONE);
        check(plain, PE_VERDICT_MATCH, PE_BUG_NONE);
        check(other, PE_VERDICT_KNOWN_BUG, PE_BUG_BASE_IGNORED);
        table_make(start, 500000, 0);
        check(plain, PE_VERDICT_OTHER_SCHEME, PE_BUG_NONE);
        table_make(start, 10000, 1);
        check(plain, PE_VERDICT_KNOWN_BUG, PE_BUG_OFF_BY_ONE);
        table_make(start, 10000, 0.5);
        check(plain, PE_VERDICT_UNKNOWN, PE_BUG_NONE);
    }
    pe_scheme_free(plain);
    pe_scheme_free(other);
}

/* All rows of the tables above, one of them damaged; `cancelled` ends the work while they are read.
 */
struct rows {
    size_t bad;
    struct pe_work *cancelled;
};

static void rows_read(const void *context, size_t begin, size_t count, double *cos, double *sin,
                      double *weight)
{
    const struct rows *rows = context;

    ck_assert(!weight);
    memcpy(cos, cosines + begin * PAIRS, count * PAIRS * sizeof(*cos));
    memcpy(sin, sines + begin * PAIRS, count * PAIRS * sizeof(*sin));
    if (rows->bad >= begin && rows->bad < begin + count)
        sin[(rows->bad - begin) * PAIRS + 5] += 0.25;
    pe_work_cancel(rows->cancelled);
}

TEST(test_every_row)
{
    OWNED_SCHEME plain = rope("dim=32");
    struct rows rows = {.bad = ROWS};
    const struct pe_sample_rows all =
        SIZED(pe_sample_rows, .positions = {.start = 3000, .step = 1, .count = ROWS},
              .read = rows_read, .context = &rows);
    struct pe_sample few = sample();
    struct pe_error err = {0};

    table_make(3000, 10000, 0);
    few.rows = 20;
    few.all = &all;
    for (rows.bad = ROWS - 50; rows.bad <= ROWS; rows.bad += 25, cases++) {
        const bool is_bad = rows.bad < ROWS;
        struct pe_diagnosis *diagnosis;
        ck_assert(!pe_diagnose(&diagnosis, plain, &few, 1, NULL, NULL, &err));
        const struct pe_bad_rows *bad = pe_diagnosis_bad_rows(diagnosis);
        ck_assert_int_eq(pe_diagnosis_verdict(diagnosis),
                         is_bad ? PE_VERDICT_UNKNOWN : PE_VERDICT_MATCH);
        ck_assert(!bad == !is_bad && pe_diagnosis_finding(diagnosis, 0)->fits == !is_bad);
        if (is_bad)
            ck_assert(bad->count == 1 && bad->row == rows.bad && bad->pair == 5 && bad->is_sin &&
                      bad->position == 3000 + (double)rows.bad &&
                      fabs(bad->seen - bad->predicted - 0.25) < 1e-9);
        ck_assert_ptr_null(pe_diagnosis_identical(diagnosis, 0)); /* doubles are not the nearest */
        pe_diagnosis_free(diagnosis);
    }
    ck_assert(!pe_work_new(&rows.cancelled, NULL, &err));
    struct pe_diagnosis *none;
    ck_assert_int_eq(pe_diagnose(&none, plain, &few, 1, NULL, rows.cancelled, &err), PE_CANCELLED);
    ck_assert_ptr_null(none);
    pe_work_free(rows.cancelled);
    ck_assert(pe_diagnosis_rows_work(1000, 64, PE_F64) > pe_diagnosis_rows_work(1000, 64, PE_F32));
}

static struct pe_held held(const struct pe_diagnosis *diagnosis, const struct pe_sample *seen)
{
    struct pe_held held = {.size = sizeof(held)};
    struct pe_error err = {0};

    ck_assert(!pe_diagnosis_hold(diagnosis, seen, NULL, NULL, &held, &err));
    cases++;
    return held;
}

/* An explanation holds for other rows like its own; for others it does not: of another base, right
 * ones where it is a mistake, noisy ones where it is clean. */
TEST(test_hold)
{
    OWNED_SCHEME plain = rope("dim=32");
    struct rows rows = {.bad = ROWS};
    const struct pe_sample_rows all =
        SIZED(pe_sample_rows, .positions = {.start = 0, .step = 1, .count = ROWS},
              .read = rows_read, .context = &rows);
    const struct pe_sample seen = sample();
    struct pe_sample few = seen;
    struct pe_diagnosis *right, *late;
    struct pe_error err = {0};

    few.rows = 20;
    few.all = &all;
    table_make(0, 10000, 1);
    ck_assert(!pe_diagnose(&late, plain, &seen, 1, NULL, NULL, &err));
    table_make(0, 10000, 0);
    ck_assert(!pe_diagnose(&right, plain, &seen, 1, NULL, NULL, &err));
    struct pe_held found = held(right, &few);
    ck_assert(found.fits && found.verdict == PE_VERDICT_MATCH && found.bad.count == 0);
    ck_assert(!held(late, &few).fits);
    rows.bad = 150;
    found = held(right, &few);
    ck_assert(found.fits && found.verdict == PE_VERDICT_UNKNOWN && found.bad.row == 150);
    table_make(0, 10000, 1);
    found = held(late, &few);
    ck_assert(found.fits && found.verdict == PE_VERDICT_KNOWN_BUG && found.bad.count == 1);
    table_make(0, 10000, 0);
    for (size_t i = 0; i < ROWS * PAIRS; i++)
        cosines[i] += 1e-4 * ((double)(i * 2654435761u % 1000) / 1000 - 0.5);
    found = held(right, &seen);
    ck_assert(!found.fits && found.rms > 1e-5 && found.verdict == PE_VERDICT_UNKNOWN);
    pe_diagnosis_free(right);
    ck_assert(!pe_diagnose(&right, plain, &seen, 1, NULL, NULL, &err));
    found = held(right, &seen);
    ck_assert(found.fits && found.noisy && found.verdict == PE_VERDICT_MATCH);
    table_make(0, 500, 0);
    ck_assert(!held(right, &seen).fits);
    pe_diagnosis_free(right);
    pe_diagnosis_free(late);
}

/* Both calls that take a sample: a diagnosis, and one that is held against another. */
static void sample_check(const struct pe_diagnosis *first, const struct pe_sample *changed,
                         enum pe_status expected, enum pe_status expected_held)
{
    struct pe_diagnosis *diagnosis;
    struct pe_error err = {0}, err_held = {0};
    struct pe_held held = {.size = sizeof(held)};

    ck_assert_msg(pe_diagnose(&diagnosis, NULL, changed, 1, NULL, NULL, &err) == expected,
                  "expected %s: %s", pe_status_code(expected), err.detail);
    pe_diagnosis_free(diagnosis);
    ck_assert_msg(pe_diagnosis_hold(first, changed, NULL, NULL, &held, &err_held) == expected_held,
                  "held, expected %s: %s", pe_status_code(expected_held), err_held.detail);
    cases++;
}

/* Each member of a sample that is wrong alone. */
TEST(test_refused_samples)
{
    static const double none[PE_SAMPLE_PAIRS_MAX + 1] = {0};
    OWNED_SCHEME plain = rope("dim=32");
    struct pe_sample changed, seen = sample();
    struct pe_diagnosis *first;

    table_make(0, 10000, 0);
    ck_assert(!pe_diagnose(&first, plain, &seen, 1, NULL, NULL, &(struct pe_error){0}));
#define CHECK(change, status, status_held)                                                         \
    do {                                                                                           \
        changed = seen;                                                                            \
        change;                                                                                    \
        sample_check(first, &changed, status, status_held);                                        \
    } while (0)
    for (enum pe_dtype dtype = 0; dtype < PE_DTYPES; dtype++) {
        const enum pe_status status = pe_dtype_is_float(dtype) ? PE_OK : PE_UNSUPPORTED;
        CHECK(changed.dtype = dtype, status, status);
        CHECK(changed.precision = dtype, status, status);
    }
    CHECK(changed.pairs = 0, PE_TOO_LARGE, PE_SHAPE_MISMATCH);
    CHECK(changed.pairs = PAIRS - 1, PE_OK, PE_SHAPE_MISMATCH);
    CHECK(changed.frequencies = none, PE_MISSING, PE_MISSING);
    CHECK(changed.positions = NULL, PE_MISSING, PE_MISSING);
    CHECK(changed.cos = NULL, PE_OK, PE_OK);
    CHECK(changed.sin = NULL, PE_OK, PE_OK);
    CHECK(changed.cos = changed.sin = NULL, PE_MISSING, PE_MISSING);
    CHECK(changed.rows = 0; changed.frequencies = w, PE_OK, PE_MISSING);
    CHECK(changed.rows = 0; changed.frequencies = none;
          changed.pairs = PE_SAMPLE_PAIRS_MAX, PE_OK, PE_SHAPE_MISMATCH);
    CHECK(changed.rows = 0; changed.frequencies = none;
          changed.pairs = PE_SAMPLE_PAIRS_MAX + 1, PE_TOO_LARGE, PE_SHAPE_MISMATCH);
    CHECK(changed.pairing = PE_PAIRING_MIXED + 1, PE_INVALID, PE_OK);
    CHECK(changed.size = 0, PE_INVALID, PE_INVALID);
#undef CHECK
    pe_diagnosis_free(first);
}

/* Bases measured from frequencies and from rotations, to seven digits. */
TEST(test_measures)
{
    const double bases[] = {20, 100, 12345.678, 1e6, 3.25e9};
    struct pe_sample seen = sample();

    for (size_t i = 0; i < COUNT_OF(bases); i++, cases += 2) {
        table_make(3, bases[i], 0);
        ck_assert(fabs(pe_base_measure(&seen, seen.pairs) / bases[i] - 1) < 1e-7);
        for (size_t pair = 0; pair < PAIRS; pair++, cases++)
            ck_assert(fabs(pe_frequency_measure(&seen, pair) - w[pair]) < 1e-12);
        const struct pe_sample list = {.pairs = PAIRS, .frequencies = w};
        ck_assert(fabs(pe_base_measure(&list, list.pairs) / bases[i] - 1) < 1e-12);
    }
    seen.sin = NULL;
    ck_assert(isnan(pe_frequency_measure(&seen, 0)) && isnan(pe_base_measure(&seen, seen.pairs)));
    ck_assert(pe_round_digits(123456, 2) == 120000 && pe_round_digits(0.98765, 3) == 0.988);
    ck_assert(pe_round_to(257, PE_BF16) == 256 && pe_round_to(2049, PE_F16) == 2048 &&
              pe_round_to(0.1, PE_F64) == 0.1);
}

/* Each has a code of its own, words, and a line in the list of its own. */
TEST(test_list_of_bugs)
{
    int bug = PE_BUG_NONE + 1;

    ck_assert(!pe_bug_info(PE_BUG_NONE));
    for (; bug <= PE_BUG_FLOAT32_ANGLE; bug++, cases++) {
        const struct pe_bug_info *info = pe_bug_info((enum pe_bug)bug);
        ck_assert(strlen(info->code) > 3 && strlen(info->explanation) > 20 &&
                  strlen(info->fix) > 10);
        for (int before = 1; before < bug; before++)
            ck_assert_str_ne(info->code, pe_bug_info((enum pe_bug)before)->code);
    }
    ck_assert_int_gt(bug, 15);
}

/* A diagnosis that is refused memory once, at whichever reservation, says so; one that gets all of
 * it decides as ever. */
TEST(diagnosis_short_of_memory)
{
    OWNED_SCHEME longrope = scheme_new(
        "rope", "dim=8 rope_type=longrope short_factor=1,1,1,1 long_factor=1,2,3,4 factor=4 "
                "original_max_position_embeddings=64 seq_len=128");
    const double seen[] = {1, 0.05, 0.01 / 3, 0.00025};
    const struct pe_sample sample = SIZED(pe_sample, .pairs = 4, .frequencies = seen);
    enum pe_status status = PE_OUT_OF_MEMORY;
    long most = 0;

    ck_assert(!pe_scheme_prepare(longrope, NULL, &(struct pe_error){0}));
    for (; status; most += 1 + most / 16) {
        struct refusing refusing;
        struct pe_work *work = refusing_work(&refusing, most);
        struct pe_error err = {0};
        struct pe_diagnosis *diagnosis;
        status = pe_diagnose(&diagnosis, longrope, &sample, 1, NULL, work, &err);
        ck_assert_msg(status == (refusing.left < 0 ? PE_OUT_OF_MEMORY : PE_OK), "%ld pieces: %s",
                      most, pe_status_code(status));
        ck_assert(!diagnosis == (status != PE_OK));
        if (diagnosis)
            ck_assert_int_eq(pe_diagnosis_verdict(diagnosis), PE_VERDICT_MATCH);
        pe_diagnosis_free(diagnosis);
        pe_work_free(work);
        ck_assert_uint_eq(refusing.held, 0);
    }
    ck_assert_int_gt(most, 100);
}

CHECK_WAY(.cases = &cases);
