/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/analysis/analysis.h"
#include "core/kinds/waves.h"
#include "posenc/comparison.h"

/* How far a table is from the real numbers: one that is correctly rounded, or one whose angles were
 * made in a short type, as frameworks do. There the position, the frequency, their product, the
 * cosine of that, and its product with the attention factor are each rounded to the type,
 * correctly; then to the dtype of the table. Errors are |table - real number|, rounded once. */

enum { ERROR, ULPS };

enum {
    CHECK_ROWS = 4
}; /* between two looks at the work: some milliseconds where wide numbers decide */

static const struct pe_param params[] = {
    PE_PARAMS_POSITIONS,
    {.name = "angle",
     .type = PE_CHOICE,
     .choices = "exact,f64=float64,f32=float32,f16=float16,bf16=bfloat16",
     .fallback = "exact",
     .doc =
         "The type that positions, frequencies, angles, their cosines and sines, and the products "
         "of those with the attention factor are rounded to, one after the other; exact: none "
         "is, and the table is correctly rounded."},
};

struct state {
    bool through_angle;         /* the angle is rounded ... */
    enum pe_dtype angle;        /* ... to this */
    struct pe_frequencies *one; /* of w = 1, so that a position is an angle */
};

static const struct state *state_of(const struct pe_view *view)
{
    return view->state;
}

static const struct pe_frequencies *frequencies_of(const struct pe_view *view)
{
    return pe_waves_of(view->scheme)->frequencies;
}

/* Are positions so small, those that are not 0? */
static bool is_tiny(const struct pe_positions *p, double bound)
{
    const size_t count = p->values ? p->count : p->count < 3 ? p->count : 3;

    for (size_t i = 0; i < count; i++) {
        const double t = fabs(p->values ? p->values[i] : p->start + p->step * (double)i);
        if (t > 0 && t < bound)
            return true;
    }
    return false;
}

/* Small angles take more digits: nothing is left of 1 - cos. */
static void work_tell(struct pe_view *view)
{
    const struct pe_positions *p = &view->positions;
    const double share = pe_analysis_has_pairs(view->scheme->encoding) ? 1 : 0.5;
    double ulps = view->dtype == PE_F64 ? 900 : 350, error = 2200;

    if (p->count > 0 && is_tiny(p, 0x1p-25))
        error = is_tiny(p, 0x1p-200) ? 5500 : 3000;
    if (p->count > 0 && is_tiny(p, 0x1p-760)) {
        ulps = 9000;
        error = 14000;
    }
    view->outputs[ERROR].element_work = error * share;
    view->outputs[ULPS].element_work = ulps * share;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const struct pe_frequencies_spec one = {.count = 1, .work = 1}; /* the power 1 */
    const int angle = (int)pe_param_number(values, "angle");
    struct state *state = view->state;
    size_t shape[2];

    state->through_angle = angle > 0;
    state->angle = angle > 0 ? (enum pe_dtype)(PE_F64 + angle - 1) : PE_F64;
    if (pe_view_positions_read(view, values, err) ||
        pe_frequencies_new(&state->one, &one, NULL, err))
        return err->status;
    shape[0] = view->positions.count;
    shape[1] = pe_waves_of(view->scheme)->pairs;
    if (pe_view_add(view, "error", PE_F32, 2, shape, err) ||
        pe_view_add(view, "ulps", PE_F32, 2, shape, err))
        return err->status;
    work_tell(view);
    return PE_OK;
}

static void close_all(struct pe_view *view)
{
    pe_frequencies_free(state_of(view)->one);
}

/* ---- the table that is judged --------------------------------------------------------------- */

/* Everything about one element but its column. */
struct element {
    const struct pe_frequencies *f;
    size_t pair;
    struct pe_position position;
    bool is_sin;
    double value; /* of the table */
};

static double rounded(double value, enum pe_dtype dtype)
{
    unsigned char out[sizeof(double)];

    pe_from_f64(out, dtype, &value, 1);
    pe_to_f64(&value, out, dtype, 1);
    return value;
}

static struct pe_wide wave(unsigned bits, const void *context, size_t is_sin)
{
    const struct pe_wide angle = pe_wide_of(bits, *(const double *)context);

