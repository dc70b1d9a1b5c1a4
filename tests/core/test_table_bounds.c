/* SPDX-License-Identifier: MIT */

/* The bounds that core/bulk/quick.c proves, against values correctly rounded to f64: the errors of
 * the doubles that rows are rounded from, at every ISA. And those of core/bulk/fine.c, against
 * wide numbers. */

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/bulk/bulk.h"
#include "core/isa/isa.h"
#include "core/kinds/waves.h"
#include "core/views/view.h"
#include "tests/check_main.h"
#include "tests/core/rotation_fixture.h"

enum { PAIRS = PE_TABLE_COLUMNS, ROWS = PE_TABLE_ROWS, TURN = PE_TABLE_TURN };

/* What the kernel grants is more than the proof needs by this factor. */
#define SURPLUS 1.8

static uint64_t random_state = 0x853c49e6748fea9bu;

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
        b->reach[i] = fmin(1, ROWS * 6.3 * fabs(step) * phases.high[i]);
    kernels->table_anchors(&b->first, &one, &phases, PAIRS);
    memcpy(b->step_cos + PAIRS, b->first.cos, sizeof(b->first.cos));
    memcpy(b->step_sin + PAIRS, b->first.sin, sizeof(b->first.sin));
    kernels->table_steps(b->step_cos, b->step_sin, PAIRS, TURN + 1, PAIRS);
    kernels->table_anchors(&b->anchors, &at, &phases, PAIRS);
}

/* |x - exact| as a part of what is granted; exact itself is rounded. */
static double part_of(double x, double exact, double error)
{
    return fmax(0, fabs(x - exact) - fabs(exact) * 0x1p-53) / error;
}

struct worst {
    double cos, sin;
};

/* The anchor turned by a power of the step, as the kernels do it. */
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
                          double step, enum pe_amplitude amplitude, struct worst *worst)
{
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
            pe_frequencies_pair(f, i, &position, amplitude, PE_F64, &cos, &sin);
            worst->cos = fmax(worst->cos, part_of(at.anchors.cos[i], cos, b->anchors.cos_error[i]));
            worst->sin = fmax(worst->sin, part_of(at.anchors.sin[i], sin, b->anchors.sin_error[i]));
        }
    }
}

static void check_blocks(const struct pe_kernels *kernels, const char *name, int blocks)
{
    static const char *const texts[] = {
        "dim=128 base=10000", "dim=128 base=1e6", "dim=128 base=1.001", "dim=128 base=1e30",
        "dim=128 rope_type=yarn factor=16 original_max_position_embeddings=4096"};
    struct worst worst = {0, 0};
    struct block b;

    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        OWNED_SCHEME scheme = scheme_new("rope", texts[i]);
        const struct pe_frequencies *f = pe_waves_of(scheme)->frequencies;
        for (int k = 0; k < blocks; k++) {
            const enum pe_amplitude amplitude = random_bits() % 3;
            const double far = ldexp(unit() - 0.5, (int)(random_bits() % 54));
            const double start = k % 4 == 0 ? 0 : k % 4 == 1 ? floor(fabs(far)) : far;
            const double room = (0x1p53 - fabs(start)) / ROWS;
            const double step = k % 3 == 0   ? 1
                                : k % 3 == 1 ? room * (2 * unit() - 1)
                                             : ldexp(unit() - 0.5, -(int)(random_bits() % 80));
            block_compute(&b, kernels, f, start, step, pe_frequencies_amplitude(f, amplitude));
            block_compare(&b, f, start, step, amplitude, &worst);
        }
    }
    printf("%s: at most %.3f of the error granted to cosines, %.3f of that to sines\n", name,
           worst.cos, worst.sin);
    ck_assert_double_gt(worst.cos, 0);
    ck_assert_double_gt(worst.sin, 0);
    ck_assert_double_lt(worst.cos, 1 / SURPLUS);
    ck_assert_double_lt(worst.sin, 1 / SURPLUS);
}

TEST(every_isa)
{
    for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
        if (isa->usable())
            check_blocks(isa->kernels, isa->name, 60);
}

/* ---- whole positions by digits -------------------------------------------------------------- */

enum { DIGIT_ROWS = 512, DIGIT_STEPS = 9, WIDTH = PE_LIST_COLUMNS };

/* Cosines and negative sines of a digit's values, as core/bulk/listed.c makes them. */
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
    kernels->table_turns(table->x, table->y, rows);
}

/* Rows of digits drawn at random, all their turns made in doubles. */
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
        const double granted = 0x1p-41 * pe_frequencies_amplitude(f, amplitude);
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
    printf("%s by digits: at most %.3f of the error granted to cosines, %.3f to sines\n", name,
           worst.cos, worst.sin);
    ck_assert_double_gt(worst.cos, 0);
    ck_assert_double_gt(worst.sin, 0);
    ck_assert_double_lt(worst.cos, 1 / SURPLUS);
    ck_assert_double_lt(worst.sin, 1 / SURPLUS);
}

TEST(digits_at_every_isa)
{
    for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
        if (isa->usable())
            check_digits(isa->kernels, isa->name);
}

/* ---- sums of two doubles -------------------------------------------------------------------- */

enum { COLUMNS = PE_FINE_COLUMNS, WIDE_BITS = 192 };

struct fine_block {
    struct pe_fine_anchors anchors, first;
    double reach[COLUMNS];
    double step_cos[2][(TURN + 1) * COLUMNS], step_sin[2][(TURN + 1) * COLUMNS];
    double values[2][2][ROWS * COLUMNS]; /* of cos and sin, both parts */
};

