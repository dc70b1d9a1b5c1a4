/* SPDX-License-Identifier: MIT */
#include "core/encodings/grid_resampling.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/exact/exact_sum.h"

/* A cell i of n on an axis has the sum of f(x_j) p_j over the m cells j of the table, over the sum
 * of f(x_j); f is a triangle, or Keys' cubic. With a scale S / T, which is m / n, m / (n + offset)
 * or (m - 1) / (n - 1), the distance x_j is ((2j + 1) T - c) / q, c / 2T being the centre of the
 * cell on the axis of the table, and q being 2T, or 2 max(S, T) where antialias widens f. Without
 * antialias j goes beyond the edges, where p_j is the cell at the edge. */

/* S and T are at most 2^12 + 1, with up to 62 digits after the point: a distance times q has 88
 * bits, its cube 264, and a sum of such cubes 286. */
enum { AXIS_BITS = 320, BOTH_BITS = 2 * AXIS_BITS, SUM_BITS = 768 };

enum { CHUNK = 256, Y = 0, X = 1 };

/* Weights of one cell of the new grid: those of `count` cells of the table from `first` on. */
struct run {
    int64_t first;
    size_t count, at;
    bool are_doubles; /* weights are exact doubles, as those of scales 1/2 and 1/4 are */
};

struct axis {
    size_t from, to;
    bool cubic, antialias;
    struct pe_wide s, t, q; /* S, T, and q above */
    bool ends;              /* the centre of the first cell is that of the first of the table */
    struct run *runs;
    struct pe_exact *weights; /* they sum to 1; relative errors are below 2^-104 */
    size_t weights_count;
};

struct pe_resampling {
    struct pe_resampling_spec spec;
    struct axis axes[2];
};

/* ---- weights --------------------------------------------------------------------------------- */

static struct pe_wide whole(uint64_t number)
{
    return pe_wide_of_uint(AXIS_BITS, number);
}

static struct axis axis_of(const struct pe_resampling_spec *spec, int side)
{
    const size_t from = spec->from[side], to = spec->to[side];
    const bool single = spec->align_corners && to == 1; /* torch's scale is 0 then */
    const size_t less = spec->align_corners ? 1 : 0;
    /* torch copies an axis whose size stays, but for this mode. */
    const bool scaled = from != to || (spec->mode == PE_BICUBIC && !spec->antialias);
    struct axis axis = {.from = from,
                        .to = to,
                        .cubic = spec->mode == PE_BICUBIC,
                        .antialias = spec->antialias,
                        .ends = spec->align_corners && !spec->antialias};

    axis.s = whole(single ? 0 : from - less);
    axis.t = single ? whole(1) : pe_wide_add_double(whole(to - less), scaled ? spec->offset : 0);
    axis.q = spec->antialias && pe_wide_compare(axis.s, axis.t) > 0 ? axis.s : axis.t;
    axis.q = pe_wide_scale(axis.q, 1);
    return axis;
}

static struct pe_wide centre_of(const struct axis *axis, size_t i)
{
    return axis->ends ? pe_wide_add(pe_wide_mul_uint(axis->s, 2 * i), axis->t)
                      : pe_wide_mul_uint(axis->s, 2 * i + 1);
}

/* (A + 8) n^3 - (A + 12) n^2 q + 4 q^3 up to a distance of 1, and A (n^3 - 5 n^2 q + 8 n q^2 -
 * 4 q^3) up to 2, A being four times torch's factor: -0.5 with antialias, -0.75 without. */
static struct pe_wide cubic(struct pe_wide n, struct pe_wide q, bool antialias)
{
    const double factor = antialias ? -2 : -3;
    const struct pe_wide q3 = pe_wide_mul_double(pe_wide_mul(pe_wide_mul(q, q), q), 4);
    struct pe_wide sum;

    if (pe_wide_compare(n, q) <= 0) {
        sum = pe_wide_sub(pe_wide_mul_double(n, factor + 8), pe_wide_mul_double(q, factor + 12));
        return pe_wide_add(pe_wide_mul(pe_wide_mul(sum, n), n), q3);
    }
    sum = pe_wide_sub(n, pe_wide_mul_double(q, 5));
    sum = pe_wide_add(pe_wide_mul(sum, n), pe_wide_mul_double(pe_wide_mul(q, q), 8));
    return pe_wide_mul_double(pe_wide_sub(pe_wide_mul(sum, n), q3), factor);
}

/* f of the distance of cell j, times q or 4 q^3: exact. False: it is 0. Its wide numbers are not in
 * the frame of its caller. */