    return is_sin ? pe_wide_sin(angle) : pe_wide_cos(angle);
}

/* RN of the cosine and sine of a number of the type; NaN where it overflowed. */
static void waves_round(const struct pe_frequencies *one, double angle, enum pe_dtype dtype,
                        double waves[2])
{
    unsigned char out[2][sizeof(double)];
    const struct pe_position position = {{angle, 0, 0}};

    waves[0] = waves[1] = NAN;
    if (!isfinite(angle))
        return;
    if (fabs(angle) < 0x1p53)
        pe_frequencies_pair(one, 0, &position, PE_AMPLITUDE_ONE, dtype, out[0], out[1]);
    else
        for (size_t is_sin = 0; is_sin < 2; is_sin++)
            pe_real_round(wave, &angle, is_sin, dtype, out[is_sin]);
    for (size_t i = 0; i < 2; i++)
        pe_to_f64(&waves[i], out[i], dtype, 1);
}

static double frequency_round(const struct pe_frequencies *f, size_t pair, enum pe_dtype dtype)
{
    unsigned char out[sizeof(double)];
    double w;

    pe_frequencies_write(f, pair, dtype, out, NULL);
    pe_to_f64(&w, out, dtype, 1);
    return w;
}

static double position_round(const struct pe_position *position, enum pe_dtype dtype)
{
    unsigned char out[sizeof(double)];
    double t;

    pe_exact_round((struct pe_exact){position->part[0], position->part[1]}, 0, dtype, out);
    pe_to_f64(&t, out, dtype, 1);
    return t;
}

/* cos and sin by way of a rounded angle; w is the pair's frequency in that type. */
static void angle_table(const struct pe_view *view, double w, const struct pe_position *position,
                        double values[2])
{
    const enum pe_dtype type = state_of(view)->angle;
    const double factor =
        rounded(pe_frequencies_amplitude(frequencies_of(view), PE_AMPLITUDE_FACTOR), type);
    /* A product of two short numbers is exact in doubles: it is rounded once. */
    const double angle = rounded(position_round(position, type) * w, type);

    waves_round(state_of(view)->one, angle, type, values);
    for (size_t i = 0; i < 2; i++)
        values[i] = rounded(rounded(values[i] * factor, type), view->dtype);
}

static void exact_table(const struct pe_view *view, size_t pair, const struct pe_position *position,
                        double values[2])
{
    unsigned char out[2][sizeof(double)];

    pe_frequencies_pair(frequencies_of(view), pair, position, PE_AMPLITUDE_FACTOR, view->dtype,
                        out[0], out[1]);
    for (size_t i = 0; i < 2; i++)
        pe_to_f64(&values[i], out[i], view->dtype, 1);
}

/* ---- its error ------------------------------------------------------------------------------ */

/* RN of |value - A cos(t w)|. The angle is off by 2^(17 - bits) of it, and A and what is behind it
 * by 2^(17 - bits) of A. The interval ends at 0, so that a number which f32 does not tell from 0
 * needs no more digits than others. */
static bool error_round(const struct element *e, unsigned bits, float *out)
{
    const struct pe_wide w = pe_frequencies_real(bits, e->f, e->pair);
    const struct pe_wide amplitude = pe_frequencies_factor_real(bits, e->f, 0);
    struct pe_wide angle = pe_wide_mul_double(w, e->position.part[0]);

    for (int i = 1; i < 3; i++)
        angle = pe_wide_add(angle, pe_wide_mul_double(w, e->position.part[i]));
    const struct pe_wide wave = e->is_sin ? pe_wide_sin(angle) : pe_wide_cos(angle);
    const struct pe_wide size = pe_wide_add_double(pe_wide_abs(angle), 1);
    struct pe_wide apart = pe_wide_sub_double(pe_wide_mul(wave, amplitude), e->value);
    struct pe_wide error = pe_wide_scale(pe_wide_mul(size, amplitude), 20 - (int64_t)bits);
    apart = pe_wide_abs(apart);
    if (pe_wide_compare(apart, error) < 0)
        apart = error = pe_wide_scale(pe_wide_add(apart, error), -1);
    return pe_rung_round(bits, apart, error, PE_F32, out);
}

