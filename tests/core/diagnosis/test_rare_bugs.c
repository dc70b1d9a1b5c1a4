/* SPDX-License-Identifier: MIT */

/* core/diagnosis: memory that was never written, pairs in the wrong places, queries beside keys,
 * and the bugs that are tried only where nothing else fits. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/diagnosis/diagnosis.h"
#include "core/diagnosis/observations.h"
#include "posenc/comparison.h"
#include "tests/core/refusing_work.h"
#include "tests/core/scheme_fixture.h"

static unsigned long cases;

static struct pe_scheme *prepared(const char *encoding, const char *text)
{
    struct pe_scheme *scheme = scheme_new(encoding, text);

    ck_assert(!pe_scheme_prepare(scheme, NULL, &(struct pe_error){0}));
    return scheme;
}

static double number_at(size_t i)
{
    return (double)(i * 2654435761u % 2001) / 1000 - 1;
}

/* ---- memory that was never written ----------------------------------------------------------- */

enum { ROWS = 40, PAIRS_MAX = 64 };

static double cosines[ROWS * PAIRS_MAX], sines[ROWS * PAIRS_MAX], positions[4 * ROWS];

/* Rows of a scheme as a sample, rounded to a dtype. */
static struct pe_sample rows_of(const struct pe_scheme *scheme, size_t rows, double start,
                                enum pe_dtype dtype)
{
    const struct pe_candidate plain = {.scheme = scheme};
    const size_t pairs = pe_waves_of(scheme)->pairs, axes = pe_scheme_axes(scheme);
    const double factor = pe_candidate_factor(&plain);

    for (size_t i = 0; i < (axes > 1 ? axes : 1) * rows; i++)
        positions[i] = start + (double)(i % rows);
    for (size_t i = 0; i < rows * pairs; i++) {
        const double w = pe_frequencies_near(pe_scheme_frequencies(scheme), i % pairs);
        cosines[i] = pe_round_to(factor * cos(positions[i / pairs] * w), dtype);
        sines[i] = pe_round_to(factor * sin(positions[i / pairs] * w), dtype);
    }
    return SIZED(pe_sample, .rows = rows, .pairs = pairs, .positions = positions,
                 .axes = pe_scheme_axes(scheme), .cos = cosines, .sin = sines, .dtype = dtype,
                 .precision = dtype, .absolute = !scheme->encoding->rotary);
}

static const struct {
    const char *encoding, *text;
} schemes[] = {
    {"rope", "dim=2"},
    {"rope", "dim=4 base=100"},
    {"rope", "dim=8"},
    {"rope", "dim=128 base=1e12"},
    {"rope", "dim=64 rope_type=linear factor=1000"},
    {"rope", "dim=64 rope_type=dynamic factor=2 max_position_embeddings=64 seq_len=4096"},
    {"rope", "dim=128 base=500000 rope_type=llama3 factor=32 low_freq_factor=1 high_freq_factor=4 "
             "original_max_position_embeddings=8192"},
    {"rope", "dim=64 rope_type=yarn factor=40 original_max_position_embeddings=4096"},
    {"rope", "dim=64 rope_type=yarn factor=40 original_max_position_embeddings=4096 "
             "attention_factor=4"},
    {"rope", "dim=64 base=1e6 rope_type=proportional partial_rotary_factor=0.25"},
    {"rope", "dim=64 rope_type=ntk factor=4"},
    {"mrope", "dim=64 mrope_section=8,12,12"},
    {"sinusoidal", "dim=64"},
    {"sinusoidal", "dim=4 spacing=endpoint"},
    {"sinusoidal", "dim=128 base=100"},
};

/* No table of any scheme looks like memory that was never written: with one row or many, of
 * position 0 or late, in every dtype, of both parts or one, nor its frequencies. */
