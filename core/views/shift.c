/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/exact/exact_sum.h"
#include "core/scheme/scheme.h"
#include "core/views/analysis.h"

/* The analysis `shift`: PE(t + delta) = T PE(t), where T is made of one 2 x 2 block for each pair,
 * which depends on delta only. Blocks and the left side are correctly rounded. The right side is
 * RN(T PE(t)) of T and PE(t) in the dtype, and the residual RN(left side - right side). Vectors are
 * (sin, cos), and (cos, sin) for rotary encodings. */

enum { BLOCKS, LEFT, RIGHT, RESIDUAL };

enum { CHECK_ROWS = 16 }; /* between two checks of the work: about 1 ms of wide numbers */

static const struct pe_param params[] = {
    {.name = "position",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .required = true,
     .unit = "positions",
     .doc = "The position before the shift."},
    {.name = "delta",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .required = true,
     .unit = "positions",
     .doc = "The distance of the shift; the blocks depend on it alone."},
};

struct state {
    double position, delta;
};

/* Blocks and the left side take one cosine and sine each, the other outputs three. */
static double cost_of(const struct pe_view *view, size_t output)
{
    const struct state *state = view->state;
    const double tiny = 0x1p-760;
    const bool slow = (state->position != 0 && fabs(state->position) < tiny) ||
                      (state->delta != 0 && fabs(state->delta) < tiny);

    return slow ? 12000 : output >= RIGHT ? 650 : view->dtype == PE_F64 ? 800 : 180;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const size_t pairs = pe_waves_of(view->scheme)->pairs;
    const size_t vectors[] = {pairs, 2};
    struct state *state = view->state;

    state->position = pe_param_number(values, "position");
    state->delta = pe_param_number(values, "delta");
    if (fabs(state->position + state->delta) > 0x1p53 - 1)
        return pe_fail(err, PE_OUT_OF_RANGE, "parameter:delta",
                       "position + delta must lie within +-(2^53 - 1), got %.4g",
                       state->position + state->delta);
    if (pe_view_add(view, "blocks", view->dtype, 3, (size_t[]){pairs, 2, 2}, err) ||
        pe_view_add(view, "left", view->dtype, 2, vectors, err) ||
        pe_view_add(view, "right", view->dtype, 2, vectors, err))
        return err->status;
    if (pe_view_add(view, "residual", view->dtype, 2, vectors, err))
        return err->status;
    for (size_t i = BLOCKS; i <= RESIDUAL; i++)
        view->outputs[i].element_work = cost_of(view, i);
    return PE_OK;
}

struct pair {
    double cos, sin;
};

/* cos and sin of one pair, rounded to the dtype. */
static struct pair pair_at(const struct pe_view *view, size_t pair,
                           const struct pe_position *position, enum pe_amplitude amplitude)
{
    unsigned char cos[sizeof(double)], sin[sizeof(double)];
    struct pair values;

    pe_frequencies_pair(pe_waves_of(view->scheme)->frequencies, pair, position, amplitude,
                        view->dtype, cos, sin);
    pe_to_f64(&values.cos, cos, view->dtype, 1);
    pe_to_f64(&values.sin, sin, view->dtype, 1);
    return values;
}

struct equation {
    double block[2][2], left[2], vector[2];
};

static struct equation equation_of(const struct pe_view *view, size_t pair)
{
    const struct state *state = view->state;
    const struct pe_position from = {{state->position, 0, 0}}, by = {{state->delta, 0, 0}};
    const struct pe_position to = pe_position_at(state->position, state->delta, 1);
    const struct pair rotation = pair_at(view, pair, &by, PE_AMPLITUDE_ONE);
    const struct pair before = pair_at(view, pair, &from, PE_AMPLITUDE_FACTOR);
    const struct pair behind = pair_at(view, pair, &to, PE_AMPLITUDE_FACTOR);

    if (view->scheme->encoding->rotary)
        return (struct equation){{{rotation.cos, -rotation.sin}, {rotation.sin, rotation.cos}},
                                 {behind.cos, behind.sin},
                                 {before.cos, before.sin}};
    return (struct equation){{{rotation.cos, rotation.sin}, {-rotation.sin, rotation.cos}},
                             {behind.sin, behind.cos},
                             {before.sin, before.cos}};
}

/* left - (block vector), or the product alone, in double operations. Not finite where a number
 * overflowed the dtype. */
static double product_plain(const struct equation *equation, size_t row, bool residual)
{
    const double *block = equation->block[row];
    const double sum = block[0] * equation->vector[0] + block[1] * equation->vector[1];
    const double value = residual ? equation->left[row] - sum : sum;

    return isnan(value) ? NAN : value;
}

/* The same from exact products and sums, rounded once. A zero has the sign of the left side. */
static void product_write(const struct equation *equation, size_t row, bool residual,
                          enum pe_dtype dtype, void *out)
{
    const double plain = product_plain(equation, row, residual), sign = residual ? -1 : 1;
    const double left = residual ? equation->left[row] : 0;
    struct pe_sum sum = {{0}};

    if (!isfinite(plain)) {
        pe_from_f64(out, dtype, &plain, 1);
        return;
    }
    pe_sum_add(&sum, left, 1);
    for (size_t i = 0; i < 2; i++)
        pe_sum_add(&sum, equation->block[row][i] * sign, equation->vector[i]);
    const struct pe_wide value = pe_sum_wide(&sum, 128);
    if (pe_wide_sign(value) == 0 && left == 0)
        pe_from_f64(out, dtype, &left, 1);
    else
        pe_wide_write(value, dtype, out);
}

static void row_write(const struct pe_view *view, size_t output, size_t row, void *out)
{
    const struct equation equation = equation_of(view, output == BLOCKS ? row / 2 : row);
    const size_t size = pe_dtype_info(view->dtype)->size;

    if (output == BLOCKS)
        pe_from_f64(out, view->dtype, equation.block[row % 2], 2);
    else if (output == LEFT)
        pe_from_f64(out, view->dtype, equation.left, 2);
    else
        for (size_t i = 0; i < 2; i++)
            product_write(&equation, i, output == RESIDUAL, view->dtype, (char *)out + i * size);
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    for (size_t row = row_begin; row < row_end; row++) {
        if ((row - row_begin) % CHECK_ROWS == 0 && pe_work_check(work, err))
            return err->status;
        row_write(view, output, row,
                  (char *)out + 2 * (row - row_begin) * pe_dtype_info(view->dtype)->size);
    }
    return PE_OK;
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_shift;
const struct pe_view_type pe_view_shift = {
    PE_ANALYSIS_MEMBERS,
    .info.name = "shift",
    .info.title = "Shift of a position as a linear map",
    .info.doc = "The identity PE(t + delta) = T PE(t), t being `position` and T having one 2 x 2 "
                "block for each pair. `blocks` [pairs, 2, 2]: the blocks of T, correctly rounded. "
                "`left` [pairs, 2]: PE(t + delta), correctly rounded. `right` [pairs, 2]: the "
                "product of the blocks and PE(t), both rounded to the dtype, rounded once. "
                "`residual` [pairs, 2]: left minus that product, rounded once. The vector of a "
                "pair is (sin, cos), that of a rotary pair (cos, sin).",
    .info.example = "position=3&delta=5",
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return pe_analysis_has_sines(encoding) && pe_analysis_has_pairs(encoding) ? &pe_view_shift
                                                                              : NULL;
}
