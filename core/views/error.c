/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/base/isa.h"
#include "core/base/sizes.h"
#include "core/scheme/scheme.h"
#include "core/tables/table_rows.h"
#include "core/views/analysis.h"
#include "posenc/comparison.h"

/* The analysis `error`: how far a table is from the real numbers. The table is correctly rounded,
 * or computed through angles of a short type, as in frameworks: the position, the frequency, their
 * product, its cosine, and the product with the attention factor are each correctly rounded to the
 * type, and then to the dtype of the table. Errors are |table - real number|, rounded once. */

enum { ERROR, ULPS };

enum { CHECK_PAIRS = 4 }; /* between two checks of the work, if all take wide numbers */

static const struct pe_param params[] = {
    PE_PARAMS_POSITIONS,
    {.name = "angle",
     .type = PE_CHOICE,
     .choices = "exact,f64=float64,f32=float32,f16=float16,bf16=bfloat16",
     .fallback = "exact",
     .doc = "The type of the arithmetic. Positions, frequencies, angles, their cosines and sines, "
            "and the products of those with the attention factor are rounded to it, one after the "
            "other. exact: only the table itself is rounded, correctly."},
};

struct state {
    bool through_angle; /* the angle is rounded to the type `angle` */
    enum pe_dtype angle;
    struct pe_frequencies *one; /* of frequency 1 */
};

static const struct state *state_of(const struct pe_view *view)
{
    return view->state;
}

static const struct pe_frequencies *frequencies_of(const struct pe_view *view)
{
    return pe_waves_of(view->scheme)->frequencies;
}

struct span {
    double near, far; /* the least |t| that is not 0, and the largest */
};

static struct span span_of(const struct pe_positions *p)
{
    const size_t ends[] = {0, 1, p->count > 0 ? p->count - 1 : 0},
                 count = p->values ? p->count : pe_min(p->count, 3);
    struct span span = {INFINITY, 0};

    for (size_t i = 0; i < count; i++) {
        const double t =
            fabs(p->values ? p->values[i] : p->start + p->step * (double)pe_min(ends[i], ends[2]));
        span.near = t > 0 ? fmin(span.near, t) : span.near;
        span.far = fmax(span.far, t);
    }
    return span;
}

/* Small angles take more digits, since 1 - cos cancels. */
static void costs_set(struct pe_view *view)
{
    const struct span span = span_of(&view->positions);
    const struct state *state = state_of(view);
    const double fraction = pe_analysis_has_pairs(view->scheme->encoding) ? 1 : 0.5;
    const double through = !state->through_angle ? 0 : state->angle == PE_F64 ? 1000 : 140;
    const bool is_f64 = view->dtype == PE_F64;
    const bool near = span.far * fmax(1, pe_waves_bound(view->scheme)) <= PE_F64_REACH &&
                      !pe_waves_of(view->scheme)->meets_axes; /* whose errors cancel */
    const double slow = near && span.near >= 0x1p-25 ? 0.5 + 0.5 * pe_isa()->kernels->slowness : 1;
    double ulps = near ? (through > 0 ? 60 : 20) : is_f64 ? 900 : 350;
    double error = near ? (is_f64 ? 200 : 70) : 2200;

    if (span.near < 0x1p-25)
        error = span.near < 0x1p-200 ? 5500 : 3000;
    if (span.near < 0x1p-760) {
        ulps = 9000;
        error = 14000;
    }
    view->outputs[ERROR].element_work = (error * slow + through) * fraction;
    view->outputs[ULPS].element_work = (ulps * slow + through) * fraction;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const struct pe_frequencies_spec one = {.count = 1, .cost = 1}; /* the power 1 */
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
    costs_set(view);
    return PE_OK;
}

static void close_all(struct pe_view *view)
{
    pe_frequencies_free(state_of(view)->one);
}

/* ---- cosines and sines through a short type -------------------------------------------------- */

