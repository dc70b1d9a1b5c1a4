/* SPDX-License-Identifier: MIT */
#include <time.h>

#include "core/base/work.h"
#include "posenc/attention.h"
#include "posenc/rotation.h"
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

/* Work of seconds ends soon after its deadline: while a scheme is prepared, rows of a view are
 * filled, or sums are computed in wide numbers. Measured by the CPU time of the thread, which
 * excludes other programs. */

enum { DEADLINE_MS = 20, LATE_MS = 40 };

static double cpu_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static struct pe_work *short_work(void)
{
    struct pe_work *work;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    const struct pe_work_limits limits =
        SIZED(pe_work_limits, .deadline = (uint64_t)now.tv_sec * 1000000000u +
                                          (uint64_t)now.tv_nsec + DEADLINE_MS * UINT64_C(1000000));
    ck_assert(!pe_work_new(&work, &limits, &(struct pe_error){0}));
    return work;
}

static void expect_end(enum pe_status status, double begin, const char *what)
{
    const double took = cpu_ms() - begin;

    ck_assert_msg(status == PE_CANCELLED, "%s: %s after %.1f ms", what, pe_status_code(status),
                  took);
    ck_assert_msg(took < DEADLINE_MS + LATE_MS, "%s ended after %.1f ms", what, took);
    printf("%s: ended after %.1f ms\n", what, took);
}

/* Schemes whose preparation alone takes seconds. */
static const char *const schemes[][2] = {
    {"rope", "dim=1048576"},
    {"rope", "dim=1048576 arithmetic=hf rope_type=yarn factor=4 "
             "original_max_position_embeddings=4096"},
    {"sinusoidal", "dim=1048576"},
    {"sinusoidal-2d", "dim=1048576 height=2 width=2"},
    {"xpos", "dim=1048576 t_center=0"},
    {"timestep", "dim=1048576"},
    {"sandwich", "heads=1 dim=1048576"},
};

TEST_LOOP(COUNT_OF(schemes), preparing)
{
    const char *const *given = schemes[_i];
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_scheme *scheme;

    ck_assert_msg(!pe_params_parse(&params, given[0], given[1], &err), "%s", err.detail);
    ck_assert_msg(!pe_scheme_open(&scheme, pe_encoding_find(given[0]), &params, NULL, &err), "%s",
                  err.detail);
    pe_params_free(&params);
    struct pe_work *work = short_work();
    const double begin = cpu_ms();
    expect_end(pe_scheme_prepare(scheme, work, &err), begin, given[0]);
    pe_scheme_free(scheme);
    pe_work_free(work);
}

/* Views of which one call of fill takes seconds, on schemes that are prepared fast. */
static const struct {
    struct request request;
    size_t output, rows;
} views[] = {
    {{"rope", "dim=256", "table", "length=100000 duplicate=true", PE_F64, NULL}, 0, 100000},
    {{"rope", "dim=256", "table", "length=40000000", PE_F32, NULL}, 0, 1 << 20},
    {{"xpos", "dim=64 t_center=0", "table", "length=100000", PE_F32, NULL}, 0, 100000},
    {{"xpos", "dim=64 t_center=0", "scale", "length=100000", PE_F64, NULL}, 0, 100000},
    {{"index", "", "table", "length=10000000 step=0.1", PE_F16, NULL}, 0, 10000000},
    {{"sinusoidal-2d", "dim=256 height=1000 width=1000", "table", "", PE_F64, NULL}, 0, 100000},
    {{"alibi", "heads=12", "bias", "query_length=1000 key_length=1000000", PE_F64, NULL}, 0, 100},
    {{"kerple-power", "heads=2 a=1 p=0.3", "bias", "query_length=8 key_length=2000000", PE_F64,
      NULL},
     0,
     8},
    {{"sandwich", "heads=2 dim=4096", "bias", "query_length=2000 key_length=100000", PE_F32, NULL},
     0,
     2},
    {{"sandwich", "heads=2 dim=4096", "decay", "max_offset=100000", PE_F64, NULL}, 0, 2},
    {{"sinusoidal", "dim=256", "decay", "max_offset=1000000", PE_F64, NULL}, 0, 1},
    {{"sinusoidal", "dim=256", "similarity", "length=16000", PE_F32, NULL}, 0, 16000},
    {{"rope", "dim=256", "uniqueness", "length=100000000", PE_F32, NULL}, 0, 1},
    {{"binary", "dim=20", "uniqueness", "length=200000", PE_F32, NULL}, 0, 1},
    {{"rope", "dim=64", "error", "length=100000", PE_F32, NULL}, 0, 100000},
    {{"rope", "dim=65536", "shift", "position=1 delta=2", PE_F64, NULL}, 3, 32768},
    {{"rope", "dim=65536", "wavelengths", "context=1000", PE_F64, NULL}, 1, 1},
    {{"rope", "dim=65536", "frequencies", "", PE_F64, NULL}, 2, 1},
};

TEST_LOOP(COUNT_OF(views), filling)
{
    OWNED_OPENED opened = request_open(&views[_i].request);
    const struct pe_output *output = pe_view_output(opened.view, views[_i].output);
    const size_t rows = views[_i].rows < output->rows ? views[_i].rows : output->rows;
    OWNED_MEMORY void *data =
        malloc(rows * output->row_elements * pe_dtype_info(output->dtype)->size);
    struct pe_work *work = short_work();
    struct pe_error err = {0};
    char what[80];

    ck_assert_ptr_nonnull(data);
    snprintf(what, sizeof(what), "%s of %s", views[_i].request.view, views[_i].request.encoding);
    const double begin = cpu_ms();
    expect_end(pe_view_fill(opened.view, views[_i].output, 0, rows, data, work, &err), begin, what);
    pe_work_free(work);
}

