/* SPDX-License-Identifier: MIT */
#include "tests/core/kernels/kernel_check.h"

#include <math.h>
#include <string.h>

/* Slots of memory: the input, then both results. */
enum { COS, SIN, ERROR, STEP_COS, STEP_SIN, WANT, GOT };

static double unit(struct kernel_check *check)
{
    return (double)(check_random(check) >> 11) * 0x1p-53;
}

static double *doubles(struct kernel_check *check, size_t slot, size_t count, size_t place)
{
    double *data = check_memory(slot, PE_F64, count, place);

    check_fill(check, data, PE_F64, count, CHECK_UNIT);
    return data;
}

/* w / 2 pi between 1 / 2 pi and 2^-60, in three parts as in frequencies.c. */
static void phases_fill(struct kernel_check *check, double *high, double *middle, double *low,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double part = 0.5 + unit(check) / 2;
        const double turn = ldexp(part, -3 - (int)(check_random(check) % 58));
        const double scaled = turn * (0x1p27 + 1);
        high[i] = scaled - (scaled - turn);
        middle[i] = turn - high[i];
        low[i] = turn * 0x1p-54 * (unit(check) - 0.5);
    }
}

/* Fused multiply-adds change the last bits: numbers that differ by at most an eighth of the granted
 * error are made equal. */
static void near_are_same(double *got, const double *want, const double *error, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(got[i] - want[i]) <= error[i] / 8)
            got[i] = want[i];
}

static void anchors_near_are_same(struct pe_anchors *got, const struct pe_anchors *want,
                                  size_t count)
{
    near_are_same(got->cos, want->cos, want->cos_error, count);
    near_are_same(got->sin, want->sin, want->cos_error, count);
    near_are_same(got->minus_sin, want->minus_sin, want->cos_error, count);
    near_are_same(got->sin_error, want->sin_error, want->cos_error, count);
}

void check_table_anchors(struct kernel_check *check)
{
    for (size_t i = 0; i < 4000; i++) {
        const size_t count = PE_TABLE_PAD * (check_random(check) % 9), place = i % CHECK_PLACES;
        const size_t size = sizeof(struct pe_anchors) / sizeof(double);
        double *high = check_memory(COS, PE_F64, count, place);
        double *middle = check_memory(SIN, PE_F64, count, place);
        double *low = check_memory(ERROR, PE_F64, count, place);
        double *reach = doubles(check, STEP_COS, count, place);
        struct pe_anchors *want = check_memory(WANT, PE_F64, size, place % 2);
        struct pe_anchors *got = check_memory(GOT, PE_F64, size, place % 2);
        /* One draw a statement: the order of those in one is the compiler's. */
        const double part = unit(check) - 0.5;
        const double t = ldexp(part, 53 - (int)(check_random(check) % 80));
        const double rest = t * 0x1p-54 * unit(check);
        const struct pe_anchor at = {{t, rest}, 2 * unit(check), reach};
        const struct pe_phases phases = {high, middle, low};

        phases_fill(check, high, middle, low, count);
        memset(want, 0, sizeof(*want));
        memset(got, 0, sizeof(*got));
        check->scalar->table_anchors(want, &at, &phases, count);
        check->kernels->table_anchors(got, &at, &phases, count);
        anchors_near_are_same(got, want, count);
        check_same(check, PE_F64, want, got, size, "count=%zu t=%a", count, t);
    }
}

