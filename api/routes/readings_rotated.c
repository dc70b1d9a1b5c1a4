/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api/routes/readings.h"

/* q before and after a rotation: what turned each pair of each token is found by least squares over
 * the heads, in both layouts. Of many heads some are looked at. */

enum { HEADS_MAX = 16 };

/* Beyond the expected rotary width: by what fraction an element must change to count as rotated. */
#define CHANGE_LEAST 0x1p-12

struct before_after {
    const struct api_tensor *before, *after;
    struct pe_axes axes;
    size_t heads;  /* that are looked at */
    size_t width;  /* of the part that rotates */
    double *x, *y; /* [rows, heads, head_dim] */
};

static double *room_take(const struct api_readings *readings, size_t count)
{
    return (double *)api_arena_room(readings->request->arena, count * sizeof(double));
}

/* All heads of every batch row. */
static struct api_heads heads_of(const struct pe_axes *axes)
{
    const size_t token = axes->heads_inner * axes->head_dim;

    return (struct api_heads){.outer = axes->heads_outer,
                              .outer_step = axes->sequence * token,
                              .inner = axes->heads_inner,
                              .inner_step = axes->head_dim,
                              .token_step = token,
                              .sequence = axes->sequence,
                              .batch_step = axes->heads_outer * axes->sequence * token};
}

/* Reads the tokens that were chosen, of any batch row. */
static enum pe_status tokens_read(struct api_readings *readings, struct before_after *pair,
                                  struct pe_error *err)
{
    const struct pe_axes *axes = &pair->axes;
    const size_t all = axes->heads_outer * axes->heads_inner, d = axes->head_dim;
    const struct api_heads heads = heads_of(axes);

    pair->heads = all < HEADS_MAX ? all : HEADS_MAX;
    pair->x = room_take(readings, readings->rows_count * pair->heads * d);
    pair->y = room_take(readings, readings->rows_count * pair->heads * d);
    if (!pair->x || !pair->y)
        return api_readings_no_memory(err);
    for (size_t i = 0; i < readings->rows_count * pair->heads; i++) {
        const size_t head = (i % pair->heads) * all / pair->heads;
        const size_t at = api_heads_element(&heads, head, readings->rows[i / pair->heads]);
        const struct api_grain grain = readings->grain;
        for (size_t j = 0; j < d; j++)
            if (api_readings_element(readings, pair->before, at + j, &pair->x[i * d + j], err))
                return err->status;
        readings->grain = grain; /* what rotated tells how it was rounded, not what went in */
        for (size_t j = 0; j < d; j++)
            if (api_readings_element(readings, pair->after, at + j, &pair->y[i * d + j], err))
                return err->status;
    }
    return PE_OK;
}

/* The elements behind the last that any token changed pass through. */
static size_t width_measure(const struct api_readings *readings, const struct before_after *pair)
{
    const size_t d = pair->axes.head_dim;
    size_t width = 0;

    for (size_t i = 0; i < readings->rows_count * pair->heads * d; i++)
        if (i % d >= width && pair->x[i] != pair->y[i])
            width = i % d + 1;
    return width + width % 2;
}

/* Does more than noise change behind a width? `rms` is that of the changes. */
static bool changes_behind(const struct api_readings *readings, const struct before_after *pair,
                           size_t width, double *rms)
{
    const size_t d = pair->axes.head_dim, tokens = readings->rows_count * pair->heads;
    double changes = 0, squares = 0;

    for (size_t i = 0; i < tokens * d; i++)
        if (i % d >= width) {
            const double change = pair->y[i] - pair->x[i];
            changes += change * change;
            squares += pair->x[i] * pair->x[i];
        }
    *rms = changes > 0 ? sqrt(changes / (double)(tokens * (d - width))) : 0;
    return changes > CHANGE_LEAST * squares;
}

/* The complex number that turned a pair of one token; its weight is how long the pair was. */
static void turn_fit(const struct before_after *pair, size_t row, size_t first, size_t second,
                     double *cos, double *sin, double *weight)
{
    double real = 0, imaginary = 0;

    *weight = 0;
    for (size_t head = 0; head < pair->heads; head++) {
        const size_t at = (row * pair->heads + head) * pair->axes.head_dim;
        const double x0 = pair->x[at + first], x1 = pair->x[at + second];
        const double y0 = pair->y[at + first], y1 = pair->y[at + second];
        *weight += x0 * x0 + x1 * x1;
        real += x0 * y0 + x1 * y1;
        imaginary += x0 * y1 - x1 * y0;
    }
    *cos = *weight > 0 ? real / *weight : NAN;
    *sin = *weight > 0 ? imaginary / *weight : NAN;
}

