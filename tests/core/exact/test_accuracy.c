/* SPDX-License-Identifier: MIT */

/* Tables against MPFR at 320 bits, by other operations than the library's, at random positions; for
 * hard positions see test_hard_positions.c. */

#include "core/scheme/scheme.h"
#include "core/tables/table_fill.h"
#include "tests/check_main.h"
#include "tests/core/table_fixture.h"

enum { PRECISION = 320, DIM = 128, PAIRS = DIM / 2 };

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Whole numbers of every magnitude up to 2^53 - 1, both signs. */
static double random_position(void)
{
    const double whole = (double)(random_bits() >> (11 + random_bits() % 53));

    return random_bits() & 1 ? -whole : whole;
}

/* base^(-2 pair / DIM) by a power of a root. */
static void oracle_frequencies(mpfr_t w[PAIRS], double base)
{
    mpfr_t exponent;

    mpfr_init2(exponent, PRECISION);
    for (int pair = 0; pair < PAIRS; pair++) {
        mpfr_init2(w[pair], PRECISION);
        mpfr_set_d(w[pair], base, MPFR_RNDN);
        mpfr_set_si(exponent, -2 * pair, MPFR_RNDN);
        mpfr_div_si(exponent, exponent, DIM, MPFR_RNDN);
        mpfr_pow(w[pair], w[pair], exponent, MPFR_RNDN);
    }
    mpfr_clear(exponent);
}

static unsigned long checked, wrong;

static void compare(mpfr_t value, const void *got, enum pe_dtype dtype, double t, int pair,
                    const char *what)
{
    const double want = oracle_round(value, dtype);
    double found;

    pe_to_f64(&found, got, dtype, 1);
    checked++;
    if (found == want && signbit(found) == signbit(want))
        return;
    if (wrong++ < 10)
        fprintf(stderr, "%s %s t=%.17g pair=%d: got %a, want %a\n", pe_dtype_info(dtype)->name,
                what, t, pair, found, want);
}

static void check_element(const struct pe_scheme *scheme, mpfr_t w[PAIRS], double t, int pair,
                          enum pe_dtype dtype)
{
    const struct pe_position position = {{t}};
    const struct pe_positions positions = {.values = &t, .count = 1};
    double cos_row[PAIRS], sin_row[PAIRS], cos_got, sin_got;
    const struct pe_table row = {cos_row, sin_row, PAIRS, PAIRS, 1, sizeof(cos_row), NULL};
    mpfr_t angle, sine, cosine;

    mpfr_inits2(PRECISION, angle, sine, cosine, (mpfr_ptr)NULL);
    mpfr_mul_d(angle, w[pair], t, MPFR_RNDN);
    mpfr_sin_cos(sine, cosine, angle, MPFR_RNDN);
    pe_frequencies_pair(pe_waves_of(scheme)->frequencies, (size_t)pair, &position, PE_AMPLITUDE_ONE,
                        dtype, &cos_got, &sin_got);
    compare(cosine, &cos_got, dtype, t, pair, "cos");
    compare(sine, &sin_got, dtype, t, pair, "sin");
    const size_t at = (size_t)pair * pe_dtype_info(dtype)->size;
    pe_table_fill(&row, pe_waves_of(scheme)->frequencies, &positions, 0, 1, PE_AMPLITUDE_ONE, dtype,
                  NULL, &(struct pe_error){0});
    compare(cosine, (char *)cos_row + at, dtype, t, pair, "cos of a table");
    compare(sine, (char *)sin_row + at, dtype, t, pair, "sin of a table");
    mpfr_clears(angle, sine, cosine, (mpfr_ptr)NULL);
}

static void report(const char *name)
{
    printf("%s: %lu values, %lu misrounded, %lu undecided\n", name, checked, wrong,
           pe_exact_undecided());
    ck_assert_uint_gt(checked, 0);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(pe_exact_undecided(), 0);
    checked = wrong = 0;
}

static void frequencies_clear(mpfr_t w[PAIRS])
{
    for (int pair = 0; pair < PAIRS; pair++)
        mpfr_clear(w[pair]);
}

static const double bases[] = {10000, 500000, 1e6};

TEST_LOOP(3, random_f32)
{
    const size_t which = (size_t)_i;
    struct pe_scheme *scheme;
    mpfr_t w[PAIRS];
    char text[64];

    snprintf(text, sizeof(text), "dim=%d base=%.17g", DIM, bases[which]);
    scheme = scheme_new("rope", text);
    oracle_frequencies(w, bases[which]);
    /* 10^6 of (position, pair) over the three bases, cos and sin each. */
    for (int i = 0; i < 334000; i++)
        check_element(scheme, w, random_position(), (int)(random_bits() % PAIRS), PE_F32);
    report("random f32");
    frequencies_clear(w);
    pe_scheme_free(scheme);
}

