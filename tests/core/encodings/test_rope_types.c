/* SPDX-License-Identifier: MIT */

/* dynamic, ntk, longrope, proportional and custom: the formulas in long double, the relations bit
 * for bit, and what is refused. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/views/view.h"
#include "tests/core/owned.h"

enum { DIM = 16, PAIRS = DIM / 2 };

static struct pe_scheme *scheme_new(const char *text, struct pe_error *err)
{
    struct pe_params params;
    struct pe_scheme *scheme = NULL;

    if (pe_params_parse(&params, "rope", text, err) == PE_OK) {
        pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, err);
        pe_params_free(&params);
    }
    return scheme;
}

/* inv_freq in f64, and the attention factor. */
static double frequencies(const char *text, double *out)
{
    struct pe_error err = {0};
    struct pe_scheme *scheme = scheme_new(text, &err);
    struct pe_params none = {0};
    struct pe_view *view;
    struct pe_scalar factor;

    ck_assert_msg(scheme, "%s: %s", text, err.detail);
    ck_assert_int_eq(pe_view_new(&view, scheme,
                                 pe_encoding_view(pe_scheme_encoding(scheme), "frequencies"), &none,
                                 PE_F64, NULL, &err),
                     PE_OK);
    pe_view_fill(view, 0, 0, 1, out, NULL, &(struct pe_error){0});
    ck_assert(pe_view_scalar(view, 0, &factor));
    pe_view_free(view);
    pe_scheme_free(scheme);
    return factor.value;
}

static size_t compared;

static void near(const char *text, const long double *expected, long double factor)
{
    double got[PAIRS];

    ck_assert_msg(fabsl(frequencies(text, got) - factor) <= 1e-15L * factor, "factor of %s", text);
    for (int i = 0; i < PAIRS; i++, compared++)
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

TEST(test_formulas)
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
    printf("rope types: %zu frequencies\n", compared);
}

/* Given frequencies are doubles as they stand, in every order and above 1; with arithmetic=hf they
 * are float32. */
TEST(test_custom)
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

/* How many pairs turn is counted as transformers does it, with the product rounded to a double. */
TEST(test_proportional_counts)
{
    static const struct {
        const char *text;
        int turning;
    } table[] = {{"dim=20 partial_rotary_factor=0.7", 7},
                 {"dim=40 partial_rotary_factor=0.15", 3},
                 {"dim=80 partial_rotary_factor=0.575", 23},
                 {"dim=20 partial_rotary_factor=0.69", 6}};

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        double w[40] = {0};
        char text[100];
        int turning = 0;
        snprintf(text, sizeof(text), "%s rope_type=proportional", table[i].text);
        frequencies(text, w);
        while (w[turning] > 0)
            turning++;
        ck_assert_msg(turning == table[i].turning, "%s: %d", text, turning);
    }
}

TEST(test_relations)
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

