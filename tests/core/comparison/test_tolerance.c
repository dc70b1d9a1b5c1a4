/* SPDX-License-Identifier: MIT */

/* core/comparison/tolerance.c: values made in float32 by this machine's functions, caches and
 * rotations in bf16 and f16, lie within; damaged ones do not; and the bounds are not much wider. */

#include <math.h>

#include "posenc/comparison.h"
#include "posenc/tolerance.h"
#include "tests/core/scheme_fixture.h"

static unsigned long cases;

enum { DIM = 64, PAIRS = DIM / 2, POSITIONS = 100 };

static const double starts[] = {0, 3000, 60000, 131000, 999000};
static const double bases[] = {10000, 500000, 1e7};

/* A way to compute frequencies: some powers are off by three ulp. */
struct model {
    double base;
    enum pe_path path;
    enum pe_dtype dtype;
    unsigned ulps;
};

/* 1 / base^(2i / dim), each operation in float32. */
static float frequency(const struct model *model, size_t pair)
{
    float w = 1.0f / powf((float)model->base, (float)(2 * pair) / (float)DIM);

    for (unsigned i = 0; i < model->ulps; i++)
        w = nextafterf(w, 2);
    return w;
}

static struct pe_scheme *prepared(const char *encoding, const char *text)
{
    struct pe_scheme *scheme = scheme_new(encoding, text);

    ck_assert(!pe_scheme_prepare(scheme, NULL, &(struct pe_error){0}));
    return scheme;
}

static struct pe_scheme *rope(double base)
{
    char text[60];

    snprintf(text, sizeof(text), "dim=%d base=%.17g", DIM, base);
    return prepared("rope", text);
}

struct made {
    double cos, sin;
};

static struct made made(const struct model *model, size_t pair, double t)
{
    const float angle = (float)t * frequency(model, pair);

    return (struct made){pe_round_to(cosf(angle), model->dtype),
                         pe_round_to(sinf(angle), model->dtype)};
}

static bool lies_within(double value, struct pe_interval interval)
{
    return value >= interval.low && value <= interval.high;
}

/* Rotated in a dtype: each operation rounded, or the last one alone. */
static double rotated(const double x[2], double first, double second, bool each,
                      enum pe_dtype dtype)
{
    const double a = x[0] * first, b = x[1] * second;

    return pe_round_to(each ? pe_round_to(a, dtype) + pe_round_to(b, dtype) : a + b, dtype);
}

static void rotations_check(const struct pe_tolerance *tolerance, struct made value,
                            struct pe_interval cos, struct pe_interval sin, enum pe_dtype dtype)
{
    const struct pe_tolerance_pair pair = {
        {pe_round_to(0.7 + (double)(cases % 13), dtype), pe_round_to(-1.3, dtype)}, cos, sin};
    struct pe_interval out[2];

    pe_tolerance_rotated(tolerance, &pair, out);
    for (int each = 0; each < 2; each++) {
        ck_assert(lies_within(rotated(pair.x, value.cos, -value.sin, each, dtype), out[0]));
        ck_assert(lies_within(rotated(pair.x, value.sin, value.cos, each, dtype), out[1]));
    }
    /* The other sign of the sine. */
    ck_assert(fabs(value.sin) < 0.1 || cos.error > 0.01 ||
              !lies_within(rotated(pair.x, value.cos, value.sin, true, dtype), out[0]));
}

/* The largest part of the granted error that values use; *outside: how many values of the next
 * position lie outside. */
static double used(const struct model *model, size_t *outside)
{
    OWNED_SCHEME scheme = rope(model->base);
    struct pe_tolerance *tolerance;
    struct pe_error err = {0};
    double most = 0;

    ck_assert(!pe_tolerance_new(&tolerance, scheme, model->path, NULL, &err));
    for (size_t i = 0; i < COUNT_OF(starts) * POSITIONS * PAIRS; i++, cases++) {
        const size_t pair = i % PAIRS;
        const double t = starts[i / PAIRS / POSITIONS] + (double)(i / PAIRS % POSITIONS);
        const struct made value = made(model, pair, t), shifted = made(model, pair, t + 1);
        struct pe_interval cos, sin;
        ck_assert(!pe_tolerance_interval(tolerance, pair, t, false, model->dtype, &cos) &&
                  !pe_tolerance_interval(tolerance, pair, t, true, model->dtype, &sin));
        ck_assert_msg(lies_within(value.cos, cos) && lies_within(value.sin, sin),
                      "base %g, pair %zu at %g", model->base, pair, t);
        if (cos.error < 1)
            most = fmax(most, fmax(fabs(value.cos - cos.real) / cos.error,
                                   fabs(value.sin - sin.real) / sin.error));
        *outside += !lies_within(shifted.cos, cos) || !lies_within(shifted.sin, sin);
        rotations_check(tolerance, value, cos, sin, model->dtype);
    }
    pe_tolerance_free(tolerance);
    return most;
}

