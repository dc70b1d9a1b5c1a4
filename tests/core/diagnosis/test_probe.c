/* SPDX-License-Identifier: MIT */

/* core/diagnosis/probe.c and probed_rows.c: functions in C, right ones and one for each fault and
 * each mistake in the pairs, called with unit vectors and others. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "posenc/probe.h"
#include "tests/core/refusing_work.h"
#include "tests/core/scheme_fixture.h"

enum {
    DIM = 16,
    TOKENS = 14,
    HEADS = 2,
    BATCH = 2,
    UNITS = DIM / HEADS / BATCH,
    CALLS = UNITS + 3
};

static unsigned long cases;
static const double positions[TOKENS] = {0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377};
static double x[CALLS][BATCH][HEADS][TOKENS][DIM], y[CALLS][BATCH][HEADS][TOKENS][DIM];

/* Unit vectors, each once at each position; then mixed numbers, others at odd tokens, and the first
 * ones again. */
static void x_make(void)
{
    memset(x, 0, sizeof(x));
    for (size_t call = 0; call < CALLS; call++)
        for (size_t place = 0; place < BATCH * HEADS; place++)
            for (size_t token = 0; token < TOKENS; token++) {
                double *row = x[call][place / HEADS][place % HEADS][token];
                const bool is_other = call == UNITS + 1 && token % 2 == 1;
                if (call < UNITS)
                    row[(call * BATCH * HEADS + place + token) % DIM] = 1;
                for (size_t i = 0; i < DIM && call >= UNITS; i++)
                    row[i] = (double)((token * 31 + i * 17 + is_other * 5) % 13 + 1) / 8;
            }
}

/* A call of a function: all tokens of a head. */
struct called {
    size_t call, batch, head;
    double (*from)[DIM], (*to)[DIM];
};

/* The function, by what it does wrong. */
struct function {
    const char *name; /* the code that is expected; "right" */
    void (*run)(const struct called *called);
};

static double base = 10000, first_position = 0, sign = 1, scale = 1;

/* Rotates `pairs` pairs: of elements k * step and k * step + distance from `begin` on. */
static void rotate(const struct called *called, size_t pairs, size_t step, size_t distance,
                   size_t begin)
{
    memcpy(called->to, called->from, TOKENS * DIM * sizeof(double));
    for (size_t token = 0; token < TOKENS; token++)
        for (size_t k = 0; k < pairs; k++) {
            const double angle =
                (positions[token] + first_position) * pow(base, -(double)k / (double)pairs);
            const double c = scale * cos(angle), s = scale * sign * sin(angle);
            const size_t a = begin + k * step, b = a + distance;
            const double *from = called->from[token];
            called->to[token][a] = from[a] * c - from[b] * s;
            called->to[token][b] = from[b] * c + from[a] * s;
        }
}

static void halves(const struct called *called)
{
    rotate(called, DIM / 2, 1, DIM / 2, 0);
}

static void identity(const struct called *called)
{
    rotate(called, 0, 1, 0, 0);
}

static void neighbours(const struct called *called)
{
    rotate(called, DIM / 2, 2, 1, 0);
}

static void part(const struct called *called)
{
    rotate(called, DIM / 4, 1, DIM / 4, 0);
}

static void across(const struct called *called)
{
    rotate(called, DIM / 4, 1, DIM / 2, 0);
}

static void behind(const struct called *called)
{
    rotate(called, DIM / 4, 1, DIM / 4, DIM / 2);
}

static void neighbours_to_halves(const struct called *called)
{
    double row[DIM];

    neighbours(called);
    for (size_t token = 0; token < TOKENS; token++) {
        memcpy(row, called->to[token], sizeof(row));
        for (size_t i = 0; i < DIM; i++)
            called->to[token][i % 2 * DIM / 2 + i / 2] = row[i];
    }
}