void check_table_steps(struct kernel_check *check)
{
    for (size_t rows = 1; rows <= PE_TABLE_ROWS; rows++)
        for (size_t count = PE_TABLE_PAD; count <= PE_TABLE_COLUMNS; count += PE_TABLE_PAD) {
            const size_t stride = PE_TABLE_COLUMNS, size = (rows - 1) * stride + count;
            const size_t place = check_random(check) % CHECK_PLACES;
            double *cos[2], *sin[2];
            for (size_t i = 0; i < 2; i++) {
                cos[i] = check_memory(2 * i, PE_F64, size, place);
                sin[i] = check_memory(2 * i + 1, PE_F64, size, place);
                memset(cos[i], 0, size * sizeof(double));
                memset(sin[i], 0, size * sizeof(double));
            }
            for (size_t i = 0; rows > 1 && i < count; i++) {
                const double angle = 7 * unit(check);
                cos[0][stride + i] = cos[1][stride + i] = 1 - angle * angle / 50;
                sin[0][stride + i] = sin[1][stride + i] = angle / 7;
            }
            check->scalar->table_steps(cos[0], sin[0], stride, rows, count);
            check->kernels->table_steps(cos[1], sin[1], stride, rows, count);
            check_same(check, PE_F64, cos[0], cos[1], size, "cos rows=%zu count=%zu", rows, count);
            check_same(check, PE_F64, sin[0], sin[1], size, "sin rows=%zu count=%zu", rows, count);
        }
}

