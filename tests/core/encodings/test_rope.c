/* SPDX-License-Identifier: MIT */

/* The types of rope: their formulas in long double, types that equal others bit for bit, lengths,
 * scalars, and refusals. */

#include <float.h>
#include <mpfr.h>

#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

enum { DIM = 16, PAIRS = DIM / 2 };

/* inv_freq in f64; returns the attention factor. */
static double frequencies(const char *text, double *out)
{
    OWNED_VIEWED viewed = viewed_new("rope", text, "frequencies", "", NULL, PE_F64);
    struct pe_scalar factor;

    memcpy(out, viewed.data, viewed.count * sizeof(*out));
    ck_assert(pe_view_scalar(viewed.opened.view, 0, &factor));
    return factor.value;
}

static void near(const char *text, const long double *expected, long double factor)
{
    double got[PAIRS];

    ck_assert_msg(fabsl(frequencies(text, got) - factor) <= 1e-15L * factor, "factor of %s", text);
    for (int i = 0; i < PAIRS; i++)
        ck_assert_msg(fabsl(got[i] - expected[i]) <= 2.3e-16L * expected[i],
                      "%s: pair %d is %.17g, not %.17Lg", text, i, got[i], expected[i]);
}

static void same(const char *a, const char *b)
{
    double first[PAIRS], second[PAIRS];

    ck_assert(frequencies(a, first) == frequencies(b, second));
    ck_assert_msg(memcmp(first, second, sizeof(first)) == 0, "%s and %s differ", a, b);
}

static void powers(long double base, long double *out)
{
    for (int i = 0; i < PAIRS; i++)
        out[i] = powl(base, -2.0L * i / DIM);
}

TEST(formulas_of_types)
{
    const long double power = (long double)DIM / (DIM - 2);
    long double w[PAIRS];

    powers(10000 * powl(10 * 16384.0L / 2048 - 9, power), w);
    near("dim=16 rope_type=dynamic factor=10 max_position_embeddings=2048 seq_len=16384", w, 1);
    powers(500000 * powl(4, power), w);
    near("dim=16 base=500000 rope_type=ntk factor=4", w, 1);
    near("dim=16 base=500000 rope_type=ntk alpha=4", w, 1);

    powers(10000, w);
    for (int i = 0; i < PAIRS; i++)
        w[i] /= i + 1;
    const long double factor = sqrtl(1 + logl(32) / logl(4096));
    near("dim=16 rope_type=longrope short_factor=1,2,3,4,5,6,7,8 long_factor=1,1,1,1,1,1,1,9 "
         "max_position_embeddings=131072 original_max_position_embeddings=4096",
         w, factor);
    near("dim=16 rope_type=longrope long_factor=1,2,3,4,5,6,7,8 short_factor=1,1,1,1,1,1,1,9 "
         "factor=32 original_max_position_embeddings=4096 seq_len=4097",
         w, factor);
    near("dim=16 rope_type=longrope long_factor=1,2,3,4,5,6,7,8 short_factor=1,1,1,1,1,1,1,9 "
         "attention_factor=0.5 original_max_position_embeddings=4096 seq_len=4097",
         w, 0.5L);

    powers(10000, w);
    for (int i = 0; i < PAIRS; i++)
        w[i] = i < 3 ? w[i] / 2 : 0;
    near("dim=16 rope_type=proportional partial_rotary_factor=0.4 factor=2", w, 1);

    powers(10000, w);
    for (int i = 0; i < PAIRS; i++)
        w[i] = 2 * 3.14159265358979323846L / w[i] > 8192 ? w[i] / 16 : w[i];
    near("dim=16 rope_type=llama3 factor=16 low_freq_factor=1 high_freq_factor=1 "
         "original_max_position_embeddings=8192",
         w, 1);
    powers(500000 * 4, w); /* vllm-project/vllm 03587f5, ntk_scaling_rope.py */
    for (int i = 0; i < PAIRS; i++)
        w[i] /= powl(4, 2.0L / DIM);
    near("dim=16 base=500000 rope_type=ntk_fixed factor=4", w, 1);
    powers(10000, w);
    for (int i = 0; i < PAIRS; i++)
        w[i] /= expl(logl(3) / powl(DIM / 2, 0.625L) * powl(i + 1, 0.625L));
    near("dim=16 rope_type=ntk_fixed factor=3 mixed_b=0.625", w, 1);
}

