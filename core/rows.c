/* SPDX-License-Identifier: MIT */
#include "core/rows.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/angle.h"
#include "core/dispatch.h"

/* Every so many rows stands an anchor: cos and sin of its angles as double-doubles, exact to 2^-96
 * at the first one and turned from one to the next in double-doubles. The rows between are an
 * anchor turned by 0, 1, 2 ... steps in plain doubles, and each value goes out as an interval that
 * is proved to hold the real number: where both ends round to the same, that is the answer; else
 * (about one in a million) the element is made alone, as it would have been without this file.
 *
 * The bound, for x = (a u - b v) A with |a|, |b|, |u|, |v| <= 1 and a^2 + b^2 = u^2 + v^2 = 1 but
 * for errors: a, b are double-doubles good to 2^-61 (PASS_ROWS turns of 2^-89 each at most) and
 * then rounded to doubles, 2^-54; u and v likewise. The products inherit (|a| + |b| + |u| + |v|)
 * 2^-54 <= 2.83 * 2^-54 and are rounded, 2 * 2^-54; their difference is rounded, 2^-54; A is a
 * double good to 2^-53 and the product with it is rounded, 4 * 2^-54 together; the ends of the
 * interval are rounded, 4 * 2^-54. In all below 14 * 2^-54 A < 2^-50 A, which is `absolute`.
 *
 * A small sine needs more: where all angles of the rows lie in [0, 0.5] nothing cancels (a u and
 * -b v are both >= 0), every step above is good to a relative 2^-53, and eight of them to 2^-50,
 * which is `relative`; `absolute` is then 0. */

enum { ROWS_LEAST = 16, ANCHOR_MOST = 64, ANCHOR_LEAST = 4, STEPS_SIZE = 1 << 15, LANES_MOST = 8 };
#define PASS_ROWS ((size_t)1 << 20)

#define ERROR 0x1p-50

/* Angles smaller than this could leave what double-doubles can hold. */
#define ANGLE_LEAST 0x1p-400

struct pe_steps {
    double step;
    size_t rows, width; /* of cos and sin: [rows][width], width a multiple of 8 */
    double *cos, *sin;
    double *jump_cos, *jump_sin; /* by `rows` steps: [2][width], high and low parts */
    double memory[];
};

void pe_steps_free(struct pe_steps *steps)
{
    free(steps);
}

static size_t width_of(const struct pe_frequencies *f)
{
    return (pe_frequencies_count(f) + LANES_MOST - 1) / LANES_MOST * LANES_MOST;
}

