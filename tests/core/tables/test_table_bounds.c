/* SPDX-License-Identifier: MIT */

/* The error bounds of rows, proved in docs/internals/exactness.md: those of
 * core/tables/rows_doubles.c against values correctly rounded to f64, at every ISA, and those of
 * core/tables/rows_f64.c against wide numbers. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/isa.h"
#include "core/scheme/scheme.h"
#include "core/tables/table_fill.h"
#include "core/tables/table_rows.h"
#include "core/views/view.h"
#include "tests/check_main.h"
#include "tests/core/scheme_fixture.h"

enum { PAIRS = PE_TABLE_COLUMNS, ROWS = PE_TABLE_ROWS, TURN = PE_TABLE_ROTATION };

/* The kernel grants more than the proof needs by this factor. */
#define SURPLUS 1.8

/* How much the largest part of a bound may change; halving or doubling the bound changes it by 2,
 * fused multiply-adds by less. */
#define SLACK 1.4

#define SEED 0x853c49e6748fea9bu
static uint64_t random_state = SEED;

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

struct block {
    struct pe_anchors anchors, first;
    double reach[PAIRS];
    double step_cos[(TURN + 1) * PAIRS], step_sin[(TURN + 1) * PAIRS];
};

static void block_compute(struct block *b, const struct pe_kernels *kernels,
                          const struct pe_frequencies *f, double start, double step,
                          double amplitude)
{
    const struct pe_phases phases = pe_frequencies_phases(f, 0);
    const struct pe_anchor one = {{step, 0}, 1, b->reach}, at = {{start, 0}, amplitude, b->reach};

    for (size_t i = 0; i < PAIRS; i++)
        b->reach[i] = pe_table_reach(step, phases.high[i]);
    kernels->table_anchors(&b->first, &one, &phases, PAIRS);
    memcpy(b->step_cos + PAIRS, b->first.cos, sizeof(b->first.cos));
    memcpy(b->step_sin + PAIRS, b->first.sin, sizeof(b->first.sin));
    kernels->table_steps(b->step_cos, b->step_sin, PAIRS, TURN + 1, PAIRS);
    kernels->table_anchors(&b->anchors, &at, &phases, PAIRS);
}

/* |x - exact| as a part of the granted error; exact itself is rounded. */
static double part_of(double x, double exact, double error)
{
    return fmax(0, fabs(x - exact) - fabs(exact) * 0x1p-53) / error;
}

struct worst {
    double cos, sin;
};

/* The largest measured part; `recorded` is its value when the proof was written. */
static void expect_part(const char *name, const char *of, double part, double recorded)
{
    printf("%s: at most %.3g of the error granted to %s\n", name, part, of);
    ck_assert_msg(part < 1 / SURPLUS, "%s, %s: %g of the bound", name, of, part);
    ck_assert_msg(part < recorded * SLACK && part > recorded / SLACK,
                  "%s, %s: %.4g of the bound, was %.4g", name, of, part, recorded);
}

static void expect_worst(const char *name, const struct worst *worst, const struct worst *recorded)
{
    expect_part(name, "cosines", worst->cos, recorded->cos);
    expect_part(name, "sines", worst->sin, recorded->sin);
}

/* Blocks by the largest term of the bound: rows from position 0, whose sines have only the reach;
 * positions so far that the phase dominates; all others. */
enum regime { FROM_ZERO, FAR, OTHER, REGIMES };
static const char *const regime_names[] = {"from 0", "far", "others"};

static enum regime regime_of(double start, double error, double unit_error)
{
    return start == 0 ? FROM_ZERO : error > 4 * unit_error ? FAR : OTHER;
}

/* The anchor rotated by a power of the step, as in the kernels. */
static void turn(struct block *b, size_t power)
{
    for (size_t i = 0; i < PAIRS; i++) {
        const double p = b->step_cos[power * PAIRS + i], q = b->step_sin[power * PAIRS + i];
        const double c = b->anchors.cos[i], s = b->anchors.sin[i];
        b->anchors.cos[i] = c * p - s * q;
        b->anchors.sin[i] = s * p + c * q;
    }
}