/* Given frequencies are unchanged doubles, in any order and above 1; with arithmetic=hf float32. */
TEST(custom_frequencies)
{
#define GIVEN "0.1,3,1e-60,0,0.1,250.5,1e9,0.7"
    static const double given[PAIRS] = {0.1, 3, 1e-60, 0, 0.1, 250.5, 1e9, 0.7};
    double w[PAIRS];

    ck_assert(frequencies("dim=16 rope_type=custom inv_freq=" GIVEN, w) == 1);
    ck_assert_mem_eq(w, given, sizeof(w));
    ck_assert(
        frequencies("dim=20 rotary_dim=16 rope_type=custom attention_factor=3 inv_freq=" GIVEN,
                    w) == 3);
    ck_assert_mem_eq(w, given, sizeof(w));
    frequencies("dim=16 rope_type=custom arithmetic=hf inv_freq=" GIVEN, w);
    for (int i = 0; i < PAIRS; i++)
        ck_assert_msg(w[i] == (float)given[i], "pair %d is %.17g", i, w[i]);
    same("dim=16 rope_type=custom freq_factors=1,2,3,4,5,6,7,8",
         "dim=16 rope_type=longrope short_factor=1,2,3,4,5,6,7,8 long_factor=1,1,1,1,1,1,1,9 "
         "factor=1 max_position_embeddings=100");
}

/* With arithmetic=hf the angle is the float32 product, also where doubles cannot reduce it. */
TEST(float32_angles_of_any_size)
{
    static const double places[] = {1, 123456789, 0x1p53 - 1};
    static const float given[] = {0.7F, 3, 1e9F};
    struct analysed a =
        analysed_new("rope", "dim=6 rope_type=custom arithmetic=hf inv_freq=0.7,3,1e9", "table",
                     "positions=1,123456789,9007199254740991", PE_F32);
    mpfr_t angle;

    mpfr_init2(angle, 1200);
    for (size_t i = 0; i < COUNT_OF(places) * COUNT_OF(given); i++)
        for (size_t is_sin = 0; is_sin < 2; is_sin++) {
            const float product = (float)places[i / 3] * given[i % 3];
            mpfr_set_flt(angle, product, MPFR_RNDN);
            (is_sin ? mpfr_sin : mpfr_cos)(angle, angle, MPFR_RNDN);
            const float want = mpfr_get_flt(angle, MPFR_RNDN);
            const double got = a.outputs[is_sin][i];
            ck_assert_msg(got == want, "%s(%.9g) is %.9g, not %.9g", is_sin ? "sin" : "cos",
                          (double)product, got, (double)want);
        }
    mpfr_clear(angle);
    analysed_free(&a);
}

/* The pairs that rotate are counted as in transformers, with the product rounded to a double. */
TEST(proportional_pairs)
{
    static const struct {
        const char *text;
        int rotating;
    } table[] = {{"dim=20 partial_rotary_factor=0.7", 7},
                 {"dim=40 partial_rotary_factor=0.15", 3},
                 {"dim=80 partial_rotary_factor=0.575", 23},
                 {"dim=20 partial_rotary_factor=0.69", 6}};

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        double w[40] = {0};
        char text[100];
        int rotating = 0;
        snprintf(text, sizeof(text), "%s rope_type=proportional", table[i].text);
        frequencies(text, w);
        while (w[rotating] > 0)
            rotating++;
        ck_assert_msg(rotating == table[i].rotating, "%s: %d", text, rotating);
    }
}

TEST(types_that_equal_others)
{
#define PLAIN "dim=16 base=777"
    same(PLAIN, PLAIN " rope_type=dynamic factor=7 max_position_embeddings=100");
    same(PLAIN, PLAIN " rope_type=dynamic factor=7 max_position_embeddings=100 seq_len=0");
    same(PLAIN, PLAIN " rope_type=dynamic factor=7 max_position_embeddings=100 seq_len=100");
    same(PLAIN, PLAIN " rope_type=ntk factor=1");
    same(PLAIN, PLAIN " rope_type=ntk alpha=1");
    same(PLAIN, PLAIN " rope_type=ntk_fixed factor=1");
    same(PLAIN, PLAIN " rope_type=proportional");
    same(PLAIN, PLAIN " rope_type=proportional partial_rotary_factor=1 factor=1");
    same(PLAIN, PLAIN " rope_type=longrope short_factor=1,1,1,1,1,1,1,1 "
                      "long_factor=2,2,2,2,2,2,2,2 factor=1 max_position_embeddings=100");
}

