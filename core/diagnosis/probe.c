/* SPDX-License-Identifier: MIT */
#include "posenc/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/work.h"
#include "core/diagnosis/probed_rows.h"
#include "core/exact/angle.h"
#include "core/scheme/rotary.h"
#include "posenc/comparison.h"

/* The pairs of a function's matrices, whose layout is compared with the expected one, and their
 * rotations, which a diagnosis explains. */

/* Inputs and outputs of a pair: y[to[0]] and y[to[1]] depend on x[from[0]] and x[from[1]] alone. */
struct pair {
    size_t from[2], to[2];
};

struct pe_probe {
    struct pe_allocations memory;
    struct pe_probed probed;
    struct pe_probed_rows rows;
    struct pe_probe_result result;

    double *most;    /* [dim][dim]: the largest |element| of the matrices, by input, then output */
    size_t *sources; /* [dim]: the input of an output that no other input has; dim: there is none */
    size_t moving_count;
    struct pair *moving; /* [dim / 2] the pairs that rotate, by their first element */
    struct pair *pairs;  /* [pairs_count] those of the layout, frozen ones included */

    double *values;    /* of positions, where these are no list */
    double *cos, *sin; /* [tokens, pairs_count] */
    struct pe_sample sample;
    struct pe_diagnosis *diagnosis;
    struct pe_probe_pair *described; /* [pairs_count] */
};

static const struct pe_probe_fault faults[] = {
#define FAULT(name, code, explanation) {code, explanation},
#include "core/diagnosis/probe_faults.def"
#undef FAULT
};

const struct pe_probe_fault *pe_probe_fault_at(size_t index)
{
    return index < sizeof(faults) / sizeof(faults[0]) ? &faults[index] : NULL;
}

/* ---- pairs of the matrices ------------------------------------------------------------------- */

static enum pe_status matrices_measure(struct pe_probe *probe, struct pe_error *err)
{
    const struct pe_probed_rows *rows = &probe->rows;
    const size_t dim = rows->dim;
    double *column = pe_allocations_take(&probe->memory, dim, sizeof(*column), err);

    probe->most = pe_allocations_take(&probe->memory, dim * dim, sizeof(*probe->most), err);
    if (!column || !probe->most)
        return err->status;
    for (size_t token = 0; token < rows->tokens; token++) {
        for (size_t from = 0; from < dim; from++) {
            pe_probed_column(rows, token, from, column);
            for (size_t to = 0; to < dim; to++)
                probe->most[from * dim + to] = fmax(probe->most[from * dim + to], fabs(column[to]));
        }
        if (pe_work_check(rows->work, err))
            return err->status;
    }
    return PE_OK;
}

/* The outputs of an input: 1, 2, or 3 for more. Elements within rounding count where there are two
 * at most, so that a pair that hardly rotates is found in a function that is exact. */
static size_t outputs_of(const struct pe_probe *probe, size_t from, size_t to[2])
{
    const size_t dim = probe->rows.dim;
    const double *most = probe->most + from * dim;
    double largest = 0;

    for (size_t i = 0; i < dim; i++)
        largest = fmax(largest, most[i]);
    for (int pass = 0; pass < 2; pass++) {
        size_t count = 0;
        for (size_t i = 0; i < dim && count <= 2; i++)
            if (most[i] > (pass == 0 ? 0 : probe->rows.rounding * largest)) {
                if (count < 2)
                    to[count] = i;
                count++;
            }
        if (count <= 2)
            return count;
    }
    return 3;
}

static void fault_note(struct pe_probe *probe, enum pe_fault fault, size_t token, size_t element,
                       double seen, double predicted)
{
    probe->rows.fault = fault;
    probe->rows.place = (struct pe_probe_place){
        .token = token, .element = element, .seen = seen, .predicted = predicted};
}

/* The pairs by equal sets of two outputs; inputs of one output stay alone. */
static void pairs_find(struct pe_probe *probe)
{
    const size_t dim = probe->rows.dim;
    size_t to[2], other[2];

    for (size_t i = 0; i < dim; i++)
        probe->sources[i] = dim;
    for (size_t from = 0; from < dim; from++) {
        const size_t count = outputs_of(probe, from, to);
        if (count > 2) {
            fault_note(probe, PE_FAULT_NOT_PAIRS, 0, from, NAN, NAN);
            return;
        }
        if (count == 0 || (count == 1 && to[0] != from)) { /* zeroed, or moved and not rotated */
            fault_note(probe, PE_FAULT_NOT_ROTATION, 0, from, 0, 1);
            return;
        }
        size_t partner = from + 1;
        for (; count == 2 && partner < dim; partner++)
            if (outputs_of(probe, partner, other) == 2 && other[0] == to[0] && other[1] == to[1])
                break;
        if (count == 2 && partner < dim && probe->sources[to[0]] == dim) {
            probe->moving[probe->moving_count++] = (struct pair){{from, partner}, {to[0], to[1]}};
            probe->sources[to[0]] = from;
            probe->sources[to[1]] = partner;
        } else if (count == 1 && probe->sources[to[0]] == dim) {
            probe->sources[to[0]] = from;
        } else if (count == 1 || probe->sources[to[1]] != from) {
            bool is_second = false;
            for (size_t i = 0; i < probe->moving_count; i++)
                is_second = is_second || probe->moving[i].from[1] == from;
            if (is_second)
                continue;
            fault_note(probe, PE_FAULT_NOT_PAIRS, 0, from, NAN, NAN);
            return;
        }
    }
}

