/* SPDX-License-Identifier: MIT */

/* The hardest positions of every frequency set of the catalogue, in every dtype, one by one and in
 * rows at every instruction set, against MPFR:
 * - denominators of the continued fraction of w / (pi/2), where t * w comes as near to a multiple
 * of pi/2 as a whole number can, up to 2^53 - 1;
 * - the largest positions, zeros, tiny and subnormal ones;
 * - positions whose cos or sin is as near to a midpoint of f16, bf16 or f32 as a double can make
 * it.
 */

#include "core/isa/isa.h"
#include "core/kinds/waves.h"
#include "tests/core/hard_fixture.h"

enum { POSITIONS_MAX = 400 };

struct hard {
    double values[POSITIONS_MAX];
    size_t count;
};

static unsigned long checked, wrong;

static void add(struct hard *hard, double t)
{
    ck_assert_uint_lt(hard->count + 1, POSITIONS_MAX);
    hard->values[hard->count++] = t;
    hard->values[hard->count++] = -t;
}

static void add_convergents(struct hard *hard, mpfr_srcptr w)
{
    double previous = 0, q = 1;
    mpfr_t x, whole;

    mpfr_inits2(HARD_BITS, x, whole, (mpfr_ptr)NULL);
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_div_ui(x, x, 2, MPFR_RNDN);
    mpfr_div(x, w, x, MPFR_RNDN);
    while (q < 0x1p53) {
        add(hard, q);
        mpfr_floor(whole, x);
        mpfr_sub(x, x, whole, MPFR_RNDN);
        mpfr_ui_div(x, 1, x, MPFR_RNDN);
        mpfr_floor(whole, x);
        const double next = mpfr_get_d(whole, MPFR_RNDN) * q + previous;
        previous = q;
        q = next;
    }
    mpfr_clears(x, whole, (mpfr_ptr)NULL);
}

/* Zeros and the largest. Of one pair in 16, whose angles take the last step of the ladder, so that
 * they are slow: the tiny ones (2^-149 and 2^-24 are the least f32 and f16: odd multiples of their
 * halves are ties where w is 1). */
static void add_edges(struct hard *hard, bool tiny)
{
    static const double edges[] = {
        0,
        0x1p53 - 1,
        0x1p53 - 2,
        0x1p52 + 1,
        0x1p24 + 1,
        0x1p31 - 1,
        131071,
        1e7,
        0x1p-12,
        0.5,
        1e-30,
        0x1p-20,
        4503599627370495.5,
        0x1p-150,
        0x3p-150,
        0x1p-149,
        0x5p-150,
        0x1p-134,
        0x3p-134,
        0x1p-25,
        0x3p-25,
        0x1.8p-24,
        0x1p-1074,
        0x3p-1074,
        0x1p-1023,
        0x1p-1022,
        1e-300,
        0x1.8p-1021,
    };
    const size_t count = sizeof(edges) / sizeof(edges[0]);

    for (size_t i = 0; i < (tiny ? count : count - 6); i++)
        add(hard, edges[i]);
}

/* t with sin(t w) or cos(t w) next to a midpoint, as far out as fractions of t still matter. */
static void add_midpoints(struct hard *hard, mpfr_srcptr w, size_t pair)
{
    static const int bits[] = {24, 11, 8};
    mpfr_t t, turn, far;

    mpfr_inits2(HARD_BITS, t, turn, far, (mpfr_ptr)NULL);
    mpfr_const_pi(turn, MPFR_RNDN);
    mpfr_mul_2ui(turn, turn, 1, MPFR_RNDN);
    for (size_t i = 0; i < 24; i++) {
        const int digits = bits[i % 3], exponent = -(int)(i / 6);
        const double odd = 2 * ((double)((pair * 7919 + i * 104729) % (1ul << (digits - 1))) +
                                (double)(1ul << (digits - 1))) +
                           1;
        mpfr_set_d(t, ldexp(odd, exponent - digits - 1), MPFR_RNDN);
        (i & 1 ? mpfr_acos : mpfr_asin)(t, t, MPFR_RNDN);
        mpfr_mul_ui(far, turn, i / 8 * 1000, MPFR_RNDN);
        mpfr_add(t, t, far, MPFR_RNDN);
        mpfr_div(t, t, w, MPFR_RNDN);
        if (mpfr_cmp_d(t, 0x1p53 - 1) <= 0)
            add(hard, mpfr_get_d(t, MPFR_RNDN));
    }
    mpfr_clears(t, turn, far, (mpfr_ptr)NULL);
}

