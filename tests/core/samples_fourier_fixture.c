/* SPDX-License-Identifier: MIT */
#include "tests/core/samples_draw.h"

/* Fourier features of points: sums in 640 bits, which hold them. */

enum { BITS = 640, RADIAN, HALF_TURN, TURN };
enum { INDEX, CENTRES, ENDS, LOGARITHM };

/* Of columns: whether it is a coordinate, and of which axis; the frequency of each axis in `list`,
 * and what divides all of them. */
struct column {
    bool is_input, is_sin;
    size_t axis, pair;
};

/* What sample.list holds. */
struct drawn {
    double unit, kind, axes, bands, matrix, alternating, layout, flip, input, scale, divisor;
    double size[SAMPLE_AXES];
    double frequency[SAMPLE_AXES][SAMPLE_COLUMNS]; /* of axes and pairs, times divisor */
};

static struct drawn *drawn_of(const struct sample *s)
{
    return (struct drawn *)(void *)(uintptr_t)s->list;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static void list_put(struct sample *s, const char *name, const double *list, size_t count)
{
    snprintf(s->text + strlen(s->text), sizeof(s->text) - strlen(s->text), " %s=", name);
    for (size_t i = 0; i < count; i++)
        sample_put(s->text, sizeof(s->text), i ? "," : "", list[i]);
}

static double signed_draw(struct sample *s)
{
    const double number = sample_real(s, -6, 6);

    return sample_bits(s) & 1 ? number : -number;
}

static void matrix_draw(struct sample *s, struct drawn *d)
{
    const size_t axes = (size_t)d->axes, pairs = sample_whole(s, 1, 12);

    d->bands = (double)pairs;
    for (size_t axis = 0; axis < axes; axis++)
        for (size_t pair = 0; pair < pairs; pair++) {
            d->frequency[axis][pair] = sample_whole(s, 0, 9) ? signed_draw(s) : 0;
            sample_put(s->text, sizeof(s->text),
                       pair   ? ","
                       : axis ? ";"
                              : " matrix=",
                       d->frequency[axis][pair]);
        }
}

/* Bands of any kind: each pair has the frequency of one axis. */
static void bands_draw(struct sample *s, struct drawn *d)
{
    const size_t axes = (size_t)d->axes, bands = sample_whole(s, 1, 10);
    const size_t kind = sample_whole(s, 0, 2);
    double listed[SAMPLE_COLUMNS], last[SAMPLE_AXES];

    for (size_t band = 0; band < bands; band++)
        listed[band] = signed_draw(s);
    for (size_t axis = 0; axis < axes; axis++)
        last[axis] = (double)sample_whole(s, 1, 500);
    d->bands = (double)bands;
    if (kind == 2)
        list_put(s, "frequencies", listed, bands);
    else
        list_put(s, "bands", &d->bands, 1);
    if (kind == 1)
        list_put(s, "max_resolution", last, axes);
    if (kind == 1 && bands > 1)
        d->divisor = (double)bands - 1;
    for (size_t pair = 0; pair < axes * bands; pair++) {
        const size_t axis = d->alternating != 0 ? pair % axes : pair / bands;
        const size_t band = d->alternating != 0 ? pair / axes : pair % bands;
        d->frequency[axis][pair] = kind == 0   ? ldexp(1, (int)band)
                                   : kind == 1 ? d->divisor + (double)band * (last[axis] / 2 - 1)
                                               : listed[band];
    }
}

static void points_draw(struct sample *s, const struct drawn *d)
{
    snprintf(s->view, sizeof(s->view), "coordinates=");
    for (size_t row = 0; row < SAMPLE_ROWS; row++)
        for (size_t axis = 0; axis < (size_t)d->axes; axis++) {
            double u = sample_whole(s, 0, 3)   ? sample_place(s) / 2
                       : sample_whole(s, 0, 3) ? (double)sample_whole(s, 0, 20)
                                               : ldexp(sample_place(s), -600);
            if (d->kind == LOGARITHM)
                u = u == 0 ? 1 : fabs(u);
            s->at[row][axis] = u;
            sample_put(s->view, sizeof(s->view), row || axis ? "," : "", u);
        }
}

void sample_fourier_draw(struct sample *s)
{
    static const char *const units[] = {"radian", "half-turn", "turn"};
    static const char *const kinds[] = {"index", "centres", "ends", "logarithm"};
    static const char *const layouts[] = {"concatenated", "interleaved", "grouped"};
    static const char *const inputs[] = {"none", "first", "last"};
    struct drawn *d = drawn_of(s);

    *d = (struct drawn){.divisor = 1,
                        .unit = (double)sample_whole(s, 0, 2),
                        .kind = (double)sample_whole(s, 0, 3),
                        .axes = (double)sample_whole(s, 1, SAMPLE_AXES),
                        .matrix = (double)sample_whole(s, 0, 1),
                        .flip = (double)sample_whole(s, 0, 1),
                        .input = (double)sample_whole(s, 0, 2)};
    d->alternating = d->matrix != 0 ? 0 : (double)sample_whole(s, 0, 1);
    d->layout = (double)sample_whole(s, 0, d->matrix != 0 ? 1 : 2);
    d->scale = sample_bits(s) & 1 ? 1 : sample_real(s, -10, 10);
    snprintf(s->text, sizeof(s->text),
             "ndim=%.0f unit=%s axes_coordinates=%s layout=%s order=%s flip_sin_to_cos=%.0f "
             "include_input=%s scale=%.17g",
             d->axes, units[(int)d->unit], kinds[(int)d->kind], layouts[(int)d->layout],
             d->alternating != 0 ? "alternating" : "blocks", d->flip, inputs[(int)d->input],
             d->scale);
    for (size_t axis = 0; axis < SAMPLE_AXES; axis++)
        d->size[axis] = (double)sample_whole(s, 2, 5000);
    if (d->kind == CENTRES || d->kind == ENDS)
        list_put(s, "axes_size", d->size, (size_t)d->axes);
    (d->matrix != 0 ? matrix_draw : bands_draw)(s, d);
    points_draw(s, d);
    s->columns =
        (size_t)(2 * d->bands * (d->matrix != 0 ? 1 : d->axes) + (d->input != 0 ? d->axes : 0));
}

/* ---- elements -------------------------------------------------------------------------------- */

static struct column column_of(const struct drawn *d, size_t column)
{
    const size_t axes = (size_t)d->axes, bands = (size_t)d->bands;
    const size_t pairs = d->matrix != 0 ? bands : axes * bands;
    const size_t group = d->layout == 0        ? pairs
                         : d->layout == 1      ? 1
                         : d->alternating != 0 ? axes
                                               : bands;
    struct column c = {0};

