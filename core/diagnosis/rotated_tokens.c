/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/base/sizes.h"
#include "core/diagnosis/observations.h"
#include "posenc/comparison.h"

/* Tokens before and after a rotation. The rotation of each pair of a sampled token is found by
 * least squares over heads; all rows are checked head by head, so that damage to one is not
 * averaged away.
 */

enum { PIECE = 128 };

/* Elements count as rotated if the squares of their changes are more than this part of theirs. */
#define CHANGE_LEAST 0x1p-12

/* The largest of many errors is at most so many times their rms. */
#define NOISE_MOST 8.0

size_t pe_head_element(const struct pe_head_layout *heads, size_t head, size_t token)
{
    const size_t row = heads->sequence > 0 ? token / heads->sequence : 0;

    return heads->first + head / heads->inner * heads->outer_step +
           head % heads->inner * heads->inner_step + row * heads->batch_step +
           (token - row * heads->sequence) * heads->token_step;
}

static size_t heads_count(const struct pe_head_layout *heads)
{
    return heads->outer * heads->inner;
}

/* ---- sums over the sampled tokens ------------------------------------------------------------ */

enum pe_status pe_rotated_tokens_new(struct pe_rotated_tokens *tokens,
                                     struct pe_allocations *memory, struct pe_error *err)
{
    tokens->changes = pe_allocations_take(memory, tokens->head_dim, sizeof(double), err);
    tokens->squares = pe_allocations_take(memory, tokens->head_dim, sizeof(double), err);
    return tokens->changes && tokens->squares ? PE_OK : err->status;
}

/* Head `index` of those that make a sample. */
static size_t sampled_head(const struct pe_head_layout *heads, size_t sampled, size_t index)
{
    return index * heads_count(heads) / sampled;
}

static enum pe_status head_measure(struct pe_rotated_tokens *tokens, size_t at,
                                   struct pe_error *err)
{
    double x[PIECE], y[PIECE];

    for (size_t first = 0; first < tokens->head_dim; first += PIECE)
        if (pe_finite_read(tokens->before, at + first, 1, pe_min(tokens->head_dim - first, PIECE),
                           NULL, x, err))
            return err->status;
    for (size_t first = 0; first < tokens->head_dim; first += PIECE) {
        const size_t count = pe_min(tokens->head_dim - first, PIECE);
        pe_values_read(tokens->before.tensor, at + first, 1, count, x);
        if (pe_finite_read(tokens->after, at + first, 1, count, &tokens->precision, y, err))
            return err->status;
        for (size_t i = 0; i < count; i++) {
            tokens->changes[first + i] += (y[i] - x[i]) * (y[i] - x[i]);
            tokens->squares[first + i] += x[i] * x[i];
        }
    }
    return PE_OK;
}

enum pe_status pe_rotated_tokens_measure(struct pe_rotated_tokens *tokens,
                                         const struct pe_sampled_rows *rows, struct pe_error *err)
{
    tokens->precision = (struct pe_precision){0};
    memset(tokens->changes, 0, tokens->head_dim * sizeof(double));
    memset(tokens->squares, 0, tokens->head_dim * sizeof(double));
    for (size_t i = 0; i < rows->count * tokens->sampled_heads; i++) {
        const size_t head =
            sampled_head(&tokens->heads, tokens->sampled_heads, i % tokens->sampled_heads);
        const size_t row = rows->rows[i / tokens->sampled_heads];
        if (head_measure(tokens, pe_head_element(&tokens->heads, head, row), err))
            return err->status;
    }
    return PE_OK;
}

bool pe_rotated_tokens_are_zero(const struct pe_rotated_tokens *tokens)
{
    for (size_t j = 0; j < tokens->head_dim; j++)
        if (tokens->changes[j] != 0 || tokens->squares[j] != 0)
            return false;
    return true;
}

/* The rms of changes after a width, in so many tokens. */
static double noise_behind(const struct pe_rotated_tokens *tokens, size_t width, size_t count)
{
    double changes = 0;

    for (size_t j = width; j < tokens->head_dim; j++)
        changes += tokens->changes[j];
    return changes > 0 ? sqrt(changes / (double)(count * (tokens->head_dim - width))) : 0;
}

bool pe_rotated_tokens_change_behind(const struct pe_rotated_tokens *tokens, size_t width)
{
    double changes = 0, squares = 0;

    for (size_t j = width; j < tokens->head_dim; j++) {
        changes += tokens->changes[j];
        squares += tokens->squares[j];
    }
    return changes > CHANGE_LEAST * squares;
}

size_t pe_rotated_tokens_width(const struct pe_rotated_tokens *tokens,
                               const struct pe_scheme *expected)
{
    const size_t wanted = expected ? pe_scheme_rotary_dim(expected) : 0;
    size_t seen = tokens->head_dim;

    while (seen > 0 && tokens->changes[seen - 1] == 0)
        seen--;
    seen += seen % 2;
    if (wanted >= 2 && (seen <= wanted || !pe_rotated_tokens_change_behind(tokens, wanted)))
        return wanted;
    return seen > tokens->head_dim ? 0 : seen >= 2 ? seen : tokens->head_dim;
}

