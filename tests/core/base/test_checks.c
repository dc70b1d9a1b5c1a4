/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/core/learned_fixture.h"
#include "tests/core/public_fixture.h"

/* Whatever takes long is checked while it runs. The clock of deadlines is one of this program
 * (--wrap in the Makefile) and counts the checks, so that a deadline is the number of a check and
 * nothing depends on times. Each view of each encoding is so large that it would take LONG by its
 * estimate, and has to end at its check CHECKS. */

#define LONG 25e6 /* nanoseconds */

enum { CHECKS = 4, DOUBLINGS = 40, LEARNED_ROWS = 512, LEARNED_WIDTH = 256 };

static uint64_t checks;
static float elements[LEARNED_ROWS * LEARNED_WIDTH];
static const struct pe_tensor learned = {PE_F32, 2, {LEARNED_ROWS, LEARNED_WIDTH}, elements};

uint64_t __wrap_pe_clock(void);
uint64_t __wrap_pe_clock(void)
{
    return ++checks;
}

struct cost {
    const char *encoding, *params, *view, *more;
    enum pe_dtype dtype;
    size_t sizes[3];
};

#define YARN  "rope_type=yarn factor=4 original_max_position_embeddings=4096"
#define MROPE "dim=128 mrope_section=16,24,24"
static const struct cost costs[] = {
#define COST(encoding, params, view, more, dtype, ...)                                             \
    {encoding, params, view, more, dtype, {__VA_ARGS__}},
#include "tests/core/costs.def"
#undef COST
};

struct subject {
    struct pe_scheme *scheme;
    struct pe_view *view;
};

static void subject_free(struct subject *subject)
{
    pe_view_free(subject->view);
    pe_scheme_free(subject->scheme);
    *subject = (struct subject){NULL, NULL};
}

/* PE_OK, or the refusal of a size that is too large. */
static enum pe_status subject_open(struct subject *subject, const struct cost *cost, size_t size,
                                   const struct pe_tensor *table)
{
    const struct pe_encoding *encoding = pe_encoding_find(cost->encoding);
    char params[256], more[256];
    struct pe_params parsed;
    struct pe_error err = {0};

    *subject = (struct subject){NULL, NULL};
    snprintf(params, sizeof(params), cost->params, size);
    snprintf(more, sizeof(more), cost->more, size, size, size);
    if (pe_params_parse(&parsed, cost->encoding, params, &err))
        return err.status;
    pe_scheme_open(&subject->scheme, encoding, &parsed, NULL, &err);
    pe_params_free(&parsed);
    if (!err.status && pe_encoding_has(encoding, PE_KIND_LEARNED))
        pe_scheme_give(subject->scheme, "table", table, NULL, &err);
    if (!err.status) {
        const struct pe_view_type *type = pe_encoding_view(encoding, cost->view);
        const struct pe_view_info *info = pe_view_info(type);
        pe_params_init(&parsed, info->params, info->params_count);
        if (!pe_params_set_pairs(&parsed, more, &err) && !pe_params_finish(&parsed, &err))
            pe_view_new(&subject->view, subject->scheme, type, &parsed, cost->dtype, NULL, &err);
        pe_params_free(&parsed);
    }
    if (err.status)
        subject_free(subject);
    return err.status;
}

static double output_work(const struct pe_output *output)
{
    return output->once_work + pe_output_work(output, output->rows);
}

/* The output that takes longest. */
static size_t slowest(const struct pe_view *view)
{
    size_t most = 0;

    for (size_t i = 1; pe_view_output(view, i); i++)
        if (output_work(pe_view_output(view, i)) > output_work(pe_view_output(view, most)))
            most = i;
    return most;
}

static double view_work(const struct subject *subject)
{
    return output_work(pe_view_output(subject->view, slowest(subject->view)));
}

static struct pe_work *work_of_checks(void)
{
    const struct pe_work_limits limits = SIZED(pe_work_limits, .deadline = CHECKS);
    struct pe_work *work;

    ACCEPTED(pe_work_new(&work, &limits, &err));
    checks = 0;
    return work;
}