TEST(random_others)
{
    OWNED_SCHEME scheme = scheme_new("rope", "dim=128 base=10000");
    mpfr_t w[PAIRS];

    oracle_frequencies(w, 10000);
    for (int i = 0; i < 60000; i++)
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype += dtype == PE_F64 ? 2 : 1)
            check_element(scheme, w, random_position(), (int)(random_bits() % PAIRS), dtype);
    for (int i = 0; i < 20000; i++) /* fractions, and those near zero */
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++)
            check_element(scheme, w,
                          ldexp((double)(random_bits() >> 11), -(int)(random_bits() % 260)),
                          (int)(random_bits() % PAIRS), dtype);
    report("random f16 bf16 f64, fractions");
    frequencies_clear(w);
}

/* Positions start + i * step that no double holds are exact. */
TEST(fractional_steps)
{
    OWNED_SCHEME scheme = scheme_new("rope", "dim=128 base=10000");
    const struct pe_positions positions = {.start = 1e6 + 0.3, .step = 0.1, .count = 2000};
    mpfr_t w[PAIRS], t, angle;
    float sine;
    const struct pe_table table = {NULL, &sine, 0, 1, 1, sizeof(sine), NULL};

    oracle_frequencies(w, 10000);
    mpfr_inits2(PRECISION, t, angle, (mpfr_ptr)NULL);
    for (size_t index = 0; index < positions.count; index++) {
        mpfr_set_d(t, positions.step, MPFR_RNDN);
        mpfr_mul_ui(t, t, index, MPFR_RNDN);
        mpfr_add_d(t, t, positions.start, MPFR_RNDN);
        pe_table_fill(&table, pe_waves_of(scheme)->frequencies, &positions, index, index + 1,
                      PE_AMPLITUDE_ONE, PE_F32, NULL, &(struct pe_error){0});
        mpfr_mul(angle, t, w[0], MPFR_RNDN);
        mpfr_sin(angle, angle, MPFR_RNDN);
        compare(angle, &sine, PE_F32, mpfr_get_d(t, MPFR_RNDN), 0, "sin");
    }
    mpfr_clears(t, angle, (mpfr_ptr)NULL);
    report("fractional steps");
    frequencies_clear(w);
}

/* A = 0.1 ln 16 + 1 is multiplied before the only rounding. */
TEST(attention_factor)
{
    OWNED_SCHEME scheme = scheme_new("rope", "dim=128 rope_type=yarn factor=16 "
                                             "original_max_position_embeddings=4096");
    const size_t pairs = pe_frequencies_count(pe_waves_of(scheme)->frequencies);
    mpfr_t a, value, w;
    double exact_w;
    float cosine;

    mpfr_inits2(PRECISION, a, value, w, (mpfr_ptr)NULL);
    mpfr_set_ui(a, 16, MPFR_RNDN);
    mpfr_log(a, a, MPFR_RNDN);
    mpfr_div_ui(a, a, 10, MPFR_RNDN);
    mpfr_add_ui(a, a, 1, MPFR_RNDN);
    ck_assert_uint_eq(pairs, PAIRS);
    for (int i = 0; i < 5000; i++) {
        const double t = random_position();
        const struct pe_position position = {{t}};
        const size_t pair = 0; /* whose frequency is 1 in yarn too */
        pe_frequencies_pair(pe_waves_of(scheme)->frequencies, pair, &position, PE_AMPLITUDE_FACTOR,
                            PE_F32, &cosine, NULL);
        mpfr_set_d(value, t, MPFR_RNDN);
        mpfr_cos(value, value, MPFR_RNDN);
        mpfr_mul(value, value, a, MPFR_RNDN);
        compare(value, &cosine, PE_F32, t, (int)pair, "A cos");
        pe_frequencies_pair(pe_waves_of(scheme)->frequencies, pair, &position, PE_AMPLITUDE_INVERSE,
                            PE_F32, &cosine, NULL);
        mpfr_div(value, value, a, MPFR_RNDN);
        mpfr_div(value, value, a, MPFR_RNDN);
        compare(value, &cosine, PE_F32, t, (int)pair, "cos / A");
    }
    pe_frequencies_write(pe_waves_of(scheme)->frequencies, 0, PE_F64, &exact_w, NULL);
    ck_assert_double_eq(exact_w, 1);
    report("attention factor");
    mpfr_clears(a, value, w, (mpfr_ptr)NULL);
}