static void neighbours_to_exchanged_halves(const struct called *called)
{
    neighbours_to_halves(called);
    for (size_t token = 0; token < TOKENS; token++)
        for (size_t i = 0; i < DIM / 2; i++) {
            const double first = called->to[token][i];
            called->to[token][i] = called->to[token][i + DIM / 2];
            called->to[token][i + DIM / 2] = first;
        }
}

static void backwards(const struct called *called)
{
    sign = -1;
    halves(called);
    sign = 1;
}

static void late(const struct called *called)
{
    first_position = 1;
    halves(called);
    first_position = 0;
}

static void longer(const struct called *called)
{
    scale = 1.5;
    halves(called);
    scale = 1;
}

static void unchanged(const struct called *called)
{
    memcpy(called->to, called->from, TOKENS * DIM * sizeof(double));
}

static void infinite(const struct called *called)
{
    halves(called);
    called->to[3][2] = INFINITY;
}

static void random_(const struct called *called)
{
    halves(called);
    called->to[5][1] += called->call == UNITS + 2;
}

static void by_head(const struct called *called)
{
    halves(called);
    called->to[6][1] *= called->head + 1.0;
}

static void by_batch(const struct called *called)
{
    halves(called);
    called->to[6][1] *= called->batch + 1.0;
}

static void mixing(const struct called *called)
{
    halves(called);
    for (size_t token = 1; token < TOKENS; token++)
        called->to[token][3] += 0.001 * called->from[token - 1][4];
}

static void squares(const struct called *called)
{
    halves(called);
    for (size_t token = 0; token < TOKENS; token++)
        called->to[token][3] *= fabs(called->from[token][3]);
}

static void constant(const struct called *called)
{
    halves(called);
    for (size_t token = 0; token < TOKENS; token++)
        called->to[token][0] += 0.25;
}

static void threes(const struct called *called)
{
    halves(called);
    for (size_t token = 0; token < TOKENS; token++)
        called->to[token][0] += 0.5 * called->from[token][3];
}

/* Two elements with one of two outputs in common are no pair. */
static void shared(const struct called *called)
{
    for (size_t token = 0; token < TOKENS; token++) {
        const double *from = called->from[token];
        memcpy(called->to[token], from, DIM * sizeof(*from));
        called->to[token][0] = from[0] + 0.5 * from[1];
        called->to[token][1] = from[0];
        called->to[token][3] = from[1] + from[3];
    }
}

static void sheared(const struct called *called)
{
    halves(called);
    for (size_t token = 0; token < TOKENS; token++)
        called->to[token][0] += 0.5 * called->from[token][DIM / 2];
}

static void mirrored(const struct called *called)
{
    halves(called);
    for (size_t token = 0; token < TOKENS; token++)
        called->to[token][DIM / 2] = -called->to[token][DIM / 2];
}

/* Cosines and sines in halves, pairs of neighbours: element i takes angle i % (DIM / 2). */
static void mixed_layouts(const struct called *called)
{
    for (size_t token = 0; token < TOKENS; token++)
        for (size_t i = 0; i < DIM; i++) {
            const double angle = positions[token] * pow(base, -(double)(i % (DIM / 2)) / (DIM / 2));
            const double *from = called->from[token];
            called->to[token][i] =
                from[i] * cos(angle) + (i % 2 == 0 ? -from[i + 1] : from[i - 1]) * sin(angle);
        }
}

static void zeroed(const struct called *called)
{
    halves(called);
    for (size_t token = 0; token < TOKENS; token++)
        called->to[token][2] = called->to[token][2 + DIM / 2] = 0;
}

static void moved(const struct called *called)
{
    for (size_t token = 0; token < TOKENS; token++)
        for (size_t i = 0; i < DIM; i++)
            called->to[token][i] = called->from[token][DIM - 1 - i];
}

static void scaled_rest(const struct called *called)
{
    part(called);
    for (size_t token = 0; token < TOKENS; token++)
        called->to[token][DIM - 1] *= 2;
}

/* Of float32: the errors of 64 operations, each of the sum of a row's products. */
#define ROUNDING (64 * 0x1p-24)