/* The token whose position is nearest to 0. */
static size_t nearest_token(const struct pe_probe *probe)
{
    const struct pe_positions *positions = &probe->probed.positions;
    size_t nearest = 0;

    for (size_t token = 1; token < probe->rows.tokens; token++)
        if (fabs(positions->values[token]) < fabs(positions->values[nearest]))
            nearest = token;
    return nearest;
}

/* The order of the outputs of a pair whose elements are moved: at the position nearest to 0 the
 * larger element of the matrix is that of the same element. */
static void outputs_order(struct pe_probe *probe)
{
    const size_t nearest = nearest_token(probe);

    for (size_t i = 0; i < probe->moving_count; i++) {
        struct pair *pair = &probe->moving[i];
        const bool moves = pair->to[0] != pair->from[0] || pair->to[1] != pair->from[1];
        const double first =
            fabs(pe_probed_element(&probe->rows, nearest, pair->to[0], pair->from[0]));
        const double second =
            fabs(pe_probed_element(&probe->rows, nearest, pair->to[1], pair->from[0]));
        if (moves && second > first) {
            const size_t swap = pair->to[0];
            pair->to[0] = pair->to[1];
            pair->to[1] = swap;
        }
    }
}

static int by_first(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    return x->from[0] < y->from[0] ? -1 : x->from[0] > y->from[0];
}

static enum pe_status structure_find(struct pe_probe *probe, struct pe_error *err)
{
    const size_t dim = probe->rows.dim;

    probe->sources = pe_allocations_take(&probe->memory, dim, sizeof(*probe->sources), err);
    probe->moving = pe_allocations_take(&probe->memory, dim / 2 + 1, sizeof(*probe->moving), err);
    if (!probe->sources || !probe->moving || matrices_measure(probe, err))
        return err->status;
    pairs_find(probe);
    if (probe->rows.fault)
        return PE_OK;
    outputs_order(probe);
    qsort(probe->moving, probe->moving_count, sizeof(*probe->moving), by_first);
    return PE_OK;
}

/* ---- the layout ------------------------------------------------------------------------------ */

/* Pair k of a layout of so many pairs. */
static struct pair pair_of(bool half, size_t pairs, size_t k)
{
    const size_t first = half ? k : 2 * k, second = half ? k + pairs : 2 * k + 1;

    return (struct pair){{first, second}, {first, second}};
}

/* The number of the pair in a layout of so many pairs; SIZE_MAX: it is none of them. */
static size_t index_in(const struct pair *pair, bool half, size_t pairs)
{
    const size_t k = half ? pair->from[0] : pair->from[0] / 2;
    const struct pair there = pair_of(half, pairs, k);

    return k < pairs && memcmp(&there, pair, sizeof(there)) == 0 ? k : SIZE_MAX;
}

/* Are all pairs that rotate pairs of the layout? */
static bool fits(const struct pe_probe *probe, bool half, size_t pairs)
{
    for (size_t i = 0; i < probe->moving_count; i++)
        if (index_in(&probe->moving[i], half, pairs) == SIZE_MAX)
            return false;
    return 2 * pairs <= probe->rows.dim;
}

/* The pairs of a layout that holds all that rotate; 0: none does. */
static size_t pairs_in(const struct pe_probe *probe, bool half)
{
    const struct pair *last = &probe->moving[probe->moving_count - 1];
    const size_t pairs = half ? last->from[1] - last->from[0] : last->from[0] / 2 + 1;

    return fits(probe, half, pairs) ? pairs : 0;
}

static void layout_take(struct pe_probe *probe, bool half, size_t pairs)
{
    probe->result.layout = half ? "half" : "interleaved";
    probe->result.pairs_count = pairs;
    probe->result.width = 2 * pairs;
    for (size_t k = 0; k < pairs; k++)
        probe->pairs[k] = pair_of(half, pairs, k);
}

/* The first `count` pairs of the layout, where the others do not rotate. */
static void layout_cut(struct pe_probe *probe, size_t count)
{
    probe->result.pairs_count = count;
    probe->result.width = 2 * count;
}

/* The layout of the pairs that rotate, without an expectation: the one of fewer pairs. */
static bool layout_guess(struct pe_probe *probe)
{
    const size_t half = pairs_in(probe, true), neighbours = pairs_in(probe, false);

    if (half == 0 && neighbours == 0)
        return false;
    if (half == 0 || (neighbours > 0 && neighbours < half))
        layout_take(probe, false, neighbours);
    else
        layout_take(probe, true, half);
    return true;
}