static void fine_compute(struct fine_block *b, const struct pe_kernels *kernels,
                         const struct pe_frequencies *f, double start, double step,
                         struct pe_exact amplitude)
{
    const struct pe_phases phases = pe_frequencies_phases(f, 0);
    const struct pe_fine_anchor one = {{step, 0}, {1, 0}, 0x1p-79, fabs(step), b->reach};
    const struct pe_fine_anchor at = {
        {start, 0}, {amplitude.hi, amplitude.lo}, 0x1p-79, fabs(start) + 64 * fabs(step), b->reach};
    double *const cos[] = {b->step_cos[0], b->step_cos[1]};
    double *const sin[] = {b->step_sin[0], b->step_sin[1]};
    struct pe_fine_anchors *a = &b->anchors;
    struct pe_fine_rows rows = {.step_cos = {cos[0], cos[1]},
                                .step_sin = {sin[0], sin[1]},
                                .step_stride = COLUMNS,
                                .rows = ROWS,
                                .columns = COLUMNS,
                                .out_stride = COLUMNS};
    struct pe_table_doubts doubts;

    for (size_t i = 0; i < COLUMNS; i++)
        b->reach[i] = fmin(1, ROWS * 6.3 * fabs(step) * phases.high[i]);
    kernels->fine_anchors(&b->first, &one, &phases, COLUMNS);
    for (size_t i = 0; i < 2; i++) {
        memcpy(cos[i] + COLUMNS, b->first.cos[i], sizeof(b->first.cos[i]));
        memcpy(sin[i] + COLUMNS, b->first.sin[i], sizeof(b->first.sin[i]));
    }
    kernels->fine_steps(cos, sin, COLUMNS, TURN + 1, COLUMNS);
    kernels->fine_anchors(a, &at, &phases, COLUMNS);
    for (size_t is_sin = 0; is_sin < 2; is_sin++) {
        for (size_t i = 0; i < 2; i++) {
            rows.cos[i] = is_sin ? a->sin[i] : a->cos[i];
            rows.sin[i] = is_sin ? a->cos[i] : a->minus_sin[i];
        }
        rows.error = is_sin ? a->sin_error : a->cos_error;
        kernels->fine_rows(b->values[is_sin][0], b->values[is_sin][1], &rows, &doubts);
    }
}

/* |both parts - amplitude * wave| as a part of what is granted. */
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
                         double step, enum pe_amplitude amplitude, struct worst *worst)
{
    const struct pe_scale *scale = pe_frequencies_scale(f, amplitude);
    const struct pe_wide factor = scale->real ? scale->real(WIDE_BITS, scale->context, 0)
                                              : pe_wide_of(WIDE_BITS, scale->value.hi);

    for (size_t row = 0; row < ROWS; row += 1 + random_bits() % 4) {
        const struct pe_position at = pe_position_at(start, step, (double)row);
        for (size_t pair = row % 3; pair < COLUMNS; pair += 3) {
            const struct pe_wide w = pe_frequencies_real(WIDE_BITS, f, pair);
            struct pe_wide angle = pe_wide_mul_double(w, at.part[0]);
            for (size_t i = 1; i < 3; i++)
                angle = pe_wide_add(angle, pe_wide_mul_double(w, at.part[i]));
            worst->cos = fmax(worst->cos,
                              fine_part(b, 0, row, pair, pe_wide_mul(pe_wide_cos(angle), factor)));
            worst->sin = fmax(worst->sin,
                              fine_part(b, 1, row, pair, pe_wide_mul(pe_wide_sin(angle), factor)));
        }
    }
}

/* All instruction sets have the same bits (check_kernels); positions up to where the kernels are
 * used, fractional ones, and steps as far as the reach. */
TEST(sums_of_two)
{
    static const char *const texts[] = {
        "dim=128 base=10000", "dim=128 base=1.001", "dim=128 base=1e30",
        "dim=128 rope_type=yarn factor=16 original_max_position_embeddings=4096"};
    static struct fine_block b;
    struct worst worst = {0, 0};

    for (int i = 0; i < 80; i++) {
        OWNED_SCHEME scheme = scheme_new("rope", texts[(size_t)i % COUNT_OF(texts)]);
        const struct pe_frequencies *f = pe_waves_of(scheme)->frequencies;
        const enum pe_amplitude amplitude = random_bits() % 3;
        const double far = ldexp(unit() - 0.5, (int)(random_bits() % 35));
        const double room = (0x1p34 - fabs(far)) / ROWS;
        const double step = i % 3 == 0   ? 1
                            : i % 3 == 1 ? room * (2 * unit() - 1)
                                         : ldexp(unit() - 0.5, -(int)(random_bits() % 80));
        const double start = i % 2 == 0 ? floor(far) : far;
        fine_compute(&b, pe_isa()->kernels, f, start, step,
                     pe_frequencies_scale(f, amplitude)->value);
        fine_compare(&b, f, start, step, amplitude, &worst);
    }
    printf("sums of two: at most %.3f of the error granted to cosines, %.3f of that to sines\n",
           worst.cos, worst.sin);
    ck_assert_double_gt(worst.cos, 0);
    ck_assert_double_gt(worst.sin, 0);
    ck_assert_double_lt(worst.cos, 1 / SURPLUS);
    ck_assert_double_lt(worst.sin, 1 / SURPLUS);
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
    printf("scales: at most %.3f of 2^-50\n", worst * 0x1p50);
    ck_assert_double_gt(worst, 0);
    ck_assert_double_lt(worst, 0x1p-50 / SURPLUS);
}