TEST(test_tables_are_written)
{
    static const double starts[] = {0, 1, 1000, 1e6};
    static const size_t counts[] = {1, 2, 3, 16, ROWS};

    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        OWNED_SCHEME scheme = prepared(schemes[i].encoding, schemes[i].text);
        double w[PAIRS_MAX];
        for (size_t pair = 0; pair < pe_waves_of(scheme)->pairs; pair++)
            w[pair] = pe_frequencies_near(pe_scheme_frequencies(scheme), pair);
        const struct pe_sample list =
            SIZED(pe_sample, .pairs = pe_waves_of(scheme)->pairs, .frequencies = w);
        ck_assert_msg(!pe_sample_is_uninitialized(&list), "%s", schemes[i].text);
        for (size_t j = 0; j < COUNT_OF(starts) * COUNT_OF(counts) * 4; j++, cases++) {
            const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};
            struct pe_sample sample = rows_of(scheme, counts[j / 4 % COUNT_OF(counts)],
                                              starts[j / 4 / COUNT_OF(counts)], dtypes[j % 4]);
            ck_assert_msg(!pe_sample_is_uninitialized(&sample), "%s", schemes[i].text);
            sample.sin = NULL;
            ck_assert_msg(!pe_sample_is_uninitialized(&sample), "%s, cos", schemes[i].text);
        }
    }
}

/* Values that a table may have after damage: the diagnosis says unknown, not uninitialized. */
TEST(test_damaged_tables_are_written)
{
    OWNED_SCHEME scheme = prepared("rope", "dim=32");

    for (int damage = 0; damage < 7; damage++, cases++) {
        struct pe_sample sample = rows_of(scheme, ROWS, 7, PE_F32);
        for (size_t i = 0; i < ROWS * sample.pairs; i++) {
            if (damage == 0) /* a table times a number */
                cosines[i] *= 1000, sines[i] *= 1000;
            if (damage == 1 && i / sample.pairs % 2 == 0) /* half of the rows were never written */
                cosines[i] = sines[i] = 0;
            if (damage == 2) /* noise of the size of the values */
                cosines[i] = number_at(i), sines[i] = number_at(i + 77777);
            if (damage == 3) /* one row for all */
                cosines[i] = cosines[i % sample.pairs], sines[i] = sines[i % sample.pairs];
            if (damage == 4 && i % sample.pairs < 8) /* half of the columns */
                cosines[i] = sines[i] = 0;
            if (damage == 5) /* falls with the position */
                cosines[i] *= pow(0.9, (double)(i / sample.pairs)),
                    sines[i] *= pow(0.9, (double)(i / sample.pairs));
            if (damage == 6) /* radii between 1 / 40 and 1 / 10 */
                cosines[i] /= i % 3 == 0 ? 10 : 40, sines[i] /= i % 3 == 0 ? 10 : 40;
        }
        ck_assert_msg(!pe_sample_is_uninitialized(&sample), "damage %d", damage);
    }
}

/* Memory is uninitialized where rows or columns repeat whose radii no table has, where everything
 * is one value, and where most values are far too small or large. */
TEST(test_patterns_were_never_written)
{
    OWNED_SCHEME scheme = prepared("rope", "dim=32");

    for (size_t pattern = 0; pattern < 7; pattern++, cases++) {
        struct pe_sample sample = rows_of(scheme, ROWS, 7, PE_F32);
        for (size_t i = 0; i < ROWS * sample.pairs; i++) {
            const size_t row = i / sample.pairs, column = i % sample.pairs;
            const size_t at = pattern < 3   ? row % (pattern + 1) * sample.pairs + column
                              : pattern < 5 ? row * sample.pairs + column % (pattern + 2)
                                            : i;
            cosines[i] = 3 * number_at(at * at * 7 + at);
            sines[i] = 3 * number_at(at * at * 11 + 5 * at + 333);
            if (pattern < 5 && column % (pattern + 2) == 0)
                cosines[i] /= 30, sines[i] /= 30;
            if (pattern == 5)
                cosines[i] = sines[i] = 0.25;
            if (pattern == 6)
                cosines[i] = number_at(i) * 1e-30, sines[i] = number_at(i + 333) * 1e30;
        }
        ck_assert_msg(pe_sample_is_uninitialized(&sample), "pattern %zu", pattern);
        for (size_t i = 0; i < ROWS * sample.pairs && pattern < 5; i++)
            cosines[i] += 1e-3 * number_at(i * 7 + 5);
        ck_assert_msg(pattern >= 5 || !pe_sample_is_uninitialized(&sample), "noise on %zu",
                      pattern);
    }
}

