/* SPDX-License-Identifier: MIT */

/* A hundred million values of random tables, in every dtype, against their real numbers.
 *
 *   check_samples [millions [seed]]
 *
 * A filter in long double, by other operations than the library's, makes that fast: |t w| below 1/2
 * is a product; else t times w / 2 pi is computed in integers, with 128 bits of fraction, so that
 * the phase is good to 2^-74 turns. Sine and cosine of the difference to the nearest quarter, at
 * most pi/4, are Taylor's series of 26 terms, whose last is below 2^-90. Each of their fewer than
 * 40 operations rounds by 2^-64, and terms decrease, so that the value is good to 2^-60 of itself
 * and 2^-71 for the phase. Where both ends of that interval round to the same number it is the
 * expected one; else MPFR decides.
 */

#include <pthread.h>
#include <unistd.h>

#include "core/scheme/scheme.h"
#include "core/tables/table_fill.h"
#include "tests/core/table_fixture.h"

enum { DIM = 64, PAIRS = DIM / 2, ROWS = 256, THREADS_MAX = 8, BITS = 320 };

struct worker {
    pthread_t thread;
    uint64_t random;
    unsigned long wanted, checked, asked, wrong;
};

static uint64_t random_bits(struct worker *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

/* ---- frequencies ---------------------------------------------------------------------------- */

/* w, and w / 2 pi in 128 bits behind the point; w is at most 1. */
struct frequency {
    mpfr_t w;
    long double near;
    uint64_t turns[2];
};

static void frequency_make(struct frequency *f, double base, int pair)
{
    mpfr_t turns, divisor;
    mpz_t whole;
    size_t limbs;

    mpfr_init2(f->w, BITS);
    mpfr_inits2(BITS, turns, divisor, (mpfr_ptr)NULL);
    mpfr_set_d(f->w, base, MPFR_RNDN);
    mpfr_set_si_2exp(divisor, -pair, -5, MPFR_RNDN); /* PAIRS is 2^5 */
    mpfr_pow(f->w, f->w, divisor, MPFR_RNDN);
    f->near = mpfr_get_ld(f->w, MPFR_RNDN);
    mpfr_const_pi(divisor, MPFR_RNDN);
    mpfr_div(turns, f->w, divisor, MPFR_RNDN);
    mpfr_mul_2ui(turns, turns, 127, MPFR_RNDN);
    mpz_init(whole);
    mpfr_get_z(whole, turns, MPFR_RNDZ);
    f->turns[0] = f->turns[1] = 0;
    mpz_export(f->turns, &limbs, -1, sizeof(uint64_t), 0, 0, whole);
    mpz_clear(whole);
    mpfr_clears(turns, divisor, (mpfr_ptr)NULL);
}

/* ---- the filter ----------------------------------------------------------------------------- */

/* The angle less the nearest quarters, and the bound of its error besides its last bits. */
static long double reduce(const struct frequency *f, double t, unsigned *quarters,
                          long double *error)
{
    int exponent;
    const uint64_t whole = (uint64_t)ldexp(frexp(fabs(t), &exponent), 53);
    const int shift = 53 - exponent; /* t = whole / 2^shift, shift from 0 to 53 + 127 */

    *quarters = 0;
    *error = 0;
    if (fabsl(f->near * t) < 0.5L)
        return f->near * t;
    const unsigned __int128 low = (unsigned __int128)f->turns[0] * whole;
    const unsigned __int128 high = (unsigned __int128)f->turns[1] * whole + (low >> 64);
    uint64_t limbs[3] = {(uint64_t)low, (uint64_t)high, (uint64_t)(high >> 64)};
    for (int left = shift, step; left > 0; left -= step) {
        step = left < 63 ? left : 63;
        limbs[0] = limbs[0] >> step | limbs[1] << (64 - step);
        limbs[1] = limbs[1] >> step | limbs[2] << (64 - step);
        limbs[2] >>= step;
    }
    const uint64_t nearest = limbs[1] + (UINT64_C(1) << 61);
    *quarters = (unsigned)(nearest >> 62);
    limbs[1] -= (uint64_t)*quarters << 62;
    const __int128 rest = (__int128)((unsigned __int128)limbs[1] << 64 | limbs[0]);
    *error = 0x1p-71L;
    const long double angle = ldexpl((long double)rest, -128) * 6.283185307179586476925286766559L;
    if (t < 0)
        *quarters = -*quarters & 3;
    return t < 0 ? -angle : angle;
}

static void cos_sin(long double x, unsigned quarters, long double out[2])
{
    const long double z = x * x;
    long double sine = 1, cosine = 1;

    for (int n = 26; n >= 2; n -= 2) {
        sine = 1 - z * sine / (n * (n + 1));
        cosine = 1 - z * cosine / (n * (n - 1));
    }
    sine *= x;
    out[0] = quarters == 0 ? cosine : quarters == 1 ? -sine : quarters == 2 ? -cosine : sine;
    out[1] = quarters == 0 ? sine : quarters == 1 ? cosine : quarters == 2 ? -sine : -cosine;
}

static const struct {
    int bits, least; /* of the significand; exponent of the smallest subnormal */
} formats[] = {
    [PE_F64] = {53, -1074}, [PE_F32] = {24, -149}, [PE_F16] = {11, -24}, [PE_BF16] = {8, -133}};

/* To the nearest multiple of the last place; rintl rounds to even. */
static double round_to(long double x, enum pe_dtype dtype)
{
    int exponent;

    frexpl(x, &exponent);
    const int last = exponent - formats[dtype].bits;
    const int place = last > formats[dtype].least ? last : formats[dtype].least;
    return (double)ldexpl(rintl(ldexpl(x, -place)), place);
}

static double asked(struct worker *w, const struct frequency *f, double t, bool is_sin,
                    enum pe_dtype dtype)
{
    mpfr_t value;
    double rounded;

    w->asked++;
    mpfr_init2(value, BITS);
    mpfr_mul_d(value, f->w, t, MPFR_RNDN);
    (is_sin ? mpfr_sin : mpfr_cos)(value, value, MPFR_RNDN);
    rounded = oracle_round(value, dtype);
    mpfr_clear(value);
    return rounded;
}

static void check(struct worker *w, const struct frequency *f, double t, enum pe_dtype dtype,
                  const void *got[2])
{
    long double values[2], far;
    unsigned quarters;
    const long double rest = reduce(f, t, &quarters, &far);

    cos_sin(rest, quarters, values);
    for (int which = 0; which < 2; which++, w->checked++) {
        const long double error = fabsl(values[which]) * 0x1p-60L + far;
        const double low = round_to(values[which] - error, dtype);
        const double high = round_to(values[which] + error, dtype);
        double found;
        pe_to_f64(&found, got[which], dtype, 1);
        const double want = low == high ? high : asked(w, f, t, which, dtype);
        if (found != want && w->wrong++ < 5)
            fprintf(stderr, "%s %s t=%a w=%.20Lg: got %a, want %a\n", pe_dtype_info(dtype)->name,
                    which ? "sin" : "cos", t, f->near, found, want);
    }
}

/* ---- random tables -------------------------------------------------------------------------- */

/* Whole numbers of every magnitude, fractions, and runs of rows whose positions are doubles. */
static struct pe_positions positions_choose(struct worker *w, double *list)
{
    struct pe_positions p = {.step = 1, .count = ROWS};
    const uint64_t kind = random_bits(w) % 4;

    if (kind == 0) {
        p.start = (double)(random_bits(w) >> (12 + random_bits(w) % 52));
        p.start = random_bits(w) & 1 ? -p.start : p.start;
    } else if (kind == 1) {
        p.start = ldexp((double)(random_bits(w) >> 40), -(int)(random_bits(w) % 12));
        p.step = ldexp((double)(random_bits(w) >> 54) + 1, -(int)(random_bits(w) % 12));
    } else {
        for (int i = 0; i < ROWS; i++) {
            const uint64_t bits = random_bits(w);
            list[i] = kind == 2 ? (double)(bits >> (11 + random_bits(w) % 53))
                                : ldexp((double)(bits >> 11), -(int)(random_bits(w) % 80));
            list[i] = random_bits(w) & 1 ? -list[i] : list[i];
        }
        p.values = list;
    }
    return p;
}

static void table_check(struct worker *w, const struct pe_scheme *scheme, struct frequency *list,
                        enum pe_dtype dtype)
{
    double cos[ROWS * PAIRS], sin[ROWS * PAIRS], values[ROWS];
    const struct pe_positions positions = positions_choose(w, values);
    const size_t size = pe_dtype_info(dtype)->size;
    const struct pe_table table = {cos, sin, PAIRS, PAIRS, 1, PAIRS * size, NULL};

    pe_table_fill(&table, pe_waves_of(scheme)->frequencies, &positions, 0, ROWS, PE_AMPLITUDE_ONE,
                  dtype, NULL, &(struct pe_error){0});
    for (size_t row = 0; row < ROWS; row++) {
        const double t = pe_position_of(&positions, row).part[0];
        for (size_t pair = 0; pair < PAIRS; pair++) {
            const size_t at = (row * PAIRS + pair) * size;
            const void *got[] = {(char *)cos + at, (char *)sin + at};
            check(w, &list[pair], t, dtype, got);
        }
    }
}

/* Assertions of check only work in its tests, and end any other program. */
static struct pe_scheme *scheme_of(const char *text)
{
    struct pe_scheme *scheme = NULL;
    struct pe_params params;
    struct pe_error err = {0};

    if (!pe_params_parse(&params, "rope", text, &err))
        pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, &err);
    pe_params_free(&params);
    if (!scheme) {
        printf("rope %s: %s\n", text, err.detail);
        exit(2);
    }
    return scheme;
}