static double error_part = 1;

/* Rows of several elements are off by this part of what rounding may come to. */
static void inexact(const struct called *called)
{
    halves(called);
    for (size_t token = 0; token < TOKENS && called->call >= UNITS; token++) {
        const double *from = called->from[token];
        double most = 0;
        for (size_t k = 0; k < DIM / 2; k++) {
            const double angle = positions[token] * pow(base, -(double)k / (DIM / 2));
            const double a = fabs(from[k]), b = fabs(from[k + DIM / 2]);
            const double c = fabs(cos(angle)), s = fabs(sin(angle));
            most = fmax(most, fmax(a * c + b * s, b * c + a * s));
        }
        called->to[token][3] += error_part * ROUNDING * most;
    }
}

static const struct pe_tensor of_x = {PE_F64, 5, {CALLS, BATCH, HEADS, TOKENS, DIM}, x},
                              of_y = {PE_F64, 5, {CALLS, BATCH, HEADS, TOKENS, DIM}, y};

static void function_call(const struct function *function)
{
    for (size_t i = 0; i < CALLS * BATCH * HEADS; i++) {
        const struct called called = {i / HEADS / BATCH, i / HEADS % BATCH, i % HEADS,
                                      x[i / HEADS / BATCH][i / HEADS % BATCH][i % HEADS],
                                      y[i / HEADS / BATCH][i / HEADS % BATCH][i % HEADS]};
        function->run(&called);
    }
}

static struct pe_probed probed(const struct pe_scheme *expected, const char *layout)
{
    return SIZED(pe_probed, .x = &of_x, .y = &of_y, .axes = "cbhsd", .expected = expected,
                 .layout = layout, .positions = {.values = positions, .count = TOKENS});
}

static struct pe_probe *probe_of(const struct function *function, const struct pe_scheme *expected,
                                 const char *layout)
{
    const struct pe_probed spec = probed(expected, layout);
    struct pe_error err = {0};
    struct pe_probe *probe;

    function_call(function);
    ck_assert_msg(!pe_probe_new(&probe, &spec, NULL, NULL, &err), "%s", err.detail);
    cases++;
    return probe;
}

/* The summary begins with the code. */
static void expect_name(const struct function *function, const char *text, const char *layout)
{
    OWNED_SCHEME expected = scheme_new("rope", text);
    const struct pe_probe_result *result;
    struct pe_probe *probe;

    ck_assert(!pe_scheme_prepare(expected, NULL, &(struct pe_error){0}));
    probe = probe_of(function, expected, layout);
    result = pe_probe_result(probe);
    ck_assert_msg(strncmp(result->summary, function->name, strlen(function->name)) == 0,
                  "%s, not %s", result->summary, function->name);
    ck_assert(result->right == (strcmp(function->name, "right") == 0));
    pe_probe_free(probe);
}

