/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/check_main.h"
#include "tests/core/public_fixture.h"

/* ---- a piece of work ------------------------------------------------------------------------ */

static bool reserve_nothing(void *context, size_t bytes)
{
    (void)context;
    (void)bytes;
    return false;
}

TEST(no_work)
{
    pe_work_cancel(NULL);
    pe_work_deadline(NULL, 1);
    pe_work_release(NULL, 1);
    ck_assert(!pe_work_ended(NULL) && pe_work_reserve(NULL, SIZE_MAX));
    ck_assert_uint_eq(pe_work_memory(NULL) + pe_work_operations(NULL), 0);
    ACCEPTED(pe_work_check(NULL, &err));
    ACCEPTED(pe_work_spend(NULL, UINT64_MAX, &err));
    pe_work_free(NULL);
}

TEST(limits_refuse)
{
    const struct pe_work_limits unset = {.memory_max = 1};
    const struct pe_work_limits half = {.size = sizeof(half), .reserve = reserve_nothing};
    struct pe_work *work;

    REFUSED(PE_INVALID, pe_work_new(&work, &unset, &err));
    REFUSED(PE_INVALID, pe_work_new(&work, &half, &err));
    ck_assert_ptr_null(work);
}

/* Counts beyond 64 bits exceed every limit, and change nothing. */
TEST(counts_do_not_wrap)
{
    const struct pe_work_limits limits = {
        .size = sizeof(limits), .memory_max = 100, .operations_max = 100};
    struct pe_work *bounded, *free_of_limits;

    ACCEPTED(pe_work_new(&bounded, &limits, &err));
    ACCEPTED(pe_work_new(&free_of_limits, NULL, &err));
    struct pe_work *const works[] = {bounded, free_of_limits};
    for (size_t i = 0; i < 2; i++) {
        ck_assert(pe_work_reserve(works[i], 60));
        ck_assert(!pe_work_reserve(works[i], SIZE_MAX));
        ACCEPTED(pe_work_spend(works[i], 60, &err));
        REFUSED(PE_TOO_LARGE, pe_work_spend(works[i], UINT64_MAX, &err));
        ck_assert_uint_eq(pe_work_memory(works[i]), 60);
        ck_assert_uint_eq(pe_work_operations(works[i]), 60);
        pe_work_free(works[i]);
    }
}

/* A limit is for the sum of all parts; a refused part is not counted. */
TEST(limits_are_of_the_sum)
{
    const struct pe_work_limits limits = {
        .size = sizeof(limits), .memory_max = 100, .operations_max = 100};
    struct pe_work *work;

    ACCEPTED(pe_work_new(&work, &limits, &err));
    ck_assert(pe_work_reserve(work, 60) && !pe_work_reserve(work, 41));
    ck_assert(pe_work_reserve(work, 40) && !pe_work_reserve(work, 1));
    ck_assert_uint_eq(pe_work_memory(work), 100);
    pe_work_release(work, 50);
    ck_assert(pe_work_reserve(work, 50) && !pe_work_reserve(work, 1));
    ACCEPTED(pe_work_spend(work, 60, &err));
    REFUSED(PE_TOO_LARGE, pe_work_spend(work, 41, &err));
    ACCEPTED(pe_work_spend(work, 40, &err));
    REFUSED(PE_TOO_LARGE, pe_work_spend(work, 1, &err));
    ck_assert_uint_eq(pe_work_operations(work), 100);
    pe_work_free(work);
}

static bool tally_reserve(void *context, size_t bytes)
{
    size_t *held = context;

    *held += bytes < 1000 ? bytes : 0;
    return bytes < 1000;
}

static void tally_release(void *context, size_t bytes)
{
    *(size_t *)context -= bytes;
}

/* The reserve and release functions are called for each piece, and release gets the remainder when
 * the work is freed. */