    if (d->input != 0) {
        const size_t first = d->input == 1 ? 0 : 2 * pairs;
        c.is_input = column >= first && column < first + axes;
        c.axis = column - first;
        column -= d->input == 1 ? axes : 0;
    }
    if (c.is_input)
        return c;
    c.is_sin = (column / group % 2 == 0) != (d->flip != 0);
    c.pair = column / (2 * group) * group + column % group;
    return c;
}

/* The coordinate that a number stands for; of its denominator, which the caller divides by, *over
 * is given. */
static void coordinate(mpfr_ptr out, const struct sample *s, const struct drawn *d, size_t row,
                       size_t axis, double *over)
{
    mpfr_set_d(out, s->at[row][axis], MPFR_RNDN);
    *over = 1;
    if (d->kind == LOGARITHM)
        mpfr_log(out, out, MPFR_RNDN);
    if (d->kind != CENTRES && d->kind != ENDS)
        return;
    mpfr_mul_ui(out, out, 2, MPFR_RNDN);
    mpfr_add_d(out, out, 1 - d->size[axis], MPFR_RNDN);
    *over = d->kind == CENTRES ? d->size[axis] : d->size[axis] - 1;
}

/* Whole multiples of a quarter turn are found by exact numerators. */
static void sum_of(mpfr_ptr out, const struct sample *s, const struct drawn *d, size_t row,
                   size_t pair)
{
    double over[SAMPLE_AXES], all = d->divisor;
    mpfr_t x[SAMPLE_AXES];

    mpfr_set_zero(out, -1);
    for (size_t axis = 0; axis < (size_t)d->axes; axis++) {
        mpfr_init2(x[axis], 2 * BITS);
        coordinate(x[axis], s, d, row, axis, &over[axis]);
        mpfr_mul_d(x[axis], x[axis], d->frequency[axis][pair], MPFR_RNDN);
        mpfr_mul_d(x[axis], x[axis], d->scale, MPFR_RNDN);
    }
    for (size_t axis = 0; axis < (size_t)d->axes; axis++) {
        for (size_t other = 0; other < (size_t)d->axes; other++)
            if (other != axis)
                mpfr_mul_d(x[axis], x[axis], over[other], MPFR_RNDN);
        if (d->matrix != 0 || d->frequency[axis][pair] != 0)
            mpfr_add(out, out, x[axis], MPFR_RNDN);
    }
    for (size_t axis = 0; axis < (size_t)d->axes; axis++) {
        all *= over[axis];
        mpfr_clear(x[axis]);
    }
    mpfr_div_d(out, out, all, MPFR_RNDN);
}

/* The zeros of whole quarter turns are positive. */
void sample_fourier(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const struct drawn *d = drawn_of(s);
    const struct column c = column_of(d, column);
    double over;
    mpfr_t sum;

    mpfr_init2(sum, 4 * BITS);
    if (c.is_input) {
        coordinate(sum, s, d, row, c.axis, &over);
        mpfr_div_d(out, sum, over, MPFR_RNDN);
        mpfr_clear(sum);
        return;
    }
    sum_of(sum, s, d, row, c.pair);
    const bool is_zero = mpfr_zero_p(sum);
    if (d->unit == 2)
        mpfr_mul_ui(sum, sum, 2, MPFR_RNDN);
    if (d->unit == 0)
        (c.is_sin ? mpfr_sin : mpfr_cos)(out, sum, MPFR_RNDN);
    else
        (c.is_sin ? mpfr_sinpi : mpfr_cospi)(out, sum, MPFR_RNDN);
    if (mpfr_zero_p(out) && !is_zero)
        mpfr_set_zero(out, 1);
    mpfr_clear(sum);
}