__attribute__((noinline)) static bool numerator(const struct axis *axis, struct pe_wide centre,
                                                int64_t j, struct pe_wide *out)
{
    const struct pe_wide at = pe_wide_mul_double(axis->t, (double)(2 * j + 1));
    const struct pe_wide n = pe_wide_abs(pe_wide_sub(at, centre));
    const struct pe_wide reach = axis->cubic ? pe_wide_scale(axis->q, 1) : axis->q;

    if (pe_wide_compare(n, reach) >= 0)
        return false;
    *out = axis->cubic ? cubic(n, axis->q, axis->antialias) : pe_wide_sub(axis->q, n);
    return true;
}

/* Cells [begin, end) have all those within reach among them. */
static void reached(const struct axis *axis, size_t i, int64_t *begin, int64_t *end)
{
    const double t = pe_wide_double(axis->t), q = pe_wide_double(axis->q);
    const double centre = pe_wide_double(centre_of(axis, i)) / (2 * t);
    const double reach = (axis->cubic ? 2 : 1) * q / (2 * t);

    *begin = (int64_t)floor(centre - reach) - 2;
    *end = (int64_t)ceil(centre + reach) + 2;
    if (axis->antialias) {
        *begin = *begin < 0 ? 0 : *begin;
        *end = *end > (int64_t)axis->from ? (int64_t)axis->from : *end;
    }
}

/* Sets a run, and its numerators and their sum where `numerators` is not NULL. */
static struct run run_of(const struct axis *axis, size_t i, struct pe_wide *numerators,
                         struct pe_wide *total)
{
    const struct pe_wide centre = centre_of(axis, i);
    struct run run = {0};
    int64_t begin, end;

    *total = whole(0);
    reached(axis, i, &begin, &end);
    for (int64_t j = begin; j < end; j++) {
        struct pe_wide value;
        if (!numerator(axis, centre, j, &value))
            continue;
        if (run.count == 0)
            run.first = j;
        if (numerators)
            numerators[run.count] = value;
        *total = pe_wide_add(*total, value);
        run.count++;
    }
    return run;
}

/* Estimated nanoseconds of a weight. */
#define WEIGHT_COST 700

static double reach_of(const struct pe_resampling_spec *spec, int side)
{
    const double scale = (double)spec->from[side] / (double)spec->to[side];

    return (spec->mode == PE_BICUBIC ? 2 : 1) * (spec->antialias ? fmax(1, scale) : 1);
}

/* No run has as many weights. */
static size_t run_limit(const struct axis *axis)
{
    const double widened = pe_wide_double(axis->q) / (2 * pe_wide_double(axis->t));

    return (size_t)ceil((axis->cubic ? 4 : 2) * widened) + 2;
}

/* is_double: becomes false where the quotient is no double. */
static struct pe_exact quotient(struct pe_wide a, struct pe_wide b, bool *is_double)
{
    const struct pe_wide value = pe_wide_div(a, b);
    const double hi = pe_wide_double(value);
    const double lo = pe_wide_double(pe_wide_sub_double(value, hi));

    *is_double = *is_double && lo == 0 && pe_wide_compare(pe_wide_mul_double(b, hi), a) == 0;
    return (struct pe_exact){hi, lo};
}

static enum pe_status axis_prepare(struct axis *axis, struct pe_work *work, struct pe_error *err)
{
    const size_t limit = run_limit(axis);
    struct pe_wide *numerators =
        pe_memory_take(work, limit, sizeof(*numerators), "weights of a grid", err);

    axis->runs = pe_memory_take(work, axis->to, sizeof(*axis->runs), "weights of a grid", err);
    axis->weights_count = axis->to * limit;
    axis->weights =
        pe_memory_take(work, axis->weights_count, sizeof(*axis->weights), "weights of a grid", err);
    for (size_t i = 0, at = 0; i < axis->to && !err->status && !pe_work_check(work, err); i++) {
        struct pe_wide total;
        axis->runs[i] = run_of(axis, i, numerators, &total);
        axis->runs[i].at = at;
        axis->runs[i].are_doubles = true;
        for (size_t k = 0; k < axis->runs[i].count; k++)
            axis->weights[at++] = quotient(numerators[k], total, &axis->runs[i].are_doubles);
    }
    pe_memory_give(work, numerators, limit, sizeof(*numerators));
    return err->status;
}

double pe_resampling_cost(const struct pe_resampling_spec *spec)
{
    double cells = 0;

    for (int side = Y; side <= X; side++)
        cells += (double)spec->to[side] * (2 * reach_of(spec, side) + 5);
    return cells * WEIGHT_COST;
}

enum pe_status pe_resampling_new(struct pe_resampling **out, const struct pe_resampling_spec *spec,
                                 struct pe_work *work, struct pe_error *err)
{
    struct pe_resampling *made = calloc(1, sizeof(*made));

    *out = NULL;
    if (!made)
        return pe_no_memory(err, "a grid");
    made->spec = *spec;
    for (int side = Y; side <= X && !err->status; side++) {
        made->axes[side] = axis_of(spec, side);
        axis_prepare(&made->axes[side], work, err);
    }
    if (err->status) {
        pe_resampling_free(made);
        return err->status;
    }
    *out = made;
    return PE_OK;
}