/* Frequencies are uninitialized where they repeat or most are none. */
TEST(test_frequencies_that_were_never_written)
{
    double w[16];
    const struct pe_sample sample = SIZED(pe_sample, .pairs = 16, .frequencies = w);

    for (size_t period = 1; period <= 9; period++, cases++) {
        for (size_t i = 0; i < 16; i++)
            w[i] = pow(10, -(double)(i % period) / 8);
        ck_assert_msg(pe_sample_is_uninitialized(&sample) == (period < 8), "%zu", period);
    }
    for (size_t bad = 0; bad <= 16; bad++, cases++) {
        for (size_t i = 0; i < 16; i++)
            w[i] = i < bad ? 1e-40 : pow(10, -(double)i / 8);
        ck_assert_msg(pe_sample_is_uninitialized(&sample) == (8 * bad >= 5 * 16), "%zu", bad);
    }
}

/* ---- yarn's attention factor ----------------------------------------------------------------- */

/* Each way to have the factor, or mscale, in the wrong place is named. */
TEST(test_attention_factors)
{
#define MSCALES                                                                                    \
    "dim=64 rope_type=yarn factor=40 original_max_position_embeddings=4096 mscale=0.7 "            \
    "mscale_all_dim=0.4"
#define GIVEN                                                                                      \
    "dim=64 rope_type=yarn factor=40 original_max_position_embeddings=4096 attention_factor=1.25"
    const double tenth = log(40) / 10;
    const struct {
        const char *text, *code;
        double factor;
    } wrong[] = {
        {GIVEN, "attention-factor-missing", 1},
        {GIVEN, "attention-factor-twice", 1.25 * (tenth + 1)},
        {GIVEN, "attention-factor-in-logarithm", 1.25 * tenth + 1},
        {GIVEN, "attention-factor-in-logarithm", tenth + log(1.25) / 10 + 1},
        {MSCALES, "attention-factor-in-logarithm", tenth + log(0.7) / 10 + 1},
        {MSCALES, "attention-factor-in-logarithm",
         (tenth + log(0.7) / 10 + 1) / (tenth + log(0.4) / 10 + 1)},
        {MSCALES, "attention-factor-wrong", 0.7 * tenth + 1},
    };

    for (size_t i = 0; i < COUNT_OF(wrong); i++, cases++) {
        OWNED_SCHEME scheme = prepared("rope", wrong[i].text);
        const struct pe_candidate plain = {.scheme = scheme};
        const double right = pe_candidate_factor(&plain);
        struct pe_sample sample = rows_of(scheme, ROWS, 3, PE_F64);
        struct pe_diagnosis *diagnosis;
        struct pe_error err = {0};
        for (size_t at = 0; at < ROWS * sample.pairs; at++)
            cosines[at] *= wrong[i].factor / right, sines[at] *= wrong[i].factor / right;
        ck_assert_msg(!pe_diagnose(&diagnosis, scheme, &sample, 1, NULL, NULL, &err), "%s",
                      err.detail);
        ck_assert_int_eq(pe_diagnosis_verdict(diagnosis), PE_VERDICT_KNOWN_BUG);
        ck_assert_str_eq(pe_diagnosis_finding(diagnosis, 0)->bug->code, wrong[i].code);
        pe_diagnosis_free(diagnosis);
    }
}

/* ---- queries, keys and their pairs ----------------------------------------------------------- */

enum { HEADS = 3, TOKENS = 30, DIM = 24 };

static float q[HEADS][TOKENS][DIM], q_rotated[HEADS][TOKENS][DIM];
static float k[2][TOKENS][DIM], k_rotated[2][TOKENS][DIM];

