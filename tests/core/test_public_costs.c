/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/core/public_fixture.h"

/* How long a view takes is told before it is made, and counted while it is. check_costs.c holds
 * both against the clock. */

#define MINUTE 60e9

static double foretold(const char *encoding, const char *params, const char *name, const char *more)
{
    static const float elements[12] = {1};
    const struct pe_tensor table = {PE_F32, 2, {3, 4}, (void *)elements};
    struct pe_scheme *scheme = public_scheme(encoding, params, false);
    const struct pe_encoding *of = pe_scheme_encoding(scheme);
    struct pe_view *view;
    double work;

    if (pe_encoding_has(of, PE_KIND_LEARNED))
        ACCEPTED(pe_scheme_give(scheme, "table", &table, NULL, &err));
    ACCEPTED(public_view(&view, scheme, pe_encoding_view(of, name), more, &err));
    work = pe_scheme_work(scheme) + pe_view_work(view);
    pe_view_free(view);
    pe_scheme_free(scheme);
    return work;
}

static bool makes_no_table(const struct pe_encoding *encoding, const struct pe_view_info *view)
{
    return !strcmp(pe_encoding_info(encoding)->name, "shaw") && !strcmp(view->name, "table");
}

TEST(every_view_tells)
{
    size_t views = 0;

    for (size_t e = 0; pe_encoding_at(e); e++) {
        const struct pe_encoding *encoding = pe_encoding_at(e);
        const struct pe_encoding_info *info = pe_encoding_info(encoding);
        for (size_t v = 0; pe_encoding_view_at(encoding, v); v++) {
            const struct pe_view_info *view = pe_view_info(pe_encoding_view_at(encoding, v));
            if (makes_no_table(encoding, view))
                continue;
            const double work = foretold(info->name, info->example ? info->example : "", view->name,
                                         view->example ? view->example : "");
            ck_assert_msg(work > 0 && work < MINUTE, "%s %s: %g", info->name, view->name, work);
            views++;
        }
    }
    ck_assert_uint_gt(views, 70);
}

/* Errors of listed positions cost what those of a range cost, in whatever order they are listed. */
TEST(listed_positions_cost_as_a_range_does)
{
    static const char *const alike[][2] = {
        {"length=100", "positions=0..99"},
        {"length=2 start=4503599627370496", "positions=4503599627370496,4503599627370497"},
        {"length=4", "positions=0,2,1,3"},
        {"positions=4503599627370496,0,1,2", "positions=0,1,2,4503599627370496"},
    };

    for (size_t i = 0; i < COUNT_OF(alike); i++)
        ck_assert_double_eq(foretold("rope", "dim=8", "error", alike[i][0]),
                            foretold("rope", "dim=8", "error", alike[i][1]));
    ck_assert(foretold("rope", "dim=8", "error", "positions=0,1,2,4503599627370496") >
              foretold("rope", "dim=8", "error", "positions=0,1,2,3"));
}

/* A range costs the same from its last position to its first, wherever an encoding or a view has
 * cheaper rows near 0. */
