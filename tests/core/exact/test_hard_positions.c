/* SPDX-License-Identifier: MIT */

/* The hardest positions of every frequency set of the catalogue, in every dtype, one by one and in
 * rows at every instruction set, against MPFR:
 * - denominators of the continued fraction of w / (pi/2), where t * w is nearest to a multiple of
 * pi/2, up to 2^53 - 1;
 * - the largest positions, zeros, tiny and subnormal ones;
 * - positions whose cos or sin is nearest to a half-way point of f16, bf16 or f32.
 */
#include "core/base/isa.h"
#include "core/scheme/scheme.h"
#include "tests/check_main.h"
#include "tests/core/hard_fixture.h"

enum { POSITIONS_MAX = 200, GROUPS_MAX = 2000, PAIRS_MAX = 128, DTYPES = PE_BF16 + 1 };

/* Positions, and the pairs of a set to check at them: each STEP-th from `first` on. */
struct group {
    const struct frequency_set *set;
    size_t first, step, count;
    double at[POSITIONS_MAX];
    double *want; /* of each pair, position, dtype: cos and sin */
};

/* Made once, before a process is forked for each instruction set. */
static struct group groups[GROUPS_MAX];
static size_t groups_count;
static unsigned long checked, wrong;

static void add(struct group *group, double t)
{
    ck_assert_uint_lt(group->count + 1, POSITIONS_MAX);
    group->at[group->count++] = t;
    group->at[group->count++] = -t;
}

static void add_convergents(struct group *group, mpfr_srcptr w)
{
    double previous = 0, q = 1;
    mpfr_t x, whole;

    mpfr_inits2(HARD_BITS, x, whole, (mpfr_ptr)NULL);
    mpfr_const_pi(x, MPFR_RNDN);
    mpfr_div_ui(x, x, 2, MPFR_RNDN);
    mpfr_div(x, w, x, MPFR_RNDN);
    while (q < 0x1p53) {
        add(group, q);
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

static void add_edges(struct group *group)
{
    static const double edges[][5] = {
        {0, 0x1p53 - 1, 0x1p53 - 2, 0x1p52 + 1, 0x1p24 + 1},
        {0x1p31 - 1, 131071, 1e7, 0x1p-12, 0.5},
        {0.1, 1.0 / 3, 0x1.fffffffffffffp-2, 1e-30, 0x1p-20},
        {0x1p-150, 0x3p-150, 0x1p-149, 0x5p-150, 0x1p-134},
        {0x3p-134, 0x1p-25, 0x3p-25, 0x1.8p-24, 4503599627370495.5},
    };

    for (size_t i = 0; i < 5 * COUNT_OF(edges); i++)
        add(group, edges[i / 5][i % 5]);
}

/* Angles that need the last precision level, and so are slow. */
static void add_tiny(struct group *group)
{
    static const double tiny[] = {0x1p-1074, 0x3p-1074, 0x1p-1023, 0x1p-1022, 1e-300, 0x1.8p-1021};

    for (size_t i = 0; i < COUNT_OF(tiny); i++)
        add(group, tiny[i]);
}

/* t with sin(t w) or cos(t w) next to a half-way point, as large as fractions of t still matter. */
static void add_midpoints(struct group *group, mpfr_srcptr w, size_t pair)
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
            add(group, mpfr_get_d(t, MPFR_RNDN));
    }
    mpfr_clears(t, turn, far, (mpfr_ptr)NULL);
}

/* ---- expected values ------------------------------------------------------------------------- */

static void want_write(struct group *group, const struct pe_scheme *scheme)
{
    const size_t pairs = pe_frequencies_count(pe_waves_of(scheme)->frequencies);
    double *want = malloc((pairs / group->step + 1) * group->count * DTYPES * 2 * sizeof(*want));
    mpfr_t w, cos, sin;

    mpfr_inits2(HARD_BITS, w, cos, sin, (mpfr_ptr)NULL);
    group->want = want;
    for (size_t pair = group->first; pair < pairs; pair += group->step) {
        frequency_set_write(w, group->set, scheme, pair);
        for (size_t i = 0; i < group->count; i++) {
            cos_sin_write(cos, sin, w, group->at[i]);
            for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
                *want++ = oracle_round(cos, dtype);
                *want++ = oracle_round(sin, dtype);
            }
        }
    }
    mpfr_clears(w, cos, sin, (mpfr_ptr)NULL);
}

static struct group *group_new(const struct frequency_set *set, size_t first, size_t step)
{
    struct group *group = &groups[groups_count++];

    ck_assert_uint_le(groups_count, GROUPS_MAX);
    *group = (struct group){.set = set, .first = first, .step = step};
    return group;
}

static void groups_of(const struct frequency_set *set)
{
    OWNED_SCHEME scheme = scheme_new(set->encoding, set->text);
    const size_t pairs = pe_frequencies_count(pe_waves_of(scheme)->frequencies),
                 begin = groups_count;
    mpfr_t w;

    mpfr_init2(w, HARD_BITS);
    add_edges(group_new(set, 0, 1));
    add_tiny(group_new(set, 0, 16));
    for (size_t pair = 0; pair < pairs; pair++) {
        frequency_set_write(w, set, scheme, pair);
        if (mpfr_zero_p(w))
            continue;
        struct group *own = group_new(set, pair, pairs);
        add_convergents(own, w);
        add_midpoints(own, w, pair);
    }
    for (size_t i = begin; i < groups_count; i++)
        want_write(&groups[i], scheme);
    mpfr_clear(w);
}