/* Rotates pair (a, b) of all tokens from `start` by w. */
static void pair_rotate(float (*x)[DIM], size_t count, size_t a, size_t b, double w, double start)
{
    for (size_t i = 0; i < count; i++) {
        const double t = start + (double)(i % TOKENS), u = x[i][a], v = x[i][b];
        x[i][a] = (float)(u * cos(t * w) - v * sin(t * w));
        x[i][b] = (float)(u * sin(t * w) + v * cos(t * w));
    }
}

static void heads_make(void)
{
    for (size_t i = 0; i < sizeof(q) / sizeof(float); i++)
        (&q[0][0][0])[i] = (float)number_at(i);
    for (size_t i = 0; i < sizeof(k) / sizeof(float); i++)
        (&k[0][0][0])[i] = (float)number_at(i + 12345);
    memcpy(q_rotated, q, sizeof(q));
    memcpy(k_rotated, k, sizeof(k));
}

/* Pairs of all of a head in either layout. */
static void head_rotate(float (*x)[DIM], size_t heads, bool half, double start)
{
    for (size_t pair = 0; pair < DIM / 2; pair++)
        pair_rotate(x, heads * TOKENS, half ? pair : 2 * pair, half ? pair + DIM / 2 : 2 * pair + 1,
                    pow(10000, -(double)pair / (DIM / 2)), start);
}

static const struct pe_tensor of_q = {PE_F32, 3, {HEADS, TOKENS, DIM}, q},
                              of_q_rotated = {PE_F32, 3, {HEADS, TOKENS, DIM}, q_rotated},
                              of_k = {PE_F32, 3, {2, TOKENS, DIM}, k},
                              of_k_rotated = {PE_F32, 3, {2, TOKENS, DIM}, k_rotated};

static struct pe_observed observed_of(const struct pe_scheme *expected, bool with_keys)
{
    return SIZED(pe_observed, .q = &of_q, .q_rotated = &of_q_rotated, .axes = "hsd",
                 .expected = expected, .positions = {.start = 5, .step = 1, .count = TOKENS},
                 .k = with_keys ? &of_k : NULL, .k_rotated = with_keys ? &of_k_rotated : NULL);
}

/* The code of the verdict's bug, "match", or "unknown" with the first bad row. */
static const char *verdict(const struct pe_observed *observed, size_t *bad_row)
{
    struct pe_observations *observations;
    struct pe_diagnosis *diagnosis;
    struct pe_error err = {0};
    const char *word;

    ck_assert_msg(!pe_observations_new(&observations, observed, NULL, &err), "%s", err.detail);
    ck_assert_msg(!pe_diagnose(&diagnosis, observed->expected,
                               pe_observations_samples(observations),
                               pe_observations_count(observations), NULL, NULL, &err),
                  "%s", err.detail);
    const struct pe_finding *best = pe_diagnosis_finding(diagnosis, 0);
    const struct pe_bad_rows *bad = pe_diagnosis_bad_rows(diagnosis);
    word = pe_diagnosis_verdict(diagnosis) == PE_VERDICT_MATCH       ? "match"
           : pe_diagnosis_verdict(diagnosis) == PE_VERDICT_KNOWN_BUG ? best->bug->code
                                                                     : "unknown";
    if (bad_row)
        *bad_row = bad ? bad->row : SIZE_MAX;
    pe_diagnosis_free(diagnosis);
    pe_observations_free(observations);
    cases++;
    return word;
}

/* A value that is no number is refused, among queries as among keys. */
TEST(test_values_that_are_no_numbers)
{
    float *const places[] = {&q_rotated[1][3][2], &k_rotated[1][20][5]};

    for (unsigned which = 1; which < 4; which++, cases++) {
        const struct pe_observed observed = observed_of(NULL, true);
        struct pe_observations *observations;
        struct pe_error err = {0};
        heads_make();
        head_rotate(q_rotated[0], HEADS, true, 5);
        head_rotate(k_rotated[0], 2, true, 5);
        for (size_t i = 0; i < 2; i++)
            if (which >> i & 1)
                *places[i] = NAN;
        ck_assert_int_eq(pe_observations_new(&observations, &observed, NULL, &err), PE_INVALID);
        ck_assert_msg(strstr(err.detail, which & 1 ? "q_rotated has" : "k_rotated has") != NULL,
                      "%s", err.detail);
    }
}