static const struct {
    const char *text, *where;
    enum pe_status status;
} refused[] = {
    {"dim=16 rope_type=dynamic factor=2", "parameter:max_position_embeddings", PE_MISSING},
    {"dim=16 rope_type=dynamic max_position_embeddings=9", "parameter:factor", PE_MISSING},
    {"dim=2 rope_type=dynamic factor=2 max_position_embeddings=9", "parameter:dim",
     PE_OUT_OF_RANGE},
    {"dim=16 rotary_dim=2 rope_type=ntk factor=2", "parameter:rotary_dim", PE_OUT_OF_RANGE},
    {"dim=16 base=1e29 rope_type=dynamic factor=20 max_position_embeddings=9 seq_len=90",
     "parameter:factor", PE_OUT_OF_RANGE},
    {"dim=16 base=1e29 rope_type=ntk alpha=20", "parameter:alpha", PE_OUT_OF_RANGE},
    {"dim=16 rope_type=ntk", "parameter:factor", PE_MISSING},
    {"dim=16 rope_type=ntk_fixed", "parameter:factor", PE_MISSING},
    {"dim=16 rope_type=ntk factor=2 mixed_b=1", "parameter:mixed_b", PE_CONFLICT},
    {"dim=16 rope_type=ntk factor=2 alpha=2", "parameter:alpha", PE_CONFLICT},
    {"dim=16 rope_type=ntk factor=2 seq_len=2", "parameter:seq_len", PE_CONFLICT},
    {"dim=16 rope_type=ntk factor=0", "parameter:factor", PE_OUT_OF_RANGE},
    {"dim=16 rope_type=ntk factor=nan", "parameter:factor", PE_INVALID},
    {"dim=4 rope_type=longrope short_factor=1,2 factor=2 max_position_embeddings=9",
     "parameter:long_factor", PE_MISSING},
    {"dim=4 rope_type=longrope short_factor=1,2 long_factor=1 factor=2 max_position_embeddings=9",
     "parameter:long_factor", PE_SHAPE_MISMATCH},
    {"dim=4 rope_type=longrope short_factor=1,2,3 long_factor=1,2 max_position_embeddings=9",
     "parameter:short_factor", PE_SHAPE_MISMATCH},
    {"dim=4 rope_type=longrope short_factor=1,0 long_factor=1,2 max_position_embeddings=9",
     "parameter:short_factor", PE_OUT_OF_RANGE},
    {"dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2",
     "parameter:original_max_position_embeddings", PE_MISSING},
    {"dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2 factor=3 "
     "original_max_position_embeddings=1",
     "parameter:original_max_position_embeddings", PE_OUT_OF_RANGE},
    {"dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2 "
     "original_max_position_embeddings=5",
     "parameter:factor", PE_MISSING},
    {"dim=16 rope_type=proportional partial_rotary_factor=1.5", "parameter:partial_rotary_factor",
     PE_OUT_OF_RANGE},
    {"dim=16 rope_type=proportional seq_len=4", "parameter:seq_len", PE_CONFLICT},
    {"dim=16 seq_len=4", "parameter:seq_len", PE_CONFLICT},
    {"dim=4 rope_type=custom", "parameter:inv_freq", PE_MISSING},
    {"dim=4 rope_type=custom inv_freq=1,2 freq_factors=1,2", "parameter:inv_freq", PE_CONFLICT},
    {"dim=4 rope_type=custom freq_factors=1,2,3", "parameter:freq_factors", PE_SHAPE_MISMATCH},
    {"dim=4 inv_freq=1,2", "parameter:inv_freq", PE_CONFLICT},
    {"dim=4 rope_type=custom inv_freq=1", "parameter:inv_freq", PE_SHAPE_MISMATCH},
    {"dim=4 rotary_dim=2 rope_type=custom inv_freq=1,2", "parameter:inv_freq", PE_SHAPE_MISMATCH},
    {"dim=4 rope_type=custom inv_freq=1,1e-61", "parameter:inv_freq", PE_OUT_OF_RANGE},
    {"dim=4 rope_type=custom inv_freq=1,-1", "parameter:inv_freq", PE_OUT_OF_RANGE},
    {"dim=4 rope_type=custom inv_freq=1,2 factor=2", "parameter:factor", PE_CONFLICT},
};

TEST(test_refused)
{
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        struct pe_error err = {0};
        struct pe_scheme *scheme = scheme_new(refused[i].text, &err);
        ck_assert_msg(!scheme, "%s was taken", refused[i].text);
        ck_assert_msg(err.status == refused[i].status, "%s: %s", refused[i].text, err.detail);
        ck_assert_str_eq(err.where, refused[i].where);
    }
    printf("rope types: %zu schemes refused\n", COUNT_OF(refused));
}

TEST(test_warnings)
{
    struct pe_error err = {0};
    OWNED_SCHEME scheme =
        scheme_new("dim=4 rope_type=longrope short_factor=1,2 long_factor=1,2 factor=8 "
                   "max_position_embeddings=64 original_max_position_embeddings=4",
                   &err);

    ck_assert_ptr_nonnull(scheme);
    ck_assert_uint_eq(scheme->warnings_count, 1);
    ck_assert_ptr_nonnull(strstr(scheme->warnings[0], "factor 8 was used"));
}
