/* SPDX-License-Identifier: MIT */

/* Many rows at once against single elements of exact_pair.c, bit for bit: random schemes,
 * positions, divisions into calls and layouts, and the limits of the bounds. POSENC_ISA selects the
 * ISA. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scheme/scheme.h"
#include "core/tables/table_fill.h"
#include "core/views/view.h"
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

enum { ROWS_MAX = 600, PAIRS_MAX = 200, GUARD = 64 };

static uint64_t random_state = 0x2545f4914f6cdd1du;
static unsigned long checked, wrong;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static double unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-53;
}

/* ---- schemes and positions ------------------------------------------------------------------ */

static struct pe_scheme *random_scheme(void)
{
    static const char *const types[] = {
        "",
        "rope_type=yarn factor=4 original_max_position_embeddings=4096 attention_factor=0.7071",
        "rope_type=linear factor=4",
        "rope_type=linear factor=0.25",
        "rope_type=llama3 factor=8 low_freq_factor=1 high_freq_factor=4 "
        "original_max_position_embeddings=8192",
        "rope_type=yarn factor=16 original_max_position_embeddings=4096",
        "rope_type=yarn factor=40 original_max_position_embeddings=4096 mscale=0.707 "
        "mscale_all_dim=1",
        "rope_type=yarn factor=8 original_max_position_embeddings=2048 attention_factor=1e-9",
        "rope_type=yarn factor=8 original_max_position_embeddings=2048 attention_factor=1e9",
    };
    static const double bases[] = {10000, 500000, 1e6, 1.0001, 2, 1e30};
    const size_t kind = random_bits() % 12;
    const double base =
        kind < 6 ? bases[kind] : exp(log(1.0001) + unit() * (log(1e30) - log(1.0001)));
    char text[256];

    snprintf(text, sizeof(text), "dim=%d base=%.17g %s", 2 * (int)(1 + random_bits() % PAIRS_MAX),
             base, types[random_bits() % (COUNT_OF(types))]);
    return scheme_new("rope", text);
}

/* Integer, fractional, large, negative, across zero, decreasing, close together, and far apart. */
static struct pe_positions random_positions(double *list)
{
    const double late = ldexp(unit(), (int)(random_bits() % 54));
    struct pe_positions p = {.step = 1, .count = 1 + random_bits() % ROWS_MAX};

    switch (random_bits() % 10) {
    case 0:
        break;
    case 7: /* unordered: near each other with many duplicates, or far apart */
    case 8:
        p.start = late < 0x1p44 && random_bits() % 4 ? floor(late) : 0;
        for (size_t i = 0; i < p.count; i++)
            list[i] = p.start == 0 && random_bits() % 64 == 0
                          ? -0.0
                          : p.start + (double)(random_bits() >> (40 + (uint64_t)late % 23));
        p.values = list;
        break;
    case 1:
        p.start = floor(late);
        break;
    case 2:
        p = (struct pe_positions){.start = late / 2, .step = late / 4096, .count = p.count};
        break;
    case 3:
        p = (struct pe_positions){
            .start = -(double)(random_bits() % ROWS_MAX), .step = 1, .count = p.count};
        break;
    case 4:
        p = (struct pe_positions){.start = unit() * 1e6, .step = -0.1, .count = p.count};
        break;
    case 5:
        p = (struct pe_positions){
            .start = 0x1p53 - 1 - (double)p.count, .step = 1, .count = p.count};
        break;
    case 6:
        p = (struct pe_positions){.start = -0x1p52, .step = 0x1p53 / ROWS_MAX, .count = p.count};
        break;
    default:
        p.step = random_bits() & 1 ? 1 : ldexp(unit() - 0.5, (int)(random_bits() % 20));
        for (size_t i = 0; i < p.count; i++) /* many follow each other */
            list[i] = i > 0 && random_bits() % 16 ? list[i - 1] + p.step
                      : random_bits() & 1         ? ldexp(unit() - 0.5, (int)(random_bits() % 54))
                                                  : (double)(random_bits() % 4096);
        p.values = list;
    }
    return p;
}

/* ---- comparison ----------------------------------------------------------------------------- */

/* A table and its place in memory, with a margin that must not change. */
struct place {
    struct pe_table table;
    unsigned char *memory;
    size_t *places;
    size_t size;
};

/* The pairs in any order. */
static size_t *places_new(size_t pairs)
{
    size_t *places = malloc((pairs + 1) * sizeof(*places));

    ck_assert_ptr_nonnull(places);
    for (size_t i = 0; i < pairs; i++) {
        const size_t other = random_bits() % (i + 1);
        places[i] = places[other];
        places[other] = i;
    }
    return places;
}

static void place_free(const struct place *place)
{
    free(place->memory);
    free(place->places);
}

