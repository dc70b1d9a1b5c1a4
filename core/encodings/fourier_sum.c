/* SPDX-License-Identifier: MIT */
#include "core/encodings/fourier_sum.h"

#include <math.h>

#include "core/exact/elementary.h"

/* A pair by Ziv's strategy, as in core/tables/exact_pair.c: in doubles, in double-doubles, then in
 * wide numbers of 192 to 1280 bits. */

/* Relative errors: of two operations of double-doubles; of a product that is not exact. */
#define DIVISION_ERROR 0x1p-98
#define PRODUCT_ERROR  0x1p-100
#define SUM_ERROR      0x1p-101

/* Products below it may have lost bits. */
#define LEAST_PRODUCT 0x1p-800

/* ---- frequencies and coordinates ------------------------------------------------------------- */

double pe_fourier_number(const struct pe_fourier_sum *sum, size_t axis, size_t band)
{
    if (sum->is_matrix)
        return sum->list[axis * sum->bands + band];
    if (sum->list)
        return sum->list[band];
    return sum->is_linear ? sum->divisor + (double)band * sum->rise[axis] : ldexp(1, (int)band);
}

/* value / divisor, whose quotient may be exact. */
static struct pe_fourier_near quotient(struct pe_exact value, double divisor)
{
    if (divisor == 1)
        return (struct pe_fourier_near){value, 0};
    const struct pe_exact result = pe_exact_divide(value, divisor);
    const struct pe_exact product = pe_two_product(result.hi, divisor);
    const bool exact = result.lo == 0 && product.hi == value.hi && product.lo == value.lo;

    return (struct pe_fourier_near){result, exact ? 0 : DIVISION_ERROR};
}

/* A frequency times the scale. */
static struct pe_fourier_near frequency_near(const struct pe_fourier_sum *sum, size_t axis,
                                             size_t band)
{
    const double number = pe_fourier_number(sum, axis, band);

    if (number == 0)
        return (struct pe_fourier_near){{number, 0}, 0};
    return quotient(sum->scale == 1 ? (struct pe_exact){number, 0}
                                    : pe_two_product(number, sum->scale),
                    sum->divisor);
}

/* ln u */
static struct pe_fourier_near logarithm(double u)
{
    const struct pe_exact above = pe_two_sum(u, -1);

    if (u == 1)
        return (struct pe_fourier_near){{0, 0}, 0};
    if (u > 1)
        return (struct pe_fourier_near){pe_exact_log1p(above), PE_LOG_ERROR_EXACT};
    const struct pe_exact ratio = pe_exact_over(pe_exact_negate(above), (struct pe_exact){u, 0});
    return (struct pe_fourier_near){pe_exact_negate(pe_exact_log1p(ratio)),
                                    PE_LOG_ERROR_EXACT * (1 + 0x1p-4)};
}

/* Can the logarithm of u be computed in double-doubles? */
static bool is_moderate(double u)
{
    return u == 1 || (u > 0x1p-300 && fabs(u - 1) > 0x1p-300);
}

struct pe_fourier_point pe_fourier_point_of(const struct pe_fourier_sum *sum, const double *u)
{
    struct pe_fourier_point point = {.sum = sum};

    for (size_t axis = 0; axis < sum->axes; axis++) {
        const struct pe_fourier_coordinate *c = &sum->coordinates[axis];
        struct pe_fourier_near *x = &point.x[axis];
        point.u[axis] = u[axis];
        if (sum->is_log)
            *x = is_moderate(u[axis]) ? logarithm(u[axis])
                                      : (struct pe_fourier_near){{0, 0}, INFINITY};
        else if (c->multiplier == 1)
            *x = (struct pe_fourier_near){{u[axis], 0}, 0};
        else {
            const struct pe_exact shifted = pe_two_sum(u[axis], c->offset);
            *x = quotient((struct pe_exact){2 * shifted.hi, 2 * shifted.lo}, c->divisor);
        }
    }
    return point;
}