static void block_compare(struct block *b, const struct pe_frequencies *f, double start,
                          double step, enum pe_amplitude amplitude, struct worst worst[REGIMES])
{
    const double unit_error = 0x1p-41 * pe_frequencies_amplitude(f, amplitude);

    for (size_t row = 0; row < ROWS; row++) {
        const struct pe_position position = pe_position_at(start, step, (double)row);
        struct block at = *b;

        if (row > 0 && row % TURN == 0) {
            turn(b, TURN);
            at = *b;
        }
        turn(&at, row % TURN);
        for (size_t i = 0; i < PAIRS; i++) {
            double cos, sin;
            const double error = b->anchors.cos_error[i];
            struct worst *of = &worst[regime_of(start, error, unit_error)];
            pe_frequencies_pair(f, i, &position, amplitude, PE_F64, &cos, &sin);
            of->cos = fmax(of->cos, part_of(at.anchors.cos[i], cos, error));
            of->sin = fmax(of->sin, part_of(at.anchors.sin[i], sin, b->anchors.sin_error[i]));
        }
    }
}

static void check_blocks(const struct pe_kernels *kernels, const char *name, int blocks)
{
    static const char *const texts[] = {
        "dim=128 base=10000", "dim=128 base=1e6", "dim=128 base=1.001", "dim=128 base=1e30",
        "dim=128 rope_type=yarn factor=16 original_max_position_embeddings=4096"};
    static const struct worst recorded[REGIMES] = {
        [FROM_ZERO] = {0.0120, 0.00596}, [OTHER] = {0.0115, 0.00677}};
    struct worst worst[REGIMES] = {{0, 0}};
    struct block b;

    random_state = SEED;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        OWNED_SCHEME scheme = scheme_new("rope", texts[i]);
        const struct pe_frequencies *f = pe_waves_of(scheme)->frequencies;
        for (int k = 0; k < blocks; k++) {
            const enum pe_amplitude amplitude = random_bits() % 3;
            const double far = ldexp(unit() - 0.5, (int)(random_bits() % 54));
            const double start = k % 4 == 0 ? 0 : k % 4 == 1 ? floor(fabs(far)) : far;
            const double left = (0x1p53 - fabs(start)) / ROWS;
            const double step = k % 3 == 0   ? 1
                                : k % 3 == 1 ? left * (2 * unit() - 1)
                                             : ldexp(unit() - 0.5, -(int)(random_bits() % 80));
            block_compute(&b, kernels, f, start, step, pe_frequencies_amplitude(f, amplitude));
            block_compare(&b, f, start, step, amplitude, worst);
        }
    }
    for (size_t i = 0; i < REGIMES; i++) {
        char label[80];
        snprintf(label, sizeof(label), "%s, %s", name, regime_names[i]);
        if (i != FAR) /* these need positions beyond 2^53 */
            expect_worst(label, &worst[i], &recorded[i]);
    }
}

TEST(every_isa)
{
    for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
        if (isa->usable())
            check_blocks(isa->kernels, isa->name, 60);
}

/* ---- whole positions by digits -------------------------------------------------------------- */

enum { DIGIT_ROWS = 512, DIGIT_STEPS = 9, WIDTH = PE_LIST_COLUMNS };

/* Cosines and negative sines of the values of a digit, as in core/tables/rows_listed.c. */
static struct digit_table {
    double x[(DIGIT_ROWS + DIGIT_STEPS) * WIDTH], y[(DIGIT_ROWS + DIGIT_STEPS) * WIDTH];
} tables[3];