TEST(refused)
{
    static const struct refused cases[] = {
        {"dim=16 rope_type=dynamic factor=2", PE_MISSING, "max_position_embeddings"},
        {"dim=16 rope_type=dynamic max_position_embeddings=9", PE_MISSING, "factor"},
        {"dim=2 rope_type=dynamic factor=2 max_position_embeddings=9", PE_OUT_OF_RANGE, "dim"},
        {"dim=16 rotary_dim=2 rope_type=ntk factor=2", PE_OUT_OF_RANGE, "rotary_dim"},
        {"dim=16 base=1e29 rope_type=dynamic factor=20 max_position_embeddings=9 seq_len=90",
         PE_OUT_OF_RANGE, "factor"},
        {"dim=16 base=1e29 rope_type=ntk alpha=20", PE_OUT_OF_RANGE, "alpha"},
        {"dim=16 rope_type=ntk", PE_MISSING, "factor"},
        {"dim=16 rope_type=ntk_fixed", PE_MISSING, "factor"},
        {"dim=16 rope_type=ntk factor=2 mixed_b=1", PE_CONFLICT, "mixed_b"},
        {"dim=16 rope_type=ntk factor=2 alpha=2", PE_CONFLICT, "alpha"},
        {"dim=16 rope_type=ntk factor=2 seq_len=2", PE_CONFLICT, "seq_len"},
        {"dim=16 rope_type=ntk factor=0", PE_OUT_OF_RANGE, "factor"},
        {"dim=16 rope_type=ntk factor=nan", PE_INVALID, "factor"},
        {"dim=4 rope_type=longrope short_factor=1,2 factor=2 max_position_embeddings=9", PE_MISSING,
         "long_factor"},
        {"dim=4 rope_type=longrope short_factor=1,2 long_factor=1 factor=2 "
         "max_position_embeddings=9",
         PE_SHAPE_MISMATCH, "long_factor"},
        {"dim=4 rope_type=longrope short_factor=1,2,3 long_factor=1,2 max_position_embeddings=9",
         PE_SHAPE_MISMATCH, "short_factor"},
        {"dim=4 rope_type=longrope short_factor=1,0 long_factor=1,2 max_position_embeddings=9",
         PE_OUT_OF_RANGE, "short_factor"},
        {"dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2", PE_MISSING,
         "original_max_position_embeddings"},
        {"dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2 factor=3 "
         "original_max_position_embeddings=1",
         PE_OUT_OF_RANGE, "original_max_position_embeddings"},
        {"dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2 "
         "original_max_position_embeddings=5",
         PE_MISSING, "factor"},
        {"dim=16 rope_type=proportional partial_rotary_factor=1.5", PE_OUT_OF_RANGE,
         "partial_rotary_factor"},
        {"dim=16 rope_type=proportional seq_len=4", PE_CONFLICT, "seq_len"},
        {"dim=16 seq_len=4", PE_CONFLICT, "seq_len"},
        {"dim=4 rope_type=custom", PE_MISSING, "inv_freq"},
        {"dim=4 rope_type=custom inv_freq=1,2 freq_factors=1,2", PE_CONFLICT, "inv_freq"},
        {"dim=4 rope_type=custom freq_factors=1,2,3", PE_SHAPE_MISMATCH, "freq_factors"},
        {"dim=4 inv_freq=1,2", PE_CONFLICT, "inv_freq"},
        {"dim=4 rope_type=custom inv_freq=1", PE_SHAPE_MISMATCH, "inv_freq"},
        {"dim=4 rotary_dim=2 rope_type=custom inv_freq=1,2", PE_SHAPE_MISMATCH, "inv_freq"},
        {"dim=4 rope_type=custom inv_freq=1,1e-61", PE_OUT_OF_RANGE, "inv_freq"},
        {"dim=4 rope_type=custom inv_freq=1,-1", PE_OUT_OF_RANGE, "inv_freq"},
        {"dim=4 rope_type=custom inv_freq=1,2 factor=2", PE_CONFLICT, "factor"},
    };

    refusals_check("rope", cases, COUNT_OF(cases));
}

/* A stretched base may be as large as 1e30: base factor^(D / (D - 2)), for every type and name of
 * the stretch. The refusal has both numbers. */