TEST(ranges_cost_the_same_in_both_directions)
{
    size_t ranges = 0;

    for (size_t e = 0; pe_encoding_at(e); e++) {
        const struct pe_encoding_info *info = pe_encoding_info(pe_encoding_at(e));
        const char *params = info->example ? info->example : "";
        for (size_t v = 0; pe_encoding_view_at(pe_encoding_at(e), v); v++) {
            const struct pe_view_info *view =
                pe_view_info(pe_encoding_view_at(pe_encoding_at(e), v));
            struct pe_params texts;
            pe_params_init(&texts, view->params, view->params_count);
            if (pe_params_find(&texts, "step") < 0 || makes_no_table(pe_encoding_at(e), view) ||
                strcmp(view->name, "similarity") == 0) /* whose anchor stays */
                continue;
            const bool is_short = strcmp(info->name, "learned") == 0; /* three rows */
            const double rising =
                foretold(info->name, params, view->name, is_short ? "length=3" : "length=9");
            const double falling =
                foretold(info->name, params, view->name,
                         is_short ? "length=3 start=2 step=-1" : "length=9 start=8 step=-1");
            ck_assert_msg(falling > 0.99 * rising && falling < 1.01 * rising, "%s %s: %g and %g",
                          info->name, view->name, rising, falling);
            ranges++;
        }
    }
    ck_assert_uint_gt(ranges, 20);
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

static double foretold_of(const struct cost *cost, size_t size)
{
    char params[200], more[200];

    snprintf(params, sizeof(params), cost->params, size);
    snprintf(more, sizeof(more), cost->more, size, size, size);
    return foretold(cost->encoding, params, cost->view, more);
}

TEST_LOOP(COUNT_OF(costs), more_takes_longer)
{
    const struct cost *cost = &costs[_i];

    if (!strcmp(cost->encoding, "learned") || !strcmp(cost->encoding, "hierarchical"))
        return; /* whose table here has three rows */
    for (size_t i = 1; i < 3; i++)
        ck_assert_msg(foretold_of(cost, cost->sizes[i]) >= foretold_of(cost, cost->sizes[i - 1]),
                      "%s %s %s, %zu", cost->encoding, cost->params, cost->view, cost->sizes[i]);
}

static struct pe_work *limited(uint64_t operations)
{
    const struct pe_work_limits limits = {.size = sizeof(limits), .operations_max = operations};
    struct pe_work *work;

    ACCEPTED(pe_work_new(&work, &limits, &err));
    return work;
}

/* Fills all outputs; returns the operations counted, of *work that was estimated. */
static double counted(const struct cost *cost, double *work)
{
    char params[200], more[200];
    struct pe_params texts;
    struct pe_work *account = limited(0);
    struct pe_scalar scalar;
    struct pe_view *view;

    snprintf(params, sizeof(params), cost->params, cost->sizes[0]);
    snprintf(more, sizeof(more), cost->more, cost->sizes[0], cost->sizes[0], cost->sizes[0]);
    OWNED_SCHEME scheme = public_scheme(cost->encoding, params, false);
    const struct pe_view_type *type = pe_encoding_view(pe_scheme_encoding(scheme), cost->view);
    const struct pe_view_info *info = pe_view_info(type);
    ACCEPTED(pe_scheme_prepare(scheme, account, &err));
    pe_params_init(&texts, info->params, info->params_count);
    ACCEPTED(pe_params_set_pairs(&texts, more, &err));
    ACCEPTED(pe_params_finish(&texts, &err));
    ACCEPTED(pe_view_new(&view, scheme, type, &texts, cost->dtype, account, &err));
    for (size_t i = 0; pe_view_output(view, i); i++) {
        const struct pe_output *output = pe_view_output(view, i);
        OWNED_MEMORY char *data = malloc(output->rows * output->row_elements * 8 + 1);
        ACCEPTED(pe_view_fill(view, i, 0, output->rows, data, account, &err));
    }
    for (size_t i = 0; pe_view_scalar(view, i, &scalar);)
        i++;
    *work = pe_scheme_work(scheme) + pe_view_work(view);
    const double operations = (double)pe_work_operations(account);
    pe_view_free(view);
    pe_params_free(&texts);
    pe_work_free(account);
    return operations;
}

/* Operations are counted before they are done, as many as were estimated: a request that begins
 * within its limit ends within it. Scalars of wavelengths are estimated and have no account. */
TEST_LOOP(COUNT_OF(costs), as_much_is_counted_as_was_estimated)
{
    const struct cost *cost = &costs[_i];
    const double least = strcmp(cost->view, "wavelengths") ? 0.999 : 0.5;
    double work, operations;

    if (!strcmp(cost->encoding, "learned") || !strcmp(cost->encoding, "hierarchical"))
        return;
    operations = counted(cost, &work);
    ck_assert_msg(operations >= least * work && operations <= 1.06 * work + 1,
                  "%s %s %s %s, %zu: %g counted, %g estimated", cost->encoding, cost->params,
                  cost->view, cost->more, cost->sizes[0], operations, work);
}

/* Requests of a line that would take hours; the last ones are more than can be counted in ns. */
TEST(nothing_small_costs_much)
{
    static const char *const hours[][4] = {
        {"sandwich", "heads=1 dim=65536", "bias", "query_length=1 key_length=1000000000"},
        {"sandwich", "heads=1 dim=65536", "bias", "query_length=65536"},
        {"sandwich", "heads=8 dim=1024 scales=1e-200", "bias", "query_length=8000"},
        {"kerple-power", "heads=8 a=1e-200 p=1", "bias", "query_length=1 key_length=10000000"},
        {"rope", "dim=128", "decay", "max_offset=10000000000"},
        {"rope", "dim=128", "error", "length=100000000"},
        {"rope", "dim=1024", "table", "length=1000000 step=1e-300"},
        {"xpos", "dim=1024 t_center=0", "table", "length=200000000 step=1e-6 side=key"},
        {"rope", "dim=2", "table", "length=9007199254740991"},
        {"index", "", "table", "length=9007199254740991"},
        {"alibi", "heads=65536", "bias", "query_length=1000000"},
        {"sinusoidal-2d", "dim=65536 height=65536 width=65536", "table", ""},
    };

    for (size_t i = 0; i < COUNT_OF(hours); i++) {
        const double work = foretold(hours[i][0], hours[i][1], hours[i][2], hours[i][3]);
        ck_assert_msg(work > MINUTE, "%s %s %s: %g", hours[i][0], hours[i][1], hours[i][3], work);
    }
    ck_assert(foretold("alibi", "heads=32", "bias", "query_length=8192") < MINUTE); /* 8 GiB */
}

/* Each number that is so small that elements take wide numbers does so alone. */
TEST(tiny_numbers_cost_more)
{
    static const char *const tiny[][4] = {
        {"kerple-log", "heads=2 p=1 a=0.25", "heads=2 p=1e-300 a=0.25", "heads=2 p=1 a=1e-300"},
        {"kerple-log", "heads=2 p=1 a=0.25", "heads=2 p=1,1e-300 a=0.25", "heads=2 p=1 a=1,1e-300"},
        {"kerple-power", "heads=2 a=1 p=1.5", "heads=2 a=1e-300 p=1.5", "heads=2 a=1,1e-300 p=1.5"},
        {"sandwich", "heads=2 dim=8", "heads=2 dim=8 scales=1e-200",
         "heads=2 dim=8 scales=1,1e-200"},
    };

    for (size_t i = 0; i < COUNT_OF(tiny); i++)
        for (size_t k = 2; k < 4; k++)
            ck_assert_msg(foretold(tiny[i][0], tiny[i][k], "bias", "query_length=9") >
                              1.5 * foretold(tiny[i][0], tiny[i][1], "bias", "query_length=9"),
                          "%s %s", tiny[i][0], tiny[i][k]);
}

enum { TOKENS = 1024, WIDTH = 8 };

static double attention_work(const struct pe_attention_spec *spec)
{
    struct pe_output output;

    ACCEPTED(pe_attention_shape(spec, &output, sizeof(output), &err));
    return output.once_work + pe_output_work(&output, output.rows);
}

/* Two heads of attention with a scheme, of which nothing but shapes is read. */
static struct pe_attention_spec attention_of(const struct pe_scheme *scheme,
                                             enum pe_attention_output output, enum pe_dtype dtype)
{
    static double numbers[1]; /* are not read */
    const struct pe_tensor x = {dtype, 4, {1, 2, TOKENS, WIDTH}, numbers};

    return SIZED(pe_attention_spec, .scheme = scheme, .q = x, .k = x, .v = x, .scale = NAN,
                 .query_start = NAN, .output = output);
}

/* Whatever is added to an attention makes it cost more: wider values of its output alone, a window
 * less. */
TEST(more_of_attention_costs_more)
{
    struct pe_scheme *const schemes[] = {NULL, public_scheme("rope", "dim=8", false),
                                         public_scheme("alibi", "heads=2", false)};
    static double positions[2 * TOKENS];

    for (size_t i = 0; i < COUNT_OF(schemes) * 3 * 2; i++) {
        const enum pe_attention_output output = (enum pe_attention_output)(i / 2 % 3);
        const enum pe_dtype dtype = i % 2 ? PE_F64 : PE_F32;
        const struct pe_attention_spec plain = attention_of(schemes[i / 6], output, dtype);
        const struct pe_tensor square = {dtype, 2, {TOKENS, TOKENS}, plain.q.data};
        const double work = attention_work(&plain);
        struct pe_attention_spec more[6];
        for (size_t k = 0; k < COUNT_OF(more); k++)
            more[k] = plain;
        more[0].mask = square;
        more[1].bias = square;
        more[2].softcap = 3;
        more[3].norm = PE_NORM_BEFORE;
        more[4].temperature = (struct pe_temperature){.strength = 0.1, .length = 8};
        more[5].q.shape[1] = 4;
        for (size_t k = 0; k < COUNT_OF(more); k++)
            if (k < 5 || i / 6 != 2) /* alibi has two heads */
                ck_assert_msg(attention_work(&more[k]) > work, "%zu, change %zu", i, k);
        struct pe_attention_spec wide = plain, wider = plain, limited = plain;
        wide.v.shape[3] = 2 * WIDTH;
        wider.v.shape[3] = 3 * WIDTH;
        limited.has_window = true;
        limited.window_left = limited.window_right = 1;
        if (output == PE_ATTENTION_OUTPUT) {
            const double first = attention_work(&wide) - work;
            struct pe_attention_spec one = plain, one_wide = wide;
            one.q.shape[2] = one_wide.q.shape[2] = 1;
            ck_assert_msg(first > 0 && attention_work(&limited) < work, "%zu", i);
            /* Packing wider values does not depend on queries, and multiplying them does. */
            ck_assert_double_gt(first, 10 * (attention_work(&one_wide) - attention_work(&one)));
            ck_assert_double_eq_tol(attention_work(&wider) - attention_work(&wide), first,
                                    first * 1e-9);
        }
        if (i / 6 == 1) {
            struct pe_attention_spec rows = plain;
            rows.q.shape[0] = rows.k.shape[0] = rows.v.shape[0] = 2;
            const double batch = attention_work(&rows);
            rows.positions =
                (struct pe_positions){.values = positions, .count = TOKENS, .batch = 2};
            ck_assert_double_gt(attention_work(&rows), batch);
        }
    }
    for (size_t i = 1; i < COUNT_OF(schemes); i++)
        pe_scheme_free(schemes[i]);
}

/* A program that gives a work to its calls is told so without having waited. */
TEST(calls_count_and_refuse)
{
    enum { COUNT = 64, DIM = 64 };
    static float numbers[COUNT * DIM], out[COUNT * COUNT];
    const struct pe_tensor tensor = {PE_F32, 4, {1, 1, COUNT, DIM}, numbers};
    struct pe_work *work = limited(UINT64_MAX), *little = limited(1000);
    struct pe_scheme *rope = public_scheme("rope", "dim=64", false);
    const struct pe_rotation_spec rotation_spec = {
        .size = sizeof(rotation_spec), .scheme = rope, .positions = {.step = 1, .count = COUNT}};
    const struct pe_attention_spec attention_spec = {.size = sizeof(attention_spec),
                                                     .scheme = rope,
                                                     .q = tensor,
                                                     .k = tensor,
                                                     .layout = PE_LAYOUT_HALF,
                                                     .scale = NAN,
                                                     .query_start = NAN,
                                                     .output = PE_ATTENTION_SCORES};
    struct pe_rotation *rotation;
    struct pe_attention *attention;
    struct pe_view *view;

    REFUSED(PE_TOO_LARGE, pe_scheme_prepare(rope, little, &err));
    ACCEPTED(pe_scheme_prepare(rope, work, &err));
    ck_assert_double_eq_tol((double)pe_work_operations(work), pe_scheme_work(rope), 1);
    ACCEPTED(public_view(&view, rope, pe_encoding_view_at(pe_scheme_encoding(rope), 0), "length=64",
                         &err));
    REFUSED(PE_TOO_LARGE, pe_view_fill(view, 0, 0, COUNT, out, little, &err));
    ACCEPTED(pe_view_fill(view, 0, 0, COUNT, out, work, &err));
    ck_assert_double_eq_tol((double)pe_work_operations(work),
                            pe_scheme_work(rope) + pe_view_work(view) / 2, 2);
    REFUSED(PE_TOO_LARGE, pe_rotation_new(&rotation, &rotation_spec, PE_F32, NULL, little, &err));
    REFUSED(PE_TOO_LARGE, pe_attention_new(&attention, &attention_spec, NULL, little, &err));
    ACCEPTED(pe_attention_new(&attention, &attention_spec, NULL, work, &err));
    REFUSED(PE_TOO_LARGE, pe_attention_fill(attention, 0, COUNT, out, little, &err));
    pe_attention_free(attention);
    pe_view_free(view);
    pe_scheme_free(rope);
    pe_work_free(little);
    pe_work_free(work);
}