static void digit_compute(struct digit_table *table, const struct pe_kernels *kernels,
                          const struct pe_phases *phases, double first, double amplitude,
                          double unit_size, size_t rows)
{
    static const double none[PAIRS];
    static struct pe_anchors a;
    size_t row = 0;

    for (size_t power = 0; power == 0 || power < rows; power = power ? 2 * power : 1) {
        const double t = power ? (double)power * unit_size : first;
        const struct pe_anchor at = {{t, 0}, power ? 1 : amplitude, none};
        kernels->table_anchors(&a, &at, phases, WIDTH);
        memcpy(table->x + row * WIDTH, a.cos, WIDTH * sizeof(double));
        memcpy(table->y + row * WIDTH, a.minus_sin, WIDTH * sizeof(double));
        row = power == 0 ? rows : row + 1;
    }
    kernels->table_rotations(table->x, table->y, rows);
}

/* Rows of random digits, with all rotations in doubles. */
static void digits_compare(const struct pe_frequencies *f, size_t pair, uint64_t first,
                           const unsigned bits[2], enum pe_amplitude amplitude, struct worst *worst)
{
    const uint64_t digits[] = {random_bits() % DIGIT_ROWS, random_bits() >> (64 - bits[0]),
                               random_bits() >> (64 - bits[1])};
    const uint64_t t =
        ((first + digits[0]) << (bits[0] + bits[1])) + (digits[1] << bits[1]) + digits[2];
    const struct pe_position position = {{(double)t}};

    for (size_t i = 0; i < WIDTH; i++) {
        const double near = pe_frequencies_near(f, pair + i);
        const double granted = PE_LISTED_ERROR * pe_frequencies_amplitude(f, amplitude);
        double x = 1, y = 0, cos, sin;
        for (size_t k = 0; k < 3; k++) {
            const double p = tables[k].x[digits[k] * WIDTH + i];
            const double q = tables[k].y[digits[k] * WIDTH + i], turned = x * p - y * q;
            y = x * q + y * p;
            x = turned;
        }
        pe_frequencies_pair(f, pair + i, &position, amplitude, PE_F64, &cos, &sin);
        worst->cos = fmax(worst->cos, part_of(x, cos, granted));
        worst->sin = fmax(worst->sin, part_of(-y, sin, granted * fmin(1, (double)t * near)));
    }
}

static void check_digits(const struct pe_kernels *kernels, const char *name)
{
    static const char *const texts[] = {
        "dim=128 base=10000", "dim=128 base=1.001", "dim=128 base=1e30",
        "dim=128 rope_type=yarn factor=16 original_max_position_embeddings=4096"};
    struct worst worst = {0, 0};

    random_state = SEED;
    for (size_t i = 0; i < 40; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", texts[i % COUNT_OF(texts)]);
        const struct pe_frequencies *f = pe_waves_of(scheme)->frequencies;
        const enum pe_amplitude amplitude = random_bits() % 3;
        const unsigned bits[] = {1 + (unsigned)(random_bits() % 8),
                                 1 + (unsigned)(random_bits() % 8)};
        const uint64_t first = i % 3 == 0 ? 0 : random_bits() >> (41 + i % 20);
        const size_t pair = i % 4 * WIDTH;
        const struct pe_phases phases = pe_frequencies_phases(f, pair);
        const double unit_size = ldexp(1, (int)(bits[0] + bits[1]));

        digit_compute(&tables[0], kernels, &phases, (double)first * unit_size,
                      pe_frequencies_amplitude(f, amplitude), unit_size, DIGIT_ROWS);
        digit_compute(&tables[1], kernels, &phases, 0, 1, ldexp(1, (int)bits[1]),
                      (size_t)1 << bits[0]);
        digit_compute(&tables[2], kernels, &phases, 0, 1, 1, (size_t)1 << bits[1]);
        for (size_t k = 0; k < 200; k++)
            digits_compare(f, pair, first, bits, amplitude, &worst);
    }
    expect_worst(name, &worst, &(struct worst){0.00171, 0.00195});
}

