/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <posenc/posenc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The time that is foretold of every view and function beside the time that it takes, by the clock
 * of the thread: within a factor of 4 at three sizes each. Times below 50 us are left out. */

#define LEAST_NS 5e4
#define FACTOR   4.0

enum { SIZES = 3, RUNS = 3, ROW_GROUP = 1 << 15, LEARNED_ROWS = 512, LEARNED_WIDTH = 256 };

struct subject {
    const char *encoding, *params, *view, *more; /* %zu: the size */
    enum pe_dtype dtype;
    size_t sizes[SIZES];
};

#define YARN  "rope_type=yarn factor=4 original_max_position_embeddings=4096"
#define MROPE "dim=128 mrope_section=16,24,24"

static const struct subject subjects[] = {
#define COST(encoding, params, view, more, dtype, ...)                                             \
    {encoding, params, view, more, dtype, {__VA_ARGS__}},
#include "tests/core/costs.def"
#undef COST
};

static struct pe_error err;
static size_t passed, failed, skipped;
static double least = INFINITY, most;
static float table[LEARNED_ROWS * LEARNED_WIDTH];

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void *room(size_t bytes)
{
    void *memory = malloc(bytes + 1);

    if (!memory)
        exit(2);
    memset(memory, 1, bytes); /* pages are touched before the clock runs */
    return memory;
}

/* Memory of the functions, touched before their clock runs: inputs and outputs. */
enum { SCRATCH_SIZE = 80 << 20 };
static char *scratch[2];

/* Inputs of a dtype are numbers between 1/2 and 1 of either sign: subnormal ones, which another
 * dtype's numbers may be, cost some processors a hundred times as long. */
static void scratch_fill(enum pe_dtype dtype)
{
    const size_t size = pe_dtype_info(dtype)->size;
    static const uint64_t half[] = {[PE_F64] = 0x3fe0000000000000,
                                    [PE_F32] = 0x3f000000,
                                    [PE_F16] = 0x3800,
                                    [PE_BF16] = 0x3f00};

    for (uint32_t at = 0, state = 1; at < SCRATCH_SIZE; at += (uint32_t)size) {
        state = state * 1664525 + 1013904223;
        const uint64_t sign = (uint64_t)(state >> 31) << (8 * size - 1);
        memcpy(scratch[0] + at, &(uint64_t){half[dtype] | sign | (state >> 8 & 0x7f)}, size);
    }
}

static void judge(const char *name, double took, double foretold)
{
    const double ratio = took / foretold;
    const bool fits = ratio < FACTOR && ratio > 1 / FACTOR;

    if (took < LEAST_NS) {
        skipped++;
        return;
    }
    least = fmin(least, ratio);
    most = fmax(most, ratio);
    *(fits ? &passed : &failed) += 1;
    if (!fits || getenv("COSTS_ALL"))
        printf("%s: %.0f us, foretold %.0f us, a factor of %.2f\n", name, took / 1e3,
               foretold / 1e3, ratio);
}

static void failure(const char *name)
{
    printf("%s: %s\n", name, err.detail);
    failed++;
    err = (struct pe_error){0};
}

/* ---- views ---------------------------------------------------------------------------------- */

static void output_fill(const struct pe_view *view, size_t index)
{
    const struct pe_output *output = pe_view_output(view, index);
    const size_t group = ROW_GROUP / (output->row_elements + 1) + 1;
    char *out = room(group * output->row_elements * sizeof(double));

    for (size_t row = 0; row < output->rows && !err.status; row += group) {
        const size_t end = row + group < output->rows ? row + group : output->rows;
        pe_view_fill(view, index, row, end, out, NULL, &err);
    }
    free(out);
}

static struct pe_scheme *scheme_open(const struct subject *subject, size_t size)
{
    const struct pe_tensor learned = {PE_F32, 2, {LEARNED_ROWS, LEARNED_WIDTH}, table};
    struct pe_scheme *scheme = NULL;
    struct pe_params params;
    char text[256];

    snprintf(text, sizeof(text), subject->params, size);
    if (pe_params_parse(&params, subject->encoding, text, &err))
        return NULL;
    if (!pe_scheme_open(&scheme, pe_encoding_find(subject->encoding), &params, NULL, &err) &&
        pe_encoding_has(pe_scheme_encoding(scheme), PE_KIND_LEARNED))
        pe_scheme_give(scheme, "table", &learned, NULL, &err);
    pe_params_free(&params);
    return scheme;
}

static struct pe_view *view_open(const struct subject *subject, struct pe_scheme *scheme,
                                 size_t size)
{
    const struct pe_view_type *type =
        pe_encoding_view(pe_encoding_find(subject->encoding), subject->view);
    const struct pe_view_info *info = pe_view_info(type);
    struct pe_params params;
    struct pe_view *view = NULL;
    char text[256];

    snprintf(text, sizeof(text), subject->more, size, size, size);
    pe_params_init(&params, info->params, info->params_count);
    if (!pe_params_set_pairs(&params, text, &err) && !pe_params_finish(&params, &err))
        pe_view_new(&view, scheme, type, &params, subject->dtype, NULL, &err);
    pe_params_free(&params);
    return view;
}