/* cos and sin of one position's angles as double-doubles; false: an angle is too small for them. */
static bool angles_write(const struct pe_frequencies *f, const struct pe_position *position,
                         size_t width, double *cos, double *sin)
{
    for (size_t pair = 0; pair < pe_frequencies_count(f); pair++) {
        const struct pe_turn *turn = pe_frequencies_turn(f, pair);
        const double near = fabs(turn->w.hi * position->part[0]);
        struct pe_angle angle;
        if ((near < ANGLE_LEAST && near != 0) || !pe_angle_reduce(&angle, turn, position))
            return false;
        const struct pe_cos_sin exact = pe_angle_cos_sin_exact(&angle);
        cos[pair] = exact.cos.hi;
        cos[width + pair] = exact.cos.lo;
        sin[pair] = exact.sin.hi;
        sin[width + pair] = exact.sin.lo;
    }
    return true;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static struct pe_steps *steps_new(const struct pe_frequencies *f, double step)
{
    const size_t width = width_of(f), most = STEPS_SIZE / width;
    const size_t rows = most < ANCHOR_LEAST  ? ANCHOR_LEAST
                        : most > ANCHOR_MOST ? ANCHOR_MOST
                                             : most;
    const struct pe_position unit = pe_position_at(0, step, 1);
    struct pe_steps *steps =
        calloc(1, sizeof(*steps) + (2 * rows + 8) * width * sizeof(steps->memory[0]));
    double *unit_cos, *unit_sin;

    if (!steps)
        return NULL;
    steps->step = step;
    steps->rows = rows;
    steps->width = width;
    steps->cos = steps->memory;
    steps->sin = steps->cos + rows * width;
    steps->jump_cos = steps->sin + rows * width;
    steps->jump_sin = steps->jump_cos + 2 * width;
    unit_cos = steps->jump_sin + 2 * width;
    unit_sin = unit_cos + 2 * width;
    if (!angles_write(f, &unit, width, unit_cos, unit_sin)) {
        free(steps);
        return NULL;
    }
    for (size_t i = 0; i < width; i++)
        steps->jump_cos[i] = 1;
    for (size_t row = 0; row < rows; row++) {
        memcpy(steps->cos + row * width, steps->jump_cos, width * sizeof(double));
        memcpy(steps->sin + row * width, steps->jump_sin, width * sizeof(double));
        pe_isa()->kernels->table_turn(steps->jump_cos, steps->jump_sin, unit_cos, unit_sin, width);
    }
    return steps;
}

/* Those of the first step that is asked for stay with the frequencies; *mine: to be freed. */
static const struct pe_steps *steps_get(const struct pe_frequencies *f, double step,
                                        struct pe_steps **mine)
{
    struct pe_steps *_Atomic *kept = pe_frequencies_steps(f);
    struct pe_steps *found = atomic_load(kept);

    *mine = NULL;
    if (found && found->step == step)
        return found;
    *mine = steps_new(f, step);
    if (!found && *mine && atomic_compare_exchange_strong(kept, &found, *mine)) {
        found = *mine;
        *mine = NULL;
        return found;
    }
    return *mine;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* What one call needs; all arrays are `width` long, or twice that for double-doubles. */
struct rows {
    const struct pe_frequencies *f;
    const struct pe_positions *positions;
    const struct pe_steps *steps;
    enum pe_amplitude amplitude;
    enum pe_dtype dtype;
    size_t count, width, stride;
    double factor;
    double *cos, *sin;               /* of the anchor */
    double *minus_cos;               /* high parts */
    double *absolute, *sin_absolute; /* bounds of the errors */
    double *relative, *sin_relative;
    float *low, *high;
    uint16_t *low_16, *high_16;
    char *out_cos, *out_sin;
};

/* Sixteen bits are rounded from the ends as f32: those must not lie inside the interval. */
static void bounds_set(struct rows *r, size_t begin, size_t end)
{
    const double narrow = r->dtype == PE_F32 ? 0 : 0x1p-23,
                 tiny = r->dtype == PE_F32 ? 0 : 0x1p-148;
    const struct pe_positions *p = r->positions;
    const double first = pe_position_at(p->start, p->step, (double)begin).part[0];
    const double last = pe_position_at(p->start, p->step, (double)(end - 1)).part[0];

    for (size_t pair = 0; pair < r->count; pair++) {
        const bool slow = first >= 0 && p->step >= 0 &&
                          last * pe_frequencies_turn(r->f, pair)->w.hi < 0.5 - 0x1p-20;
        r->absolute[pair] = r->factor * ERROR + tiny;
        r->sin_absolute[pair] = slow ? tiny : r->absolute[pair];
        r->relative[pair] = narrow;
        r->sin_relative[pair] = (slow ? ERROR : 0) + narrow;
    }
}

/* The elements of a row whose interval did not decide. */
static void row_mend(const struct rows *r, size_t row, bool is_sin, char *out, const char *low,
                     const char *high, size_t size)
{
    for (size_t pair = 0; pair < r->count; pair++)
        if (memcmp(low + pair * size, high + pair * size, size) != 0)
            pe_frequencies_pairs(r->f, r->positions, row, pair, pair + 1, r->amplitude, r->dtype,
                                 is_sin ? NULL : out + pair * size,
                                 is_sin ? out + pair * size : NULL);
}

static void row_finish(const struct rows *r, size_t row, bool is_sin, char *out)
{
    const struct pe_kernels *kernels = pe_isa()->kernels;
    const char *low = (const char *)r->low, *high = (const char *)r->high;
    const size_t size = pe_dtype_info(r->dtype)->size;

    if (r->dtype != PE_F32) {
        void (*narrow)(uint16_t *, const float *, size_t) =
            r->dtype == PE_F16 ? kernels->convert_f32_f16 : kernels->convert_f32_bf16;
        narrow(r->low_16, r->low, r->count);
        narrow(r->high_16, r->high, r->count);
        low = (const char *)r->low_16;
        high = (const char *)r->high_16;
    }
    memcpy(out, low, r->count * size);
    if (memcmp(low, high, r->count * size) != 0)
        row_mend(r, row, is_sin, out, low, high, size);
}

/* Row `row`, so many steps behind the anchor; `at` is its place among the rows written. */
static void row_write(const struct rows *r, size_t row, size_t steps, size_t at)
{
    const double *u = r->steps->cos + steps * r->width, *v = r->steps->sin + steps * r->width;
    const size_t offset = at * r->stride * pe_dtype_info(r->dtype)->size;
    void (*interval)(float *, float *, const double *, const double *, const double *,
                     const double *, const double *, const double *, double, size_t) =
        pe_isa()->kernels->table_interval;

    if (r->out_cos) {
        interval(r->low, r->high, r->cos, u, r->sin, v, r->absolute, r->relative, r->factor,
                 r->width);
        row_finish(r, row, false, r->out_cos + offset);
    }
    if (r->out_sin) {
        interval(r->low, r->high, r->sin, u, r->minus_cos, v, r->sin_absolute, r->sin_relative,
                 r->factor, r->width);
        row_finish(r, row, true, r->out_sin + offset);
    }
}

static bool pass_write(struct rows *r, size_t first, size_t begin, size_t end)
{
    const struct pe_positions *p = r->positions;
    const struct pe_position position = pe_position_at(p->start, p->step, (double)begin);

    if (!angles_write(r->f, &position, r->width, r->cos, r->sin))
        return false;
    bounds_set(r, begin, end);
    for (size_t row = begin; row < end; row++) {
        const size_t steps = (row - begin) % r->steps->rows;
        if (steps == 0 && row > begin)
            pe_isa()->kernels->table_turn(r->cos, r->sin, r->steps->jump_cos, r->steps->jump_sin,
                                          r->width);
        for (size_t i = 0; steps == 0 && i < r->width; i++)
            r->minus_cos[i] = -r->cos[i];
        row_write(r, row, steps, row - first);
    }
    return true;
}

/* One piece of memory for all arrays. */
static char *arrays_take(struct rows *r)
{
    const size_t width = r->width;
    double *memory = calloc(width, 9 * sizeof(double) + 2 * sizeof(float) + 2 * sizeof(uint16_t));

    if (!memory)
        return NULL;
    r->cos = memory;
    r->sin = r->cos + 2 * width;
    r->minus_cos = r->sin + 2 * width;
    r->absolute = r->minus_cos + width;
    r->sin_absolute = r->absolute + width;
    r->relative = r->sin_absolute + width;
    r->sin_relative = r->relative + width;
    r->low = (float *)(r->sin_relative + width);
    r->high = r->low + width;
    r->low_16 = (uint16_t *)(r->high + width);
    r->high_16 = r->low_16 + width;
    return (char *)memory;
}

bool pe_rows_write(const struct pe_frequencies *f, const struct pe_positions *positions,
                   size_t begin, size_t end, enum pe_amplitude amplitude, enum pe_dtype dtype,
                   size_t stride, void *cos, void *sin)
{
    struct rows r = {.f = f,
                     .positions = positions,
                     .amplitude = amplitude,
                     .dtype = dtype,
                     .count = pe_frequencies_count(f),
                     .width = width_of(f),
                     .stride = stride,
                     .factor = pe_frequencies_amplitude(f, amplitude),
                     .out_cos = cos,
                     .out_sin = sin};
    struct pe_steps *mine;
    bool done = true;
    char *memory;

    if (dtype == PE_F64 || positions->values || end - begin < ROWS_LEAST || r.count == 0)
        return false;
    r.steps = steps_get(f, positions->step, &mine);
    memory = r.steps ? arrays_take(&r) : NULL;
    for (size_t row = begin; memory && done && row < end; row += PASS_ROWS)
        done = pass_write(&r, begin, row, end - row < PASS_ROWS ? end : row + PASS_ROWS);
    free(memory);
    pe_steps_free(mine);
    return memory && done;
}