TEST(digits_at_every_isa)
{
    for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
        if (isa->usable())
            check_digits(isa->kernels, isa->name);
}

/* ---- rows of f64 ---------------------------------------------------------------------------- */

enum { COLUMNS = PE_F64_COLUMNS, WIDE_BITS = 192 };

struct fine_block {
    struct pe_anchors_f64 anchors, first;
    double reach[COLUMNS];
    double step_cos[2][(TURN + 1) * COLUMNS], step_sin[2][(TURN + 1) * COLUMNS];
    double values[2][2][ROWS * COLUMNS]; /* of cos and sin, both parts */
};

/* Step 0: an anchor alone, which all rows repeat. */
static void fine_compute(struct fine_block *b, const struct pe_kernels *kernels,
                         const struct pe_frequencies *f, double start, double step,
                         struct pe_exact amplitude)
{
    const double unit_error = step == 0 ? PE_F64_UNIT_ALONE : PE_F64_UNIT;
    const struct pe_phases phases = pe_frequencies_phases(f, 0);
    const struct pe_anchor_f64 one = {
        {step, 0}, {1, 0}, PE_F64_UNIT_ALONE, pe_f64_span(step, 0), b->reach};
    const struct pe_anchor_f64 at = {
        {start, 0}, {amplitude.hi, amplitude.lo}, unit_error, pe_f64_span(start, step), b->reach};
    double *const cos[] = {b->step_cos[0], b->step_cos[1]};
    double *const sin[] = {b->step_sin[0], b->step_sin[1]};
    struct pe_anchors_f64 *a = &b->anchors;
    struct pe_table_rows_f64 rows = {.step_cos = {cos[0], cos[1]},
                                     .step_sin = {sin[0], sin[1]},
                                     .step_stride = COLUMNS,
                                     .rows = ROWS,
                                     .columns = COLUMNS,
                                     .out_stride = COLUMNS};
    struct pe_table_undecided undecided;

    for (size_t i = 0; i < COLUMNS; i++)
        b->reach[i] = pe_table_reach(step, phases.high[i]);
    kernels->table_anchors_f64(&b->first, &one, &phases, COLUMNS);
    for (size_t i = 0; i < 2; i++) {
        memcpy(cos[i] + COLUMNS, b->first.cos[i], sizeof(b->first.cos[i]));
        memcpy(sin[i] + COLUMNS, b->first.sin[i], sizeof(b->first.sin[i]));
    }
    kernels->table_steps_f64(cos, sin, COLUMNS, TURN + 1, COLUMNS);
    kernels->table_anchors_f64(a, &at, &phases, COLUMNS);
    for (size_t is_sin = 0; is_sin < 2; is_sin++) {
        for (size_t i = 0; i < 2; i++) {
            rows.cos[i] = is_sin ? a->sin[i] : a->cos[i];
            rows.sin[i] = is_sin ? a->cos[i] : a->minus_sin[i];
        }
        rows.error = is_sin ? a->sin_error : a->cos_error;
        kernels->table_f64(b->values[is_sin][0], b->values[is_sin][1], &rows, &undecided);
    }
}

/* |both parts - amplitude * wave| as a part of the granted error. */
static double fine_part(const struct fine_block *b, size_t is_sin, size_t row, size_t pair,
                        struct pe_wide real)
{
    const size_t at = row * COLUMNS + pair;
    const double error = is_sin ? b->anchors.sin_error[pair] : b->anchors.cos_error[pair];
    const struct pe_wide apart = pe_wide_sub_double(
        pe_wide_sub_double(real, b->values[is_sin][0][at]), b->values[is_sin][1][at]);

    return fabs(pe_wide_double(apart)) / error;
}