/* ---- rotations of pairs ---------------------------------------------------------------------- */

/* Pairs [begin, begin + count) of one head of a token, before and after. */
struct piece {
    size_t count;
    double before[2][PIECE], after[2][PIECE];
};

/* Sums of a pair over heads: of the rotation's real and imaginary parts, and of squared lengths. */
struct rotated_pair {
    double real, imaginary, before, after;
};

static void piece_read(const struct pe_token_rows *tokens, size_t row, size_t head, size_t begin,
                       struct piece *piece)
{
    const size_t first = pe_head_element(&tokens->heads, head, row);

    for (size_t i = 0; i < 2; i++) {
        const size_t at = first + begin * tokens->step + i * tokens->second;
        pe_values_read(tokens->before, at, tokens->step, piece->count, piece->before[i]);
        pe_values_read(tokens->after, at, tokens->step, piece->count, piece->after[i]);
    }
}

static struct rotated_pair pair_of(const struct piece *piece, size_t i)
{
    const double x0 = piece->before[0][i], x1 = piece->before[1][i];
    const double y0 = piece->after[0][i], y1 = piece->after[1][i];

    return (struct rotated_pair){x0 * y0 + x1 * y1, x0 * y1 - x1 * y0, x0 * x0 + x1 * x1,
                                 y0 * y0 + y1 * y1};
}

static void sampled_heads_sum(const struct pe_token_rows *tokens, size_t sampled, size_t row,
                              size_t begin, size_t count, struct rotated_pair *sums)
{
    struct piece piece = {.count = count};

    memset(sums, 0, count * sizeof(*sums));
    for (size_t i = 0; i < sampled; i++) {
        piece_read(tokens, row, sampled_head(&tokens->heads, sampled, i), begin, &piece);
        for (size_t at = 0; at < count; at++) {
            const struct rotated_pair pair = pair_of(&piece, at);
            sums[at].real += pair.real;
            sums[at].imaginary += pair.imaginary;
            sums[at].before += pair.before;
            sums[at].after += pair.after;
        }
    }
}

/* The rotation as a cosine and a sine: NaN for a pair of zeros, INFINITY for one that is not finite
 * or that was made of zeros. */
static void rotation_write(const struct rotated_pair *pair, double *cos, double *sin)
{
    const bool is_seen = pair->before != 0 || pair->after != 0;
    const bool is_finite =
        isfinite(pair->before) && isfinite(pair->real) && isfinite(pair->imaginary);
    const bool is_good = is_finite && pair->before != 0;

    *cos = !is_seen ? NAN : is_good ? pair->real / pair->before : INFINITY;
    *sin = !is_seen ? NAN : is_good ? pair->imaginary / pair->before : INFINITY;
}

static void row_sample(const struct pe_rotated_tokens *tokens, const struct pe_token_rows *rows,
                       size_t row, double *cos, double *sin, double *weight)
{
    struct rotated_pair sums[PIECE];

    for (size_t first = 0; first < rows->pairs; first += PIECE) {
        const size_t count = pe_min(rows->pairs - first, PIECE);
        sampled_heads_sum(rows, tokens->sampled_heads, row, first, count, sums);
        for (size_t i = 0; i < count; i++) {
            if (tokens->skips_zeros && sums[i].before == 0)
                sums[i].after = 0;
            rotation_write(&sums[i], &cos[first + i], &sin[first + i]);
            weight[first + i] = sums[i].before;
        }
    }
}

/* ---- all rows, head by head ------------------------------------------------------------------ */

static void head_read(const void *context, size_t head, size_t begin, size_t rows, double *cos,
                      double *sin, double *weight)
{
    const struct pe_token_rows *tokens = context;
    struct piece piece;

    for (size_t row = 0; row < rows; row++)
        for (size_t first = 0; first < tokens->pairs; first += PIECE) {
            const size_t at = row * tokens->pairs + first;
            piece.count = pe_min(tokens->pairs - first, PIECE);
            piece_read(tokens, begin + row, head, first, &piece);
            for (size_t i = 0; i < piece.count; i++) {
                const struct rotated_pair pair = pair_of(&piece, i);
                rotation_write(&pair, &cos[at + i], &sin[at + i]);
                weight[at + i] = pair.before * tokens->weight;
            }
        }
}

/* Is an element after the pairs the same, but for rounding and the noise of the sampled tokens?
 * Memory that was never written may hold NaN before and after. */
static bool is_unchanged(const struct pe_token_rows *tokens, double before, double after)
{
    return before == after || fabs(after - before) <= NOISE_MOST * tokens->unrotated_noise ||
           after == pe_round_to(before, tokens->precision) || (isnan(before) && isnan(after));
}