static struct place place_new(size_t pairs, size_t rows, size_t size, bool by_turns)
{
    const size_t width = 2 * pairs + random_bits() % 3;
    const size_t row_size = width * size;
    struct place place = {.size = rows * row_size + 2 * GUARD};
    const size_t swap = random_bits() & 1;
    const size_t second = by_turns ? size : pairs * size;

    place.memory = malloc(place.size);
    ck_assert_ptr_nonnull(place.memory);
    memset(place.memory, 0xA5, place.size);
    place.table = (struct pe_table){.cos = place.memory + GUARD + (swap ? second : 0),
                                    .sin = place.memory + GUARD + (swap ? 0 : second),
                                    .cos_count = pairs,
                                    .sin_count = pairs,
                                    .pair_step = by_turns ? 2 : 1,
                                    .row_size = row_size};
    if (by_turns && random_bits() % 3 == 0) /* the last column is left out */
        *(swap ? &place.table.cos_count : &place.table.sin_count) -= 1;
    if (!by_turns && random_bits() % 3 == 0)
        *(swap ? &place.table.cos : &place.table.sin) = NULL;
    if (random_bits() % 4 == 0)
        place.table.columns = place.places = places_new(pairs);
    return place;
}

static void row_exact(const struct pe_table *table, const struct pe_frequencies *f,
                      const struct pe_position *position, enum pe_amplitude amplitude,
                      enum pe_dtype dtype, size_t row)
{
    const size_t size = pe_dtype_info(dtype)->size;

    for (size_t pair = 0; pair < pe_frequencies_count(f); pair++) {
        const size_t place = table->columns ? table->columns[pair] : pair;
        const size_t at = row * table->row_size + place * table->pair_step * size;
        pe_frequencies_pair(f, pair, position, amplitude, dtype,
                            table->cos && pair < table->cos_count ? (char *)table->cos + at : NULL,
                            table->sin && pair < table->sin_count ? (char *)table->sin + at : NULL);
    }
}

/* The rows in calls of random lengths. */
static void rows_in_cuts(const struct pe_table *table, const struct pe_frequencies *f,
                         const struct pe_positions *positions, enum pe_amplitude amplitude,
                         enum pe_dtype dtype)
{
    struct pe_table part = *table;

    for (size_t begin = 0, end; begin < positions->count; begin = end) {
        end = begin + 1 + random_bits() % (random_bits() & 1 ? 6 : positions->count);
        end = end < positions->count ? end : positions->count;
        part.cos = table->cos ? (char *)table->cos + begin * table->row_size : NULL;
        part.sin = table->sin ? (char *)table->sin + begin * table->row_size : NULL;
        pe_table_fill(&part, f, positions, begin, end, amplitude, dtype, NULL,
                      &(struct pe_error){0});
    }
}

static void compare(const struct place *want, const struct place *got, const char *what)
{
    checked += want->size;
    for (size_t i = 0; i < want->size; i++)
        if (want->memory[i] != got->memory[i] && wrong++ < 10)
            fprintf(stderr, "%s: byte %zu of row %zu is %#x, want %#x\n", what,
                    (i - GUARD) % want->table.row_size, (i - GUARD) / want->table.row_size,
                    got->memory[i], want->memory[i]);
}

static void check_table(const struct pe_scheme *scheme, const struct pe_positions *positions,
                        enum pe_amplitude amplitude, enum pe_dtype dtype, bool by_turns)
{
    const struct pe_frequencies *f = pe_waves_of(scheme)->frequencies;
    const uint64_t state = random_state;
    const size_t size = pe_dtype_info(dtype)->size, pairs = pe_frequencies_count(f);
    const struct place want = place_new(pairs, positions->count, size, by_turns);
    random_state = state;
    const struct place got = place_new(pairs, positions->count, size, by_turns);
    char what[128];

    for (size_t row = 0; row < positions->count; row++) {
        const struct pe_position position = pe_position_of(positions, row);
        row_exact(&want.table, f, &position, amplitude, dtype, row);
    }
    rows_in_cuts(&got.table, f, positions, amplitude, dtype);
    snprintf(what, sizeof(what), "%s base %.17g pairs %zu start %.17g step %.17g%s amplitude %d",
             pe_dtype_info(dtype)->name, pe_param_number(&scheme->params, "base"), pairs,
             positions->start, positions->step, positions->values ? " listed" : "", amplitude);
    compare(&want, &got, what);
    place_free(&want);
    place_free(&got);
}

static void report(const char *name)
{
    printf("%s: %lu bytes, %lu wrong, %lu undecided\n", name, checked, wrong, pe_exact_undecided());
    ck_assert_uint_gt(checked, 0);
    ck_assert_uint_eq(wrong, 0);
    checked = wrong = 0;
}

TEST(random_tables)
{
    static double list[ROWS_MAX];

    for (int i = 0; i < 280; i += NUMBERS_STEP) {
        OWNED_SCHEME scheme = random_scheme();
        const struct pe_positions positions = random_positions(list);
        const enum pe_dtype dtype = PE_F64 + random_bits() % 4;
        check_table(scheme, &positions, random_bits() % 3, dtype, random_bits() & 1);
    }
    report("random tables");
}