static void fine_compare(const struct fine_block *b, const struct pe_frequencies *f, double start,
                         double step, enum pe_amplitude amplitude, struct worst worst[REGIMES])
{
    const struct pe_scale *scale = pe_frequencies_scale(f, amplitude);
    const struct pe_wide factor = scale->real ? scale->real(WIDE_BITS, scale->context, 0)
                                              : pe_wide_of(WIDE_BITS, scale->value.hi);
    const double unit_error = (step == 0 ? PE_F64_UNIT_ALONE : PE_F64_UNIT) * fabs(scale->value.hi);

    for (size_t row = 0; row < (step == 0 ? 1 : ROWS); row += 1 + random_bits() % 4) {
        const struct pe_position at = pe_position_at(start, step, (double)row);
        for (size_t pair = row % 3; pair < COLUMNS; pair += 3) {
            struct worst *of = &worst[regime_of(start, b->anchors.cos_error[pair], unit_error)];
            const struct pe_wide w = pe_frequencies_real(WIDE_BITS, f, pair);
            struct pe_wide angle = pe_wide_mul_double(w, at.part[0]);
            for (size_t i = 1; i < 3; i++)
                angle = pe_wide_add(angle, pe_wide_mul_double(w, at.part[i]));
            of->cos =
                fmax(of->cos, fine_part(b, 0, row, pair, pe_wide_mul(pe_wide_cos(angle), factor)));
            of->sin =
                fmax(of->sin, fine_part(b, 1, row, pair, pe_wide_mul(pe_wide_sin(angle), factor)));
        }
    }
}

static double fine_step(int i, double far)
{
    const double left = (PE_F64_REACH - fabs(far)) / ROWS;

    return i % 3 == 0   ? 1
           : i % 3 == 1 ? left * (2 * unit() - 1)
                        : ldexp(unit() - 0.5, -(int)(random_bits() % 80));
}

static void fine_measure(struct worst worst[REGIMES], bool alone)
{
    static const char *const texts[] = {
        "dim=128 base=10000", "dim=128 base=1.001", "dim=128 base=1e30",
        "dim=128 rope_type=yarn factor=16 original_max_position_embeddings=4096"};
    static struct fine_block b;

    random_state = SEED;
    for (int i = 0; i < 80; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", texts[(size_t)i % COUNT_OF(texts)]);
        const struct pe_frequencies *f = pe_waves_of(scheme)->frequencies;
        const enum pe_amplitude amplitude = random_bits() % 3;
        const double far = ldexp(unit() - 0.5, (int)(random_bits() % 35));
        const double step = alone ? 0 : fine_step(i, far);
        const double start = i % 4 == 0 && !alone ? 0 : i % 2 == 0 ? floor(far) : far;
        fine_compute(&b, pe_isa()->kernels, f, start, step,
                     pe_frequencies_scale(f, amplitude)->value);
        fine_compare(&b, f, start, step, amplitude, worst);
    }
}

/* All instruction sets have the same bits (check_kernels). Positions up to the limit of the
 * kernels, fractional ones, and steps up to the reach. */
TEST(rows_of_f64)
{
    static const struct worst recorded[REGIMES] = {
        [FROM_ZERO] = {0.00295, 0.00362}, [FAR] = {0.0113, 0.0115}, [OTHER] = {0.00585, 0.00476}};
    struct worst worst[REGIMES] = {{0, 0}};

    fine_measure(worst, false);
    for (size_t i = 0; i < REGIMES; i++)
        expect_worst(regime_names[i], &worst[i], &recorded[i]);
}

TEST(anchors_of_f64)
{
    struct worst worst[REGIMES] = {{0, 0}};

    fine_measure(worst, true);
    expect_worst("alone, near", &worst[OTHER], &(struct worst){0.00246, 0.00581});
    expect_worst("alone, far", &worst[FAR], &(struct worst){0.0109, 0.00948});
}