static bool is_unrotated(const void *context, size_t head, size_t row, struct pe_bad_rows *bad)
{
    const struct pe_token_rows *tokens = context;
    const size_t at = pe_head_element(&tokens->heads, head, row);
    double before[PIECE], after[PIECE];

    for (size_t first = 2 * tokens->pairs; first < tokens->head_dim; first += PIECE) {
        const size_t count = pe_min(tokens->head_dim - first, PIECE);
        pe_values_read(tokens->before, at + first, 1, count, before);
        pe_values_read(tokens->after, at + first, 1, count, after);
        for (size_t i = 0; i < count; i++)
            if (!is_unchanged(tokens, before[i], after[i])) {
                bad->pair = first + i;
                bad->seen = after[i];
                bad->predicted = before[i];
                return false;
            }
    }
    return true;
}

/* ---- samples --------------------------------------------------------------------------------- */

enum pe_status pe_sample_buffers_new(struct pe_sample_buffers *buffers, size_t rows,
                                     size_t head_dim, struct pe_allocations *memory,
                                     struct pe_error *err)
{
    const size_t count = rows * ((head_dim + 1) / 2);

    buffers->cos = pe_allocations_take(memory, count, sizeof(double), err);
    buffers->sin = pe_allocations_take(memory, count, sizeof(double), err);
    buffers->weight = pe_allocations_take(memory, count, sizeof(double), err);
    return buffers->cos && buffers->sin && buffers->weight ? PE_OK : err->status;
}

void pe_rotated_tokens_sample(const struct pe_rotated_tokens *tokens,
                              const struct pe_sampled_rows *rows, bool half, size_t pairs,
                              const char *expected, const struct pe_sample_buffers *buffers,
                              struct pe_token_rows *context, struct pe_sample *sample)
{
    const enum pe_dtype dtype = tokens->after.tensor->dtype;
    const char *layout = half ? "half" : "interleaved";
    const size_t count = rows->count * pairs;
    double sum = 0;

    *context = (struct pe_token_rows){
        .before = tokens->before.tensor,
        .after = tokens->after.tensor,
        .heads = tokens->heads,
        .pairs = pairs,
        .second = half ? pairs : 1,
        .step = half ? 1 : 2,
        .head_dim = tokens->head_dim,
        .unrotated_noise = noise_behind(tokens, 2 * pairs, rows->count * tokens->sampled_heads),
        .precision = pe_precision_dtype(&tokens->precision, dtype)};
    for (size_t i = 0; i < rows->count; i++)
        row_sample(tokens, context, rows->rows[i], buffers->cos + i * pairs,
                   buffers->sin + i * pairs, buffers->weight + i * pairs);
    for (size_t i = 0; i < count; i++)
        sum += buffers->weight[i];
    context->weight = sum > 0 ? (double)count / sum : 0;
    for (size_t i = 0; i < count; i++)
        buffers->weight[i] *= context->weight;
    context->all = (struct pe_sample_rows){.size = sizeof(context->all),
                                           .positions = tokens->positions->all,
                                           .context = context,
                                           .heads = heads_count(&tokens->heads),
                                           .read_head = head_read,
                                           .unit = context->weight,
                                           .is_kept = is_unrotated};
    *sample = (struct pe_sample){.size = sizeof(*sample),
                                 .layout = layout,
                                 .unexpected = expected && strcmp(layout, expected) != 0,
                                 .rows = rows->count,
                                 .pairs = pairs,
                                 .positions = tokens->positions->sampled,
                                 .axes = tokens->positions->all.axes,
                                 .cos = buffers->cos,
                                 .sin = buffers->sin,
                                 .weight = buffers->weight,
                                 .dtype = dtype,
                                 .precision = context->precision,
                                 .computed = true,
                                 .all = &context->all};
}

enum pe_status pe_rotated_tokens_samples(const struct pe_rotated_tokens *tokens,
                                         const struct pe_sampled_rows *rows, size_t width,
                                         const char *expected, struct pe_allocations *memory,
                                         struct pe_token_rows contexts[2],
                                         struct pe_sample samples[2], size_t *count,
                                         struct pe_error *err)
{
    *count = 0;
    if (width > tokens->head_dim)
        return pe_observed_refuse("q", "as wide as what is expected to rotate, at least", err);
    for (int half = 1; half >= 0; half--) {
        struct pe_sample_buffers buffers;
        if (width == 2 && (half ? expected && strcmp(expected, "half") != 0 : *count > 0))
            continue;
        if (pe_sample_buffers_new(&buffers, rows->count, width, memory, err))
            return err->status;
        pe_rotated_tokens_sample(tokens, rows, half, width / 2, expected, &buffers,
                                 &contexts[*count], &samples[*count]);
        ++*count;
    }
    return PE_OK;
}