/* Pairs in no order that has a name: as they are. */
static void permuted_take(struct pe_probe *probe)
{
    size_t width = 0;

    probe->result.layout = "permuted";
    probe->result.pairs_count = probe->moving_count;
    for (size_t i = 0; i < probe->moving_count; i++) {
        probe->pairs[i] = probe->moving[i];
        for (size_t side = 0; side < 2; side++)
            width = probe->moving[i].from[side] >= width ? probe->moving[i].from[side] + 1 : width;
    }
    probe->result.width = width;
}

/* Are the pairs those of the expected number, with the first elements in the first half of the
 * head and the second ones in the other, where only a part of it is to rotate? */
static bool is_across(const struct pe_probe *probe, size_t pairs)
{
    const size_t dim = probe->rows.dim;

    return dim % 2 == 0 && 2 * pairs < dim && fits(probe, true, dim / 2) &&
           probe->moving[probe->moving_count - 1].from[0] < pairs;
}

/* The pairs of a layout of `pairs` pairs that rotate or that may: the last ones do not where they
 * stay in place and were expected to rotate visibly. */
static size_t pairs_until(const struct pe_probe *probe, bool half, size_t pairs)
{
    const struct pe_positions *positions = &probe->probed.positions;
    const struct pair *last = &probe->moving[probe->moving_count - 1];
    const size_t seen = index_in(last, half, pairs) + 1;
    double farthest = 0;

    for (size_t i = 0; i < positions->axes * positions->count; i++)
        farthest = fmax(farthest, fabs(positions->values[i]));
    return seen < pairs && farthest * pe_frequencies_near(
                                          pe_scheme_frequencies(probe->probed.expected), seen) >
                               2 * probe->rows.rounding
               ? seen
               : pairs;
}

/* The expected pairs before those whose frequency is 0. */
static size_t visible_pairs(const struct pe_probe *probe)
{
    const struct pe_frequencies *expected = pe_scheme_frequencies(probe->probed.expected);
    size_t pairs = pe_scheme_pairs(probe->probed.expected);

    while (pairs > 0 && pe_frequencies_near(expected, pairs - 1) == 0)
        pairs--;
    return pairs;
}

/* Are the pairs halves of a prefix, where halves of the head of which only the first rotate are
 * expected? */
static bool is_within_prefix(const struct pe_probe *probe, size_t pairs)
{
    const size_t visible = visible_pairs(probe);

    return visible > 0 && visible < pairs && fits(probe, true, visible);
}

/* Are the elements that are read all pairs of the layout, wherever they go? */
static bool reads(const struct pe_probe *probe, bool half, size_t pairs)
{
    for (size_t k = 0; k < pairs; k++) {
        const struct pair there = pair_of(half, pairs, k);
        if (k >= probe->moving_count ||
            memcmp(there.from, probe->moving[k].from, sizeof(there.from)) != 0)
            return false;
    }
    return probe->moving_count == pairs;
}

static enum pe_bug pairing_of(struct pe_probe *probe, size_t pairs)
{
    const char *layout = probe->probed.layout;
    const bool half = !layout || strcmp(layout, "half") == 0;

    if (probe->moving_count == 0) {
        layout_take(probe, half, pairs);
        return PE_BUG_NONE;
    }
    for (size_t i = 0; i < 2; i++) {
        const bool is_half = (i == 0) == half;
        if (!fits(probe, is_half, pairs))
            continue;
        const size_t until = pairs_until(probe, is_half, pairs);
        layout_take(probe, is_half, pairs);
        layout_cut(probe, until);
        if (until < pairs)
            return PE_BUG_WRONG_WIDTH;
        return i == 1 && layout ? PE_BUG_LAYOUT_SWAPPED : PE_BUG_NONE;
    }
    if (is_across(probe, pairs)) {
        layout_take(probe, true, probe->rows.dim / 2);
        layout_cut(probe, pairs);
        return PE_BUG_PAIRS_ACROSS_HEAD;
    }
    if (is_within_prefix(probe, pairs)) {
        layout_take(probe, true, visible_pairs(probe));
        return PE_BUG_PAIRS_WITHIN_PREFIX;
    }
    if (layout_guess(probe))
        return PE_BUG_WRONG_WIDTH;
    permuted_take(probe);
    return reads(probe, half, pairs) || (!layout && reads(probe, !half, pairs))
               ? PE_BUG_OUTPUTS_REORDERED
               : PE_BUG_PAIRS_PERMUTED;
}

static enum pe_status layout_find(struct pe_probe *probe, struct pe_error *err)
{
    const struct pe_scheme *expected = probe->probed.expected;
    enum pe_bug bug = PE_BUG_NONE;

    probe->pairs =
        pe_allocations_take(&probe->memory, probe->rows.dim / 2 + 1, sizeof(*probe->pairs), err);
    if (!probe->pairs)
        return err->status;
    if (expected)
        bug = pairing_of(probe, pe_scheme_pairs(expected));
    else if (probe->moving_count == 0)
        layout_take(probe, true, probe->rows.dim / 2);
    else if (!layout_guess(probe))
        permuted_take(probe);
    if (probe->moving_count == 0)
        probe->result.layout = NULL;
    probe->result.pairing = pe_bug_info(bug);
    return PE_OK;
}

/* ---- rotations ------------------------------------------------------------------------------- */