TEST(reserve_and_release)
{
    size_t held = 0;
    const struct pe_work_limits limits =
        SIZED(pe_work_limits, .reserve = tally_reserve, .release = tally_release, .context = &held);
    struct pe_work *work;

    ACCEPTED(pe_work_new(&work, &limits, &err));
    ck_assert(pe_work_reserve(work, 900) && pe_work_reserve(work, 900));
    ck_assert(!pe_work_reserve(work, 1000));
    ck_assert_uint_eq(held, 1800);
    ck_assert_uint_eq(pe_work_memory(work), 1800);
    pe_work_release(work, 700);
    ck_assert_uint_eq(held, 1100);
    pe_work_free(work);
    ck_assert_uint_eq(held, 0);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A deadline is exact to the nanosecond: work goes on before it, and has ended after it. */
TEST(deadlines_are_exact)
{
    struct pe_work *work;

    ACCEPTED(pe_work_new(&work, NULL, &err));
    pe_work_deadline(work, now_ns() + UINT64_C(60000000000));
    ck_assert(!pe_work_ended(work));
    pe_work_deadline(work, now_ns());
    ck_assert(pe_work_ended(work));
    pe_work_free(work);
}

/* Lists and text of parameters are charged, and released when they are freed. */
TEST(parameters_are_charged)
{
    static const struct pe_param list[] = {{.name = "numbers", .type = PE_RANGES},
                                           {.name = "text", .type = PE_TEXT}};
    const struct pe_work_limits limits = {.size = sizeof(limits), .memory_max = 100};
    struct pe_params params;
    struct pe_work *work;

    ACCEPTED(pe_work_new(&work, &limits, &err));
    pe_params_init(&params, list, 2);
    params.work = work;
    ACCEPTED(pe_params_set_text(&params, 0, "0..9", &err));
    ck_assert_uint_eq(pe_work_memory(work), 0); /* one range is stored as its ends */
    REFUSED(PE_OUT_OF_MEMORY, pe_params_set_text(&params, 0, "10..19", &err));
    pe_params_free(&params);
    pe_params_init(&params, list, 2);
    params.work = work;
    ACCEPTED(pe_params_set_text(&params, 0, "0,1..9", &err));
    ck_assert_uint_eq(pe_work_memory(work), 80);
    REFUSED(PE_OUT_OF_MEMORY, pe_params_set_text(&params, 0, "10..19", &err));
    ACCEPTED(pe_params_set_text(&params, 1, "text", &err));
    ck_assert_uint_eq(pe_work_memory(work), 85);
    REFUSED(PE_CONFLICT, pe_params_set_text(&params, 1, "other", &err));
    pe_params_free(&params);
    ck_assert_uint_eq(pe_work_memory(work), 0);
    pe_work_free(work);
}

/* Whatever parameters of a cancelled work were charged for is released with them. */
TEST(cancelled_parameters_are_released)
{
    static const struct pe_param list[] = {{.name = "numbers", .type = PE_RANGES}};
    static const char *const texts[] = {"0..9", "0,1..9", "0..9,20..29", "1,2,3"};
    const double more[] = {1, 2, 3};

    for (size_t i = 0; i < COUNT_OF(texts) * 4; i++) {
        struct pe_params params;
        struct pe_work *work;
        ACCEPTED(pe_work_new(&work, NULL, &err));
        pe_params_init(&params, list, 1);
        params.work = work;
        ACCEPTED(pe_params_set_text(&params, 0, texts[i / 4], &err));
        pe_work_cancel(work);
        struct pe_error err = {0};
        if (i % 4 == 0)
            pe_params_set_list(&params, 0, more, 3, &err);
        else if (i % 4 == 1)
            pe_params_set_text(&params, 0, "40..49", &err);
        else if (i % 4 == 2)
            pe_params_set_text(&params, 0, "7,8", &err);
        else
            pe_params_set_number(&params, 0, 5, &err);
        pe_params_free(&params);
        ck_assert_msg(pe_work_memory(work) == 0, "%s, %zu: %llu bytes", texts[i / 4], i % 4,
                      (unsigned long long)pe_work_memory(work));
        pe_work_free(work);
    }
}

/* Calls that take cancelled or late work end. */
TEST(ended_work_ends_calls)
{
    struct pe_scheme *rope = public_scheme("rope", "dim=4", true), *scheme;
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = rope, .positions = {.step = 1, .count = 4});
    const double one = 1;
    const struct pe_sample sample = {.size = sizeof(sample), .pairs = 1, .frequencies = &one};
    struct pe_error made = {0};
    struct pe_rotation *rotation;
    struct pe_diagnosis *diagnosis;
    struct pe_work *work;
    struct pe_view *view;
    float out[8];

    ck_assert(!public_view(&view, rope, pe_encoding_view_at(pe_scheme_encoding(rope), 0),
                           "length=4", &made));
    ACCEPTED(pe_work_new(&work, NULL, &err));
    pe_work_deadline(work, 1);
    REFUSED(PE_CANCELLED, pe_work_check(work, &err));
    pe_work_deadline(work, 0);
    ACCEPTED(pe_work_check(work, &err));
    pe_work_cancel(work);
    ck_assert(pe_work_ended(work));
    REFUSED(PE_CANCELLED, pe_work_spend(work, 1, &err));
    REFUSED(PE_CANCELLED,
            pe_scheme_new(&scheme, pe_scheme_encoding(rope), pe_scheme_params(rope), work, &err));
    REFUSED(PE_CANCELLED, pe_view_fill(view, 0, 0, 4, out, work, &err));
    REFUSED(PE_CANCELLED, pe_rotation_new(&rotation, &spec, PE_F32, NULL, work, &err));
    REFUSED(PE_CANCELLED, pe_diagnose(&diagnosis, rope, &sample, 1, NULL, work, &err));
    pe_view_free(view);
    pe_work_free(work);
    pe_scheme_free(rope);
}