/* The axis and the band of a pair that has one. */
static size_t axis_of(const struct pe_fourier_sum *sum, size_t pair)
{
    return sum->alternating ? pair % sum->axes : pair / sum->bands;
}

static size_t band_of(const struct pe_fourier_sum *sum, size_t pair)
{
    return sum->is_matrix ? pair : sum->alternating ? pair / sum->axes : pair % sum->bands;
}

/* ---- in double-doubles ----------------------------------------------------------------------- */

/* A sum of products: in turns, modulo 1; or in radians. */
struct total {
    struct pe_exact value;
    double error; /* absolute; 0: value is exact */
    double zero;  /* the sum of products that are 0, with the sign of a single one */
    bool empty;   /* all products are 0 */
};

static struct pe_exact whole_turns_drop(struct pe_exact turns)
{
    return pe_two_sum(turns.hi - nearbyint(turns.hi), turns.lo - nearbyint(turns.lo));
}

/* Adds a product. False: it is too small for double-doubles, or x is not there. */
static bool product_add(struct total *total, struct pe_fourier_near f, struct pe_fourier_near x,
                        int unit)
{
    if (isinf(x.error))
        return false;
    if (f.value.hi == 0 || x.value.hi == 0) {
        total->zero += f.value.hi * x.value.hi;
        return true;
    }
    struct pe_exact product = pe_two_product(f.value.hi, x.value.hi);
    const double cross = f.value.hi * x.value.lo + f.value.lo * x.value.hi;
    if (fabs(product.hi) < LEAST_PRODUCT)
        return false;
    if (f.error != 0 || x.error != 0 || cross != 0)
        total->error += fabs(product.hi) * (f.error + x.error + PRODUCT_ERROR);
    product.lo += cross;
    if (unit == PE_FOURIER_HALF_TURN)
        product = (struct pe_exact){product.hi / 2, product.lo / 2};
    product =
        unit == PE_FOURIER_RADIAN ? pe_two_sum(product.hi, product.lo) : whole_turns_drop(product);
    if (total->empty)
        total->value = product;
    else if (total->value.lo == 0 && product.lo == 0)
        total->value = pe_two_sum(total->value.hi, product.hi);
    else {
        total->error += (fabs(total->value.hi) + fabs(product.hi)) * SUM_ERROR;
        total->value = pe_exact_add(total->value, product);
    }
    total->empty = false;
    return true;
}

static bool total_of(struct total *total, const struct pe_fourier_point *point, size_t pair)
{
    const struct pe_fourier_sum *sum = point->sum;
    const size_t band = band_of(sum, pair);
    const size_t first = sum->is_matrix ? 0 : axis_of(sum, pair);
    const size_t end = sum->is_matrix ? sum->axes : first + 1;

    *total = (struct total){.empty = true, .zero = sum->is_matrix ? 0 : -0.0};
    for (size_t axis = first; axis < end; axis++)
        if (!product_add(total, frequency_near(sum, axis, band), point->x[axis], sum->unit))
            return false;
    return true;
}

/* Reduces turns to the nearest quarter. */
static void turns_reduce(struct pe_angle *angle, const struct total *total)
{
    const double quarters = nearbyint(4 * total->value.hi);
    const struct pe_exact rest = pe_two_sum(total->value.hi - quarters / 4, total->value.lo);

    angle->quarters = (unsigned)(int)quarters & 3;
    angle->rest = rest.hi == 0 ? rest : pe_exact_multiply(rest, PE_TWO_PI);
    angle->error = 6.3 * total->error + fabs(angle->rest.hi) * PRODUCT_ERROR;
}

/* Reduces radians, below 2^50 quarters. */
static bool radians_reduce(struct pe_angle *angle, const struct total *total)
{
    const double quarters = nearbyint(total->value.hi * M_2_PI);
    const struct pe_exact quarter = {PE_TWO_PI.hi / 4, PE_TWO_PI.lo / 4};

    *angle = (struct pe_angle){0, total->value, total->error};
    if (quarters == 0)
        return true;
    if (fabs(quarters) > 0x1p50)
        return false;
    struct pe_exact turned = pe_two_product(quarters, quarter.hi);
    turned = pe_quick_sum(turned.hi, turned.lo + quarters * quarter.lo);
    angle->quarters = (unsigned)(int64_t)quarters & 3;
    angle->rest = pe_exact_add(total->value, pe_exact_negate(turned));
    angle->error += fabs(turned.hi) * PRODUCT_ERROR;
    return true;
}