static void groups_make(void)
{
    for (size_t i = 0; i < frequency_sets_count; i++)
        groups_of(&frequency_sets[i]);
}

/* ---- actual values --------------------------------------------------------------------------- */

static void compare(double want, const void *got, const struct group *group, enum pe_dtype dtype,
                    size_t i, size_t is_sin)
{
    double found;

    pe_to_f64(&found, got, dtype, 1);
    checked++;
    if ((found == want && signbit(found) == signbit(want)) || wrong++ >= 10)
        return;
    fprintf(stderr, "%s %s, pairs from %zu: %s %s at %a: got %a, want %a\n", group->set->encoding,
            group->set->text, group->first, pe_dtype_info(dtype)->name, is_sin ? "sin" : "cos",
            group->at[i], found, want);
}

/* The pairs of the group; the list must outlive the result. */
static struct pe_frequencies *group_pick(const struct group *group, const struct pe_scheme *scheme,
                                         size_t list[PAIRS_MAX])
{
    const size_t pairs = pe_frequencies_count(pe_waves_of(scheme)->frequencies);
    struct pe_frequencies *picked;
    size_t count = 0;

    ck_assert_uint_le(pairs, PAIRS_MAX);
    for (size_t pair = group->first; pair < pairs; pair += group->step)
        list[count++] = pair;
    ck_assert(!pe_frequencies_pick(&picked, pe_waves_of(scheme)->frequencies, list, count, NULL,
                                   &(struct pe_error){0}));
    return picked;
}

/* Each value by itself, and in a table: of all pairs, since kernels make them side by side, but in
 * f64, where no kernel has a part. */
static void group_check(const struct group *group, const struct pe_scheme *scheme,
                        enum pe_dtype dtype)
{
    const struct pe_positions positions = {.values = group->at, .count = group->count};
    size_t list[PAIRS_MAX];
    struct pe_frequencies *picked = dtype == PE_F64 ? group_pick(group, scheme, list) : NULL;
    const struct pe_frequencies *frequencies = picked ? picked : pe_waves_of(scheme)->frequencies;
    const size_t pairs = pe_frequencies_count(frequencies), size = pe_dtype_info(dtype)->size;
    const size_t first = picked ? 0 : group->first, step = picked ? 1 : group->step;
    const double *want = group->want + 2 * dtype;
    OWNED_MEMORY char *data = malloc(group->count * 2 * pairs * size);
    const struct pe_table table = {data, data + pairs * size, pairs, pairs,
                                   1,    2 * pairs * size,    NULL};

    pe_table_fill(&table, frequencies, &positions, 0, group->count, PE_AMPLITUDE_ONE, dtype, NULL,
                  &(struct pe_error){0});
    for (size_t pair = first; pair < pairs; pair += step)
        for (size_t i = 0; i < group->count; i++, want += 2 * DTYPES) {
            const struct pe_position position = {{group->at[i], 0, 0}};
            double one[2];
            pe_frequencies_pair(frequencies, pair, &position, PE_AMPLITUDE_ONE, dtype, &one[0],
                                &one[1]);
            for (size_t k = 0; k < 2; k++) {
                const char *in_table = data + ((2 * i + k) * pairs + pair) * size;
                compare(want[k], &one[k], group, dtype, i, k);
                compare(want[k], in_table, group, dtype, i, k);
            }
        }
    pe_frequencies_free(picked);
}

static size_t isas_count(void)
{
    size_t count = 0;

    while (pe_isas[count].name)
        count++;
    return count;
}

/* A process for each instruction set, since it is chosen once a process; POSENC_ISA selects one. */
TEST_LOOP(isas_count(), every_set)
{
    const char *isa = pe_isas[_i].name, *wanted = getenv("POSENC_ISA");

    if (!pe_isas[_i].usable() || (wanted && strcmp(wanted, isa) != 0))
        return;
    setenv("POSENC_ISA", isa, 1);
    struct pe_scheme *scheme = NULL;
    for (size_t i = 0; i < groups_count; i++) {
        if (i == 0 || groups[i].set != groups[i - 1].set) {
            pe_scheme_free(scheme);
            scheme = scheme_new(groups[i].set->encoding, groups[i].set->text);
        }
        for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++)
            group_check(&groups[i], scheme, dtype);
    }
    pe_scheme_free(scheme);
    ck_assert_str_eq(pe_isa_name(), isa);
    printf("hard positions, %s: %lu values of %zu sets, %lu misrounded, %lu undecided\n",
           pe_isa_name(), checked, frequency_sets_count, wrong, pe_exact_undecided());
    ck_assert_uint_gt(checked, 0);
    ck_assert_uint_eq(wrong, 0);
    ck_assert_uint_eq(pe_exact_undecided(), 0);
}

CHECK_WAY(.prepare = groups_make);