TEST(stretched_bases_end_at_1e30)
{
    static const char *const stretches[] = {
        "rope_type=ntk factor", "rope_type=ntk alpha",
        "rope_type=dynamic max_position_embeddings=10 seq_len=10 factor"};
    static const double factors[] = {1.5, 40, 9000};
    static const size_t dims[] = {4, 6, 16, 128};

    for (size_t i = 0; i < 3 * 4 * COUNT_OF(stretches); i++) {
        const size_t dim = dims[i / 3 % 4];
        const double factor = factors[i % 3];
        /* dynamic: the length is the trained one, so that nothing is stretched. */
        const double stretch = i / 12 == 2 ? 1 : factor;
        const double most = 1e30 / pow(stretch, (double)dim / (double)(dim - 2));
        for (int beyond = 0; beyond < 2; beyond++) {
            char text[160];
            struct pe_error err = {0};
            struct opened opened;
            snprintf(text, sizeof(text), "dim=%zu %s=%.17g base=%.17g", dim, stretches[i / 12],
                     factor, fmin(most * (beyond ? 1.001 : 0.999), 1e30));
            const bool refused = beyond && stretch > 1;
            const struct request request = {.encoding = "rope", .text = text};
            const enum pe_status status = request_try(&request, &opened, &err);
            opened_free(&opened);
            ck_assert_msg(status == (refused ? PE_OUT_OF_RANGE : PE_OK), "%s: %s %s", text,
                          pe_status_code(status), err.detail);
            ck_assert(!refused || strstr(err.detail, "1e30"));
        }
    }
}

/* An original length of 1 has no logarithm, and attention_factor replaces what needs one. */
TEST(longrope_of_length_one)
{
    static const char *const originals[] = {"1", "1.5", "2", "5"};

    for (size_t i = 0; i < 2 * COUNT_OF(originals); i++) {
        char text[200];
        struct pe_error err = {0};
        struct opened opened;
        snprintf(text, sizeof(text),
                 "dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2 factor=3 "
                 "original_max_position_embeddings=%s%s",
                 originals[i / 2], i % 2 ? " attention_factor=1.25" : "");
        const struct request request = {.encoding = "rope", .text = text};
        const enum pe_status status = request_try(&request, &opened, &err);
        opened_free(&opened);
        if (strchr(originals[i / 2], '.'))
            ck_assert_msg(status != PE_OK, "%s", text);
        else
            ck_assert_msg(status == (i == 0 ? PE_OUT_OF_RANGE : PE_OK), "%s: %s %s", text,
                          pe_status_code(status), err.detail);
    }
}

TEST(longrope_warns)
{
    OWNED_SCHEME scheme =
        scheme_new("rope", "dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2 factor=8 "
                           "max_position_embeddings=64 original_max_position_embeddings=4");

    ck_assert_uint_eq(scheme->warnings_count, 1);
    ck_assert_ptr_nonnull(strstr(scheme->warnings[0], "factor 8 was used"));
}

/* ---- yarn ------------------------------------------------------------------------------------ */

struct yarn {
    size_t dim;
    double base, factor, original, most, fast, slow; /* NAN: absent */
    bool truncate;
};

static long double pair_of(const struct yarn *y, long double original, long double rotations)
{
    return (long double)y->dim *
           logl(original / (2 * 3.14159265358979323846264338327950288L * rotations)) /
           (2 * logl(y->base));
}

/* transformers, modeling_rope_utils.py, _compute_yarn_parameters. */
static long double frequency(const struct yarn *y, size_t pair)
{
    const long double original = isnan(y->original) ? y->most : y->original;
    const long double factor = isnan(y->factor) ? y->most / original : y->factor;
    long double low = pair_of(y, original, isnan(y->fast) ? 32 : y->fast);
    long double high = pair_of(y, original, isnan(y->slow) ? 1 : y->slow);
    long double ramp, w = powl(y->base, -2.0L * pair / y->dim);

    if (y->truncate) {
        low = floorl(low);
        high = ceill(high);
    }
    low = low < 0 ? 0 : low;
    high = high > y->dim - 1 ? y->dim - 1 : high;
    if (low == high)
        high += 0.001L;
    ramp = (pair - low) / (high - low);
    ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    return w / factor * ramp + w * (1 - ramp);
}

static size_t number_print(char *out, size_t size, const char *name, double value)
{
    return isnan(value) ? 0 : (size_t)snprintf(out, size, " %s=%.17g", name, value);
}