/* e^x of scales, to 2^-50 of itself. */
TEST(scales)
{
    static struct pe_anchors anchors;
    double high[PE_TABLE_COLUMNS], low[PE_TABLE_COLUMNS], worst = 0;

    for (int i = 0; i < 40; i++) {
        const double distance[] = {ldexp(unit() - 0.5, i), ldexp(unit() - 0.5, i - 56)};
        for (size_t k = 0; k < PE_TABLE_COLUMNS; k++) {
            high[k] = 199 * (unit() - 0.5) / fabs(distance[0]);
            low[k] = high[k] * 0x1p-54 * unit();
            anchors.cos[k] = 1;
        }
        pe_isa()->kernels->table_scale(&anchors, high, low, distance, PE_TABLE_COLUMNS);
        for (size_t k = 0; k < PE_TABLE_COLUMNS; k++) {
            const struct pe_wide a = pe_wide_add_double(pe_wide_of(WIDE_BITS, high[k]), low[k]);
            const struct pe_wide b =
                pe_wide_add_double(pe_wide_of(WIDE_BITS, distance[0]), distance[1]);
            const struct pe_wide real = pe_wide_exp(pe_wide_mul(a, b));
            const struct pe_wide apart = pe_wide_sub_double(real, anchors.cos[k]);
            worst = fmax(worst, fabs(pe_wide_double(pe_wide_div(apart, real))));
        }
    }
    expect_part("scales", "e^x", worst * 0x1p50, 0.17);
}

/* ---- 16 bits, made in float32 first ---------------------------------------------------------- */

/* Factors and powers that are rounded up to floats, with products and a sum that are rounded up
 * too, so that the float lies above a tie and the sum of doubles below it. The factors are near 1
 * and 1/2, where half an ulp is the largest part of a float. */
struct near_tie {
    double cos, sin, p, q;
    double part; /* how far the float is beyond the tie, in v = 2^-24 of |x| + |y Q| */
};

/* Beyond it, a halved grant of 2.5 v decides wrongly. */
#define TIE_PART_LEAST 2.6

enum { TIES = PE_TABLE_COLUMNS, TIE_TRIES = 20000 };

static float near_one(void)
{
    return 1 + (float)(random_bits() % 4096) * 0x1p-23f;
}

/* Are products and sums fused? */
static bool near_tie_draw(struct near_tie *out, double tie)
{
    const double off = 0.99 * 0x1p-24;
    const float x = near_one(), p = near_one(), q = near_one();
    const float y =
        (float)((tie - (double)x * p) / q) + (float)((double)(random_bits() % 16) - 8) * 0x1p-24f;
    const float product = x * p, other = y * q;
    const double sum = (x - off) * (p - off) + (y - off / 2) * (q - off);
    const double in_float = fmin((double)(product + other), (double)(float)((double)x * p + other));
    const double part = (in_float - tie) / ((x + fabs((double)y * q)) * 0x1p-24);

    *out = (struct near_tie){x - off, y - off / 2, p - off, q - off, part};
    return part > TIE_PART_LEAST && tie - sum > 0x1p-40;
}

static void ties_check(const struct pe_kernels *kernels, enum pe_dtype dtype, int sign,
                       const struct near_tie *ties, size_t count)
{
    PE_ALIGNED double cos[TIES], sin[TIES], error[TIES], step_cos[2 * TIES] = {0},
                                                                      step_sin[2 * TIES] = {0};
    const struct pe_table_rows rows = {cos, sin, error, step_cos, step_sin, TIES, 2, TIES, TIES};
    struct pe_table_undecided undecided;
    uint16_t out[2 * TIES], want;

    for (size_t i = 0; i < TIES; i++) {
        const struct near_tie *tie = &ties[i % count];
        cos[i] = sign * tie->cos;
        sin[i] = sign * tie->sin;
        step_cos[i] = 1;
        step_cos[TIES + i] = tie->p;
        step_sin[TIES + i] = tie->q;
        error[i] = 0x1p-46;
    }
    (dtype == PE_F16 ? kernels->table_f16 : kernels->table_bf16)(out, &rows, &undecided);
    for (size_t i = 0; i < TIES; i++) {
        const double sum = cos[i] * step_cos[TIES + i] + sin[i] * step_sin[TIES + i];
        pe_from_f64(&want, dtype, &sum, 1);
        ck_assert_msg(out[TIES + i] == want || undecided.rows[1] >> i & 1,
                      "%s: %a %a, %a %a: got %x, want %x", pe_dtype_info(dtype)->name, cos[i],
                      sin[i], step_cos[TIES + i], step_sin[TIES + i], out[TIES + i], want);
    }
}

