/* SPDX-License-Identifier: MIT */

/* core/comparison/compare_operands.c: tables, rotations and caches; where they differ,
 * and which values lie outside of a path's intervals. */

#include <math.h>
#include <string.h>

#include "posenc/comparison.h"
#include "tests/core/refusing_work.h"
#include "tests/core/scheme_fixture.h"

enum { ROWS = 50, DIM = 16, PAIRS = DIM / 2 };

static unsigned long cases;

static struct opened rope_table(enum pe_dtype dtype)
{
    const struct request request = {"rope", "dim=16", "table", "length=50 start=7", dtype, NULL};

    return request_open(&request);
}

/* Compares on `pool`; the caller frees. */
static struct pe_differences *compared(const struct pe_differences_spec *spec, struct pe_pool *pool)
{
    struct pe_differences *differences;
    struct pe_error err = {0};

    ck_assert_msg(!pe_differences_new(&differences, spec, NULL, &err), "%s", err.detail);
    ck_assert(pe_differences_work(differences) > 0);
    ck_assert_msg(!pe_differences_find(differences, pool, &err), "%s", err.detail);
    cases++;
    return differences;
}

/* Two tables of a view and tensors: equal first; then a value of the second table differs. */
TEST(test_tables)
{
    OWNED_OPENED table = rope_table(PE_F32);
    static float values[2][ROWS][PAIRS];
    const struct pe_tensor tensors[] = {{PE_F32, 2, {ROWS, PAIRS}, values[0]},
                                        {PE_F32, 2, {ROWS, PAIRS}, values[1]}};
    const struct pe_operand a = SIZED(pe_operand, .view = table.view),
                            b = SIZED(pe_operand, .tensors = tensors, .tensors_count = 2);
    const struct pe_differences_spec spec = SIZED(pe_differences_spec, .a = &a, .b = &b,
                                                  .dtype = PE_F32, .by_row = true, .by_pair = true);
    struct pe_differences *differences;

    rows_fill(table.view, 0, 0, ROWS, values[0]);
    rows_fill(table.view, 1, 0, ROWS, values[1]);
    differences = compared(&spec, NULL);
    const struct pe_differences_found *found = pe_differences_found(differences);
    ck_assert(found->sum->elements == 2 * ROWS * PAIRS && found->sum->unequal == 0);
    ck_assert(found->tables == 2 && found->rows == ROWS && found->columns == PAIRS);
    ck_assert(found->pairs == PAIRS && found->heads == 0 && !found->by_head.abs);
    pe_differences_free(differences);

    values[1][31][5] += 0.25F;
    differences = compared(&spec, NULL);
    found = pe_differences_found(differences);
    ck_assert(found->sum->diverges && found->table == 1);
    ck_assert(found->sum->row == 31 && found->sum->column == 5);
    ck_assert(fabs(found->by_row.abs[31] - 0.25) < 1e-6 && found->by_row.abs[30] == 0);
    ck_assert(fabs(found->by_pair.abs[5] - 0.25) < 1e-6 && found->by_pair.abs[4] == 0);
    ck_assert(pe_differences_position(differences, 31) == 38);
    ck_assert(isnan(pe_differences_position(differences, ROWS)));
    pe_differences_free(differences);

    /* The first of all tables, by row and then by column, whichever table has it. */
    for (size_t first = 0; first < 2; first++)
        for (size_t by_row = 0; by_row < 2; by_row++) {
            const size_t rows[] = {12, 12 + by_row}, columns[] = {3, by_row ? 1 : 5};
            float *at[] = {&values[first][rows[0]][columns[0]],
                           &values[!first][rows[1]][columns[1]]};
            const float right[] = {*at[0], *at[1]};
            *at[0] += 0.5F;
            *at[1] += 0.5F;
            differences = compared(&spec, NULL);
            found = pe_differences_found(differences);
            ck_assert(found->table == first && found->sum->row == 12 && found->sum->column == 3);
            pe_differences_free(differences);
            *at[0] = right[0];
            *at[1] = right[1];
        }
}

