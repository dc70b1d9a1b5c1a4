/* SPDX-License-Identifier: MIT */
#include "tests/core/kernels/kernel_check.h"

#include <math.h>
#include <string.h>

/* Slots of memory: those of the input, then both results. */
enum { X, Y, ERRORS = 4, WANT, GOT };

static double *doubles(struct kernel_check *check, size_t slot, size_t count, size_t place)
{
    double *data = check_memory(slot, PE_F64, count, place);

    check_fill(check, data, PE_F64, count, CHECK_UNIT);
    return data;
}

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
        double *errors = check_memory(ERRORS, PE_F64, table, place);
        const double *x = doubles(check, X, 3 * table, place);
        const double *y = doubles(check, Y, 3 * table, place);
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