/* Sets the reduced angle of a pair. False: double-doubles do not hold it. */
static bool angle_of(struct pe_angle *angle, const struct pe_fourier_point *point, size_t pair)
{
    struct total total;

    if (!total_of(&total, point, pair))
        return false;
    if (total.empty) {
        *angle = (struct pe_angle){0, {total.zero, 0}, 0};
        return true;
    }
    if (point->sum->unit != PE_FOURIER_RADIAN)
        turns_reduce(angle, &total);
    else if (!radians_reduce(angle, &total))
        return false;
    return fabs(angle->rest.hi) >= LEAST_PRODUCT || (angle->rest.hi == 0 && angle->error == 0);
}

/* ---- in wide numbers ------------------------------------------------------------------------- */

/* Bits beyond those of a level, for sums that are not exact: a sum is below 2^130, and has 2^10
 * times the errors of its products. */
enum { SPARE = 192 };

struct wide_angle {
    unsigned quarters;
    struct pe_wide rest, error; /* radians */
};

/* frequency * divisor * scale * u's coordinate * common; the sum of two such numbers spans less
 * than PE_WIDE_BITS. */
static struct pe_wide product_wide(const struct pe_fourier_point *point, size_t axis, size_t band)
{
    const struct pe_fourier_sum *sum = point->sum;
    const struct pe_fourier_coordinate *c = &sum->coordinates[axis];
    struct pe_wide product = pe_wide_of(PE_WIDE_BITS, pe_fourier_number(sum, axis, band));

    product = pe_wide_mul_double(product, sum->scale);
    product = pe_wide_mul(product,
                          pe_wide_add_double(pe_wide_of(PE_WIDE_BITS, point->u[axis]), c->offset));
    return pe_wide_mul_double(product, c->multiplier * (sum->common / c->divisor));
}

/* frequency * divisor * scale * ln u */
static struct pe_wide logarithm_wide(const struct pe_fourier_point *point, size_t axis, size_t band,
                                     unsigned bits)
{
    const struct pe_fourier_sum *sum = point->sum;
    const struct pe_wide log = pe_wide_log(pe_wide_of(bits, point->u[axis]));

    return pe_wide_mul_double(pe_wide_mul_double(log, pe_fourier_number(sum, axis, band)),
                              sum->scale);
}

/* The sum of a pair, times `denominator`, and of the absolute values of its products. Its wide
 * numbers are not in the frame of its caller. */
__attribute__((noinline)) static struct pe_wide
sum_wide(const struct pe_fourier_point *point, size_t pair, unsigned bits, struct pe_wide *sizes)
{
    const struct pe_fourier_sum *sum = point->sum;
    const size_t band = band_of(sum, pair);
    const size_t first = sum->is_matrix ? 0 : axis_of(sum, pair);
    const size_t end = sum->is_matrix ? sum->axes : first + 1;
    struct pe_wide total = pe_wide_of(64, 0);

    *sizes = total;
    for (size_t axis = first; axis < end; axis++) {
        const struct pe_wide product =
            sum->is_log ? logarithm_wide(point, axis, band, bits) : product_wide(point, axis, band);
        total = pe_wide_add(total, product);
        *sizes = pe_wide_add(*sizes, pe_wide_cut(pe_wide_abs(product), 64));
    }
    return total;
}

static unsigned modulo_four(struct pe_wide whole)
{
    const struct pe_wide fours =
        pe_wide_scale(pe_wide_floor(pe_wide_scale(pe_wide_cut(whole, PE_WIDE_BITS), -2)), 2);

    return (unsigned)pe_wide_double(pe_wide_sub(whole, fours));
}