/* Tensors of other dtypes are rounded to that of the comparison, in rows of any length. */
TEST(test_other_dtypes)
{
    enum { WIDTH = 1531 };
    static double a[2][WIDTH];
    static float b[2][WIDTH];
    const struct pe_tensor x = {PE_F64, 2, {2, WIDTH}, a}, y = {PE_F32, 2, {2, WIDTH}, b};
    const struct pe_operand left = SIZED(pe_operand, .tensors = &x, .tensors_count = 1),
                            right = SIZED(pe_operand, .tensors = &y, .tensors_count = 1);
    struct pe_differences_spec spec =
        SIZED(pe_differences_spec, .a = &left, .b = &right, .dtype = PE_F32, .by_pair = true);

    for (size_t row = 0; row < 2; row++)
        for (size_t i = 0; i < WIDTH; i++)
            b[row][i] = (float)(a[row][i] = sin((double)(row * WIDTH + i) + 0.7));
    for (int is_f64 = 0; is_f64 < 2; is_f64++)
        for (size_t at = 0; at < WIDTH; at += at == 0 ? 511 : 255) {
            struct pe_differences *differences;
            const struct pe_differences_found *found;
            spec.dtype = is_f64 ? PE_F64 : PE_F32;
            b[1][at] += 3;
            differences = compared(&spec, NULL);
            found = pe_differences_found(differences);
            ck_assert(is_f64 ? found->sum->unequal > WIDTH : found->sum->unequal == 1);
            ck_assert(fabs(found->sum->max_abs - 3) < 1e-6);
            for (size_t i = 0; i < WIDTH; i++)
                ck_assert(i == at ? fabs(found->by_pair.abs[i] - 3) < 1e-6
                                  : found->by_pair.abs[i] <= is_f64 * 0x1p-25);
            pe_differences_free(differences);
            b[1][at] = (float)a[1][at];
        }
}

/* The same numbers with any number of threads. */
TEST(test_threads)
{
    static double a[900][3], b[900][3];
    const struct pe_tensor x = {PE_F64, 2, {900, 3}, a}, y = {PE_F64, 2, {900, 3}, b};
    const struct pe_operand left = SIZED(pe_operand, .tensors = &x, .tensors_count = 1),
                            right = SIZED(pe_operand, .tensors = &y, .tensors_count = 1);
    const struct pe_differences_spec spec =
        SIZED(pe_differences_spec, .a = &left, .b = &right, .dtype = PE_F64, .by_row = true);
    struct pe_pool *pool;

    ck_assert(!pe_pool_new(&pool, 3, false, &(struct pe_error){0}));
    for (size_t i = 0; i < 2700; i++) {
        (&a[0][0])[i] = sin((double)i);
        (&b[0][0])[i] = sin((double)i) + 1e-9 * cos((double)(i * i));
    }
    struct pe_differences *one = compared(&spec, NULL), *several = compared(&spec, pool);
    ck_assert_mem_eq(pe_differences_found(one)->sum, pe_differences_found(several)->sum,
                     sizeof(struct pe_comparison));
    ck_assert(pe_differences_found(one)->sum->unequal > 2000);
    ck_assert(isnan(pe_differences_position(one, 0)) && pe_differences_pair(one, 2) == 2);
    pe_differences_free(one);
    pe_differences_free(several);
    pe_pool_free(pool);
}

/* ---- rotations ------------------------------------------------------------------------------- */

enum { LAYERS = 2, BATCH = 2, HEADS = 3, TOKENS = 20, WIDE = DIM + 2 };

static float source[LAYERS][BATCH][HEADS][TOKENS][WIDE],
    rotated[LAYERS][BATCH][HEADS][TOKENS][WIDE];
static const double starts[BATCH] = {3, 1000};