void pe_resampling_free(struct pe_resampling *resampling)
{
    for (int side = Y; resampling && side <= X; side++) {
        free(resampling->axes[side].runs);
        free(resampling->axes[side].weights);
    }
    free(resampling);
}

/* ---- a row ----------------------------------------------------------------------------------- */

/* A cell of the new grid, and where its row is read. */
struct target {
    const struct pe_resampling *resampling;
    const struct pe_scheme *scheme;
    size_t cell[2];
    const struct run *runs[2];
    struct pe_wide *numerators[2]; /* NULL until an element is summed exactly */
    struct pe_wide totals[2];
    struct pe_pace pace;
};

static const struct pe_exact *weights_of(const struct target *target, int side)
{
    return target->resampling->axes[side].weights + target->runs[side]->at;
}

/* The cell of the table that the k-th weight of an axis belongs to. */
static size_t source(const struct target *target, int side, size_t k)
{
    const int64_t j = target->runs[side]->first + (int64_t)k;
    const int64_t last = (int64_t)target->resampling->axes[side].from - 1;

    return (size_t)(j < 0 ? 0 : j > last ? last : j);
}

static void values_read(const struct target *target, size_t down, size_t across, size_t column,
                        size_t count, double *out)
{
    const struct pe_resampling_spec *spec = &target->resampling->spec;
    const size_t row =
        spec->before + source(target, Y, down) * spec->from[X] + source(target, X, across);

    pe_learned_read(target->scheme, row, column, count, out);
}

/* Sums of products, and of their magnitudes. */
struct sums {
    double value[CHUNK], size[CHUNK];
};

/* Errors are below (products + 8) 2^-52 of the size, since those of a weight are below 2^-51: where
 * 2^-600 < size < 2^600, so that no product underflows or overflows. */
static enum pe_status sums_set(struct target *target, size_t column, size_t count,
                               struct sums *sums, struct pe_error *err)
{
    const struct pe_exact *down = weights_of(target, Y), *across = weights_of(target, X);
    double values[CHUNK];

    *sums = (struct sums){{0}, {0}};
    for (size_t a = 0; a < target->runs[Y]->count; a++)
        for (size_t b = 0; b < target->runs[X]->count; b++) {
            const double weight = down[a].hi * across[b].hi;
            if (pe_pace(&target->pace, 2 * count, err))
                return err->status;
            values_read(target, a, b, column, count, values);
            for (size_t i = 0; i < count; i++) {
                const double product = weight * values[i];
                sums->value[i] += product;
                sums->size[i] += fabs(product);
            }
        }
    return PE_OK;
}

static bool is_moderate(double size)
{
    return size > 0x1p-600 && size < 0x1p600;
}

static double products_of(const struct target *target)
{
    return (double)target->runs[Y]->count * (double)target->runs[X]->count;
}

/* An element by double-doubles: an error below (products + 8) 2^-100 of `size`, the sum of the
 * products' magnitudes, or none at all. */
struct element {
    struct pe_exact sum;
    double size;
    bool is_exact;
};

/* Adds a product of three numbers. The sum stays exact where no part of it is rounded: a product
 * with 0, or one of doubles. */
static void product_sum(struct element *element, struct pe_exact weight, double value,
                        bool are_doubles)
{
    const struct pe_exact product = pe_exact_multiply(weight, (struct pe_exact){value, 0});
    const struct pe_exact high = pe_two_sum(element->sum.hi, product.hi);
    const struct pe_exact low = pe_two_sum(element->sum.lo, product.lo);
    const struct pe_exact carry = pe_two_sum(high.lo, low.hi);
    const double size = fabs(product.hi);
    const bool is_product = weight.lo == 0 && size > 0x1p-900 && size < 0x1p900;
    const bool is_exact = value == 0 || (are_doubles && (is_product || weight.hi == 0));

    element->is_exact = element->is_exact && is_exact && low.lo == 0 && carry.lo == 0;
    element->sum = pe_exact_add(element->sum, product);
    element->size += size;
}

static enum pe_status element_sum(struct target *target, size_t column, struct element *element,
                                  struct pe_error *err)
{
    const struct pe_exact *down = weights_of(target, Y), *across = weights_of(target, X);
    const bool are_doubles = target->runs[Y]->are_doubles && target->runs[X]->are_doubles;

    *element = (struct element){.is_exact = true};
    for (size_t a = 0; a < target->runs[Y]->count; a++)
        for (size_t b = 0; b < target->runs[X]->count; b++) {
            double value;
            if (pe_pace(&target->pace, 16, err))
                return err->status;
            values_read(target, a, b, column, 1, &value);
            product_sum(element, pe_exact_multiply(down[a], across[b]), value, are_doubles);
        }
    return PE_OK;
}