/* Queries and keys in every combination of layouts, with either expected or none; a row of keys
 * that is damaged; both rotated twice, both not at all. */
TEST(test_queries_and_keys)
{
    OWNED_SCHEME scheme = prepared("rope", "dim=24");
    static const char *const expected[] = {NULL, "half", "interleaved"};

    for (size_t i = 0; i < 12; i++) {
        struct pe_observed observed = observed_of(scheme, true);
        const bool half_q = i & 1, half_k = i >> 1 & 1;
        observed.layout = expected[i / 4];
        heads_make();
        head_rotate(q_rotated[0], HEADS, half_q, 5);
        head_rotate(k_rotated[0], 2, half_k, 5);
        const char *right = half_q != half_k                             ? "layout-mixed"
                            : !observed.layout || half_q == (i / 4 == 1) ? "match"
                                                                         : "layout-swapped";
        ck_assert_str_eq(verdict(&observed, NULL), right);
        ck_assert(pe_observed_work(&observed) > 0);
    }
    struct pe_observed observed = observed_of(scheme, true);
    size_t row;
    heads_make();
    head_rotate(q_rotated[0], HEADS, true, 5);
    head_rotate(k_rotated[0], 2, true, 5);
    k_rotated[1][21][3] += 0.5F;
    ck_assert_str_eq(verdict(&observed, &row), "unknown");
    ck_assert_uint_eq(row, 21);
    k_rotated[1][21][3] -= 0.5F;
    head_rotate(k_rotated[0], 2, true, 5);
    ck_assert_str_eq(verdict(&observed, NULL), "unknown"); /* keys twice, queries once */
    head_rotate(q_rotated[0], HEADS, true, 5);
    ck_assert_str_eq(verdict(&observed, NULL), "rotated-twice");
    heads_make();
    ck_assert_str_eq(verdict(&observed, NULL), "not-rotated");
}

/* Keys that do not go with the queries. */
TEST(test_refused_keys)
{
    OWNED_SCHEME scheme = prepared("rope", "dim=24");
    const struct pe_tensor wide = {PE_F32, 3, {2, TOKENS, DIM / 2}, k},
                           few = {PE_F32, 3, {2, TOKENS - 1, DIM}, k},
                           other = {PE_F16, 3, {2, TOKENS, DIM}, k_rotated},
                           flat = {PE_F32, 2, {TOKENS, DIM}, k};
    const struct {
        const struct pe_tensor *k, *k_rotated;
        enum pe_status status;
        const char *where;
    } refused[] = {
        {&of_k, NULL, PE_MISSING, "tensor:k_rotated"},
        {NULL, &of_k_rotated, PE_MISSING, "tensor:k"},
        {&of_k, &few, PE_SHAPE_MISMATCH, "tensor:k_rotated"},
        {&of_k, &other, PE_SHAPE_MISMATCH, "tensor:k_rotated"},
        {&wide, &wide, PE_SHAPE_MISMATCH, "tensor:k"},
        {&few, &few, PE_SHAPE_MISMATCH, "tensor:k"},
        {&flat, &flat, PE_SHAPE_MISMATCH, NULL},
    };

    for (size_t i = 0; i < COUNT_OF(refused); i++, cases++) {
        struct pe_observed observed = observed_of(scheme, false);
        struct pe_error err = {0};
        struct pe_axes axes;
        observed.k = refused[i].k;
        observed.k_rotated = refused[i].k_rotated;
        ck_assert_msg(pe_observed_axes(&observed, &axes, &err) == refused[i].status, "%zu: %s", i,
                      err.detail);
        if (refused[i].where)
            ck_assert_str_eq(err.where, refused[i].where);
    }
}