/* The matrix of a pair at a token: [to][from]. */
struct matrix {
    double at[2][2];
};

static struct matrix matrix_of(const struct pe_probe *probe, size_t token, const struct pair *pair)
{
    struct matrix matrix;

    for (size_t to = 0; to < 2; to++)
        for (size_t from = 0; from < 2; from++)
            matrix.at[to][from] =
                pe_probed_element(&probe->rows, token, pair->to[to], pair->from[from]);
    return matrix;
}

/* Is the matrix a rotation times a scale? *off: how far its elements are from one. */
static bool is_rotation(const struct pe_probe *probe, const struct matrix *matrix, double *off)
{
    const double(*m)[2] = matrix->at;
    const double largest =
        fmax(fmax(fabs(m[0][0]), fabs(m[1][1])), fmax(fabs(m[0][1]), fabs(m[1][0])));

    *off = fmax(fabs(m[0][0] - m[1][1]), fabs(m[1][0] + m[0][1]));
    return *off <= 2 * probe->rows.rounding * largest;
}

/* Are the rows of a pair's matrix those of two rotations, of one length at every token, while the
 * matrix at the position nearest to 0 does not mirror the pair? */
static bool has_two_angles(const struct pe_probe *probe, const struct pair *pair)
{
    const struct matrix near = matrix_of(probe, nearest_token(probe), pair);

    if (near.at[0][0] * near.at[1][1] <= 0)
        return false;
    for (size_t token = 0; token < probe->rows.tokens; token++) {
        const struct matrix m = matrix_of(probe, token, pair);
        const double first = m.at[0][0] * m.at[0][0] + m.at[0][1] * m.at[0][1];
        const double second = m.at[1][1] * m.at[1][1] + m.at[1][0] * m.at[1][0];
        if (fabs(first - second) > 4 * probe->rows.rounding * fmax(first, second))
            return false;
    }
    return true;
}

/* Elements that are in no pair must stay as they are. */
static bool stays(struct pe_probe *probe)
{
    const struct pe_probed_rows *rows = &probe->rows;
    const size_t dim = rows->dim;

    for (size_t i = 0; i < dim; i++)
        probe->sources[i] = i;
    for (size_t k = 0; k < probe->result.pairs_count; k++)
        for (size_t side = 0; side < 2; side++)
            probe->sources[probe->pairs[k].from[side]] = dim;
    for (size_t token = 0; token < rows->tokens; token++)
        for (size_t i = 0; i < dim; i++) {
            const double seen = probe->sources[i] == dim ? 1 : pe_probed_element(rows, token, i, i);
            if (fabs(seen - 1) > rows->rounding) {
                fault_note(probe, PE_FAULT_NOT_ROTATION, token, i, seen, 1);
                return false;
            }
        }
    return true;
}

/* The scale of a place in a scheme whose scales depend on the position; 1 for others. */
static double scale_at(const struct pe_probe *probe, size_t token, size_t pair, int sign)
{
    const struct pe_scheme *expected = probe->probed.expected;
    struct pe_scale scale;

    if (!expected || !expected->encoding->rotary->scale ||
        pe_scheme_pairs(expected) != probe->result.pairs_count)
        return 1;
    const struct pe_scale_at at = {.scheme = expected,
                                   .pair = pair,
                                   .position = pe_position_of(&probe->probed.positions, token),
                                   .sign = sign};
    expected->encoding->rotary->scale->at(&scale, &at);
    return scale.value.hi;
}

static double length_at(const struct pe_probe *probe, size_t at)
{
    return sqrt(probe->cos[at] * probe->cos[at] + probe->sin[at] * probe->sin[at]);
}

/* Divides by the scales of queries, or of keys where these explain the lengths better. */
static void scales_divide(struct pe_probe *probe)
{
    const size_t pairs = probe->result.pairs_count;
    double off[2] = {0, 0};

    for (size_t at = 0; at < probe->rows.tokens * pairs; at++)
        for (size_t side = 0; side < 2; side++) {
            const double scale = scale_at(probe, at / pairs, at % pairs, side ? -1 : 1);
            off[side] += fabs(length_at(probe, at) / scale - 1);
        }
    for (size_t at = 0; at < probe->rows.tokens * pairs; at++) {
        const double scale = scale_at(probe, at / pairs, at % pairs, off[1] < off[0] ? -1 : 1);
        probe->cos[at] /= scale;
        probe->sin[at] /= scale;
    }
}

static enum pe_status rotations_read(struct pe_probe *probe, struct pe_error *err)
{
    const size_t pairs = probe->result.pairs_count, tokens = probe->rows.tokens;
    double off;