/* The angle of a pair. In radians it is not reduced. Its wide numbers are not in the frame of its
 * caller. */
__attribute__((noinline)) static struct wide_angle
wide_angle_of(const struct pe_fourier_point *point, size_t pair, unsigned bits)
{
    const struct pe_fourier_sum *sum = point->sum;
    const struct pe_wide denominator =
        pe_wide_mul_double(pe_wide_of(PE_WIDE_BITS, sum->common), sum->divisor);
    struct pe_wide sizes, total = sum_wide(point, pair, bits + SPARE, &sizes);
    struct wide_angle angle = {0};

    if (sum->unit == PE_FOURIER_RADIAN) {
        angle.rest = pe_wide_cut(pe_wide_div(total, denominator), bits + SPARE);
        /* 2^3 units of each product. */
        angle.error = pe_wide_scale(pe_wide_div(sizes, denominator), 4 - (int64_t)(bits + SPARE));
        return angle;
    }
    total = pe_wide_scale(total, sum->unit == PE_FOURIER_TURN ? 2 : 1); /* quarters */
    const struct pe_wide nearest =
        pe_wide_floor(pe_wide_add_double(pe_wide_div(total, denominator), 0.5));
    const struct pe_wide rest = pe_wide_sub(total, pe_wide_mul(nearest, denominator));
    angle.quarters = modulo_four(nearest);
    angle.rest = pe_wide_mul(pe_wide_cut(pe_wide_div(rest, denominator), bits + 64),
                             pe_wide_scale(pe_wide_pi(bits + 64), -1));
    angle.error = pe_wide_scale(pe_wide_abs(angle.rest), 4 - (int64_t)(bits + 64));
    if (sum->is_log)
        angle.error = pe_wide_add(angle.error, pe_wide_scale(pe_wide_div(sizes, denominator),
                                                             8 - (int64_t)(bits + SPARE)));
    return angle;
}

/* The sine of an angle in radians below 2^-600 that is exact: nearer to 0 by less than 2^-1200 of
 * it, which no precision separates. False: it is no such angle. */
static bool tiny_write(const struct wide_angle *angle, bool is_sin, enum pe_dtype dtype, void *out)
{
    const double one = 1;

    if (angle->rest.inexact || pe_wide_sign(angle->rest) == 0 ||
        pe_wide_exponent(angle->rest) > -600)
        return false;
    if (is_sin)
        pe_wide_write(
            pe_wide_sub(pe_wide_cut(angle->rest, PE_WIDE_BITS), pe_wide_scale(angle->rest, -1200)),
            dtype, out);
    else
        pe_from_f64(out, dtype, &one, 1);
    return true;
}

/* Its wide numbers are not in the frame of its caller. */
__attribute__((noinline)) static bool wide_try(const struct pe_fourier_point *point, size_t pair,
                                               unsigned bits, bool is_sin, enum pe_dtype dtype,
                                               void *out)
{
    const struct wide_angle angle = wide_angle_of(point, pair, bits);

    if (point->sum->unit == PE_FOURIER_RADIAN && tiny_write(&angle, is_sin, dtype, out))
        return true;
    struct pe_wide value =
        is_sin == (angle.quarters % 2 == 0) ? pe_wide_sin(angle.rest) : pe_wide_cos(angle.rest);
    if (is_sin ? angle.quarters >= 2 : angle.quarters == 1 || angle.quarters == 2)
        value = pe_wide_negate(value);
    const struct pe_wide error =
        pe_wide_add(angle.error, pe_wide_scale(pe_wide_abs(value), 4 - (int64_t)(bits + 64)));
    return pe_precision_round(bits, value, error, dtype, out);
}

static void wide_write(const struct pe_fourier_point *point, size_t pair, bool is_sin,
                       enum pe_dtype dtype, void *out)
{
    unsigned bits = PE_PRECISION_FIRST;

    while (!wide_try(point, pair, bits, is_sin, dtype, out))
        bits = pe_precision_next(bits);
}