/* ---- pool ----------------------------------------------------------------------------------- */

static void count_block(struct pe_job *job, size_t block)
{
    (void)block;
    job->reserved[0] = (void *)((size_t)job->reserved[0] + 1);
}

TEST(pools_refuse)
{
    struct pe_job never = {.run = count_block, .blocks = 3}, job = never, empty = {0};
    struct pe_pool *pool;

    REFUSED(PE_OUT_OF_RANGE, pe_pool_new(&pool, SIZE_MAX, false, &err));
    ck_assert_ptr_null(pool);
    ck_assert(pe_pool_run(NULL, &job) && (size_t)job.reserved[0] == 3);
    ACCEPTED(pe_pool_new(&pool, 1, true, &err));
    ck_assert_uint_eq(pe_pool_workers(pool), 1);
    pe_pool_cancel(pool, &never);
    ck_assert(pe_pool_run(pool, &job) && (size_t)job.reserved[0] == 6);
    pe_pool_cancel(pool, &job);
    ck_assert(pe_pool_run(pool, &empty));
    pe_pool_submit(pool, &empty);
    ck_assert_uint_eq(pe_pool_depth(pool), 0);
    ck_assert_ptr_null(never.reserved[0]);
    pe_pool_free(pool);
    pe_pool_free(NULL);
}

struct counting {
    struct pe_job job; /* first, so that a pointer to it is one to the struct */
    _Atomic size_t run;
};

static void third_ends(struct pe_job *job, size_t block)
{
    (void)block;
    if (atomic_fetch_add(&((struct counting *)job)->run, 1) == 2)
        pe_work_cancel(job->work);
}

/* No block begins once the work of a job has ended, and the job is reported as incomplete: without
 * a pool, and with one whose only worker may have begun one more. */
TEST(jobs_end_with_their_work)
{
    struct pe_pool *pool;

    ACCEPTED(pe_pool_new(&pool, 1, false, &err));
    for (size_t with = 0; with < 2; with++) {
        struct counting counting = {.job = {.run = third_ends, .blocks = 8}};
        ACCEPTED(pe_work_new(&counting.job.work, NULL, &err));
        ck_assert(!pe_pool_run(with ? pool : NULL, &counting.job));
        const size_t run = counting.run;
        ck_assert(run == 3 || (with && run == 4));
        ck_assert(!pe_pool_run(with ? pool : NULL, &counting.job));
        ck_assert_uint_eq(counting.run, run);
        pe_work_free(counting.job.work);
    }
    pe_pool_free(pool);
}

/* ---- structs that grow ---------------------------------------------------------------------- */

/* Copies of a struct as in other versions of the headers: longer with zeros, longer with a member
 * set, shorter by members that are zero, or without its size. */
enum version { NEWER, NEWER_AND_SET, OLDER, UNSET, VERSIONS };

static const enum pe_status expected_of[VERSIONS] = {PE_OK, PE_INVALID, PE_OK, PE_INVALID};

static void *version_of(const void *spec, size_t size, size_t older, enum version version)
{
    const size_t sizes[VERSIONS] = {size + 24, size + 24, older, 0};
    char *copy = calloc(1, size + 24);

    memcpy(copy, spec, version == OLDER ? older : size);
    memcpy(copy, &sizes[version], sizeof(size_t));
    copy[size + 16] = version == NEWER_AND_SET;
    if (version != OLDER)
        return copy;
    /* Memory that ends with the struct, so that a sanitizer detects reads behind it. */
    return realloc(copy, older);
}