static void compare(mpfr_srcptr value, const void *got, enum pe_dtype dtype, double t,
                    const struct frequency_set *set, size_t pair, const char *what)
{
    const double want = oracle_round(value, dtype);
    double found;

    pe_to_f64(&found, got, dtype, 1);
    checked++;
    if ((found == want && signbit(found) == signbit(want)) || wrong++ >= 10)
        return;
    fprintf(stderr, "%s %s: %s %s t=%a pair=%zu: got %a, want %a\n", set->encoding, set->text,
            pe_dtype_info(dtype)->name, what, t, pair, found, want);
}

/* One pair of a table at all the positions, one by one (f64) or in rows. */
static void check_pair(const struct frequency_set *set, const struct pe_scheme *scheme, size_t pair,
                       mpfr_srcptr w, const struct hard *hard)
{
    const struct pe_positions positions = {.values = hard->values, .count = hard->count};
    const size_t pairs = pe_frequencies_count(pe_waves_of(scheme)->frequencies);
    char *data[2][4];
    mpfr_t wave[2];

    mpfr_inits2(HARD_BITS, wave[0], wave[1], (mpfr_ptr)NULL);
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        const size_t row = pairs * pe_dtype_info(dtype)->size;
        for (int which = 0; which < 2; which++)
            data[which][dtype] = malloc(hard->count * row);
        const struct pe_table table = {data[0][dtype], data[1][dtype], pairs, pairs, 1, row, NULL};
        pe_table_fill(&table, pe_waves_of(scheme)->frequencies, &positions, 0, hard->count,
                      PE_AMPLITUDE_ONE, dtype, NULL, &(struct pe_error){0});
    }
    for (size_t i = 0; i < hard->count; i++) {
        const struct pe_position position = {{hard->values[i], 0, 0}};
        cos_sin_write(wave[0], wave[1], w, hard->values[i]);
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
            double one[2];
            pe_frequencies_pair(pe_waves_of(scheme)->frequencies, pair, &position, PE_AMPLITUDE_ONE,
                                dtype, &one[0], &one[1]);
            for (int which = 0; which < 2; which++) {
                const size_t at = (i * pairs + pair) * pe_dtype_info(dtype)->size;
                const char *what = which ? "sin" : "cos";
                compare(wave[which], &one[which], dtype, hard->values[i], set, pair, what);
                compare(wave[which], data[which][dtype] + at, dtype, hard->values[i], set, pair,
                        what);
            }
        }
    }
    for (size_t i = 0; i < 8; i++)
        free(data[i & 1][i / 2]);
    mpfr_clears(wave[0], wave[1], (mpfr_ptr)NULL);
}

static void check_set(const struct frequency_set *set)
{
    struct pe_scheme *scheme = frequency_set_scheme(set);
    mpfr_t w;

    mpfr_init2(w, HARD_BITS);
    for (size_t pair = 0; pair < pe_frequencies_count(pe_waves_of(scheme)->frequencies); pair++) {
        struct hard hard = {.count = 0};
        frequency_set_write(w, set, scheme, pair);
        add_edges(&hard, pair % 16 == 0);
        if (!mpfr_zero_p(w)) {
            add_convergents(&hard, w);
            add_midpoints(&hard, w, pair);
        }
        check_pair(set, scheme, pair, w, &hard);
    }
    mpfr_clear(w);
    pe_scheme_free(scheme);
}

/* A process for each instruction set, since it is chosen once; POSENC_ISA leaves one of them. */
START_TEST(every_set)
{
    const char *isa = pe_isas[_i].name, *wanted = getenv("POSENC_ISA");

    if (!pe_isas[_i].usable() || (wanted && strcmp(wanted, isa) != 0))
        return;
    setenv("POSENC_ISA", isa, 1);
    for (size_t i = 0; i < FREQUENCY_SETS; i++)
        check_set(&frequency_sets[i]);
    printf("hard positions, %s: %lu values of %d sets, %lu misrounded, %lu undecided\n",
           pe_isa_name(), checked, FREQUENCY_SETS, wrong, pe_exact_undecided());
    ck_assert_uint_gt(checked, 0);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(pe_exact_undecided(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hard positions");
    TCase *sets = tcase_create("sets");
    SRunner *runner = srunner_create(suite);
    int isas = 0;

    while (pe_isas[isas].name)
        isas++;
    tcase_set_timeout(sets, 600);
    tcase_add_loop_test(sets, every_set, 0, isas);
    suite_add_tcase(suite, sets);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