TEST(test_names)
{
    static const struct function whole[] = {{"right", halves},
                                            {"layout-swapped", neighbours},
                                            {"rotated-backwards", backwards},
                                            {"off-by-one-position", late},
                                            {"unknown: scale 1.5, not 1", longer},
                                            {"not-rotated", unchanged},
                                            {"wrong-width", part},
                                            {"wrong-width", across},
                                            {"pairs-permuted", neighbours_to_halves},
                                            {"pairs-permuted", neighbours_to_exchanged_halves}};
    static const struct function partial[] = {{"right", part},
                                              {"pairs-across-head", across},
                                              {"pairs-permuted", behind},
                                              {"wrong-width", halves},
                                              {"not-a-rotation", scaled_rest}};
    static const struct function faults[] = {
        {"not-finite", infinite},     {"not-deterministic", random_},
        {"depends-on-head", by_head}, {"depends-on-batch", by_batch},
        {"mixes-tokens", mixing},     {"not-linear", squares},
        {"not-linear", constant},     {"not-pairs", threes},
        {"not-pairs", shared},        {"not-a-rotation", sheared},
        {"not-a-rotation", mirrored}, {"mixed-layouts", mixed_layouts},
        {"not-a-rotation", zeroed},   {"not-a-rotation", moved}};

    x_make();
    for (size_t i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
        expect_name(&whole[i], "dim=16", "half");
    for (size_t i = 0; i < sizeof(partial) / sizeof(partial[0]); i++)
        expect_name(&partial[i], "dim=16 rotary_dim=8", "half");
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        expect_name(&faults[i], "dim=16", "half");
    expect_name(&(struct function){"right", neighbours}, "dim=16", "interleaved");
    expect_name(&(struct function){"outputs-reordered", neighbours_to_halves}, "dim=16",
                "interleaved");
    expect_name(&(struct function){"layout-swapped", halves}, "dim=16", "interleaved");
    expect_name(&(struct function){"right", neighbours}, "dim=16", NULL);
    expect_name(&(struct function){"right", halves}, "dim=16", NULL);
}

/* What rounding may come to is taken, in proportion to the products of a row, and no more. */
TEST(test_rounding)
{
    x_make();
    error_part = 0.98;
    expect_name(&(struct function){"right", inexact}, "dim=16", "half");
    error_part = 1.02;
    expect_name(&(struct function){"not-linear", inexact}, "dim=16", "half");
}

/* The numbers of each pair, with nothing expected too. */
TEST(test_pairs)
{
    const struct function function = {"", late};
    OWNED_SCHEME expected = scheme_new("rope", "dim=16");

    x_make();
    ck_assert(!pe_scheme_prepare(expected, NULL, &(struct pe_error){0}));
    for (size_t with = 0; with < 2; with++) {
        struct pe_probe *probe = probe_of(&function, with ? expected : NULL, NULL);
        const struct pe_probe_result *result = pe_probe_result(probe);
        ck_assert(!result->right && !result->fault && !result->pairing);
        ck_assert_str_eq(result->layout, "half");
        ck_assert_uint_eq(result->pairs_count, DIM / 2);
        ck_assert_uint_eq(result->width, DIM);
        for (size_t k = 0; k < result->pairs_count; k++) {
            const struct pe_probe_pair *pair = &result->pairs[k];
            const double w = pow(10000, -(double)k / (DIM / 2));
            ck_assert(pair->first == k && pair->second == k + DIM / 2 && pair->direction == 1);
            ck_assert(fabs(pair->frequency - w) < 1e-14 && fabs(pair->scale - 1) < 1e-14);
            ck_assert(fabs(pair->offset - w) < 1e-12);
            ck_assert(with ? fabs(pair->error - w) < 1e-12 && pair->differs
                           : isnan(pair->error) && isnan(pair->expected) && !pair->differs);
        }
        pe_probe_free(probe);
    }
}

/* Another scheme is named by the numbers that are not the expected ones. */
TEST(test_other_schemes)
{
    static const struct {
        const char *text, *says;
        double base;
    } others[] = {
        {"dim=16", "other-scheme (base 500000)", 500000},
        {"dim=16", "(base 1e+06)", 1e6},
        {"dim=16 base=500000", "base-ignored", 10000},
        {"dim=16 base=500000 rope_type=linear factor=2", "base", 1e6},
    };
    const struct function function = {"", halves};

    x_make();
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        OWNED_SCHEME expected = scheme_new("rope", others[i].text);
        const struct pe_probe_result *result;
        struct pe_probe *probe;
        ck_assert(!pe_scheme_prepare(expected, NULL, &(struct pe_error){0}));
        base = others[i].base;
        probe = probe_of(&function, expected, "half");
        base = 10000;
        result = pe_probe_result(probe);
        ck_assert(!result->right);
        ck_assert_msg(strstr(result->summary, others[i].says) != NULL, "%s", result->summary);
        for (size_t k = 1; k < result->pairs_count; k++)
            ck_assert(result->pairs[k].differs);
        pe_probe_free(probe);
    }
}