/* ---- one pair -------------------------------------------------------------------------------- */

/* 0, with its sign, or 1 or -1 at whole quarters. */
static void write_at_quarters(unsigned quarters, bool is_sin, double zero, enum pe_dtype dtype,
                              void *out)
{
    const double size = is_sin ? quarters >= 2 ? -1 : 1 : quarters == 2 ? -1 : 1;
    const double value = is_sin == (quarters % 2 == 0) ? zero : size;

    pe_from_f64(out, dtype, &value, 1);
}

void pe_fourier_pair(const struct pe_fourier_point *point, size_t pair, enum pe_dtype dtype,
                     void *cos, void *sin)
{
    struct pe_cos_sin near;
    struct pe_angle angle;
    bool is_fine = dtype == PE_F64;
    const bool usable = angle_of(&angle, point, pair);

    if (usable && angle.rest.hi == 0) {
        write_at_quarters(angle.quarters, false, 0, dtype, cos);
        write_at_quarters(angle.quarters, true, angle.rest.hi, dtype, sin);
        return;
    }
    if (usable)
        near = is_fine ? pe_angle_cos_sin_exact(&angle) : pe_angle_cos_sin(&angle);
    for (int which = 0; which < 2; which++) {
        void *out = which ? sin : cos;
        if (usable && pe_exact_round(which ? near.sin : near.cos,
                                     which ? near.sin_error : near.cos_error, dtype, out))
            continue;
        if (usable && !is_fine) {
            near = pe_angle_cos_sin_exact(&angle);
            is_fine = true;
            which--;
            continue;
        }
        wide_write(point, pair, which, dtype, out);
    }
}

/* ---- coordinates ----------------------------------------------------------------------------- */

static struct pe_wide coordinate_real(unsigned bits, const void *context, size_t axis)
{
    const struct pe_fourier_point *point = context;
    const struct pe_fourier_coordinate *c = &point->sum->coordinates[axis];

    if (point->sum->is_log)
        return pe_wide_log(pe_wide_of(bits, point->u[axis]));
    const struct pe_wide shifted =
        pe_wide_add_double(pe_wide_of(PE_WIDE_BITS, point->u[axis]), c->offset);
    return pe_wide_div_double(pe_wide_mul_double(shifted, c->multiplier), c->divisor);
}

void pe_fourier_coordinate_write(const struct pe_fourier_point *point, size_t axis,
                                 enum pe_dtype dtype, void *out)
{
    const struct pe_fourier_near *x = &point->x[axis];

    if (isinf(x->error) || !pe_exact_round(x->value, fabs(x->value.hi) * x->error, dtype, out))
        pe_real_round(coordinate_real, point, axis, dtype, out);
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* Measured on one core, in nanoseconds of an element. */
#define COST_ROUGH 35.0   /* of doubles */
#define COST_FINE  260.0  /* of double-doubles */
#define COST_TERM  22.0   /* of a product */
#define COST_WIDE  8000.0 /* of wide numbers */

double pe_fourier_cost(const struct pe_fourier_sum *sum, const struct pe_fourier_reach *reach,
                       enum pe_dtype dtype)
{
    const double axes = sum->is_matrix ? (double)sum->axes : 1;
    const int digits = dtype == PE_F64 ? 53 : dtype == PE_F32 ? 24 : 11;
    double most = reach->most, least = reach->least;

    if (sum->is_log) {
        most = 745; /* above every |ln u| */
        least = 0x1p-60;
    }
    const bool is_inexact = sum->scale != 1 || sum->divisor != 1 || sum->common != 1 ||
                            sum->is_log || sum->unit == PE_FOURIER_RADIAN;
    const double error = is_inexact ? 0x1p-90 * axes * sum->most * most : 0x1p-96;
    double wide = fmin(1, ldexp(error, digits + 4));
    if (sum->least * least < LEAST_PRODUCT)
        wide = 1;
    return (dtype == PE_F64 ? COST_FINE : COST_ROUGH) + axes * COST_TERM + wide * COST_WIDE;
}