    probe->cos = pe_allocations_take(&probe->memory, tokens * pairs, sizeof(double), err);
    probe->sin = pe_allocations_take(&probe->memory, tokens * pairs, sizeof(double), err);
    if (!probe->cos || !probe->sin || !stays(probe))
        return err->status;
    for (size_t at = 0; at < tokens * pairs; at++) {
        const struct pair *pair = &probe->pairs[at % pairs];
        const struct matrix matrix = matrix_of(probe, at / pairs, pair);
        if (!is_rotation(probe, &matrix, &off)) {
            fault_note(probe,
                       has_two_angles(probe, pair) ? PE_FAULT_MIXED_LAYOUTS : PE_FAULT_NOT_ROTATION,
                       at / pairs, pair->from[0], off, 0);
            return PE_OK;
        }
        probe->cos[at] = (matrix.at[0][0] + matrix.at[1][1]) / 2;
        probe->sin[at] = (matrix.at[1][0] - matrix.at[0][1]) / 2;
    }
    scales_divide(probe);
    return PE_OK;
}

static enum pe_status angles_diagnose(struct pe_probe *probe, struct pe_pool *pool,
                                      struct pe_error *err)
{
    const struct pe_probed_rows *rows = &probe->rows;

    probe->sample =
        (struct pe_sample){.size = sizeof(probe->sample),
                           .layout = probe->result.layout,
                           .rows = rows->tokens,
                           .pairs = probe->result.pairs_count,
                           .positions = probe->probed.positions.values,
                           .axes = probe->probed.positions.axes,
                           .cos = probe->cos,
                           .sin = probe->sin,
                           .dtype = rows->y->dtype,
                           .precision = pe_precision_dtype(&rows->precision, rows->y->dtype),
                           .computed = true};
    return pe_diagnose(&probe->diagnosis, probe->probed.expected, &probe->sample, 1, pool,
                       rows->work, err);
}

/* ---- numbers of each pair -------------------------------------------------------------------- */

/* Slopes of angles over one coordinate, of tokens by its order. */
struct slope {
    double w, error; /* the error: of the angles at all tokens, rms */
};

static double coordinate(const struct pe_probe *probe, size_t axis, size_t token)
{
    return probe->probed.positions.values[axis * probe->rows.tokens + token];
}

static double angle_at(const struct pe_probe *probe, size_t token, size_t pair)
{
    const size_t at = token * probe->result.pairs_count + pair;

    return pe_circle_angle((struct pe_circle){probe->cos[at], probe->sin[at]});
}

/* A step of 3 positions is at most 3 radians, so that the first one is not ambiguous; each farther
 * token refines the frequency that nearer ones gave. */
static double frequency_of(const struct pe_probe *probe, size_t axis, size_t pair)
{
    const double first = angle_at(probe, 0, pair), origin = coordinate(probe, axis, 0);
    double w = NAN, reached = 0;

    for (size_t token = 1; token < probe->rows.tokens; token++) {
        const double distance = coordinate(probe, axis, token) - origin;
        const double angle = angle_at(probe, token, pair) - first;
        if (!(distance > reached) || (isnan(w) && distance > 3))
            continue;
        const double turn =
            isnan(w) ? rint(angle / (2 * M_PI)) * -1 : rint((distance * w - angle) / (2 * M_PI));
        w = (angle + 2 * M_PI * turn) / distance;
        reached = distance;
    }
    return w;
}

/* The rms of what a frequency leaves of the angles. */
static double frequency_error(const struct pe_probe *probe, size_t axis, size_t pair, double w)
{
    const double first = angle_at(probe, 0, pair), origin = coordinate(probe, axis, 0);
    double squares = 0;

    for (size_t token = 0; token < probe->rows.tokens; token++) {
        const double error = remainder(angle_at(probe, token, pair) - first -
                                           w * (coordinate(probe, axis, token) - origin),
                                       2 * M_PI);
        squares += error * error;
    }
    return sqrt(squares / (double)probe->rows.tokens);
}

/* The coordinate that rotates a pair: the expected one, or the one that explains the angles best.
 */
static size_t axis_of(const struct pe_probe *probe, size_t pair)
{
    const size_t axes = probe->probed.positions.axes;
    const struct pe_candidate expected = {.scheme = probe->probed.expected};
    double least = INFINITY;
    size_t best = 0;

    if (expected.scheme && pair < pe_scheme_pairs(expected.scheme))
        return pe_candidate_axis(&expected, axes, pair);
    for (size_t axis = 0; axis < axes; axis++) {
        const double error = frequency_error(probe, axis, pair, frequency_of(probe, axis, pair));
        if (error < least) {
            least = error;
            best = axis;
        }
    }
    return best;
}

/* The largest distance of a pair's angles from the expected ones. */
static void error_measure(struct pe_probe *probe, size_t index, size_t axis)
{
    const struct pe_candidate expected = {.scheme = probe->probed.expected};
    const struct pe_trial trial = {
        .is_float32 = pe_frequencies_in_float32(pe_scheme_frequencies(expected.scheme))};
    struct pe_probe_pair *pair = &probe->described[index];

    pair->expected = pe_frequencies_near(pe_scheme_frequencies(expected.scheme), index);
    for (size_t token = 0; token < probe->rows.tokens; token++) {
        const double t = coordinate(probe, axis, token);
        const double angle = pe_candidate_angle(
            &expected, pe_candidate_position(&expected, axis, t), pair->expected);
        const struct pe_circle there = pe_circle_at(angle);
        const size_t at = token * probe->result.pairs_count + index;
        const double c = probe->cos[at], s = probe->sin[at];
        const double error = fabs(pe_circle_angle(
            (struct pe_circle){c * there.cos + s * there.sin, s * there.cos - c * there.sin}));
        const double allowed =
            pe_angle_error_allowed(&trial, PE_ALLOW_FLOAT32, fabs(angle)) + probe->rows.rounding;
        pair->differs = pair->differs || error > allowed;
        if (error > pair->error) {
            pair->error = error;
            pair->error_position = t;
        }
    }
}