/* Pairs by one of two coordinates each: with nothing expected the one is found that explains their
 * angles, and with a scheme it is the scheme's. */
TEST(test_coordinates)
{
    OWNED_SCHEME expected = scheme_new("rope-2d", "dim=16");
    static double both[2 * TOKENS];
    struct pe_error err = {0};

    x_make();
    ck_assert(!pe_scheme_prepare(expected, NULL, &err));
    for (size_t t = 0; t < TOKENS; t++) {
        both[t] = (double)(t % 4);
        both[TOKENS + t] = (double)(t / 4);
    }
    for (size_t i = 0; i < CALLS * BATCH * HEADS; i++) {
        double(*from)[DIM] = x[i / HEADS / BATCH][i / HEADS % BATCH][i % HEADS];
        double(*to)[DIM] = y[i / HEADS / BATCH][i / HEADS % BATCH][i % HEADS];
        for (size_t t = 0; t < TOKENS; t++)
            for (size_t k = 0; k < DIM / 2; k++) {
                const double w = pow(100, -(double)(k % (DIM / 4)) / (DIM / 4));
                const double angle = both[k / (DIM / 4) * TOKENS + t] * w;
                to[t][k] = from[t][k] * cos(angle) - from[t][k + DIM / 2] * sin(angle);
                to[t][k + DIM / 2] = from[t][k + DIM / 2] * cos(angle) + from[t][k] * sin(angle);
            }
    }
    for (size_t with = 0; with < 2; with++) {
        struct pe_probed spec = probed(with ? expected : NULL, with ? "half" : NULL);
        struct pe_probe *probe;
        spec.positions = (struct pe_positions){.values = both, .count = TOKENS, .axes = 2};
        ck_assert_msg(!pe_probe_new(&probe, &spec, NULL, NULL, &err), "%s", err.detail);
        const struct pe_probe_result *result = pe_probe_result(probe);
        ck_assert_uint_eq(result->pairs_count, DIM / 2);
        ck_assert_msg(result->right == with, "%s", result->summary);
        for (size_t k = 0; k < DIM / 2; k++)
            ck_assert_msg(fabs(result->pairs[k].frequency -
                               pow(100, -(double)(k % (DIM / 4)) / (DIM / 4))) < 1e-12,
                          "pair %zu: %g", k, result->pairs[k].frequency);
        pe_probe_free(probe);
        cases++;
    }
}

/* What xpos multiplies queries by, and keys by the inverse of, is no difference. */
TEST(test_scales)
{
    OWNED_SCHEME expected = scheme_new("xpos", "dim=16 t_center=10");
    const struct function function = {"right", halves};
    struct pe_probed spec = probed(expected, "half");
    struct pe_error err = {0};
    struct pe_probe *probe;

    x_make();
    ck_assert(!pe_scheme_prepare(expected, NULL, &err));
    for (int power = -1; power <= 1; power++) {
        function_call(&function);
        for (size_t i = 0; i < CALLS * BATCH * HEADS * TOKENS * DIM; i++) {
            const size_t token = i / DIM % TOKENS, k = i % DIM % (DIM / 2);
            const double zeta = (2.0 * (double)k / DIM + 0.4) / 1.4;
            (&y[0][0][0][0][0])[i] *= pow(zeta, power * (positions[token] - 10) / 512);
        }
        ck_assert(!pe_probe_new(&probe, &spec, NULL, NULL, &err));
        ck_assert_msg(pe_probe_result(probe)->right == (power != 0), "%s",
                      pe_probe_result(probe)->summary);
        pe_probe_free(probe);
        cases++;
    }
}

static void expect_refusal(const struct pe_probed *spec, enum pe_status status)
{
    struct pe_error err = {0};
    struct pe_probe *probe;

    ck_assert_int_eq(pe_probe_new(&probe, spec, NULL, NULL, &err), status);
    ck_assert_ptr_null(probe);
    cases++;
}