/* Prepared, filled and asked for its scalars. */
static void view_measure(const struct subject *subject, size_t size, double *took, double *foretold)
{
    struct pe_scheme *scheme = scheme_open(subject, size);
    struct pe_view *view = err.status ? NULL : view_open(subject, scheme, size);
    struct pe_scalar scalar;
    const double begin = now();

    if (view && !pe_scheme_prepare(scheme, NULL, &err)) {
        for (size_t i = 0; pe_view_output(view, i); i++)
            output_fill(view, i);
        for (size_t i = 0; pe_view_scalar(view, i, &scalar); i++)
            continue;
        *took = fmin(*took, now() - begin);
        *foretold = pe_scheme_work(scheme) + pe_view_work(view);
    }
    pe_view_free(view);
    pe_scheme_free(scheme);
}

static void view_check(const struct subject *subject)
{
    char name[400];

    for (size_t i = 0; i < SIZES; i++) {
        double took = INFINITY, foretold = 0;
        snprintf(name, sizeof(name), "%s %s %s %s %s, %zu", subject->encoding, subject->params,
                 subject->view, subject->more, pe_dtype_info(subject->dtype)->name,
                 subject->sizes[i]);
        for (int run = 0; run < RUNS && !err.status && (run == 0 || took < 2e7); run++)
            view_measure(subject, subject->sizes[i], &took, &foretold);
        if (err.status)
            failure(name);
        else
            judge(name, took, foretold);
    }
}

static bool is_listed(const struct pe_encoding *encoding, const struct pe_view_type *type)
{
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
        if (!strcmp(subjects[i].encoding, pe_encoding_info(encoding)->name) &&
            !strcmp(subjects[i].view, pe_view_info(type)->name))
            return true;
    return false;
}

static void views_check(void)
{
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
        view_check(&subjects[i]);
    for (size_t e = 0; pe_encoding_at(e); e++)
        for (size_t v = 0; pe_encoding_view_at(pe_encoding_at(e), v); v++)
            if (!is_listed(pe_encoding_at(e), pe_encoding_view_at(pe_encoding_at(e), v))) {
                printf("%s has a view that is not listed here: %s\n",
                       pe_encoding_info(pe_encoding_at(e))->name,
                       pe_view_info(pe_encoding_view_at(pe_encoding_at(e), v))->name);
                failed++;
            }
}

/* ---- functions, by what they count ---------------------------------------------------------- */

struct function {
    const char *name, *encoding, *params;
    enum pe_dtype dtype;
    int mode; /* of the function */
    size_t sizes[SIZES];
    void (*run)(const struct function *function, size_t size, struct pe_scheme *scheme,
                struct pe_work *work);
};

enum { HEADS = 4, DIM = 64 };

static void rotation_run(const struct function *function, size_t size, struct pe_scheme *scheme,
                         struct pe_work *work)
{
    const struct pe_rotation_spec spec = {
        .size = sizeof(spec), .scheme = scheme, .positions = {.step = 1, .count = size}};
    const struct pe_axes axes = {
        .batch = 1, .heads_outer = 1, .sequence = size, .heads_inner = 32 * HEADS, .head_dim = DIM};
    struct pe_rotation *rotation;
    void *data = scratch[0];

    if (!pe_rotation_new(&rotation, &spec, function->dtype, NULL, work, &err))
        pe_rotate(rotation, data, &axes, 0, size, work, &err);
    pe_rotation_free(rotation);
}

static void attention_run(const struct function *function, size_t size, struct pe_scheme *scheme,
                          struct pe_work *work)
{
    const struct pe_tensor tensor = {function->dtype, 4, {1, HEADS, size, DIM}, scratch[0]};
    const struct pe_attention_spec spec = {.size = sizeof(spec),
                                           .scheme = scheme,
                                           .q = tensor,
                                           .k = tensor,
                                           .v = tensor,
                                           .layout = PE_LAYOUT_HALF,
                                           .scale = NAN,
                                           .query_start = NAN,
                                           .output = (enum pe_attention_output)function->mode};
    struct pe_attention *attention = NULL;

    if (!pe_attention_new(&attention, &spec, NULL, work, &err)) {
        const struct pe_output *output = pe_attention_output(attention);
        pe_attention_fill(attention, 0, output->rows, scratch[1], work, &err);
    }
    pe_attention_free(attention);
}

/* A layer of 256 columns; `foretold` beforehand is what is counted. */
static void projection_run(const struct function *function, size_t size, struct pe_scheme *scheme,
                           struct pe_work *work)
{
    enum { WIDTH = DIM * HEADS };
    const struct pe_tensor x = {function->dtype, 3, {1, size, WIDTH}, scratch[0]};
    const struct pe_tensor weight = {function->dtype, 2, {WIDTH, WIDTH}, scratch[0]};
    const struct pe_tensor out = {function->dtype, 4, {1, HEADS, size, DIM}, scratch[1]};
    const uint64_t before = pe_work_operations(work);