/* The bound is less than twice as wide as errors of frequencies that are as bad as is granted. */
TEST(test_honest_values)
{
    static const enum pe_dtype dtypes[] = {PE_F32, PE_BF16, PE_F16};

    for (size_t i = 0; i < COUNT_OF(bases); i++)
        for (enum pe_path path = PE_PATH_F32_ANGLE; path <= PE_PATH_F16_Q; path++)
            for (unsigned ulps = 0; ulps <= 3; ulps += 3) {
                const struct model model = {bases[i], path, dtypes[path], ulps};
                size_t outside = 0;
                const double most = used(&model, &outside);
                ck_assert_msg(path != PE_PATH_F32_ANGLE || (most > (ulps ? 0.5 : 0.2) && most <= 1),
                              "%g", most);
                ck_assert_msg(outside > COUNT_OF(starts) * POSITIONS * PAIRS / 5, "%zu", outside);
            }
}

/* A kept worst case of a frequency exp(-2 i ln(base) / dim) in float32, the worst of 250 000 random
 * bases and dims: the two roundings of its exponent make it wrong by 64 half ulps of the 76 that
 * are granted. */
TEST(test_worst_frequency)
{
    enum { WIDTH = 256, PAIR = WIDTH / 2 - 1 };
    const double base = 259859966590976, t = 0x1p47;
    const float step = (float)(-log(base) / WIDTH), exponent = 2 * PAIR * step;
    const float angle = (float)t * (float)exp((double)exponent);
    OWNED_SCHEME scheme = prepared("sinusoidal", "dim=256 base=259859966590976");
    struct pe_tolerance *tolerance;
    struct pe_interval cos_of, sin_of;
    struct pe_error err = {0};

    ck_assert(!pe_tolerance_new(&tolerance, scheme, PE_PATH_F32_ANGLE, NULL, &err));
    ck_assert(!pe_tolerance_interval(tolerance, PAIR, t, false, PE_F32, &cos_of));
    ck_assert(!pe_tolerance_interval(tolerance, PAIR, t, true, PE_F32, &sin_of));
    ck_assert(lies_within((float)cos((double)angle), cos_of));
    ck_assert(lies_within((float)sin((double)angle), sin_of));
    pe_tolerance_free(tolerance);
    cases++;
}

TEST(test_what_it_takes)
{
    OWNED_SCHEME rotary = rope(10000);
    OWNED_SCHEME added = prepared("sinusoidal", "dim=5");
    OWNED_SCHEME none = prepared("binary", "dim=8");
    struct pe_tolerance *tolerance;
    struct pe_interval interval;
    struct pe_error err = {0};

    ck_assert_str_eq(pe_path_name(PE_PATH_F16_Q), "f16-q");
    ck_assert_ptr_null(pe_path_name((enum pe_path)3));
    ck_assert_int_eq(pe_tolerance_new(&tolerance, none, PE_PATH_F16_Q, NULL, &err), PE_UNSUPPORTED);
    ck_assert_ptr_null(tolerance);
    ck_assert(!pe_tolerance_new(&tolerance, added, PE_PATH_F32_ANGLE, NULL, &err));
    ck_assert(!pe_tolerance_element(tolerance, 0, 4, 0, PE_F32, &interval));
    ck_assert(interval.low == 0 && interval.high == 0); /* the third sine, at position 0 */
    ck_assert(!pe_tolerance_element(tolerance, 0, 1, 0, PE_F32, &interval));
    ck_assert(interval.low < 1 && interval.high >= 1);
    pe_tolerance_free(tolerance);
    ck_assert(!pe_tolerance_new(&tolerance, rotary, PE_PATH_F32_ANGLE, NULL, &err));
    ck_assert_int_eq(pe_tolerance_interval(tolerance, PAIRS, 1, true, PE_F32, &interval),
                     PE_OUT_OF_RANGE);
    ck_assert_int_eq(pe_tolerance_interval(tolerance, 0, 0x1p53, true, PE_F32, &interval),
                     PE_OUT_OF_RANGE);
    pe_tolerance_free(tolerance);
    cases += 8;
}

CHECK_WAY(.cases = &cases);