TEST(test_refusals)
{
    static const char *const axes[] = {"cbhs", "cbhds", "cbhhd", "abhsd", "cbhxd", "cbhd"};
    OWNED_SCHEME added = scheme_new("sinusoidal", "dim=16");
    OWNED_SCHEME wide = scheme_new("rope", "dim=32");
    struct pe_tensor other = of_y, integers = of_x;
    struct pe_probed spec;
    struct pe_axes shape;
    double nanoseconds = 0;

    x_make();
    function_call(&(struct function){"", halves});
    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
        spec = probed(NULL, NULL);
        spec.axes = axes[i];
        expect_refusal(&spec, PE_INVALID);
    }
    spec = probed(NULL, NULL);
    ck_assert(!pe_probed_axes(&spec, &shape, &nanoseconds, &(struct pe_error){0}));
    ck_assert(shape.sequence == TOKENS && shape.head_dim == DIM && nanoseconds > 0);
    spec.y = NULL;
    expect_refusal(&spec, PE_MISSING);
    other.shape[4] = DIM - 1;
    spec.y = &other;
    expect_refusal(&spec, PE_SHAPE_MISMATCH);
    integers.dtype = PE_I64;
    spec.x = &integers;
    expect_refusal(&spec, PE_UNSUPPORTED);
    spec = probed(NULL, NULL);
    spec.positions.count = TOKENS - 1;
    expect_refusal(&spec, PE_SHAPE_MISMATCH);
    spec = probed(NULL, NULL);
    spec.positions.batch = 2;
    expect_refusal(&spec, PE_SHAPE_MISMATCH);
    spec = probed(NULL, NULL);
    spec.positions = (struct pe_positions){.start = 0x1p60, .step = 1, .count = TOKENS};
    expect_refusal(&spec, PE_OUT_OF_RANGE);
    function_call(&(struct function){"", identity});
    spec = probed(NULL, NULL);
    spec.positions = (struct pe_positions){.count = TOKENS};
    expect_refusal(&spec, PE_OUT_OF_RANGE);
    function_call(&(struct function){"", halves});
    ck_assert(!pe_scheme_prepare(added, NULL, &(struct pe_error){0}));
    ck_assert(!pe_scheme_prepare(wide, NULL, &(struct pe_error){0}));
    spec = probed(added, NULL);
    expect_refusal(&spec, PE_UNSUPPORTED);
    spec = probed(wide, NULL);
    expect_refusal(&spec, PE_SHAPE_MISMATCH);
    spec = probed(NULL, NULL);
    x[0][0][0][0][0] = NAN;
    expect_refusal(&spec, PE_INVALID);
    x[0][0][0][0][0] = 0;
    expect_refusal(&spec, PE_MISSING);
    spec.size = 1;
    expect_refusal(&spec, PE_INVALID);
    ck_assert_ptr_nonnull(pe_probe_fault_at(0));
    ck_assert_ptr_null(pe_probe_fault_at(9));
}

TEST(test_short_of_memory)
{
    OWNED_SCHEME expected = scheme_new("rope", "dim=16");
    const struct pe_probed spec = probed(expected, "half");
    enum pe_status status = PE_OUT_OF_MEMORY;
    long most = 0;

    x_make();
    function_call(&(struct function){"", halves});
    ck_assert(!pe_scheme_prepare(expected, NULL, &(struct pe_error){0}));
    for (; status; most += 1 + most / 8) {
        struct refusing refusing;
        struct pe_work *work = refusing_work(&refusing, most);
        struct pe_probe *probe;
        struct pe_error err = {0};
        status = pe_probe_new(&probe, &spec, NULL, work, &err);
        ck_assert_int_eq(status, refusing.left < 0 ? PE_OUT_OF_MEMORY : PE_OK);
        ck_assert(!probe == (status != PE_OK));
        pe_probe_free(probe);
        pe_work_free(work);
        ck_assert_uint_eq(refusing.held, 0);
    }
    ck_assert_int_gt(most, 20);
}

CHECK_WAY(.cases = &cases);