/* arithmetic=hf clamps the ends in other code; its frequencies are near those of the formula. */
static void expect_float32(const struct yarn *y, const char *text)
{
    char rounded[440];

    snprintf(rounded, sizeof(rounded), "%s arithmetic=hf", text);
    OWNED_VIEWED got = viewed_new("rope", rounded, "frequencies", "", NULL, PE_F64);
    for (size_t pair = 0; pair < y->dim / 2; pair++) {
        const long double want = frequency(y, pair);
        const double value = ((const double *)got.data)[pair];
        ck_assert_msg(fabsl(value - want) <= 1e-5L * want, "%s: pair %zu is %.9g, not %.9Lg",
                      rounded, pair, value, want);
    }
}

static void expect_yarn(const struct yarn *y)
{
    char text[400];
    size_t used = (size_t)snprintf(text, sizeof(text), "rope_type=yarn dim=%zu truncate=%d", y->dim,
                                   y->truncate);

    used += number_print(text + used, sizeof(text) - used, "base", y->base);
    used += number_print(text + used, sizeof(text) - used, "factor", y->factor);
    used += number_print(text + used, sizeof(text) - used, "original_max_position_embeddings",
                         y->original);
    used += number_print(text + used, sizeof(text) - used, "max_position_embeddings", y->most);
    used += number_print(text + used, sizeof(text) - used, "beta_fast", y->fast);
    number_print(text + used, sizeof(text) - used, "beta_slow", y->slow);
    struct viewed got = viewed_new("rope", text, "frequencies", "", NULL, PE_F64);
    for (size_t pair = 0; pair < y->dim / 2; pair++) {
        const long double want = frequency(y, pair);
        const double value = ((const double *)got.data)[pair];
        ck_assert_msg(fabsl(value - want) <= 1.2e-16L * want, "%s: pair %zu is %.17g, not %.17Lg",
                      text, pair, value, want);
    }
    viewed_free(&got);
    expect_float32(y, text);
}