TEST(ties_of_16_bits)
{
    static const struct {
        enum pe_dtype dtype;
        double tie;
    } cases[] = {{PE_BF16, 1.5 + 0x1p-8}, {PE_F16, 1.5 + 0x1p-11}};

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct near_tie ties[TIES];
        size_t count = 0;
        for (int try = 0; try < TIE_TRIES && count < TIES; try++)
            count += near_tie_draw(&ties[count], cases[i].tie);
        printf("%s: %zu sums whose floats lie beyond a tie\n", pe_dtype_info(cases[i].dtype)->name,
               count);
        ck_assert_uint_gt(count, 0);
        for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
            for (int sign = -1; sign <= 1 && isa->usable(); sign += 2)
                ties_check(isa->kernels, cases[i].dtype, sign, ties, count);
    }
}

/* ---- angles in float32 ----------------------------------------------------------------------- */

/* A cosine or sine in doubles that is so near to a tie of two floats that it must be undecided, or
 * almost: 2^-42 of the value is granted. */
struct waves_doubt {
    float angle;
    bool is_sin, doubt;
};

enum { ANGLES = 1 << 21, DOUBTS = 400 };

/* |value - the nearest tie| as a part of the granted error. */
static double tie_part(double value)
{
    const float near = (float)value;
    const double beyond = value > near ? nextafterf(near, INFINITY) : nextafterf(near, -INFINITY);

    return fabs(value - (near + beyond) / 2) / (fabs(value) * 0x1p-42);
}

static size_t waves_doubts_find(struct waves_doubt *out)
{
    size_t count = 0;

    for (int i = 0; i < ANGLES && count < DOUBTS; i++) {
        const float angle = (float)ldexp(0.5 + unit() / 2, (int)(random_bits() % 12));
        const bool is_sin = i % 2;
        const double part = tie_part(is_sin ? sin(angle) : cos(angle));
        if ((part > 0.5 && part < 0.9) || (part > 1.1 && part < 2))
            out[count++] = (struct waves_doubt){angle, is_sin, part < 1};
    }
    return count;
}

TEST(undecided_float32_angles)
{
    static struct waves_doubt wanted[DOUBTS];
    PE_ALIGNED float angles[PE_FLOAT32_PAD] = {0}, cos[PE_FLOAT32_PAD], sin[PE_FLOAT32_PAD];
    const size_t count = waves_doubts_find(wanted);
    size_t in_doubt = 0;

    for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
        for (size_t i = 0; i < count && isa->usable(); i++) {
            uint64_t undecided[2];
            angles[0] = wanted[i].angle;
            isa->kernels->float32_waves(cos, sin, undecided, 1, angles, PE_FLOAT32_PAD);
            const bool doubt = undecided[wanted[i].is_sin] & 1;
            in_doubt += doubt;
            ck_assert_msg(doubt == wanted[i].doubt, "%s: %s(%a) is in doubt: %d", isa->name,
                          wanted[i].is_sin ? "sin" : "cos", wanted[i].angle, doubt);
        }
    printf("angles in float32: %zu next to what is granted, %zu undecided\n", count, in_doubt);
    ck_assert_uint_gt(count, 5);
    ck_assert_uint_gt(in_doubt, 0);
}