TEST(rotations)
{
    OWNED_SCHEME scheme = scheme_new("rope", "dim=256");
    const struct pe_rotation_spec spec =
        SIZED(pe_rotation_spec, .scheme = scheme, .positions = {.step = 1, .count = 100000});
    struct pe_work *work = short_work();
    struct pe_rotation *rotation;
    struct pe_error err = {0};
    const double begin = cpu_ms();

    expect_end(pe_rotation_new(&rotation, &spec, PE_F64, NULL, work, &err), begin, "a rotation");
    ck_assert_ptr_null(rotation);
    pe_work_free(work);
}

/* An attention releases the memory that it was charged for; failed allocations are not charged. */
TEST(memory_is_released)
{
    OWNED_SCHEME scheme = scheme_new("alibi", "heads=1");
    float data[5 * 8] = {0};
    const struct pe_tensor tensor = {PE_F32, 4, {1, 1, 5, 8}, data};
    const struct pe_attention_spec spec =
        SIZED(pe_attention_spec, .scheme = scheme, .q = tensor, .k = tensor, .v = tensor,
              .scale = NAN, .query_start = NAN, .output = PE_ATTENTION_OUTPUT);
    struct pe_error err = {0};
    struct pe_attention *attention;
    struct pe_work *work;

    ck_assert(!pe_work_new(&work, NULL, &err));
    ck_assert(!pe_attention_new(&attention, &spec, NULL, work, &err));
    ck_assert_uint_gt(pe_work_memory(work), sizeof(data));
    pe_attention_free(attention);
    ck_assert_uint_eq(pe_work_memory(work), 0);
    void *memory = pe_memory_take(work, 3, 8, "a test", &err);
    ck_assert_uint_eq(pe_work_memory(work), 24);
    pe_memory_give(work, memory, 3, 8);
    ck_assert_uint_eq(pe_work_memory(work), 0);
    ck_assert_ptr_null(
        pe_memory_take(work, SIZE_MAX / 8 + 2, 8, "a test", &err)); /* 8 if it wraps */
    ck_assert_int_eq(err.status, PE_OUT_OF_MEMORY);
    ck_assert_uint_eq(pe_work_memory(work), 0);
    pe_work_free(work);
}

/* The distances of a bias are made before the first row of attention. */
TEST(attentions)
{
    enum { KEYS = 3000, WIDTH = 4 };
    OWNED_SCHEME scheme = scheme_new("sandwich", "heads=1 dim=16384");
    OWNED_MEMORY float *data = calloc(KEYS * WIDTH, sizeof(*data));
    const struct pe_tensor tensor = {
        .dtype = PE_F32, .rank = 4, .shape = {1, 1, KEYS, WIDTH}, .data = data};
    const struct pe_attention_spec spec =
        SIZED(pe_attention_spec, .scheme = scheme, .q = tensor, .k = tensor, .v = tensor,
              .scale = NAN, .query_start = NAN, .output = PE_ATTENTION_OUTPUT);
    struct pe_work *work = short_work();
    struct pe_attention *attention;
    struct pe_error err = {0};
    const double begin = cpu_ms();

    expect_end(pe_attention_new(&attention, &spec, NULL, work, &err), begin, "an attention");
    ck_assert_ptr_null(attention);
    ck_assert_uint_eq(pe_work_memory(work), 0);
    pe_work_free(work);
}

/* A million keys of one head are read, normalized, rotated and packed in a tenth of a second; so
 * are the distances of DeBERTa's buckets. */
static const struct {
    const char *encoding, *params;
    enum pe_attention_norm norm;
} packings[] = {
    {NULL, NULL, PE_NORM_BEFORE}, {"rope", "dim=16", PE_NORM_AFTER}, {"deberta-log", "", 0}};

TEST_LOOP(COUNT_OF(packings), keys_of_one_head)
{
    enum { KEYS = 1 << 20, WIDTH = 16, BUCKETS = 512 };
    const char *encoding = packings[_i].encoding;
    struct pe_scheme *scheme = encoding ? scheme_new(encoding, packings[_i].params) : NULL;
    OWNED_MEMORY float *data = calloc(KEYS * WIDTH, sizeof(*data));
    struct pe_attention_spec spec =
        SIZED(pe_attention_spec, .scheme = scheme, .q = {PE_F32, 4, {1, 1, 1, WIDTH}, data},
              .k = {PE_F32, 4, {1, 1, KEYS, WIDTH}, data}, .scale = NAN, .query_start = NAN,
              .output = PE_ATTENTION_SCORES, .norm = packings[_i].norm);
    struct pe_attention *attention;
    struct pe_error err = {0};

    if (_i == 2)
        spec.pos_key = (struct pe_tensor){PE_F32, 2, {BUCKETS, WIDTH}, data};
    struct pe_work *work = short_work();
    const double begin = cpu_ms();
    expect_end(pe_attention_new(&attention, &spec, NULL, work, &err), begin, "a million keys");
    pe_work_free(work);
    pe_scheme_free(scheme);
}