/* Preparing the scheme where that takes LONG, else filling the view, ends at its check CHECKS. */
static void subject_run(const struct subject *subject, const char *name)
{
    const size_t at = slowest(subject->view);
    const struct pe_output *output = pe_view_output(subject->view, at);
    const bool prepares = pe_scheme_work(subject->scheme) >= LONG;
    OWNED_MEMORY void *out =
        malloc(output->rows * output->row_elements * pe_dtype_info(output->dtype)->size + 1);
    struct pe_error error = {0};

    ck_assert_ptr_nonnull(out);
    if (!prepares)
        ACCEPTED(pe_scheme_prepare(subject->scheme, NULL, &err));
    struct pe_work *work = work_of_checks();
    if (prepares)
        pe_scheme_prepare(subject->scheme, work, &error);
    else
        pe_view_fill(subject->view, at, 0, output->rows, out, work, &error);
    ck_assert_msg(error.status == PE_CANCELLED, "%s: %s after %llu checks", name,
                  pe_status_code(error.status), (unsigned long long)checks);
    ck_assert_msg(prepares || pe_work_memory(work) == 0, "%s: %llu bytes stay charged", name,
                  (unsigned long long)pe_work_memory(work));
    pe_work_free(work);
}

TEST_LOOP(COUNT_OF(costs), long_work_is_checked)
{
    const struct cost *cost = &costs[_i];
    struct subject subject, larger;
    size_t size = cost->sizes[2];
    char name[400];

    ck_assert(!subject_open(&subject, cost, size, &learned));
    for (int i = 0;
         i < DOUBLINGS && view_work(&subject) < LONG && pe_scheme_work(subject.scheme) < LONG;
         i++) {
        if (subject_open(&larger, cost, size * 2, &learned))
            break; /* some are refused before they take long */
        subject_free(&subject);
        subject = larger;
        size *= 2;
    }
    snprintf(name, sizeof(name), "%s %s, %s %s, %zu", cost->encoding, cost->params, cost->view,
             cost->more, size);
    if (view_work(&subject) >= LONG || pe_scheme_work(subject.scheme) >= LONG)
        subject_run(&subject, name);
    subject_free(&subject);
}

/* Of few cells that are so wide that exact sums are checked within a row. */
static const struct pe_tensor wide = {PE_F32, 2, {16, LEARNED_ROWS *LEARNED_WIDTH / 16}, elements};
static const struct cost grids[] = {
    {"learned",
     "table=x grid=4,4 to=8,8 mode=bilinear align_corners=false antialias=false",
     "table",
     "length=%zu",
     PE_BF16,
     {64}},
    {"learned",
     "table=x grid=4,4 to=8,2 mode=bicubic align_corners=false antialias=false",
     "table",
     "length=%zu",
     PE_F16,
     {16}},
    {"learned",
     "table=x grid=4,4 to=2,2 mode=bilinear align_corners=false antialias=true",
     "table",
     "length=%zu",
     PE_F64,
     {4}},
    {"learned",
     "table=x grid=4,4 to=7,7 mode=bicubic align_corners=true antialias=false",
     "table",
     "length=%zu",
     PE_BF16,
     {49}},
};

static uint64_t checks_of(const struct cost *cost)
{
    struct subject subject;
    struct pe_work *work;

    ck_assert(!subject_open(&subject, cost, cost->sizes[0], &wide));
    ACCEPTED(pe_scheme_prepare(subject.scheme, NULL, &err));
    const struct pe_output *output = pe_view_output(subject.view, 0);
    OWNED_MEMORY void *out =
        malloc(output->rows * output->row_elements * pe_dtype_info(output->dtype)->size);
    ck_assert_ptr_nonnull(out);
    const struct pe_work_limits limits = SIZED(pe_work_limits, .deadline = UINT64_MAX);
    ACCEPTED(pe_work_new(&work, &limits, &err));
    checks = 0;
    ACCEPTED(pe_view_fill(subject.view, 0, 0, output->rows, out, work, &err));
    pe_work_free(work);
    subject_free(&subject);
    return checks;
}

/* Estimates are of elements that are decided in doubles. Zeros, and the ties that are frequent
 * where weights are halves and quarters, need no exact sums: at most double-doubles. */
TEST_LOOP(COUNT_OF(grids), zeros_and_ties_cost_what_numbers_do)
{
    uint64_t others, seed = 9;

    for (size_t i = 0; i < COUNT_OF(elements); i++)
        elements[i] = (float)(any_double(&seed, 0) / 3);
    others = checks_of(&grids[_i]);
    for (size_t i = 0; i < COUNT_OF(elements); i++)
        elements[i] = (float)(256 + (double)(i * i % 255));
    const uint64_t ties = checks_of(&grids[_i]);
    memset(elements, 0, sizeof(elements));
    const uint64_t zeros = checks_of(&grids[_i]);
    ck_assert_msg(others > 0 && zeros <= 4 * others && ties == others,
                  "%llu checks, %llu of zeros, %llu of ties", (unsigned long long)others,
                  (unsigned long long)zeros, (unsigned long long)ties);
}