static enum pe_status layout_read(struct api_readings *readings, const struct before_after *pair,
                                  bool half, struct pe_error *err)
{
    const size_t pairs = pair->width / 2, count = readings->rows_count * pairs;
    struct pe_sample *reading =
        api_readings_add(readings, half ? "half" : "interleaved", pairs, pair->after->tensor.dtype);
    double *cos = api_readings_room(readings, count), *sin = api_readings_room(readings, count);
    double *weight = api_readings_room(readings, count), sum = 0;
    struct api_tokens *tokens;

    if (!cos || !sin || !weight)
        return api_readings_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const size_t k = i % pairs, first = half ? k : 2 * k;
        turn_fit(pair, i / pairs, first, half ? k + pairs : first + 1, &cos[i], &sin[i],
                 &weight[i]);
        sum += weight[i];
    }
    for (size_t i = 0; i < count && sum > 0; i++)
        weight[i] *= (double)count / sum;
    tokens = &readings->tokens_of[reading - readings->list];
    *tokens = (struct api_tokens){.before = &pair->before->tensor,
                                  .after = &pair->after->tensor,
                                  .heads = heads_of(&pair->axes),
                                  .pairs = pairs,
                                  .second = half ? pairs : 1,
                                  .step = half ? 1 : 2,
                                  .weight = sum > 0 ? (double)count / sum : 0,
                                  .kept = {.end = pair->axes.head_dim}};
    tokens->kept.precision = api_readings_precision(&readings->grain, pair->after->tensor.dtype);
    changes_behind(readings, pair, pair->width, &tokens->kept.noise);
    api_readings_tokens(tokens, &readings->all, reading);
    reading->computed = true;
    reading->cos = cos;
    reading->sin = sin;
    reading->weight = weight;
    return PE_OK;
}

static enum pe_status shapes_check(struct api_readings *readings, struct before_after *pair,
                                   struct pe_error *err)
{
    const struct pe_tensor *before = &pair->before->tensor, *after = &pair->after->tensor;
    size_t elements;

    if (before->rank != after->rank ||
        memcmp(before->shape, after->shape, before->rank * sizeof(size_t)) != 0)
        return api_readings_refuse("q_rotated", "of the shape of q", err);
    if (pe_axes_parse(&pair->axes, readings->axes, before,
                      readings->expected ? pe_scheme_head_dim(readings->expected) : 0, err))
        return err->status;
    pe_shape_elements(before->shape, before->rank, &elements);
    return pair->axes.head_dim < 2 || elements == 0
               ? api_readings_refuse("q", "of one token and of heads of two elements at least", err)
               : PE_OK;
}

enum pe_status api_readings_rotated(struct api_readings *readings, const struct api_tensor *before,
                                    const struct api_tensor *after, struct pe_error *err)
{
    struct before_after pair = {.before = before, .after = after};
    size_t seen, asked;
    double rms;

    if (!before || !after)
        return pe_fail(err, PE_MISSING, before ? "tensor:q_rotated" : "tensor:q",
                       "q and q_rotated go together; %s is missing", before ? "q_rotated" : "q");
    if (shapes_check(readings, &pair, err) ||
        api_readings_rows(readings, before->name,
                          &(struct api_sheet){pair.axes.batch, pair.axes.sequence, 0},
                          (pair.axes.head_dim + 1) / 2, err) ||
        tokens_read(readings, &pair, err))
        return err->status;
    seen = width_measure(readings, &pair);
    asked = readings->expected ? pe_scheme_rotary_dim(readings->expected) : seen;
    pair.width = seen > asked && changes_behind(readings, &pair, asked, &rms) ? seen : asked;
    if (pair.width < 2)
        pair.width = pair.axes.head_dim;
    if (pair.width > pair.axes.head_dim)
        return api_readings_refuse("q", "as wide as what is expected to rotate, at least", err);
    /* Of a single pair both layouts are one. */
    if ((pair.width > 2 || !readings->layout || strcmp(readings->layout, "half") == 0) &&
        layout_read(readings, &pair, true, err))
        return err->status;
    return pair.width > 2 || readings->count == 0 ? layout_read(readings, &pair, false, err)
                                                  : PE_OK;
}