/* Pairs within the part that rotates are right, across the head they are a bug; of rope_type
 * proportional the reverse; with the frequencies of the other width too. */
TEST(test_pairs_of_a_part)
{
    static const size_t parts[] = {4, 8, 12, 16, 20};

    for (size_t i = 0; i < COUNT_OF(parts) * 8; i++) {
        const size_t width = parts[i / 8], pairs = width / 2;
        const bool across = i & 1, proportional = i >> 1 & 1, of_head = i >> 2 & 1;
        char text[100];
        snprintf(text, sizeof(text),
                 proportional ? "dim=24 rope_type=proportional partial_rotary_factor=%.17g"
                              : "dim=24 rotary_dim=%.0f",
                 proportional ? (double)width / DIM : (double)width);
        OWNED_SCHEME scheme = prepared("rope", text);
        struct pe_observed observed = observed_of(scheme, i % 3 == 0);
        heads_make();
        for (size_t pair = 0; pair < pairs; pair++) {
            const double w = pow(10000, -2.0 * (double)pair / (double)(of_head ? DIM : width));
            const size_t other = pair + (across ? DIM / 2 : pairs);
            pair_rotate(q_rotated[0], HEADS * TOKENS, pair, other, w, 5);
            pair_rotate(k_rotated[0], 2 * TOKENS, pair, other, w, 5);
        }
        const char *word = verdict(&observed, NULL);
        if (across != proportional)
            ck_assert_msg(strcmp(word, across ? "pairs-across-head" : "pairs-within-prefix") == 0,
                          "%s, %zu: %s", text, i, word);
        else if (of_head == proportional)
            ck_assert_msg(strcmp(word, "match") == 0, "%s, %zu: %s", text, i, word);
        else
            ck_assert_msg(strcmp(word, "match") != 0, "%s, %zu: %s", text, i, word);
    }
}

/* Where nothing is expected, bugs are tried with the base of the values, of up to three digits; no
 * bug has no name. */
TEST(test_bugs_with_another_base)
{
    static const double bases[] = {2e4, 1.2e4, 1.23e4, 1.07e6};

    for (size_t i = 0; i < COUNT_OF(bases) * 2; i++) {
        const double base = bases[i / 2];
        const bool late = i % 2;
        struct pe_observed observed = observed_of(NULL, false);
        heads_make();
        for (size_t pair = 0; pair < DIM / 2; pair++)
            pair_rotate(q_rotated[0], HEADS * TOKENS, pair, pair + DIM / 2,
                        pow(base, -(double)pair / (DIM / 2)), late ? 6 : 5);
        const char *word = verdict(&observed, NULL);
        ck_assert_msg(strcmp(word, late ? "off-by-one-position" : "unknown") == 0, "base %g: %s",
                      base, word);
    }
}

/* An offset that linear scaling does not divide, and one that is divided twice. */
TEST(test_scaled_offsets)
{
    static const double factors[] = {2, 4, 7.5}, offsets[] = {5, 900};

    for (size_t i = 0; i < COUNT_OF(factors) * COUNT_OF(offsets) * 3; i++) {
        const double factor = factors[i / 6], offset = offsets[i / 3 % 2];
        const double shifts[] = {0, offset * factor - offset, offset / factor - offset};
        char text[100];
        snprintf(text, sizeof(text), "dim=24 rope_type=linear factor=%g", factor);
        OWNED_SCHEME scheme = prepared("rope", text);
        struct pe_observed observed = observed_of(scheme, false);
        observed.positions.start = offset;
        heads_make();
        for (size_t pair = 0; pair < DIM / 2; pair++)
            pair_rotate(q_rotated[0], HEADS * TOKENS, pair, pair + DIM / 2,
                        pow(10000, -(double)pair / (DIM / 2)) / factor, offset + shifts[i % 3]);
        const char *word = verdict(&observed, NULL);
        ck_assert_msg(strcmp(word, i % 3 == 0 ? "match" : "scaled-offset") == 0, "%s, %g: %s", text,
                      shifts[i % 3], word);
    }
}