/* Angles are numbers of a short type, as in frameworks. */
struct short_waves {
    const struct pe_frequencies *frequencies;
    const struct pe_frequencies *one; /* of frequency 1, for which a position is an angle */
    enum pe_dtype type;               /* of angles */
    enum pe_dtype dtype;              /* of the table */
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

/* RN of the cosine and sine of an angle; NaN where it overflowed. */
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

/* The frequency of a pair, rounded to the type. */
static double short_frequency(const struct pe_frequencies *f, size_t pair, enum pe_dtype dtype)
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

/* cos and sin of the pair with frequency w, at a position; NaN where the angle overflowed. */
static void waves_write(const struct short_waves *from, double w,
                        const struct pe_position *position, double values[2])
{
    const enum pe_dtype type = from->type;
    const double factor =
        rounded(pe_frequencies_amplitude(from->frequencies, PE_AMPLITUDE_FACTOR), type);
    /* The product of two short numbers is exact in doubles, so that it is rounded once. */
    const double angle = rounded(position_round(position, type) * w, type);

    waves_round(from->one, angle, type, values);
    for (size_t i = 0; i < 2; i++)
        values[i] = rounded(rounded(values[i] * factor, type), from->dtype);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* One element of the table. */
struct element {
    const struct pe_frequencies *f;
    size_t pair;
    struct pe_position position;
    bool is_sin;
    double value;         /* of the table */
    struct pe_exact real; /* an approximation of the real number, */
    double within;        /* and its error; NaN: there is none */
};

/* RN in f32 of a double with the given error; false: undecided. */
static bool quick_round(double value, double error, float *out)
{
    const float low = (float)(value - error), high = (float)(value + error);

    *out = low;
    return low == high && low != 0;
}

/* RN of A cos(t w), or of A sin(t w), in the dtype of the table. */
static double exact_of(const struct pe_view *view, const struct element *e)
{
    unsigned char out[sizeof(double)];
    double value;
    float quick;

    if (view->dtype == PE_F32 &&
        quick_round(e->real.hi, e->within + fabs(e->real.hi) * 0x1p-51, &quick))
        return quick;
    if (isnan(e->within) || !pe_exact_round(e->real, e->within, view->dtype, out))
        pe_frequencies_pair(e->f, e->pair, &e->position, PE_AMPLITUDE_FACTOR, view->dtype,
                            e->is_sin ? NULL : out, e->is_sin ? out : NULL);
    pe_to_f64(&value, out, view->dtype, 1);
    return value;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* RN of |value - A cos(t w)|. The angle has a relative error of 2^(17 - bits), and so has A. The
 * interval ends at 0, so that a number that f32 cannot distinguish from 0 needs no more digits. */
static bool error_round(const struct element *e, unsigned bits, float *out)
{
    const struct pe_wide w = pe_frequencies_real(bits, e->f, e->pair);
    const struct pe_wide amplitude = pe_frequencies_factor_real(bits, e->f, 0);
    const struct pe_wide angle = pe_angle_wide(w, &e->position);
    const struct pe_wide wave = e->is_sin ? pe_wide_sin(angle) : pe_wide_cos(angle);
    const struct pe_wide size = pe_wide_add_double(pe_wide_abs(angle), 1);
    struct pe_wide apart = pe_wide_sub_double(pe_wide_mul(wave, amplitude), e->value);
    struct pe_wide error = pe_wide_scale(pe_wide_mul(size, amplitude), 20 - (int64_t)bits);
    apart = pe_wide_abs(apart);
    if (pe_wide_compare(apart, error) < 0)
        apart = error = pe_wide_scale(pe_wide_add(apart, error), -1);
    return pe_precision_round(bits, apart, error, PE_F32, out);
}

/* At position 0, where the error is exactly 0 and no number of digits would decide. */
static bool is_zero(const struct element *e, struct pe_exact amplitude)
{
    const double *t = e->position.part;

    return t[0] == 0 && t[1] == 0 && t[2] == 0 &&
           (e->is_sin ? e->value == 0 : e->value == 1 && amplitude.hi == 1 && amplitude.lo == 0);
}

/* The error by double-doubles; false: undecided. */
static bool error_try(const struct element *e, struct pe_exact real, double within, float *error)
{
    struct pe_exact apart = pe_exact_add(real, (struct pe_exact){-e->value, 0});
    const double bound = within + fabs(real.hi) * 0x1p-98;

    if (apart.hi < 0)
        apart = pe_exact_negate(apart);
    return quick_round(apart.hi, bound + apart.hi * 0x1p-51, error) ||
           pe_exact_round(apart, bound, PE_F32, error);
}

static float error_of(const struct element *e, struct pe_exact amplitude)
{
    struct pe_angle angle;
    float error;

    if (isnan(e->value))
        return INFINITY;
    if (is_zero(e, amplitude))
        return 0;
    if (!isnan(e->within) && error_try(e, e->real, e->within, &error))
        return error;
    if (pe_angle_reduce(&angle, pe_frequencies_at(e->f, e->pair), &e->position)) {
        const struct pe_cos_sin waves = pe_angle_cos_sin_exact(&angle);
        const struct pe_exact real =
            pe_exact_multiply(e->is_sin ? waves.sin : waves.cos, amplitude);
        if (error_try(e, real, (e->is_sin ? waves.sin_error : waves.cos_error) * amplitude.hi * 2,
                      &error))
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

/* Adjacent pairs that are filled together. */
struct piece {
    const struct pe_view *view;
    size_t output, pair, count;
    struct pe_exact amplitude;
    struct short_waves through;
    double w[PE_F64_COLUMNS]; /* frequencies, in the type of the angles */
    struct pe_anchors_f64 near;
    bool is_near; /* `near` is set */
};

static void element_place(struct element *e, const struct piece *piece, size_t i)
{
    const struct pe_anchors_f64 *near = &piece->near;

    e->within = NAN;
    e->real = (struct pe_exact){NAN, 0};
    if (!piece->is_near)
        return;
    e->within = e->is_sin ? near->sin_error[i] : near->cos_error[i];
    e->real = e->is_sin ? (struct pe_exact){near->sin[0][i], near->sin[1][i]}
                        : (struct pe_exact){near->cos[0][i], near->cos[1][i]};
}

/* The worse of a pair's cosine and sine at one row. */
static float worse_of(const struct piece *piece, struct element *e, size_t i)
{
    const struct pe_view *view = piece->view;
    const bool through = state_of(view)->through_angle;
    double values[2];
    float worst = 0;

    e->pair = piece->pair + i;
    if (through)
        waves_write(&piece->through, piece->w[i], &e->position, values);
    /* Encodings of sines alone have no cosine. */
    for (int k = pe_analysis_has_pairs(view->scheme->encoding) ? 0 : 1; k < 2; k++) {
        e->is_sin = k;
        element_place(e, piece, i);
        if (piece->output == ULPS) {
            worst = fmaxf(worst, through ? ulps_of(view, values[k], exact_of(view, e)) : 0);
            continue;
        }
        e->value = through ? values[k] : exact_of(view, e);
        worst = fmaxf(worst, error_of(e, piece->amplitude));
    }
    return worst;
}

static enum pe_status piece_fill(struct piece *piece, size_t row_begin, size_t row_end, float *out,
                                 struct pe_work *work, struct pe_error *err)
{
    const struct pe_view *view = piece->view;
    struct element e = {.f = frequencies_of(view)};

    for (size_t i = 0; i < piece->count; i++)
        piece->w[i] = short_frequency(e.f, piece->pair + i, state_of(view)->angle);
    for (size_t row = row_begin; row < row_end; row++) {
        e.position = pe_position_of(&view->positions, row);
        piece->is_near =
            pe_anchors_f64_at(&piece->near, e.f, piece->pair, &e.position, PE_AMPLITUDE_FACTOR);
        for (size_t i = 0; i < piece->count; i++) {
            if (i % CHECK_PAIRS == 0 && pe_work_check(work, err))
                return err->status;
            out[(row - row_begin) * pe_waves_of(view->scheme)->pairs + piece->pair + i] =
                worse_of(piece, &e, i);
        }
    }
    return PE_OK;
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_frequencies *f = frequencies_of(view);
    const size_t pairs = pe_waves_of(view->scheme)->pairs;
    struct piece piece = {.view = view,
                          .output = output,
                          .through = {f, state_of(view)->one, state_of(view)->angle, view->dtype},
                          .amplitude = pe_real_exact(pe_frequencies_factor_real, f, 0)};

    for (; piece.pair < pairs; piece.pair += PE_F64_COLUMNS) {
        piece.count = pe_min(pairs - piece.pair, PE_F64_COLUMNS);
        if (piece_fill(&piece, row_begin, row_end, out, work, err))
            break;
    }
    return err->status;
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_error;
const struct pe_view_type pe_view_error = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "error",
    .info.title = "Errors of a table computed in a short type",
    .info.doc = "`error` [positions, pairs]: |table - real number|, of a pair's cosine or sine, "
                "whichever is larger, correctly rounded. `ulps` [positions, pairs]: the distance "
                "of the table from the correctly rounded one, in numbers of the dtype, again the "
                "larger one. Both are Infinity where the angle overflowed its type.",
    .info.example = "length=2&start=1000&angle=f32",
    .close = close_all,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_sines(encoding) ? &pe_view_error : NULL;
}
