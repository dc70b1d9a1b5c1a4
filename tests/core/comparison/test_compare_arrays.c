/* SPDX-License-Identifier: MIT */

/* core/comparison/compare_arrays.c and the distances of core/base/dtype.c: every dtype, sums in
 * parts. */

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "posenc/comparison.h"
#include "tests/check_main.h"

static unsigned long cases;

/* Steps of nextafter counted one by one, and a bit pattern apart where they have none. */
TEST(test_ulps)
{
    const float starts[] = {0, 1, -1, 0x1p-149f, -0x1p-149f, 3.3f, FLT_MAX / 2, -0.0f};
    const uint16_t halves[][2] = {{0x3c00, 0x3c01}, {0x0000, 0x8000}, {0x8001, 0x0001}};
    const double expected[] = {1, 0, 2};

    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        float at = starts[i];
        for (int steps = 0; steps < 100; steps++, cases++) {
            ck_assert(pe_ulps_apart(PE_F32, &starts[i], &at) == steps);
            ck_assert(pe_ulps_apart(PE_F32, &at, &starts[i]) == steps);
            at = nextafterf(at, INFINITY);
        }
    }
    for (size_t i = 0; i < 3; i++, cases += 2) {
        ck_assert(pe_ulps_apart(PE_F16, &halves[i][0], &halves[i][1]) == expected[i]);
        ck_assert(pe_ulps_apart(PE_BF16, &halves[i][0], &halves[i][1]) == expected[i]);
    }
    const double far[] = {-DBL_MAX, DBL_MAX, NAN, INFINITY, -INFINITY};
    ck_assert(pe_ulps_apart(PE_F64, &far[0], &far[1]) == 0x1.ffcp63);
    ck_assert(pe_ulps_apart(PE_F64, &far[2], &far[2]) == 0);
    ck_assert(pe_ulps_apart(PE_F64, &far[3], &far[3]) == 0);
    ck_assert(isinf(pe_ulps_apart(PE_F64, &far[3], &far[4])));
    ck_assert(isinf(pe_ulps_apart(PE_F64, &far[1], &far[3])));
    ck_assert(isinf(pe_ulps_apart(PE_F64, &far[1], &far[2])));
    cases += 6;
}

/* However the rows are cut, joined in order or not: the same. */
TEST(test_parts)
{
    enum { ROWS = 700, COLUMNS = 3 };
    static double a[ROWS * COLUMNS], b[ROWS * COLUMNS];

    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        a[i] = (double)(i % 17);
        b[i] = i % 50 == 31 ? a[i] + 0.25 : a[i];
    }
    b[500] += 4;
    for (size_t cut = 0; cut <= ROWS; cut += 7, cases++) {
        double rows_abs[ROWS] = {0}, columns_ulp[COLUMNS] = {0};
        const struct pe_maxima by_row = {rows_abs, NULL}, by_column = {NULL, columns_ulp};
        struct pe_comparison first = {.size = sizeof(first), .tolerance = 0.5},
                             second = {.size = sizeof(second), .tolerance = 0.5};
        pe_compare(&first, PE_F64, a, b, 0, cut, COLUMNS, &by_row, &by_column, NULL,
                   &(struct pe_error){0});
        pe_compare(&second, PE_F64, a + cut * COLUMNS, b + cut * COLUMNS, cut, ROWS - cut, COLUMNS,
                   &by_row, &by_column, NULL, &(struct pe_error){0});
        pe_comparison_join(&second, &first);
        ck_assert_uint_eq(second.elements, ROWS * COLUMNS);
        ck_assert_uint_eq(second.unequal, 43);
        ck_assert(second.max_abs == 4 && second.squares == 16 + 42 * 0.0625);
        ck_assert(second.diverges && second.row == 166 && second.column == 2);
        ck_assert(second.a == a[500] && second.b == b[500]);
        ck_assert(rows_abs[166] == 4 && rows_abs[0] == 0 && rows_abs[10] == 0.25);
        ck_assert(columns_ulp[0] > 0 && columns_ulp[1] > 0 && columns_ulp[2] == second.max_ulp);
        ck_assert(pe_comparison_rms(&second) == sqrt(second.squares / (ROWS * COLUMNS)));
    }
    const struct pe_maxima none = {NULL, NULL};
    struct pe_comparison nan = {.size = sizeof(nan)};
    b[0] = NAN;
    pe_compare(&nan, PE_F64, a, b, 0, 1, COLUMNS, &none, &none, NULL, &(struct pe_error){0});
    ck_assert(isinf(nan.max_abs) && isinf(nan.max_ulp) && isinf(nan.squares) && nan.diverges);
    ck_assert(pe_comparison_rms(&(struct pe_comparison){.size = sizeof(struct pe_comparison)}) ==
              0);
    cases += 2;
}

/* The first place that diverges is the first by row, then by column, in whatever order the parts
 * are joined. */
TEST(test_first_of_parts)
{
    static const size_t places[][2] = {{0, 0}, {0, 2}, {1, 0}, {1, 1}, {4, 0}};
    enum { PLACES = COUNT_OF(places) };

    for (size_t i = 0; i < PLACES; i++)
        for (size_t j = 0; j < PLACES; j++, cases++) {
            struct pe_comparison sum = {
                .diverges = true, .row = places[i][0], .column = places[i][1], .a = (double)i};
            const struct pe_comparison more = {
                .diverges = true, .row = places[j][0], .column = places[j][1], .a = (double)j};
            const size_t first = i < j ? i : j;
            pe_comparison_join(&sum, &more);
            ck_assert_uint_eq(sum.row, places[first][0]);
            ck_assert_uint_eq(sum.column, places[first][1]);
            ck_assert(sum.diverges && sum.a == (double)first);
        }
}

/* Values exactly as far apart as the tolerance are within it. */
TEST(test_tolerance)
{
    const double a[] = {1, 2, 3}, b[] = {1.5, 2.5, 3.75};
    struct pe_comparison sum = {.size = sizeof(sum), .tolerance = 0.5};

    pe_compare(&sum, PE_F64, a, b, 0, 1, 3, NULL, NULL, NULL, &(struct pe_error){0});
    ck_assert(sum.diverges && sum.column == 2);
    ck_assert_uint_eq(sum.unequal, 3);
    cases++;
}

CHECK_WAY(.cases = &cases);