/* At position 0 a sine is 0 and a cosine 1: nothing is left, however many digits are looked at. */
static bool is_zero(const struct element *e, struct pe_exact amplitude)
{
    const double *t = e->position.part;

    return t[0] == 0 && t[1] == 0 && t[2] == 0 &&
           (e->is_sin ? e->value == 0 : e->value == 1 && amplitude.hi == 1 && amplitude.lo == 0);
}

/* The error in f32; by double-doubles where those decide. */
static float error_of(const struct element *e, struct pe_exact amplitude)
{
    struct pe_angle angle;
    float error;

    if (isnan(e->value))
        return INFINITY;
    if (is_zero(e, amplitude))
        return 0;
    if (pe_angle_reduce(&angle, pe_frequencies_turn(e->f, e->pair), &e->position)) {
        const struct pe_cos_sin waves = pe_angle_cos_sin_exact(&angle);
        const struct pe_exact real =
            pe_exact_multiply(e->is_sin ? waves.sin : waves.cos, amplitude);
        const struct pe_exact apart = pe_exact_add(real, (struct pe_exact){-e->value, 0});
        const double bound = (e->is_sin ? waves.sin_error : waves.cos_error) * amplitude.hi * 2 +
                             fabs(real.hi) * 0x1p-98;
        if (pe_exact_round(apart.hi < 0 ? pe_exact_negate(apart) : apart, bound, PE_F32, &error))
            return error;
    }
    for (unsigned bits = PE_PRECISION_FIRST; !error_round(e, bits, &error);)
        bits = pe_precision_next(bits);
    return error;
}

static float ulps_of(const struct pe_view *view, double value, double exact)
{
    unsigned char a[sizeof(double)], b[sizeof(double)];

    if (isnan(value))
        return INFINITY;
    pe_from_f64(a, view->dtype, &value, 1);
    pe_from_f64(b, view->dtype, &exact, 1);
    return (float)pe_ulps_apart(view->dtype, a, b);
}

/* Of one pair at all rows: the worse of its cosine and its sine. */
static enum pe_status pair_fill(const struct pe_view *view, size_t output, size_t pair,
                                size_t row_begin, size_t row_end, float *out, struct pe_work *work,
                                struct pe_error *err)
{
    struct element e = {.f = frequencies_of(view), .pair = pair};
    const struct pe_exact amplitude = pe_real_exact(pe_frequencies_factor_real, e.f, 0);
    const double w = frequency_round(e.f, pair, state_of(view)->angle);
    /* Encodings of sines alone have no cosine to be wrong. */
    const int first = pe_analysis_has_pairs(view->scheme->encoding) ? 0 : 1;

    for (size_t row = row_begin; row < row_end; row++) {
        double values[2], exact[2];
        float worst = 0;
        if ((row - row_begin) % CHECK_ROWS == 0 && pe_work_check(work, err))
            return err->status;
        e.position = pe_position_of(&view->positions, row);
        exact_table(view, pair, &e.position, exact);
        if (state_of(view)->through_angle)
            angle_table(view, w, &e.position, values);
        else
            memcpy(values, exact, sizeof(values));
        for (int i = first; i < 2; i++) {
            e.is_sin = i;
            e.value = values[i];
            worst = fmaxf(worst, output == ERROR ? error_of(&e, amplitude)
                                                 : ulps_of(view, values[i], exact[i]));
        }
        out[(row - row_begin) * pe_waves_of(view->scheme)->pairs + pair] = worst;
    }
    return PE_OK;
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    for (size_t pair = 0; pair < pe_waves_of(view->scheme)->pairs; pair++)
        if (pair_fill(view, output, pair, row_begin, row_end, out, work, err))
            break;
    return err->status;
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_error;
const struct pe_view_type pe_view_error = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "error",
    .info.title = "What a table is off by",
    .info.doc = "`error` [positions, pairs], |table - real number| of a pair's cosine or sine, "
                "the larger one, correctly rounded; `ulps` [positions, pairs], how many numbers"
                " of the dtype lie between the table and the correctly rounded one. Infinity "
                "where an angle overflowed its type.",
    .info.example = "length=2&start=1000&angle=f32",
    .close = close_all,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_sines(encoding) ? &pe_view_error : NULL;
}
