/* SPDX-License-Identifier: MIT */
#include "posenc/comparison.h"

#include <math.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/work.h"

enum {
    CHUNK = 256,
    CHECK = 1 << 16, /* elements between two checks of the work */
};

/* Nanoseconds of two elements, about. */
#define COMPARE_WORK 32.0

double pe_comparison_work(double elements)
{
    return elements * COMPARE_WORK;
}

static double apart(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
}

static void raise_to(const struct pe_maxima *maxima, size_t index, double abs, double ulp)
{
    if (maxima && maxima->abs && abs > maxima->abs[index])
        maxima->abs[index] = abs;
    if (maxima && maxima->ulp && ulp > maxima->ulp[index])
        maxima->ulp[index] = ulp;
}

static void element_add(struct pe_comparison *sum, size_t row, size_t column, double a, double b,
                        double abs, double ulp)
{
    sum->unequal++;
    sum->squares += abs * abs;
    sum->max_abs = fmax(sum->max_abs, abs);
    sum->max_ulp = fmax(sum->max_ulp, ulp);
    if (abs <= sum->tolerance || sum->diverges)
        return;
    sum->diverges = true;
    sum->row = row;
    sum->column = column;
    sum->a = a;
    sum->b = b;
}

enum pe_status pe_compare(struct pe_comparison *sum, enum pe_dtype dtype, const void *a,
                          const void *b, size_t row_begin, size_t rows, size_t columns,
                          const struct pe_maxima *by_row, const struct pe_maxima *by_column,
                          struct pe_work *work, struct pe_error *err)
{
    const size_t count = rows * columns;
    const char *left = a, *right = b;
    double x[CHUNK], y[CHUNK];
    struct pe_comparison ours;

    if (!pe_dtype_is_float(dtype))
        return pe_fail(err, PE_INVALID, "parameter:dtype", "f64, f32, f16 and bf16 are compared");
    if (pe_struct_read(&ours, sizeof(ours), sum, err))
        return err->status;
    if (sum->size < sizeof(ours)) /* all members are written */
        return pe_fail(err, PE_INVALID, "", "a struct pe_comparison has a size of %zu at least",
                       sizeof(ours));
    if (pe_spend(work, pe_comparison_work((double)count), err))
        return err->status;
    const size_t size = pe_dtype_info(dtype)->size;
    sum->elements += count;
    for (size_t begin = 0; begin < count; begin += CHUNK) {
        if (begin % CHECK == 0 && pe_work_check(work, err))
            return err->status;
        const size_t some = count - begin < CHUNK ? count - begin : CHUNK;
        pe_to_f64(x, left + begin * size, dtype, some);
        pe_to_f64(y, right + begin * size, dtype, some);
        for (size_t i = 0; i < some; i++) {
            const double abs = apart(x[i], y[i]);
            if (abs == 0)
                continue;
            const size_t at = begin + i, row = row_begin + at / columns, column = at % columns;
            const double ulp = pe_ulps_apart(dtype, left + at * size, right + at * size);
            element_add(sum, row, column, x[i], y[i], abs, ulp);
            raise_to(by_row, row, abs, ulp);
            raise_to(by_column, column, abs, ulp);
        }
    }
    return PE_OK;
}

void pe_comparison_join(struct pe_comparison *sum, const struct pe_comparison *more)
{
    sum->elements += more->elements;
    sum->unequal += more->unequal;
    sum->squares += more->squares;
    sum->max_abs = fmax(sum->max_abs, more->max_abs);
    sum->max_ulp = fmax(sum->max_ulp, more->max_ulp);
    if (!more->diverges ||
        (sum->diverges &&
         (sum->row < more->row || (sum->row == more->row && sum->column <= more->column))))
        return;
    sum->diverges = true;
    sum->row = more->row;
    sum->column = more->column;
    sum->a = more->a;
    sum->b = more->b;
}

double pe_comparison_rms(const struct pe_comparison *sum)
{
    return sum->elements > 0 ? sqrt(sum->squares / (double)sum->elements) : 0;
}