    (void)scheme;
    if (!pe_project(&x, &weight, NULL, &out, work, &err) &&
        fabs((double)(pe_work_operations(work) - before) - pe_project_work(&x, &weight)) > size)
        err.status = PE_INTERNAL;
}

/* Rows of sines in several interpretations, at the sizes that the service looks at. */
static void samples_run(size_t size, size_t count, struct pe_work *work)
{
    enum { PAIRS = 64, SAMPLES = 4 };
    double *values = room(size * PAIRS * 2 * sizeof(double));
    double *positions = room(size * sizeof(double));
    struct pe_sample sample = {.size = sizeof(sample),
                               .rows = size,
                               .pairs = PAIRS,
                               .positions = positions,
                               .cos = values,
                               .sin = values + size * PAIRS,
                               .dtype = PE_F32,
                               .precision = PE_F32};
    struct pe_sample samples[SAMPLES];
    struct pe_diagnosis *diagnosis = NULL;

    for (size_t i = 0; i < SAMPLES; i++)
        samples[i] = sample;
    for (size_t i = 0; i < size; i++) {
        positions[i] = (double)i;
        for (size_t pair = 0; pair < PAIRS; pair++) {
            const double angle = (double)i * pow(12345, -(double)pair / PAIRS);
            values[i * PAIRS + pair] = (float)cos(angle);
            values[(size + i) * PAIRS + pair] = (float)sin(angle);
        }
    }
    pe_diagnose(&diagnosis, NULL, samples, count, NULL, work, &err);
    pe_diagnosis_free(diagnosis);
    free(values);
    free(positions);
}

static void diagnosis_run(const struct function *function, size_t size, struct pe_scheme *scheme,
                          struct pe_work *work)
{
    (void)function, (void)scheme;
    samples_run(size, 1, work);
}

/* As many as queries beside keys have. */
static void keys_diagnosis_run(const struct function *function, size_t size,
                               struct pe_scheme *scheme, struct pe_work *work)
{
    (void)function, (void)scheme;
    samples_run(size, 4, work);
}

/* Of two tables that differ everywhere, as wide as a head. */
static void comparison_run(const struct function *function, size_t size, struct pe_scheme *scheme,
                           struct pe_work *work)
{
    struct pe_comparison sum = {.size = sizeof(sum)};
    const size_t bytes = size * DIM * HEADS * pe_dtype_info(function->dtype)->size;

    (void)scheme;
    memset(scratch[1], function->mode, bytes);
    pe_compare(&sum, function->dtype, scratch[0], scratch[1], 0, size * HEADS, DIM, NULL, NULL,
               work, &err);
    memset(scratch[1], 0, bytes);
}

static const struct function functions[] = {
#define FUNCTION(run, name, encoding, params, dtype, mode, ...)                                    \
    {name, encoding, params, dtype, mode, {__VA_ARGS__}, run},
#include "tests/core/cost_functions.def"
#undef FUNCTION
};

/* A run makes its scheme too, so that what is counted holds everything. */
static void function_measure(const struct function *function, size_t size, double *took,
                             double *foretold)
{
    const struct subject scheme_of = {function->encoding, function->params, "", "", PE_F32, {0}};
    struct pe_scheme *scheme = NULL;
    struct pe_work *work;
    double begin;

    if (pe_work_new(&work, NULL, &err))
        return;
    if (function->encoding)
        scheme = scheme_open(&scheme_of, 0);
    begin = now();
    if (!scheme || !pe_scheme_prepare(scheme, work, &err))
        function->run(function, size, scheme, work);
    *took = fmin(*took, now() - begin);
    *foretold = (double)pe_work_operations(work);
    pe_work_free(work);
    pe_scheme_free(scheme);
}

static void function_check(const struct function *function)
{
    char name[200];

    scratch_fill(function->dtype);
    for (size_t i = 0; i < SIZES; i++) {
        double took = INFINITY, foretold = 0;
        snprintf(name, sizeof(name), "%s %s %s %s %d, %zu", function->name,
                 function->encoding ? function->encoding : "none",
                 function->params ? function->params : "", pe_dtype_info(function->dtype)->name,
                 function->mode, function->sizes[i]);
        for (int run = 0; run < RUNS && !err.status && (run == 0 || took < 2e7); run++)
            function_measure(function, function->sizes[i], &took, &foretold);
        if (err.status)
            failure(name);
        else
            judge(name, took, foretold);
    }
}

int main(void)
{
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        table[i] = (float)(i % 1009) / 512 - 0.9f;
    for (size_t i = 0; i < 2; i++)
        scratch[i] = room(SCRATCH_SIZE);
    views_check();
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        function_check(&functions[i]);
    printf("factors from %.2f to %.2f\n%zu passed, %zu failed, %zu skipped\n", least, most, passed,
           failed, skipped);
    return failed > 0;
}