/* Values after that are not finite are refused with the index of the first, unless there is nothing
 * else. */
TEST(test_values_that_are_not_finite)
{
    OWNED_SCHEME scheme = prepared("rope", "dim=24");
    const struct pe_observed observed = observed_of(scheme, false);
    struct pe_observations *observations;
    struct pe_error err = {0};

    heads_make();
    head_rotate(q_rotated[0], HEADS, true, 5);
    q_rotated[1][2][3] = NAN;
    ck_assert_int_eq(pe_observations_new(&observations, &observed, NULL, &err), PE_INVALID);
    ck_assert_str_eq(err.where, "tensor:q_rotated");
    for (size_t i = 0; i < sizeof(q) / sizeof(float); i++)
        (&q_rotated[0][0][0])[i] = i % 2 ? NAN : INFINITY;
    ck_assert_str_eq(verdict(&observed, NULL), "uninitialized");
    memset(q_rotated, 0, sizeof(q_rotated));
    ck_assert_str_eq(verdict(&observed, NULL), "uninitialized");
}

/* Heads of a cache: right, unwritten, rotated twice, never, and across the head. */
TEST(test_cache_of_rare_bugs)
{
    enum { CELLS = 6 };
    static const char *const codes[CELLS] = {NULL,          "uninitialized",     "rotated-twice",
                                             "not-rotated", "pairs-across-head", NULL};
    static float before[CELLS][TOKENS][DIM], after[CELLS][TOKENS][DIM];
    OWNED_SCHEME scheme = prepared("rope", "dim=24 rotary_dim=12");
    const struct pe_tensor x = {PE_F32, 4, {CELLS, 1, TOKENS, DIM}, before},
                           y = {PE_F32, 4, {CELLS, 1, TOKENS, DIM}, after};
    struct pe_kv_spec spec = SIZED(pe_kv_spec, .q = &x, .q_rotated = &y, .expected = scheme,
                                   .layout = "half", .positions = {.step = 1, .count = TOKENS});
    struct pe_kv_diagnosis *diagnosis;
    struct pe_error err = {0};

    for (size_t i = 0; i < CELLS * TOKENS * DIM; i++)
        (&before[0][0][0])[i] = (float)number_at(i);
    memcpy(after, before, sizeof(after));
    memset(after[1], 0, sizeof(after[1]));
    for (size_t pair = 0; pair < 6; pair++) {
        const double w = pow(10000, -(double)pair / 6);
        pair_rotate(after[0], TOKENS, pair, pair + 6, w, 0);
        pair_rotate(after[2], TOKENS, pair, pair + 6, 2 * w, 0);
        pair_rotate(after[4], TOKENS, pair, pair + 12, w, 0);
        pair_rotate(after[5], TOKENS, pair, pair + 6, w, 0);
    }
    ck_assert(!pe_kv_axes_parse(&spec.axes, "lhsd", &x, &err));
    ck_assert_msg(!pe_diagnose_kv(&diagnosis, &spec, NULL, NULL, &err), "%s", err.detail);
    for (size_t i = 0; i < CELLS; i++, cases++) {
        const struct pe_kv_cell *cell = pe_kv_diagnosis_cell(diagnosis, i);
        const struct pe_kv_explanation *by =
            pe_kv_diagnosis_explanation(diagnosis, (size_t)cell->explanation);
        const struct pe_bug_info *bug = by ? pe_diagnosis_finding(by->diagnosis, 0)->bug : NULL;
        ck_assert_int_eq(cell->verdict, codes[i] ? PE_VERDICT_KNOWN_BUG : PE_VERDICT_MATCH);
        ck_assert_msg(codes[i] ? bug && strcmp(bug->code, codes[i]) == 0 : !bug, "cell %zu: %s", i,
                      bug ? bug->code : "none");
    }
    pe_kv_diagnosis_free(diagnosis);
}

/* ---- sections of mrope ----------------------------------------------------------------------- */