static void pair_describe(struct pe_probe *probe, size_t index)
{
    const size_t pairs = probe->result.pairs_count, tokens = probe->rows.tokens;
    const size_t axis = axis_of(probe, index);
    const double w = frequency_of(probe, axis, index);
    struct pe_probe_pair *pair = &probe->described[index];
    double length = 0;

    for (size_t token = 0; token < tokens; token++)
        length += length_at(probe, token * pairs + index);
    *pair = (struct pe_probe_pair){
        .first = probe->pairs[index].from[0],
        .second = probe->pairs[index].from[1],
        .frequency = fabs(w),
        .direction = isnan(w) || w == 0 ? 0
                     : w < 0            ? -1
                                        : 1,
        .scale = length / (double)tokens,
        .offset = remainder(angle_at(probe, 0, index) - w * coordinate(probe, axis, 0), 2 * M_PI),
        .expected = NAN,
        .error = NAN,
        .error_position = NAN};
    if (!probe->probed.expected || index >= pe_scheme_pairs(probe->probed.expected))
        return;
    pair->error = pair->error_position = 0;
    error_measure(probe, index, axis);
}

static enum pe_status pairs_describe(struct pe_probe *probe, struct pe_error *err)
{
    const size_t pairs = probe->result.pairs_count;

    probe->result.pairs = probe->described =
        pe_allocations_take(&probe->memory, pairs, sizeof(*probe->described), err);
    for (size_t index = 0; probe->described && index < pairs; index++)
        pair_describe(probe, index);
    return err->status;
}

/* ---- the summary ----------------------------------------------------------------------------- */

/* Appends to the summary; what does not fit is cut. */
__attribute__((format(printf, 2, 3))) static void say(struct pe_probe *probe, const char *format,
                                                      ...)
{
    char *text = probe->result.summary;
    const size_t at = strlen(text);
    va_list args;

    va_start(args, format);
    pe_text_vprint(text + at, PE_PROBE_SUMMARY - at, format, args);
    va_end(args);
}

static void fault_say(struct pe_probe *probe)
{
    const struct pe_probe_fault *fault = probe->result.fault;
    const struct pe_probe_place *place = &probe->result.place;

    say(probe, "%s: %s; element %zu at position %.17g", fault->code, fault->explanation,
        place->element, place->position);
    if (isfinite(place->predicted))
        say(probe, ": %.6g, not %.6g", place->seen, place->predicted);
    else if (probe->rows.fault == PE_FAULT_NOT_FINITE)
        say(probe, ": %.6g", place->seen);
}

/* Ranges of the pairs that differ, four at most. */
static void ranges_say(struct pe_probe *probe)
{
    enum { RANGES = 4 };
    const struct pe_probe_pair *pairs = probe->described;
    const size_t count = probe->result.pairs_count;
    size_t ranges = 0;

    for (size_t first = 0; first < count; first++) {
        size_t last = first;
        if (!pairs[first].differs)
            continue;
        while (last + 1 < count && pairs[last + 1].differs)
            last++;
        if (ranges++ == RANGES) {
            say(probe, " ...");
            return;
        }
        say(probe, ranges == 1 ? " %zu" : ", %zu", first);
        if (last > first)
            say(probe, "-%zu", last);
        first = last;
    }
}

/* "pairs 9-17, 0.90 rad at 4096"; or how scales differ. */
static void differences_say(struct pe_probe *probe)
{
    const struct pe_candidate expected = {.scheme = probe->probed.expected};
    const size_t count = probe->result.pairs_count;
    const struct pe_probe_pair *pairs = probe->described, *worst = NULL;
    const char *lead = ":";
    size_t differing = 0;

    if (!expected.scheme)
        return;
    for (size_t i = 0; i < count; i++) {
        differing += pairs[i].differs;
        if (pairs[i].differs && (!worst || pairs[i].error > worst->error))
            worst = &pairs[i];
    }
    if (worst) {
        say(probe, ": pair%s", differing > 1 ? "s" : "");
        ranges_say(probe);
        say(probe, ", %.2g rad at %.17g", worst->error, worst->error_position);
        lead = ",";
    }
    const double factor = pe_candidate_factor(&expected), scale = count ? pairs[0].scale : factor;
    if (fabs(scale - factor) > 2 * probe->rows.rounding * factor)
        say(probe, "%s scale %.5g, not %.5g", lead, scale, factor);
}

static void code_say(struct pe_probe *probe, const char *code)
{
    if (strcmp(probe->result.summary, code) != 0)
        say(probe, "%s%s", probe->result.summary[0] ? ", " : "", code);
}