static void *work(void *argument)
{
    /* Weighted by use: f32 most, f64 least. */
    static const enum pe_dtype dtypes[] = {PE_F32, PE_F32, PE_F32, PE_F16,  PE_BF16,
                                           PE_F32, PE_F32, PE_F16, PE_BF16, PE_F64};
    static const double bases[] = {10000, 500000, 1e6, 150000};
    struct worker *w = argument;

    while (w->checked < w->wanted) {
        struct frequency list[PAIRS];
        const uint64_t which = random_bits(w) % 8;
        const double base =
            which < 4 ? bases[which]
                      : 1 + ldexp((double)(random_bits(w) >> 11), -(int)(random_bits(w) % 50));
        char text[64];
        snprintf(text, sizeof(text), "dim=%d base=%.17g", DIM,
                 base < 1e30 && base > 1 ? base : 1e5);
        struct pe_scheme *scheme = scheme_of(text);
        for (int pair = 0; pair < PAIRS; pair++)
            frequency_make(&list[pair], pe_param_number(&scheme->params, "base"), pair);
        for (size_t i = 0; i < 4 * sizeof(dtypes) / sizeof(dtypes[0]); i++)
            table_check(w, scheme, list, dtypes[i % (sizeof(dtypes) / sizeof(dtypes[0]))]);
        for (int pair = 0; pair < PAIRS; pair++)
            mpfr_clear(list[pair].w);
        pe_scheme_free(scheme);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    return NULL;
}

int main(int argc, char **argv)
{
    const unsigned long millions = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (int)cores;
    struct worker workers[THREADS_MAX], all = {0};

    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.random = (seed * THREADS_MAX + (uint64_t)i + 1) *
                                               UINT64_C(0x9e3779b97f4a7c15),
                                     .wanted = millions * 1000000 / (unsigned long)threads + 1};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        all.checked += workers[i].checked;
        all.asked += workers[i].asked;
        all.wrong += workers[i].wrong;
    }
    printf("%lu random values, %lu of them by MPFR, %lu misrounded, %lu undecided\n", all.checked,
           all.asked, all.wrong, pe_exact_undecided());
    return all.checked == 0 || all.wrong != 0 || pe_exact_undecided() != 0;
}