TEST(yarn_formulas)
{
    static const struct yarn cases[] = {
        {128, 10000, 16, 4096, NAN, NAN, NAN, true},
        {128, 10000, NAN, 4096, 131072, NAN, NAN, true}, /* factor: max / original */
        {128, 1e6, 4, NAN, 32768, NAN, NAN, true},       /* original: max */
        {64, 150000, 32, 4096, 131072, 32, 1, false},    /* gpt-oss */
        {64, 10000, 40, 4096, 163840, 32, 1, true},      /* DeepSeek-V3 */
        {64, 50000, 32, 4096, 131072, 1, 1, true},       /* Kimi K2: both ends 1 */
        {16, 10000, 8, 2048, NAN, 4, 4, false},          /* no ramp at all */
        {16, 10000, 8, 2048, NAN, 1, 32, true},          /* reversed */
        {32, 1.5, 3, 100000, NAN, NAN, NAN, true},       /* both ends after the last pair */
        {32, 10000, 3, 5, NAN, NAN, NAN, true},          /* both ends before the first */
        {96, 500000, 0.5, 8192, NAN, 20, 2.5, false},    /* stretched */
        /* The upper end at dim - 1 and next to it, which the ramp of the last pairs shows. */
        {8, 10, 4, 640, NAN, NAN, NAN, true},   /* 8.03, so 9: clamped to 7 */
        {8, 10, 4, 640, NAN, NAN, NAN, false},  /* 8.03 */
        {8, 10, 4, 340, NAN, NAN, NAN, true},   /* 6.93, so 7: not clamped */
        {8, 10, 4, 340, NAN, NAN, NAN, false},  /* 6.93 */
        {8, 10, 4, 360, NAN, NAN, NAN, true},   /* 7.03, so 8 */
        {8, 10, 4, 360, NAN, NAN, NAN, false},  /* 7.03 */
        {8, 10, 4, 64000, NAN, NAN, NAN, true}, /* both ends after dim - 1 */
        {8, 10, 4, 7, NAN, 32, 0.001, true},    /* one end clamped to 0, the other to dim - 1 */
        {8, 10, 4, 202, NAN, 32, 1, false},     /* the lower end just above 0 */
        {8, 10, 4, 201, NAN, 32, 1, false},     /* and just below */
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect_yarn(&cases[i]);
}

/* A scalar by name; NAN: there is none. */
static double scalar(const char *text, const char *name)
{
    struct viewed viewed = viewed_new("rope", text, "frequencies", "", NULL, PE_F64);
    struct pe_scalar found;
    double value = NAN;

    for (size_t i = 0; pe_view_scalar(viewed.opened.view, i, &found); i++)
        if (strcmp(found.name, name) == 0)
            value = found.value;
    viewed_free(&viewed);
    return value;
}

#define YARN "dim=64 rope_type=yarn factor=40 original_max_position_embeddings=4096"

static void expect_scalars(const char *text, long double factor, long double multiplier)
{
    const double of_softmax = scalar(text, "softmax_scale_multiplier");

    ck_assert_msg(fabsl(scalar(text, "attention_factor") - factor) <= DBL_EPSILON / 2 * factor,
                  "%s", text);
    if (isnan(multiplier))
        ck_assert(isnan(of_softmax));
    else
        ck_assert_msg(fabsl(of_softmax - multiplier) <= DBL_EPSILON / 2 * multiplier,
                      "%s: %.17g, not %.17Lg", text, of_softmax, multiplier);
}

/* DeepSeek-V3, inference/model.py: softmax_scale * mscale * mscale, mscale = 0.1 * ln 40 + 1. */
TEST(yarn_scalars)
{
    const long double g = 0.1L * logl(40) + 1, half = 0.05L * logl(40) + 1;

    expect_scalars(YARN, g, NAN);
    expect_scalars(YARN " mscale=1 mscale_all_dim=1", 1, g * g);
    expect_scalars(YARN " mscale=1 mscale_all_dim=0.5", g / half, half * half);
    expect_scalars(YARN " mscale_all_dim=0.5", g, half * half);
    expect_scalars(YARN " mscale=0.5", g, NAN);
    expect_scalars(YARN " mscale=0.5 mscale_all_dim=0", g, NAN);
    expect_scalars(YARN " mscale=0.5 mscale_all_dim=1 attention_factor=0.75", 0.75L, g * g);
    expect_scalars("dim=64 rope_type=yarn factor=0.5 original_max_position_embeddings=4096 "
                   "mscale_all_dim=1",
                   1, 1);
    expect_scalars("dim=64", 1, NAN);
    ck_assert(fabs(scalar(YARN " mscale_all_dim=1", "softmax_scale_multiplier") -
                   1.8738542070926265) < 1e-15);
}

static bool beyond(const char *text, double start, size_t count)
{
    struct pe_scheme *scheme = scheme_new("rope", text);
    const struct pe_positions positions = {.start = start, .step = 1, .count = count};
    const double listed[] = {0, start + (double)count - 1, 3};
    const struct pe_positions list = {.values = listed, .count = 3};
    double farthest, of_list;
    const bool is_beyond = pe_scheme_beyond(scheme, &positions, &farthest);

    ck_assert(pe_scheme_beyond(scheme, &list, &of_list) == is_beyond);
    ck_assert(!is_beyond || farthest == start + (double)count - 1);
    pe_scheme_free(scheme);
    return is_beyond;
}

#define DYNAMIC "dim=4 rope_type=dynamic factor=2 max_position_embeddings=100"
#define LONGROPE                                                                                   \
    "dim=4 factor=8 short_factor=1,2 long_factor=3,4 original_max_position_embeddings=64"

TEST(lengths_of_dynamic_and_longrope)
{
    ck_assert(!beyond(DYNAMIC, 0, 100));
    ck_assert(beyond(DYNAMIC, 0, 101));
    ck_assert(beyond(DYNAMIC, 100, 1));
    ck_assert(!beyond(DYNAMIC " seq_len=101", 0, 101));
    ck_assert(beyond(DYNAMIC " seq_len=101", 101, 1));
    ck_assert(!beyond(LONGROPE " rope_type=longrope", 0, 64));
    ck_assert(beyond(LONGROPE " rope_type=longrope", 1, 64));
    ck_assert(beyond(LONGROPE " rope_type=su seq_len=64", 1, 64));
    ck_assert(!beyond(LONGROPE " rope_type=su seq_len=65", 1000, 64));
    ck_assert(!beyond("dim=4", 1e15, 5));
}

/* Phi-3 was published with the name su. */
TEST(su_is_longrope)
{
    OWNED_VIEWED a =
        viewed_new("rope", LONGROPE " rope_type=su seq_len=65", "frequencies", "", NULL, PE_F64);
    OWNED_VIEWED b = viewed_new("rope", LONGROPE " rope_type=longrope seq_len=65", "frequencies",
                                "", NULL, PE_F64);

    ck_assert_mem_eq(a.data, b.data, 2 * sizeof(double));
}