/* Adds value * factor; the factor becomes doubles that sum to it. */
static void product_add(struct pe_sum *sum, double value, struct pe_wide factor)
{
    while (pe_wide_sign(factor) != 0) {
        const double part = pe_wide_double_inward(factor);
        pe_sum_add(sum, value, part);
        factor = pe_wide_sub_double(factor, part);
    }
}

static enum pe_status numerators_make(struct target *target, struct pe_error *err)
{
    for (int side = Y; side <= X; side++) {
        const size_t count = target->runs[side]->count;
        if (!target->numerators[side])
            target->numerators[side] = pe_memory_take(
                target->pace.work, count, sizeof(struct pe_wide), "weights of a grid", err);
        if (!target->numerators[side])
            return err->status;
        run_of(&target->resampling->axes[side], target->cell[side], target->numerators[side],
               &target->totals[side]);
    }
    return PE_OK;
}

/* The sum of the products with numerators is exact. Truncating it and the quotient to 768 bits does
 * not move the quotient across a number of at most 54 bits, since the product of such a number and
 * both totals has at most 626 bits. */
static enum pe_status sum_exactly(struct target *target, size_t column, enum pe_dtype dtype,
                                  void *out, struct pe_error *err)
{
    struct pe_sum sum = {{0}};

    if (!target->numerators[X] && numerators_make(target, err))
        return err->status;
    for (size_t a = 0; a < target->runs[Y]->count; a++)
        for (size_t b = 0; b < target->runs[X]->count; b++) {
            const struct pe_wide down = pe_wide_cut(target->numerators[Y][a], BOTH_BITS);
            double value;
            if (pe_pace(&target->pace, 512, err))
                return err->status;
            values_read(target, a, b, column, 1, &value);
            product_add(&sum, value, pe_wide_mul(down, target->numerators[X][b]));
        }
    const struct pe_wide total =
        pe_wide_mul(pe_wide_cut(target->totals[Y], BOTH_BITS), target->totals[X]);
    pe_wide_write(pe_wide_div(pe_sum_wide(&sum, SUM_BITS), total), dtype, out);
    return PE_OK;
}

static enum pe_status element_write(struct target *target, size_t column, enum pe_dtype dtype,
                                    void *out, struct pe_error *err)
{
    struct element element;
    double error;

    if (element_sum(target, column, &element, err))
        return err->status;
    error = element.is_exact ? 0 : (products_of(target) + 8) * 0x1p-100 * element.size;
    if ((element.is_exact || is_moderate(element.size)) &&
        pe_exact_round(element.sum, error, dtype, out))
        return PE_OK;
    return sum_exactly(target, column, dtype, out, err);
}

static enum pe_status chunk_write(struct target *target, size_t column, size_t count,
                                  enum pe_dtype dtype, void *out, struct pe_error *err)
{
    const size_t size = pe_dtype_info(dtype)->size;
    const double error = (products_of(target) + 8) * 0x1p-52;
    struct sums sums = {{0}, {0}};

    if (dtype != PE_F64 && sums_set(target, column, count, &sums, err))
        return err->status;
    for (size_t i = 0; i < count; i++) {
        void *at = (char *)out + i * size;
        if (is_moderate(sums.size[i]) &&
            pe_exact_round((struct pe_exact){sums.value[i], 0}, error * sums.size[i], dtype, at))
            continue;
        if (element_write(target, column + i, dtype, at, err))
            return err->status;
    }
    return PE_OK;
}

enum pe_status pe_resampling_row(const struct pe_resampling *resampling,
                                 const struct pe_scheme *scheme, size_t cell, enum pe_dtype dtype,
                                 void *out, struct pe_work *work, struct pe_error *err)
{
    const size_t width = pe_learned_width(scheme), size = pe_dtype_info(dtype)->size;
    struct target target = {.resampling = resampling,
                            .scheme = scheme,
                            .cell = {cell / resampling->axes[X].to, cell % resampling->axes[X].to},
                            .pace = {.work = work}};

    for (int side = Y; side <= X; side++)
        target.runs[side] = &resampling->axes[side].runs[target.cell[side]];
    for (size_t at = 0; at < width && !err->status; at += CHUNK)
        chunk_write(&target, at, pe_min(CHUNK, width - at), dtype, (char *)out + at * size, err);
    for (int side = Y; side <= X; side++)
        pe_memory_give(work, target.numerators[side], target.runs[side]->count,
                       sizeof(struct pe_wide));
    return err->status;
}

double pe_resampling_element_cost(const struct pe_resampling_spec *spec, enum pe_dtype dtype)
{
    const double products = 4 * reach_of(spec, Y) * reach_of(spec, X);

    return dtype == PE_F64 ? 20 + products * 17 : 45 + products * 2.5;
}