/* cos and sin of [3, rows] positions in which each pair has the coordinate `axis` gives it. */
static struct pe_sample placed(size_t pairs, const size_t *axis, const double *w)
{
    for (size_t row = 0; row < ROWS; row++) {
        positions[row] = (double)(row / 8);
        positions[ROWS + row] = (double)(row % 8);
        positions[2 * ROWS + row] = (double)(row * 5 % 13);
    }
    for (size_t i = 0; i < ROWS * pairs; i++) {
        const double t = positions[axis[i % pairs] * ROWS + i / pairs];
        cosines[i] = cos(t * w[i % pairs]);
        sines[i] = sin(t * w[i % pairs]);
    }
    return SIZED(pe_sample, .rows = ROWS, .pairs = pairs, .positions = positions, .axes = 3,
                 .cos = cosines, .sin = sines, .dtype = PE_F64, .precision = PE_F64);
}

/* Every order of the sections' lengths with every order of the coordinates, one after the other and
 * interleaved, is named unless it is the expected one. */
TEST(test_orders_of_sections)
{
    static const unsigned char orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                               {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const size_t lengths[3] = {5, 7, 4};
    OWNED_SCHEME scheme = prepared("mrope", "dim=32 mrope_section=5,7,4");
    const struct pe_candidate plain = {.scheme = scheme};
    double w[16];

    for (size_t pair = 0; pair < 16; pair++)
        w[pair] = pow(10000, -(double)pair / 16);
    for (size_t i = 0; i < 72; i++, cases++) {
        const unsigned char *order = orders[i % 6], *places = orders[i / 6 % 6];
        size_t axis[16], same = 0;
        for (size_t pair = 0; pair < 16; pair++) {
            const size_t first = lengths[places[0]], second = first + lengths[places[1]];
            const size_t chunk = pair < first ? 0 : pair < second ? 1 : 2;
            const size_t turn = pair % 3 > 0 && pair < 3 * lengths[places[pair % 3]] ? pair % 3 : 0;
            axis[pair] = order[i < 36 ? chunk : turn];
            same += axis[pair] == pe_candidate_axis(&plain, 3, pair);
        }
        const struct pe_sample sample = placed(16, axis, w);
        struct pe_diagnosis *diagnosis;
        struct pe_error err = {0};
        ck_assert(!pe_diagnose(&diagnosis, scheme, &sample, 1, NULL, NULL, &err));
        ck_assert_int_eq(diagnosis->verdict, same == 16 ? PE_VERDICT_MATCH : PE_VERDICT_KNOWN_BUG);
        if (same < 16)
            ck_assert_int_eq(diagnosis->trials[0].bug, PE_BUG_MROPE_ORDER);
        pe_diagnosis_free(diagnosis);
    }
}

/* A diagnosis that tries the rare bugs says so where it is refused memory, at whichever
 * reservation, and gives all of it back. */
TEST(test_rare_bugs_short_of_memory)
{
    OWNED_SCHEME scheme = prepared("mrope", "dim=8 mrope_section=1,2,1");
    const double w[] = {1, 0.1, 0.01, 0.001};
    const size_t axis[] = {2, 1, 1, 0};
    const struct pe_sample sample = placed(4, axis, w);
    enum pe_status status = PE_OUT_OF_MEMORY;
    long most = 0;

    for (; status; most += 1 + most / 16) {
        struct refusing refusing;
        struct pe_work *work = refusing_work(&refusing, most);
        struct pe_error err = {0};
        struct pe_diagnosis *diagnosis;
        status = pe_diagnose(&diagnosis, scheme, &sample, 1, NULL, work, &err);
        ck_assert_int_eq(status, refusing.left < 0 ? PE_OUT_OF_MEMORY : PE_OK);
        if (diagnosis)
            ck_assert_int_eq(diagnosis->trials[0].bug, PE_BUG_MROPE_ORDER);
        pe_diagnosis_free(diagnosis);
        pe_work_free(work);
        ck_assert_uint_eq(refusing.held, 0);
        cases++;
    }
    ck_assert_int_gt(most, 100);
}

CHECK_WAY(.cases = &cases);