/* " (base 500000)": the numbers in which a scheme differs from the expected one. */
static void scheme_say(struct pe_probe *probe, const struct pe_scheme *scheme)
{
    const struct pe_params *params = &scheme->params;
    const char *lead = " (";

    for (size_t i = 0; i < params->count; i++) {
        const struct pe_param *param = &params->list[i];
        const int there = pe_params_find(&probe->probed.expected->params, param->name);
        const bool same = there >= 0 && probe->probed.expected->params.values[there].number ==
                                            params->values[i].number;
        if (!params->values[i].given || param->type != PE_NUMBER || same)
            continue;
        say(probe, "%s%s %.6g", lead, param->name, params->values[i].number);
        lead = ", ";
    }
    if (lead[0] == ',')
        say(probe, ")");
}

static void pairing_say(struct pe_probe *probe)
{
    const struct pair *pair = &probe->pairs[0];
    const size_t pairs = pe_scheme_pairs(probe->probed.expected);
    const bool half = !probe->probed.layout || strcmp(probe->probed.layout, "half") == 0;

    if (probe->result.pairing == pe_bug_info(PE_BUG_WRONG_WIDTH))
        say(probe, "; %zu elements of %zu rotate, not %zu", probe->result.width, probe->rows.dim,
            2 * pairs);
    else if (pair->from[0] != 0 || pair->from[1] != (half ? pairs : 1))
        say(probe, "; pair 0 is elements %zu and %zu, not 0 and %zu", pair->from[0], pair->from[1],
            half ? pairs : 1);
    if (pair->to[0] != pair->from[0] || pair->to[1] != pair->from[1])
        say(probe, "; elements %zu and %zu become %zu and %zu", pair->from[0], pair->from[1],
            pair->to[0], pair->to[1]);
}

static void right_say(struct pe_probe *probe)
{
    const struct pe_probe_result *result = &probe->result;
    double most = 0;

    for (size_t i = 0; i < result->pairs_count; i++)
        most = fmax(most, result->pairs[i].error);
    say(probe, "right: %s, %zu pairs, %s, positions %.17g to %.17g, at most %.1e rad off%s",
        probe->probed.expected->encoding->info.name, result->pairs_count,
        result->layout ? result->layout : "of any layout", coordinate(probe, 0, 0),
        coordinate(probe, 0, probe->rows.tokens - 1), most,
        pe_diagnosis_verdict(probe->diagnosis) == PE_VERDICT_MATCH ? "" : " by float32");
}

/* The width of the frequencies is no news where the pairs have another width. */
static bool is_news(const struct pe_probe *probe, const struct pe_bug_info *bug)
{
    return !probe->result.pairing || bug != pe_bug_info(PE_BUG_WRONG_WIDTH);
}

static void summary_write(struct pe_probe *probe)
{
    static const char *const verdicts[] = {"match", "known-bug", "other-scheme", "unknown",
                                           "consistent"};
    const enum pe_verdict verdict = pe_diagnosis_verdict(probe->diagnosis);
    const struct pe_finding *best = pe_diagnosis_finding(probe->diagnosis, 0);
    struct pe_probe_result *result = &probe->result;
    /* What float32 does to large angles is no mistake of a function that computes in it. */
    const bool is_float32 =
        verdict == PE_VERDICT_KNOWN_BUG && best->bug == pe_bug_info(PE_BUG_FLOAT32_ANGLE);

    result->right = !result->pairing && (verdict == PE_VERDICT_MATCH || is_float32);
    if (pe_verdict_is_good(verdict) || is_float32)
        for (size_t i = 0; i < result->pairs_count; i++)
            probe->described[i].differs = false;
    if (result->right) {
        right_say(probe);
        return;
    }
    if (result->pairing)
        code_say(probe, result->pairing->code);
    if (verdict == PE_VERDICT_KNOWN_BUG) {
        if (is_news(probe, best->bug))
            code_say(probe, best->bug->code);
    } else if (!result->layout)
        code_say(probe, "not-rotated");
    else if (!pe_verdict_is_good(verdict) || !probe->probed.expected)
        code_say(probe, verdicts[verdict]);
    if (verdict == PE_VERDICT_OTHER_SCHEME && probe->probed.expected)
        scheme_say(probe, best->scheme);
    differences_say(probe);
    if (result->pairing)
        pairing_say(probe);
}

/* ---- the probe ------------------------------------------------------------------------------- */

static double work_of(const struct pe_probed_rows *rows)
{
    enum { ELEMENT = 4 }; /* nanoseconds to read and compare an element */
    const double elements = (double)rows->tokens * (double)rows->repeats * (double)rows->dim;
    const double squares = (double)rows->tokens * (double)rows->dim * (double)rows->dim;
    /* Rows of several elements are summed from all columns. */
    const double mixed =
        (double)rows->repeats > (double)rows->dim ? (double)rows->repeats - (double)rows->dim : 1;

    return ELEMENT * (4 * elements + (2 + mixed) * squares) +
           pe_diagnosis_work(rows->tokens, rows->dim / 2);
}