/* Common tables, long enough for undecided values. */
TEST_LOOP(2, long_tables)
{
    static const char *const schemes[] = {"dim=128 base=10000", "dim=128 base=1000000"};
    OWNED_SCHEME scheme = scheme_new("rope", schemes[_i]);

    for (enum pe_dtype dtype = PE_F32; dtype <= PE_BF16; dtype++) {
        const struct pe_positions first = {.step = 1, .count = 3000};
        const struct pe_positions late = {.start = 1e12 + 7, .step = 1, .count = 2000};
        check_table(scheme, &first, PE_AMPLITUDE_ONE, dtype, false);
        check_table(scheme, &late, PE_AMPLITUDE_ONE, dtype, true);
    }
    report("long tables");
}

/* Angles in float32: the schemes and positions above, and angles next to quarter turns, which are
 * the positions of the pair of frequency 1. */
TEST(float32_tables)
{
    static const char *const texts[] = {
        "dim=128", "dim=26 base=1e6",
        "dim=64 rope_type=yarn factor=4 original_max_position_embeddings=4096",
        "dim=150 rope_type=linear factor=0.25"};
    static double list[ROWS_MAX];
    char text[160];

    for (int i = 0; i < 24; i++) {
        const enum pe_dtype dtype = PE_F64 + random_bits() % 4;
        struct pe_positions positions = random_positions(list);
        snprintf(text, sizeof(text), "%s arithmetic=hf", texts[random_bits() % COUNT_OF(texts)]);
        OWNED_SCHEME scheme = scheme_new("rope", text);
        if (i % 3 == 0) {
            for (size_t k = 0; k < positions.count; k++)
                list[k] = (float)(floor(ldexp(unit(), (int)(random_bits() % 26))) * M_PI_2);
            positions.values = list;
        }
        check_table(scheme, &positions, random_bits() % 3, dtype, random_bits() & 1);
    }
    report("float32 tables");
}

/* Angles above 2^53 are made one by one; zeros keep their signs; a wide row. */
TEST(limits)
{
    OWNED_SCHEME plain = scheme_new("rope", "dim=26");
    OWNED_SCHEME fast = scheme_new("rope", "dim=26 rope_type=linear factor=0.001");
    OWNED_SCHEME wide = scheme_new("rope", "dim=16386");
    const double zeros[] = {0.0, -0.0, 1, -0x1p-1074, 0x1p-1022, 1e-300};
    const double farther[] = {1, -0x1p43, 0x1p43 + 1, 0x1p53 - 1, 2, 3};
    const struct pe_positions listed = {.values = zeros, .count = 6},
                              far = {.values = farther, .count = 6}, none = {.step = 1, .count = 0},
                              still = {.start = -0.0, .count = 40},
                              few = {.start = 5, .step = 1, .count = 70},
                              late = {.start = 0x1p43 - 30, .step = 1, .count = 70},
                              tiny = {.step = 1e-300, .count = 40};
    const struct pe_positions *all[] = {&listed, &far, &none, &still, &few, &late, &tiny};

    ck_assert_double_eq(pe_frequencies_fastest(pe_waves_of(plain)->frequencies), 1);
    ck_assert_double_eq_tol(pe_frequencies_fastest(pe_waves_of(fast)->frequencies), 1000, 1e-9);
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++)
        for (int by_turns = 0; by_turns < 2; by_turns++) {
            for (size_t i = 0; i < COUNT_OF(all); i++) {
                check_table(plain, all[i], PE_AMPLITUDE_ONE, dtype, by_turns);
                check_table(fast, all[i], PE_AMPLITUDE_ONE, dtype, by_turns);
            }
            if (dtype != PE_F64)
                check_table(wide, &few, PE_AMPLITUDE_ONE, dtype, by_turns);
        }
    report("other ways");
}

/* Listed positions of two batches: rows begin again after count. */
TEST(batches)
{
    OWNED_SCHEME scheme = scheme_new("rope", "dim=32");
    const double list[] = {0, 1, 2, 7, 8, 9};
    const struct pe_positions batch = {.values = list, .count = 3, .batch = 2},
                              flat = {.values = list, .count = 6};
    float got[6 * 16], want[6 * 16];
    struct pe_table table = {
        .cos = got, .cos_count = 16, .pair_step = 1, .row_size = 16 * sizeof(float)};

    pe_table_fill(&table, pe_waves_of(scheme)->frequencies, &batch, 0, 6, PE_AMPLITUDE_ONE, PE_F32,
                  NULL, &(struct pe_error){0});
    table.cos = want;
    pe_table_fill(&table, pe_waves_of(scheme)->frequencies, &flat, 0, 6, PE_AMPLITUDE_ONE, PE_F32,
                  NULL, &(struct pe_error){0});
    ck_assert_mem_eq(got, want, sizeof(got));
}