void check_table_interleave(struct kernel_check *check)
{
    for (size_t i = 0; i < 9 * CHECK_PLACES; i++) {
        const size_t count = i / CHECK_PLACES * PE_TABLE_PAD, place = i % CHECK_PLACES;
        const double *a = doubles(check, COS, count, place), *b = doubles(check, SIN, count, place);
        double *want = check_memory(WANT, PE_F64, 2 * count, place);
        double *got = check_memory(GOT, PE_F64, 2 * count, place);

        check->scalar->table_interleave(want, a, b, count);
        check->kernels->table_interleave(got, a, b, count);
        check_same(check, PE_F64, want, got, 2 * count, "count=%zu place=%zu", count, place);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

typedef void rows_kernel(const struct pe_kernels *kernels, void *out,
                         const struct pe_table_rows *in, struct pe_table_undecided *undecided);

/* Errors from far below to about an ulp of `dtype`, so that some columns have no undecided, some
 * have a few and some have many; every 16th value is 0. No more powers of the step than the rows
 * need.
 */
static struct pe_table_rows rows_new(struct kernel_check *check, size_t rows, size_t columns,
                                     size_t place)
{
    const size_t powers = rows <= PE_TABLE_ROTATION ? rows : PE_TABLE_ROTATION + 1;
    const size_t stride = columns + rows % 3, size = rows ? (powers - 1) * stride + columns : 0;
    double *cos = doubles(check, COS, columns, place), *sin = doubles(check, SIN, columns, place);
    double *error = check_memory(ERROR, PE_F64, columns, place);
    const double *step_cos = doubles(check, STEP_COS, size, place);
    const double *step_sin = doubles(check, STEP_SIN, size, place);

    for (size_t i = 0; i < columns; i++) {
        error[i] = ldexp(1, -8 - (int)(check_random(check) % 50));
        if (check_random(check) % 16 == 0)
            cos[i] = sin[i] = 0;
    }
    return (struct pe_table_rows){cos,    sin,  error,   step_cos,          step_sin,
                                  stride, rows, columns, columns + rows % 2};
}

static void check_rows(struct kernel_check *check, enum pe_dtype dtype, rows_kernel *run)
{
    static struct pe_table_undecided want_undecided, got_undecided;
    const size_t size = pe_dtype_info(dtype)->size;

    for (size_t rows = 0; rows <= PE_TABLE_ROWS; rows += 1 + rows / 3)
        for (size_t columns = 1; columns <= PE_TABLE_COLUMNS; columns += 1 + columns / 16) {
            const size_t place = check_random(check) % CHECK_PLACES;
            const struct pe_table_rows in = rows_new(check, rows, columns, place);
            const size_t count = rows ? (rows - 1) * in.out_stride + columns : 0;
            void *want = check_memory(WANT, dtype, count, place);
            void *got = check_memory(GOT, dtype, count, place);
            memset(want, 0, count * size);
            memset(got, 0, count * size);
            run(check->scalar, want, &in, &want_undecided);
            run(check->kernels, got, &in, &got_undecided);
            check_same(check, dtype, want, got, count, "rows=%zu columns=%zu place=%zu", rows,
                       columns, place);
            check_same(check, PE_I64, want_undecided.rows, got_undecided.rows, rows,
                       "undecided of rows=%zu columns=%zu", rows, columns);
        }
}

#define ROWS(name, DTYPE)                                                                          \
    static void run_##name(const struct pe_kernels *kernels, void *out,                            \
                           const struct pe_table_rows *in, struct pe_table_undecided *undecided)   \
    {                                                                                              \
        kernels->name(out, in, undecided);                                                         \
    }                                                                                              \
    void check_##name(struct kernel_check *check)                                                  \
    {                                                                                              \
        check_rows(check, DTYPE, run_##name);                                                      \
    }

ROWS(table_f32, PE_F32)
ROWS(table_f16, PE_F16)
ROWS(table_bf16, PE_BF16)

/* The second double of a slope with which the rounding error of one product is nearly cancelled, so
 * that this element is undecided. */
static double cancelling(double slope, double distance)
{
    const double product = slope * distance;

    return distance == 0 ? 0 : -fma(slope, distance, -product) / distance;
}

/* Slopes of few bits, whose products may be ties, and slopes that have a second double, some of
 * which leave any one element undecided. */
void check_line(struct kernel_check *check)
{
    for (size_t i = 0; i < 4000; i++) {
        const size_t count = PE_FLOAT32_PAD * (1 + i % 4), place = i % CHECK_PLACES;
        const double part = 0.5 + unit(check) / 2;
        const double high =
            ldexp(i % 3 ? part : (double)(float)part, -(int)(check_random(check) % 40));
        double slope[] = {i & 1 ? high : -high, i % 5 ? high * 0x1p-54 * unit(check) : 0};
        const double first = (double)(int64_t)(check_random(check) >> (12 + i % 48)) - 20;
        float *want = check_memory(WANT, PE_F32, count, place);
        float *got = check_memory(GOT, PE_F32, count, place);
        uint64_t want_undecided, got_undecided;

        if (i % 7 == 0)
            slope[1] = cancelling(slope[0], fabs(first + (double)(check_random(check) % count)));
        check->scalar->line(want, &want_undecided, slope, first, count, i & 1);
        check->kernels->line(got, &got_undecided, slope, first, count, i & 1);
        check_same(check, PE_F32, want, got, count, "slope=%a,%a first=%a", slope[0], slope[1],
                   first);
        check_same(check, PE_I64, &want_undecided, &got_undecided, 1, "undecided of slope=%a",
                   slope[0]);
    }
}

/* ---- f64, in sums of two doubles ------------------------------------------------------------ */

void check_table_anchors_f64(struct kernel_check *check)
{
    for (size_t i = 0; i < 2000; i++) {
        const size_t count = PE_TABLE_PAD * (check_random(check) % 5), place = i % CHECK_PLACES;
        const size_t size = sizeof(struct pe_anchors_f64) / sizeof(double);
        double *high = check_memory(COS, PE_F64, count, place);
        double *middle = check_memory(SIN, PE_F64, count, place);
        double *low = check_memory(ERROR, PE_F64, count, place);
        double *reach = doubles(check, STEP_COS, count, place);
        struct pe_anchors_f64 *want = check_memory(WANT, PE_F64, size, place % 2);
        struct pe_anchors_f64 *got = check_memory(GOT, PE_F64, size, place % 2);
        const double part = unit(check) - 0.5;
        const double t = ldexp(part, 34 - (int)(check_random(check) % 80));
        const double amplitude = 2 * unit(check);
        const struct pe_anchor_f64 at = {
            {t, t * 0x1p-54}, {amplitude, amplitude * 0x1p-55}, 0x1p-79, fabs(t) + 64, reach};
        const struct pe_phases phases = {high, middle, low};

        phases_fill(check, high, middle, low, count);
        memset(want, 0, sizeof(*want));
        memset(got, 0, sizeof(*got));
        check->scalar->table_anchors_f64(want, &at, &phases, count);
        check->kernels->table_anchors_f64(got, &at, &phases, count);
        check_same(check, PE_F64, want, got, size, "count=%zu t=%a", count, t);
    }
}

enum { POWERS = PE_TABLE_ROTATION + 1, F64_SIZE = POWERS * PE_F64_COLUMNS };

/* Numbers and, far below them, their second parts. */
static void double_double_fill(struct kernel_check *check, size_t slot, double parts[2][F64_SIZE],
                               size_t count)
{
    const double *high = doubles(check, slot, count, 0);

    for (size_t i = 0; i < count; i++) {
        parts[0][i] = high[i];
        parts[1][i] = high[i] * 0x1p-54 * (unit(check) - 0.5);
    }
}

void check_table_steps_f64(struct kernel_check *check)
{
    static double cos[2][2][F64_SIZE], sin[2][2][F64_SIZE];

    for (size_t rows = 1; rows <= POWERS; rows++)
        for (size_t count = PE_TABLE_PAD; count <= PE_F64_COLUMNS; count += PE_TABLE_PAD) {
            double_double_fill(check, COS, cos[0], F64_SIZE);
            double_double_fill(check, SIN, sin[0], F64_SIZE);
            memcpy(cos[1], cos[0], sizeof(cos[0]));
            memcpy(sin[1], sin[0], sizeof(sin[0]));
            check->scalar->table_steps_f64((double *[]){cos[0][0], cos[0][1]},
                                           (double *[]){sin[0][0], sin[0][1]}, PE_F64_COLUMNS, rows,
                                           count);
            check->kernels->table_steps_f64((double *[]){cos[1][0], cos[1][1]},
                                            (double *[]){sin[1][0], sin[1][1]}, PE_F64_COLUMNS,
                                            rows, count);
            check_same(check, PE_F64, cos[0], cos[1], 2 * F64_SIZE, "cos rows=%zu count=%zu", rows,
                       count);
            check_same(check, PE_F64, sin[0], sin[1], 2 * F64_SIZE, "sin rows=%zu count=%zu", rows,
                       count);
        }
}

void check_table_f64(struct kernel_check *check)
{
    static double x[2][F64_SIZE], y[2][F64_SIZE], p[2][F64_SIZE], q[2][F64_SIZE];
    static double error[PE_F64_COLUMNS];
    static struct pe_table_undecided want_undecided, got_undecided;

    for (size_t rows = 0; rows <= PE_TABLE_ROWS; rows += 1 + rows / 3)
        for (size_t columns = 1; columns <= PE_F64_COLUMNS; columns++) {
            const size_t place = check_random(check) % CHECK_PLACES, stride = columns + rows % 2;
            const size_t count = rows ? (rows - 1) * stride + columns : 0;
            const struct pe_table_rows_f64 in = {{x[0], x[1]}, {y[0], y[1]}, error,
                                                 {p[0], p[1]}, {q[0], q[1]}, PE_F64_COLUMNS,
                                                 rows,         columns,      stride};
            double *want = check_memory(WANT, PE_F64, 2 * count, place);
            double *got = check_memory(GOT, PE_F64, 2 * count, place);
            const bool rest = columns % 3 == 0;
            double_double_fill(check, COS, x, PE_F64_COLUMNS);
            double_double_fill(check, SIN, y, PE_F64_COLUMNS);
            double_double_fill(check, STEP_COS, p, F64_SIZE);
            double_double_fill(check, STEP_SIN, q, F64_SIZE);
            for (size_t i = 0; i < PE_F64_COLUMNS; i++)
                error[i] = ldexp(1, -50 - (int)(check_random(check) % 50));
            memset(want, 0, 2 * count * sizeof(double));
            memset(got, 0, 2 * count * sizeof(double));
            check->scalar->table_f64(want, rest ? want + count : NULL, &in, &want_undecided);
            check->kernels->table_f64(got, rest ? got + count : NULL, &in, &got_undecided);
            check_same(check, PE_F64, want, got, 2 * count, "rows=%zu columns=%zu place=%zu", rows,
                       columns, place);
            check_same(check, PE_I64, want_undecided.rows, got_undecided.rows, rows,
                       "undecided of rows=%zu columns=%zu", rows, columns);
        }
}

/* ---- float32 -------------------------------------------------------------------------------- */

void check_float32_waves(struct kernel_check *check)
{
    for (size_t i = 0; i < 8000; i++) {
        const size_t count = PE_FLOAT32_PAD * (check_random(check) % 5), place = i % CHECK_PLACES;
        float *frequencies = check_memory(COS, PE_F32, count, place);
        float *want = check_memory(WANT, PE_F32, 2 * count, place);
        float *got = check_memory(GOT, PE_F32, 2 * count, place);
        uint64_t want_undecided[2], got_undecided[2];
        const double part = unit(check) - 0.5;
        const float t = (float)ldexp(part, 27 - (int)(check_random(check) % 40));

        for (size_t k = 0; k < count; k++) {
            const double size = unit(check);
            frequencies[k] = (float)ldexp(size, -(int)(check_random(check) % 40));
        }
        check->scalar->float32_waves(want, want + count, want_undecided, t, frequencies, count);
        check->kernels->float32_waves(got, got + count, got_undecided, t, frequencies, count);
        check_same(check, PE_F32, want, got, 2 * count, "count=%zu t=%a", count, (double)t);
        check_same(check, PE_I64, want_undecided, got_undecided, 2, "undecided, count=%zu", count);
    }
}

/* ---- sums ----------------------------------------------------------------------------------- */

void check_product_f64(struct kernel_check *check)
{
    for (size_t count = 0; count < 300; count++) {
        const size_t place = count % CHECK_PLACES;
        const double *a = doubles(check, COS, count, place), *b = doubles(check, SIN, count, place);
        double want, got;

        check->scalar->product_f64(&want, a, b, count);
        check->kernels->product_f64(&got, a, b, count);
        check_same(check, PE_F64, &want, &got, 1, "count=%zu place=%zu", count, place);
    }
}

void check_table_sums(struct kernel_check *check)
{
    for (size_t rows = 0; rows <= PE_TABLE_ROWS; rows += 1 + rows / 3)
        for (size_t columns = PE_TABLE_PAD; columns <= PE_TABLE_COLUMNS; columns += PE_TABLE_PAD) {
            const struct pe_table_rows in =
                rows_new(check, rows, columns, check_random(check) % CHECK_PLACES);
            double want[2][PE_TABLE_ROWS] = {{1, 2, 3}, {4}}, got[2][PE_TABLE_ROWS];

            memcpy(got, want, sizeof(got));
            check->scalar->table_sums(want[0], want[1], &in);
            check->kernels->table_sums(got[0], got[1], &in);
            check_same(check, PE_F64, want, got, 2 * PE_TABLE_ROWS, "rows=%zu columns=%zu", rows,
                       columns);
        }
}

void check_table_scale(struct kernel_check *check)
{
    static struct pe_anchors want, got;
    const size_t size = sizeof(want) / sizeof(double);

    for (size_t i = 0; i < 2000; i++) {
        const size_t count = PE_TABLE_PAD * (check_random(check) % 9), place = i % CHECK_PLACES;
        const double *high = doubles(check, COS, count, place);
        double *low = doubles(check, SIN, count, place);
        const double distance[2] = {64 * (unit(check) - 0.5), 0x1p-54};

        for (size_t k = 0; k < count; k++)
            low[k] = high[k] * 0x1p-55;
        check_fill(check, &want, PE_F64, size, CHECK_UNIT);
        memcpy(&got, &want, sizeof(got));
        check->scalar->table_scale(&want, high, low, distance, count);
        check->kernels->table_scale(&got, high, low, distance, count);
        check_same(check, PE_F64, &want, &got, size, "count=%zu", count);
    }
}

/* ---- listed positions ----------------------------------------------------------------------- */

void check_table_rotations(struct kernel_check *check)
{
    for (size_t rows = 1; rows <= 40; rows++) {
        const size_t size = (rows + 6) * PE_LIST_COLUMNS, place = rows % CHECK_PLACES;
        double *x[2], *y[2];

        for (size_t i = 0; i < 2; i++) {
            x[i] = doubles(check, 2 * i, size, place);
            y[i] = doubles(check, 2 * i + 1, size, place);
        }
        memcpy(x[1], x[0], size * sizeof(double));
        memcpy(y[1], y[0], size * sizeof(double));
        check->scalar->table_rotations(x[0], y[0], rows);
        check->kernels->table_rotations(x[1], y[1], rows);
        check_same(check, PE_F64, x[0], x[1], size, "x rows=%zu", rows);
        check_same(check, PE_F64, y[0], y[1], size, "y rows=%zu", rows);
    }
}

enum { LIST_TABLE = 8 }; /* rows of each */

static void check_list(struct kernel_check *check, enum pe_dtype dtype,
                       void (*run)(const struct pe_kernels *kernels, void *out,
                                   const struct pe_table_list *in,
                                   struct pe_table_undecided *undecided))
{
    static struct pe_table_undecided want_undecided, got_undecided;
    struct pe_list_place places[PE_TABLE_ROWS];
    const size_t bytes = pe_dtype_info(dtype)->size, table = LIST_TABLE * PE_LIST_COLUMNS;

    for (size_t i = 0; i < 600; i++) {
        const size_t place = i % CHECK_PLACES, rows = i % (PE_TABLE_ROWS + 1);
        const size_t columns = i & 1 ? PE_LIST_COLUMNS : 1 + i / 2 % PE_LIST_COLUMNS;
        double *errors = check_memory(ERROR, PE_F64, table, place);
        const double *x = doubles(check, COS, 3 * table, place);
        const double *y = doubles(check, SIN, 3 * table, place);
        const struct pe_table_list in = {
            {x, y},         {{x + table, y + table}, {x + 2 * table, y + 2 * table}},
            errors,         places,
            rows,           columns,
            columns + i % 3};
        const size_t count = rows ? (rows - 1) * in.out_stride + columns : 0;
        void *want = check_memory(WANT, dtype, count, place);
        void *got = check_memory(GOT, dtype, count, place);

        for (size_t k = 0; k < table; k++)
            errors[k] = ldexp(1, -8 - (int)(check_random(check) % 50));
        for (size_t row = 0; row < rows; row++) {
            const uint64_t bits = check_random(check);
            places[row] =
                (struct pe_list_place){(uint16_t)(bits % LIST_TABLE * PE_LIST_COLUMNS),
                                       {(uint16_t)((bits >> 8) % LIST_TABLE * PE_LIST_COLUMNS),
                                        (uint16_t)((bits >> 16) % LIST_TABLE * PE_LIST_COLUMNS)},
                                       (uint16_t)((bits >> 24) % LIST_TABLE * PE_LIST_COLUMNS)};
        }
        memset(want, 0, count * bytes);
        memset(got, 0, count * bytes);
        run(check->scalar, want, &in, &want_undecided);
        run(check->kernels, got, &in, &got_undecided);
        check_same(check, dtype, want, got, count, "rows=%zu columns=%zu", rows, columns);
        check_same(check, PE_I64, want_undecided.rows, got_undecided.rows, rows,
                   "undecided of rows=%zu columns=%zu", rows, columns);
    }
}

#define LIST(name, DTYPE)                                                                          \
    static void run_##name(const struct pe_kernels *kernels, void *out,                            \
                           const struct pe_table_list *in, struct pe_table_undecided *undecided)   \
    {                                                                                              \
        kernels->name(out, in, undecided);                                                         \
    }                                                                                              \
    void check_##name(struct kernel_check *check)                                                  \
    {                                                                                              \
        check_list(check, DTYPE, run_##name);                                                      \
    }

LIST(table_list_f32, PE_F32)
LIST(table_list_f16, PE_F16)
LIST(table_list_bf16, PE_BF16)