enum pe_status pe_probed_axes(const struct pe_probed *probed, struct pe_axes *axes,
                              double *nanoseconds, struct pe_error *err)
{
    struct pe_probed copy;
    struct pe_probed_rows rows;

    if (pe_struct_read(&copy, sizeof(copy), probed, err) || pe_probed_rows_shape(&rows, &copy, err))
        return err->status;
    *axes = (struct pe_axes){1, 1, rows.tokens, 1, rows.dim};
    if (nanoseconds)
        *nanoseconds = work_of(&rows);
    return PE_OK;
}

static enum pe_status expected_check(const struct pe_probe *probe, struct pe_error *err)
{
    const struct pe_scheme *expected = probe->probed.expected;

    if (!expected)
        return PE_OK;
    if (!expected->encoding->rotary || !expected->prepared || !pe_diagnosis_takes(expected))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding",
                       "what is expected must be a prepared rotary scheme");
    return pe_scheme_rotary_dim(expected) <= probe->rows.dim
               ? PE_OK
               : pe_observed_refuse("x", "as wide as what is expected to rotate, at least", err);
}

/* Positions as a list, in the order of the tokens. */
static enum pe_status positions_list(struct pe_probe *probe, struct pe_error *err)
{
    struct pe_positions *positions = &probe->probed.positions;
    const size_t axes = positions->axes > 1 ? positions->axes : 1;
    double *values;

    if (positions->count != probe->rows.tokens || positions->batch > 1)
        return pe_fail(err, PE_SHAPE_MISMATCH, "parameter:positions",
                       "positions are one list of %zu, one for each token of x",
                       probe->rows.tokens);
    values = pe_allocations_take(&probe->memory, axes * positions->count, sizeof(*values), err);
    for (size_t i = 0; values && i < axes * positions->count; i++) {
        values[i] = positions->values ? positions->values[i]
                                      : positions->start + positions->step * (double)i;
        if (!(fabs(values[i]) <= 0x1p53 - 1))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:positions",
                           "positions must be within +-(2^53 - 1), got %.4g", values[i]);
    }
    positions->values = values;
    positions->axes = axes;
    return err->status;
}

/* Most schemes rotate nothing at position 0: calls at 0 alone agree with each of them. */
static enum pe_status movement_check(const struct pe_probe *probe, struct pe_error *err)
{
    const struct pe_positions *positions = &probe->probed.positions;

    if (probe->moving_count > 0)
        return PE_OK;
    for (size_t i = 0; i < positions->axes * positions->count; i++)
        if (positions->values[i] != 0)
            return PE_OK;
    return pe_fail(err, PE_OUT_OF_RANGE, "parameter:positions",
                   "positions must not all be 0, where nothing rotates");
}

static void fault_report(struct pe_probe *probe)
{
    struct pe_probe_result *result = &probe->result;

    result->fault = &faults[probe->rows.fault - 1];
    result->place = probe->rows.place;
    result->place.position = coordinate(probe, 0, result->place.token);
    result->layout = NULL;
    result->pairing = NULL;
    result->pairs_count = 0;
    fault_say(probe);
}

static enum pe_status probe_make(struct pe_probe *probe, struct pe_pool *pool, struct pe_error *err)
{
    struct pe_probed_rows *rows = &probe->rows;

    if (pe_probed_rows_shape(rows, &probe->probed, err) || expected_check(probe, err) ||
        positions_list(probe, err) || pe_spend(probe->memory.work, work_of(rows), err))
        return err->status;
    rows->work = probe->memory.work;
    probe->result.head_dim = rows->dim;
    if (pe_probed_rows_read(rows, &probe->memory, err) ||
        (!rows->fault && structure_find(probe, err)) || (!rows->fault && layout_find(probe, err)) ||
        (!rows->fault && (movement_check(probe, err) || rotations_read(probe, err))))
        return err->status;
    if (rows->fault) {
        fault_report(probe);
        return PE_OK;
    }
    if (angles_diagnose(probe, pool, err) || pairs_describe(probe, err))
        return err->status;
    probe->result.diagnosis = probe->diagnosis;
    summary_write(probe);
    return PE_OK;
}

enum pe_status pe_probe_new(struct pe_probe **out, const struct pe_probed *probed,
                            struct pe_pool *pool, struct pe_work *work, struct pe_error *err)
{
    struct pe_probe *probe = pe_memory_take(work, 1, sizeof(*probe), "a probe", err);

    *out = NULL;
    if (!probe)
        return err->status;
    probe->memory = (struct pe_allocations){.work = work, .purpose = "a probe"};
    if (pe_struct_read(&probe->probed, sizeof(*probed), probed, err) ||
        probe_make(probe, pool, err)) {
        pe_probe_free(probe);
        return err->status;
    }
    *out = probe;
    return PE_OK;
}

const struct pe_probe_result *pe_probe_result(const struct pe_probe *probe)
{
    return &probe->result;
}

void pe_probe_free(struct pe_probe *probe)
{
    if (!probe)
        return;
    pe_diagnosis_free(probe->diagnosis);
    pe_allocations_free(&probe->memory);
    pe_memory_give(probe->memory.work, probe, 1, sizeof(*probe));
}