TEST(specs_grow)
{
    OWNED_SCHEME rope = public_scheme("rope", "dim=4", true);
    float x[8] = {0};
    const struct pe_tensor matrix = {PE_F32, 4, {1, 1, 2, 4}, x};
    const struct pe_rotation_spec rotary =
        SIZED(pe_rotation_spec, .scheme = rope, .positions = {.step = 1, .count = 2});
    const struct pe_attention_spec scores = {
        .size = sizeof(scores), .q = matrix, .k = matrix, .scale = 1};
    const struct pe_work_limits limits = {.size = sizeof(limits), .memory_max = 7};

    for (enum version v = 0; v < VERSIONS; v++) {
        OWNED_MEMORY void *a =
            version_of(&rotary, sizeof(rotary), offsetof(struct pe_rotation_spec, cos), v);
        OWNED_MEMORY void *b =
            version_of(&scores, sizeof(scores), offsetof(struct pe_attention_spec, output), v);
        OWNED_MEMORY void *c =
            version_of(&limits, sizeof(limits), offsetof(struct pe_work_limits, operations_max), v);
        struct pe_error errors[3] = {{0}};
        struct pe_rotation *rotation;
        struct pe_attention *attention;
        struct pe_work *work;

        ck_assert_int_eq(pe_rotation_new(&rotation, a, PE_F32, NULL, NULL, &errors[0]),
                         expected_of[v]);
        ck_assert_int_eq(pe_attention_new(&attention, b, NULL, NULL, &errors[1]), expected_of[v]);
        ck_assert_int_eq(pe_work_new(&work, c, &errors[2]), expected_of[v]);
        ck_assert(!work || !pe_work_reserve(work, 8));
        pe_rotation_free(rotation);
        pe_attention_free(attention);
        pe_work_free(work);
    }
}

/* The library writes to a comparison, so one shorter than the first version is refused. */
TEST(comparisons_and_samples_grow)
{
    const double seen[] = {1, 0.01}, other[] = {1, 0.02};
    const struct pe_comparison empty = {.size = sizeof(empty)};
    const struct pe_sample sample = {.size = sizeof(sample), .pairs = 2, .frequencies = seen};

    for (enum version v = 0; v < VERSIONS; v++) {
        OWNED_MEMORY void *sum = version_of(&empty, sizeof(empty), sizeof(empty), v);
        OWNED_MEMORY void *one =
            version_of(&sample, sizeof(sample), offsetof(struct pe_sample, computed), v);
        struct pe_error errors[2] = {{0}};
        struct pe_diagnosis *diagnosis;

        ck_assert_int_eq(
            pe_compare(sum, PE_F64, seen, other, 0, 1, 2, NULL, NULL, NULL, &errors[0]),
            expected_of[v]);
        ck_assert_int_eq(pe_diagnose(&diagnosis, NULL, one, 1, NULL, NULL, &errors[1]),
                         expected_of[v]);
        if (diagnosis)
            ck_assert_ptr_eq(pe_diagnosis_finding(diagnosis, 0)->sample, one);
        pe_diagnosis_free(diagnosis);
    }
}

/* Samples of a later version are larger. */
TEST(a_list_of_longer_samples)
{
    const double wrong[] = {0.3, 0.2}, seen[] = {1, 0.01};
    struct {
        struct pe_sample sample;
        double later[3];
    } list[2] = {{{.pairs = 2, .frequencies = wrong}, {0}},
                 {{.pairs = 2, .frequencies = seen}, {0}}};
    struct pe_diagnosis *diagnosis;

    list[0].sample.size = list[1].sample.size = sizeof(list[0]);
    ACCEPTED(pe_diagnose(&diagnosis, NULL, &list[0].sample, 2, NULL, NULL, &err));
    ck_assert_int_eq(pe_diagnosis_verdict(diagnosis), PE_VERDICT_CONSISTENT);
    ck_assert_ptr_eq(pe_diagnosis_finding(diagnosis, 0)->sample, &list[1].sample);
    pe_diagnosis_free(diagnosis);
    list[1].sample.size = sizeof(struct pe_sample);
    REFUSED(PE_INVALID, pe_diagnose(&diagnosis, NULL, &list[0].sample, 2, NULL, NULL, &err));
}