/* In float32: bf16's and f16's paths round more. */
static void rotations_make(bool half)
{
    for (size_t i = 0; i < sizeof(source) / sizeof(float) / WIDE; i++) {
        const float *x = &source[0][0][0][0][0] + i * WIDE;
        float *y = &rotated[0][0][0][0][0] + i * WIDE;
        const double t = starts[i / (HEADS * TOKENS) % BATCH] + (double)(i % TOKENS);
        for (size_t j = 0; j < WIDE; j++)
            (&source[0][0][0][0][0])[i * WIDE + j] = (float)sin((double)(i * WIDE + j));
        memcpy(y, x, WIDE * sizeof(*y));
        for (size_t pair = 0; pair < PAIRS; pair++) {
            const size_t a = half ? pair : 2 * pair, b = half ? pair + PAIRS : 2 * pair + 1;
            const double w = pow(10000, -(double)pair / PAIRS);
            const double c = cos(t * w), s = sin(t * w);
            y[a] = (float)(x[a] * c - x[b] * s);
            y[b] = (float)(x[a] * s + x[b] * c);
        }
    }
}

/* [l, b, h, s, d] as the scheme rotates it and as it is rotated here: each layer is a slab, each
 * batch row has positions of its own, two elements of a head do not rotate. */
TEST(test_rotations)
{
    OWNED_SCHEME scheme = scheme_new("rope", "dim=18 rotary_dim=16");
    const struct pe_tensor x = {PE_F32, 5, {LAYERS, BATCH, HEADS, TOKENS, WIDE}, source};
    const struct pe_tensor y = {PE_F32, 5, {LAYERS, BATCH, HEADS, TOKENS, WIDE}, rotated};
    double positions[BATCH][TOKENS];
    struct pe_rotation_spec rotation =
        SIZED(pe_rotation_spec, .scheme = scheme,
              .positions = {.values = positions[0], .count = TOKENS, .batch = BATCH});
    struct pe_operand a =
        SIZED(pe_operand, .tensors = &x, .tensors_count = 1, .rotation = &rotation);
    const struct pe_operand b = SIZED(pe_operand, .tensors = &y, .tensors_count = 1);
    struct pe_kv_axes axes;
    struct pe_differences_spec spec =
        SIZED(pe_differences_spec, .a = &a, .b = &b, .dtype = PE_F32, .tolerance = 1e-5,
              .axes = &axes, .by_pair = true, .has_path = true, .path = PE_PATH_F32_ANGLE);
    struct pe_error err = {0};

    ck_assert(!pe_scheme_prepare(scheme, NULL, &err));
    ck_assert(!pe_kv_axes_parse(&axes, NULL, &x, &err));
    ck_assert(!pe_kv_axes_slabs(&axes, &a.axes, &a.slabs, &err));
    ck_assert(a.slabs == LAYERS && a.axes.batch == BATCH && a.axes.heads_outer == HEADS &&
              a.axes.sequence == TOKENS && a.axes.head_dim == WIDE);
    for (size_t i = 0; i < BATCH * TOKENS; i++)
        positions[i / TOKENS][i % TOKENS] = starts[i / TOKENS] + (double)(i % TOKENS);
    for (int half = 0; half < 2; half++) {
        rotation.layout = rotation.output_layout = half ? PE_LAYOUT_HALF : PE_LAYOUT_INTERLEAVED;
        rotations_make(half);
        struct pe_differences *differences = compared(&spec, NULL);
        const struct pe_differences_found *found = pe_differences_found(differences);
        ck_assert(!found->sum->diverges && found->sum->max_abs < 1e-5);
        ck_assert(found->computed == 1 && found->outside.count == 0 && found->outside.used <= 1);
        ck_assert_uint_eq(found->heads, LAYERS * HEADS);
        ck_assert(pe_differences_pair(differences, half ? PAIRS + 3 : 7) == 3);
        ck_assert(pe_differences_pair(differences, DIM + 1) == DIM + 1);
        pe_differences_free(differences);

        rotated[1][1][2][9][half ? PAIRS + 3 : 7] += 0.01F;
        differences = compared(&spec, NULL);
        found = pe_differences_found(differences);
        const size_t row = ((1 * BATCH + 1) * HEADS + 2) * TOKENS + 9;
        ck_assert(found->sum->diverges && found->sum->row == row);
        ck_assert(pe_differences_position(differences, row) == 1009);
        ck_assert(found->by_head.abs[HEADS + 2] > 0.009 && found->by_head.abs[HEADS + 1] < 1e-5);
        ck_assert(found->by_pair.abs[3] > 0.009 && found->by_pair.abs[4] < 1e-5);
        ck_assert(found->outside.count == 1 && found->outside.row == row);
        ck_assert(found->outside.value > found->outside.interval.high);
        pe_differences_free(differences);
    }
}

/* ---- tolerance ------------------------------------------------------------------------------- */

/* Values of float32's operations lie inside; the next position's do not; intervals are stored. */
TEST(test_intervals)
{
    OWNED_OPENED table = rope_table(PE_F32);
    static float values[2][ROWS][PAIRS];
    const struct pe_tensor tensors[] = {{PE_F32, 2, {ROWS, PAIRS}, values[0]},
                                        {PE_F32, 2, {ROWS, PAIRS}, values[1]}};
    const struct pe_operand a = SIZED(pe_operand, .tensors = tensors, .tensors_count = 2),
                            b = SIZED(pe_operand, .view = table.view);
    const struct pe_differences_spec spec =
        SIZED(pe_differences_spec, .a = &a, .b = &b, .dtype = PE_F32, .has_path = true,
              .path = PE_PATH_F32_ANGLE, .keeps_intervals = true);

    ck_assert_int_eq(pe_path_dtype(PE_PATH_BF16_CACHE), PE_BF16);
    for (int shift = 0; shift < 2; shift++) {
        for (size_t i = 0; i < ROWS * PAIRS; i++) {
            const float w = 1 / powf(10000, (float)(2 * (i % PAIRS)) / DIM);
            const float angle = (float)(7 + i / PAIRS + (size_t)shift) * w;
            values[0][i / PAIRS][i % PAIRS] = cosf(angle);
            values[1][i / PAIRS][i % PAIRS] = sinf(angle);
        }
        struct pe_differences *differences = compared(&spec, NULL);
        const struct pe_differences_found *found = pe_differences_found(differences);
        ck_assert_uint_eq(found->computed, 0);
        ck_assert(shift ? found->outside.count > ROWS : found->outside.count == 0);
        ck_assert(shift || (found->outside.used > 0 && found->outside.used <= 1));
        for (size_t i = 0; i < ROWS * PAIRS && !shift; i++)
            ck_assert(found->intervals[ROWS * PAIRS + i].low <= values[1][i / PAIRS][i % PAIRS] &&
                      found->intervals[ROWS * PAIRS + i].high >= values[1][i / PAIRS][i % PAIRS]);
        ck_assert(!shift || (found->outside.table == 0 && found->outside.row == 0));
        pe_differences_free(differences);
    }
}

/* A refused reservation fails the call; all memory is given back. */
TEST(test_short_of_memory)
{
    static double values[30][4];
    const struct pe_tensor x = {PE_F64, 2, {30, 4}, values};
    const struct pe_operand a = SIZED(pe_operand, .tensors = &x, .tensors_count = 1);
    const struct pe_differences_spec spec = SIZED(pe_differences_spec, .a = &a, .b = &a,
                                                  .dtype = PE_F64, .by_row = true, .by_pair = true);
    enum pe_status status = PE_OUT_OF_MEMORY;
    long most = 0;

    for (; status; most++) {
        struct refusing refusing;
        struct pe_work *work = refusing_work(&refusing, most);
        struct pe_differences *differences;
        struct pe_error err = {0};
        status = pe_differences_new(&differences, &spec, work, &err);
        if (differences)
            status = pe_differences_find(differences, NULL, &err);
        ck_assert_int_eq(status, refusing.left < 0 ? PE_OUT_OF_MEMORY : PE_OK);
        pe_differences_free(differences);
        pe_work_free(work);
        ck_assert_uint_eq(refusing.held, 0);
    }
    ck_assert_int_gt(most, 30);
}

CHECK_WAY(.cases = &cases);
