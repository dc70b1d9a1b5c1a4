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

/* Elements rotate beside others that noise alone changes if the squares of their changes are on
 * average so many times as large. */
#define CHANGE_BEYOND_NOISE 16.0

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
                           NULL, NULL, x, err))
            return err->status;
    for (size_t first = 0; first < tokens->head_dim; first += PIECE) {
        const size_t count = pe_min(tokens->head_dim - first, PIECE);
        pe_values_read(tokens->before.tensor, at + first, 1, count, x);
        if (pe_finite_read(tokens->after, at + first, 1, count, &tokens->precision,
                           &tokens->skipped, y, err))
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
    tokens->skipped = (struct pe_not_finite){0};
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

/* The rms of the changes of kept elements, in so many tokens. */
static double kept_noise(const struct pe_rotated_tokens *tokens, const struct pe_head_pairs *pairs,
                         size_t count)
{
    double changes = 0;
    size_t kept = 0;

    for (size_t i = 0; i < 2; i++)
        for (size_t j = pairs->kept[i][0]; j < pairs->kept[i][1]; j++, kept++)
            changes += tokens->changes[j];
    return changes > 0 ? sqrt(changes / (double)(count * kept)) : 0;
}

/* Do elements [begin, end) change by more than noise? */
static bool range_changes(const struct pe_rotated_tokens *tokens, size_t begin, size_t end)
{
    double changes = 0, squares = 0;

    for (size_t j = begin; j < end; j++) {
        changes += tokens->changes[j];
        squares += tokens->squares[j];
    }
    return changes > CHANGE_LEAST * squares;
}

bool pe_rotated_tokens_change_kept(const struct pe_rotated_tokens *tokens,
                                   const struct pe_head_pairs *pairs)
{
    return range_changes(tokens, pairs->kept[0][0], pairs->kept[0][1]) ||
           range_changes(tokens, pairs->kept[1][0], pairs->kept[1][1]);
}

/* ---- which elements are pairs ---------------------------------------------------------------- */

static struct pe_head_pairs layout_pairs(size_t head_dim, size_t pairs, bool half)
{
    return (struct pe_head_pairs){.layout = half ? "half" : "interleaved",
                                  .pairs = pairs,
                                  .step = half ? 1 : 2,
                                  .second = half ? pairs : 1,
                                  .split = pairs,
                                  .kept = {{2 * pairs, head_dim}}};
}

static struct pe_head_pairs pairs_across(size_t head_dim, size_t pairs)
{
    return (struct pe_head_pairs){
        .pairing = PE_PAIRING_ACROSS_HEAD,
        .layout = "half",
        .pairs = pairs,
        .step = 1,
        .second = head_dim / 2,
        .split = pairs,
        .kept = {{pairs, head_dim / 2}, {head_dim / 2 + pairs, head_dim}}};
}

static struct pe_head_pairs pairs_within(size_t head_dim, size_t rotating)
{
    return (struct pe_head_pairs){.pairing = PE_PAIRING_WITHIN_PREFIX,
                                  .layout = "half",
                                  .pairs = head_dim / 2,
                                  .step = 1,
                                  .second = rotating,
                                  .split = rotating};
}

/* The pairs of a prepared scheme before its last ones of frequency 0. */
static size_t rotating_pairs(const struct pe_scheme *scheme)
{
    size_t count = pe_scheme_frequencies(scheme) ? pe_scheme_pairs(scheme) : 0;

    while (count > 0 && pe_frequencies_near(pe_scheme_frequencies(scheme), count - 1) == 0)
        count--;
    return count;
}

/* Do elements [begin, end) change more than those of two other ranges, which noise alone changes?
 */
static bool range_exceeds(const struct pe_rotated_tokens *tokens, size_t begin, size_t end,
                          const size_t kept[2][2])
{
    double changes = 0, noise = 0;
    size_t count = 0;

    for (size_t j = begin; j < end; j++)
        changes += tokens->changes[j];
    for (size_t i = 0; i < 2; i++)
        for (size_t j = kept[i][0]; j < kept[i][1]; j++, count++)
            noise += tokens->changes[j];
    return changes * (double)count > CHANGE_BEYOND_NOISE * noise * (double)(end - begin);
}

/* By the elements that change: other pairs than the expected ones, which would change others. */
static enum pe_pairing pairing_find(const struct pe_rotated_tokens *tokens,
                                    const struct pe_scheme *expected)
{
    const size_t head_dim = tokens->head_dim, middle = head_dim / 2;
    const size_t wanted = expected ? pe_scheme_rotary_dim(expected) : 0, pairs = wanted / 2;

    if (wanted < 2 || wanted > head_dim || head_dim % 2 != 0)
        return PE_PAIRING_LAYOUT;
    if (wanted < head_dim)
        return range_exceeds(tokens, wanted, middle + pairs, pairs_across(head_dim, pairs).kept)
                   ? PE_PAIRING_ACROSS_HEAD
                   : PE_PAIRING_LAYOUT;
    const size_t rotating = rotating_pairs(expected);
    const size_t behind[2][2] = {{2 * rotating, head_dim}};
    return rotating > 0 && rotating < middle &&
                   range_exceeds(tokens, rotating, pe_min(2 * rotating, middle), behind)
               ? PE_PAIRING_WITHIN_PREFIX
               : PE_PAIRING_LAYOUT;
}

/* The part of a head that rotates: the expected or the observed one. 0: an odd last element has
 * changed. */
static size_t width_find(const struct pe_rotated_tokens *tokens, const struct pe_scheme *expected)
{
    const size_t wanted = expected ? pe_scheme_rotary_dim(expected) : 0;
    size_t seen = tokens->head_dim;

    while (seen > 0 && tokens->changes[seen - 1] == 0)
        seen--;
    seen += seen % 2;
    if (wanted >= 2 && (seen <= wanted || !range_changes(tokens, wanted, tokens->head_dim)))
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

static void piece_read(const struct pe_token_source *source, size_t row, size_t head, size_t begin,
                       struct piece *piece)
{
    const struct pe_head_pairs *pairs = &source->pairs;
    const size_t first = pe_head_element(&source->heads, head, row);
    const size_t some = begin < pairs->split ? pe_min(piece->count, pairs->split - begin) : 0;

    for (size_t i = 0; i < 2; i++) {
        const size_t at = first + begin * pairs->step + i * pairs->second;
        const size_t left = piece->count - some, behind = first + 2 * (begin + some) + i;
        if (left > 0) {
            pe_values_read(source->before, behind, 2, left, piece->before[i] + some);
            pe_values_read(source->after, behind, 2, left, piece->after[i] + some);
        }
        if (some == 0)
            continue;
        pe_values_read(source->before, at, pairs->step, some, piece->before[i]);
        pe_values_read(source->after, at, pairs->step, some, piece->after[i]);
    }
}

static struct rotated_pair pair_of(const struct piece *piece, size_t i)
{
    const double x0 = piece->before[0][i], x1 = piece->before[1][i];
    const double y0 = piece->after[0][i], y1 = piece->after[1][i];

    return (struct rotated_pair){x0 * y0 + x1 * y1, x0 * y1 - x1 * y0, x0 * x0 + x1 * x1,
                                 y0 * y0 + y1 * y1};
}

static void sampled_heads_sum(const struct pe_token_source *source, size_t row, size_t begin,
                              size_t count, struct rotated_pair *sums)
{
    struct piece piece = {.count = count};

    for (size_t i = 0; i < source->sampled_heads; i++) {
        const size_t head = sampled_head(&source->heads, source->sampled_heads, i);
        piece_read(source, row, head, begin, &piece);
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
    const size_t pairs = rows->sources[0].pairs.pairs;
    struct rotated_pair sums[PIECE];

    for (size_t first = 0; first < pairs; first += PIECE) {
        const size_t count = pe_min(pairs - first, PIECE);
        memset(sums, 0, count * sizeof(*sums));
        for (size_t i = 0; i < rows->sources_count; i++)
            sampled_heads_sum(&rows->sources[i], row, first, count, sums);
        for (size_t i = 0; i < count; i++) {
            if (tokens->skips_zeros && sums[i].before == 0)
                sums[i].after = 0;
            rotation_write(&sums[i], &cos[first + i], &sin[first + i]);
            weight[first + i] = sums[i].before;
        }
    }
}

/* ---- all rows, head by head ------------------------------------------------------------------ */

/* The source of a head of all; *head becomes its number there. */
static const struct pe_token_source *source_of(const struct pe_token_rows *tokens, size_t *head)
{
    const size_t queries = heads_count(&tokens->sources[0].heads);

    if (*head < queries)
        return &tokens->sources[0];
    *head -= queries;
    return &tokens->sources[1];
}

static void head_read(const void *context, size_t head, size_t begin, size_t rows, double *cos,
                      double *sin, double *weight)
{
    const struct pe_token_rows *tokens = context;
    const struct pe_token_source *source = source_of(tokens, &head);
    const size_t pairs = source->pairs.pairs;
    struct piece piece;

    for (size_t row = 0; row < rows; row++)
        for (size_t first = 0; first < pairs; first += PIECE) {
            const size_t at = row * pairs + first;
            piece.count = pe_min(pairs - first, PIECE);
            piece_read(source, begin + row, head, first, &piece);
            for (size_t i = 0; i < piece.count; i++) {
                const struct rotated_pair pair = pair_of(&piece, i);
                rotation_write(&pair, &cos[at + i], &sin[at + i]);
                weight[at + i] = pair.before * tokens->weight;
            }
        }
}

/* Is an element in no pair the same, but for rounding and the noise of the sampled tokens? Memory
 * that was never written may hold NaN before and after. */
static bool is_unchanged(const struct pe_token_source *source, enum pe_dtype precision,
                         double before, double after)
{
    return before == after || fabs(after - before) <= NOISE_MOST * source->unrotated_noise ||
           after == pe_round_to(before, precision) || (isnan(before) && isnan(after));
}

/* Elements [begin, end) of the head at `at`. */
static bool is_range_unchanged(const struct pe_token_source *source, enum pe_dtype precision,
                               size_t at, const size_t range[2], struct pe_bad_rows *bad)
{
    double before[PIECE], after[PIECE];

    for (size_t first = range[0]; first < range[1]; first += PIECE) {
        const size_t count = pe_min(range[1] - first, PIECE);
        pe_values_read(source->before, at + first, 1, count, before);
        pe_values_read(source->after, at + first, 1, count, after);
        for (size_t i = 0; i < count; i++)
            if (!is_unchanged(source, precision, before[i], after[i])) {
                bad->pair = first + i;
                bad->seen = after[i];
                bad->predicted = before[i];
                return false;
            }
    }
    return true;
}

static bool is_unrotated(const void *context, size_t head, size_t row, struct pe_bad_rows *bad)
{
    const struct pe_token_rows *tokens = context;
    const struct pe_token_source *source = source_of(tokens, &head);
    const size_t at = pe_head_element(&source->heads, head, row);

    return is_range_unchanged(source, tokens->precision, at, source->pairs.kept[0], bad) &&
           is_range_unchanged(source, tokens->precision, at, source->pairs.kept[1], bad);
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

/* Which dtypes hold all values after, those of keys included. */
static enum pe_dtype tokens_precision(const struct pe_rotated_tokens *tokens)
{
    const enum pe_dtype dtype = tokens->after.tensor->dtype;
    const enum pe_dtype precision = pe_precision_dtype(&tokens->precision, dtype);

    if (!tokens->keys)
        return precision;
    const enum pe_dtype other = pe_precision_dtype(&tokens->keys->precision, dtype);
    return other < precision ? other : precision;
}

static void source_add(struct pe_token_rows *rows, const struct pe_rotated_tokens *tokens,
                       const struct pe_head_pairs *pairs, size_t rows_count)
{
    rows->sources[rows->sources_count++] = (struct pe_token_source){
        .before = tokens->before.tensor,
        .after = tokens->after.tensor,
        .heads = tokens->heads,
        .pairs = *pairs,
        .sampled_heads = tokens->sampled_heads,
        .unrotated_noise = kept_noise(tokens, pairs, rows_count * tokens->sampled_heads)};
}

/* "half", or where keys have another layout "half, keys interleaved". */
static const char *layout_of(const struct pe_head_pairs pairs[2], bool is_mixed)
{
    if (!is_mixed)
        return pairs[0].layout;
    return strcmp(pairs[0].layout, "half") == 0 ? "half, keys interleaved"
                                                : "interleaved, keys half";
}

void pe_rotated_tokens_sample(const struct pe_rotated_tokens *tokens,
                              const struct pe_sampled_rows *rows,
                              const struct pe_head_pairs pairs[2], const char *expected,
                              const struct pe_sample_buffers *buffers,
                              struct pe_token_rows *context, struct pe_sample *sample)
{
    const bool is_mixed = tokens->keys && strcmp(pairs[0].layout, pairs[1].layout) != 0;
    const enum pe_pairing pairing = is_mixed ? PE_PAIRING_MIXED : pairs[0].pairing;
    const char *layout = layout_of(pairs, is_mixed);
    const size_t width = pairs[0].pairs, count = rows->count * width;
    double sum = 0;

    *context = (struct pe_token_rows){.precision = tokens_precision(tokens)};
    source_add(context, tokens, &pairs[0], rows->count);
    if (tokens->keys)
        source_add(context, tokens->keys, &pairs[1], rows->count);
    for (size_t i = 0; i < rows->count; i++)
        row_sample(tokens, context, rows->rows[i], buffers->cos + i * width,
                   buffers->sin + i * width, buffers->weight + i * width);
    for (size_t i = 0; i < count; i++)
        sum += buffers->weight[i];
    context->weight = sum > 0 ? (double)count / sum : 0;
    for (size_t i = 0; i < count; i++)
        buffers->weight[i] *= context->weight;
    context->all =
        (struct pe_sample_rows){.size = sizeof(context->all),
                                .positions = tokens->positions->all,
                                .context = context,
                                .heads = heads_count(&tokens->heads) +
                                         (tokens->keys ? heads_count(&tokens->keys->heads) : 0),
                                .read_head = head_read,
                                .unit = context->weight,
                                .is_kept = is_unrotated};
    *sample = (struct pe_sample){.size = sizeof(*sample),
                                 .layout = layout,
                                 .unexpected = pairing != PE_PAIRING_LAYOUT ||
                                               (expected && strcmp(layout, expected) != 0),
                                 .rows = rows->count,
                                 .pairs = width,
                                 .positions = tokens->positions->sampled,
                                 .axes = tokens->positions->all.axes,
                                 .cos = buffers->cos,
                                 .sin = buffers->sin,
                                 .weight = buffers->weight,
                                 .dtype = tokens->after.tensor->dtype,
                                 .precision = context->precision,
                                 .computed = true,
                                 .all = &context->all,
                                 .pairing = pairing};
}

static enum pe_status sample_add(const struct pe_rotated_tokens *tokens,
                                 const struct pe_sampled_rows *rows,
                                 const struct pe_head_pairs *pairs,
                                 const struct pe_head_pairs *of_keys, const char *layout,
                                 struct pe_allocations *memory, struct pe_token_samples *samples,
                                 struct pe_error *err)
{
    const struct pe_head_pairs both[2] = {*pairs, *of_keys};
    struct pe_sample_buffers buffers;

    if (pe_sample_buffers_new(&buffers, rows->count, 2 * pairs->pairs, memory, err))
        return err->status;
    pe_rotated_tokens_sample(tokens, rows, both, layout, &buffers, &samples->rows[samples->count],
                             &samples->samples[samples->count]);
    samples->count++;
    return PE_OK;
}

/* Both layouts, of queries and keys alike and then of either. */
static enum pe_status layouts_add(const struct pe_rotated_tokens *tokens,
                                  const struct pe_sampled_rows *rows, size_t width,
                                  const char *layout, struct pe_allocations *memory,
                                  struct pe_token_samples *samples, struct pe_error *err)
{
    const struct pe_head_pairs half = layout_pairs(tokens->head_dim, width / 2, true);
    const struct pe_head_pairs interleaved = layout_pairs(tokens->head_dim, width / 2, false);
    const bool is_half = layout && strcmp(layout, "half") == 0;

    if (width == 2) /* the only pair is the same in both */
        return sample_add(tokens, rows, !layout || is_half ? &half : &interleaved,
                          !layout || is_half ? &half : &interleaved, layout, memory, samples, err);
    if (sample_add(tokens, rows, &half, &half, layout, memory, samples, err) ||
        sample_add(tokens, rows, &interleaved, &interleaved, layout, memory, samples, err) ||
        !tokens->keys)
        return err->status;
    return sample_add(tokens, rows, &half, &interleaved, layout, memory, samples, err) ||
                   sample_add(tokens, rows, &interleaved, &half, layout, memory, samples, err)
               ? err->status
               : PE_OK;
}

enum pe_status pe_rotated_tokens_samples(const struct pe_rotated_tokens *tokens,
                                         const struct pe_sampled_rows *rows,
                                         const struct pe_scheme *expected, const char *layout,
                                         struct pe_allocations *memory,
                                         struct pe_token_samples *samples, struct pe_error *err)
{
    const struct pe_rotated_tokens *keys = tokens->keys;
    enum pe_pairing pairing = pairing_find(tokens, expected);
    size_t width = width_find(tokens, expected);
    struct pe_head_pairs pairs;

    samples->count = 0;
    if (keys) {
        const size_t of_keys = width_find(keys, expected);
        if (pairing_find(keys, expected) != pairing)
            pairing = PE_PAIRING_LAYOUT;
        width = width == 0 || of_keys == 0 ? 0 : width > of_keys ? width : of_keys;
    }
    if (width > tokens->head_dim)
        return pe_observed_refuse("q", "as wide as what is expected to rotate, at least", err);
    if (width == 0)
        return PE_OK;
    switch (pairing) {
    case PE_PAIRING_ACROSS_HEAD:
        pairs = pairs_across(tokens->head_dim, pe_scheme_rotary_dim(expected) / 2);
        break;
    case PE_PAIRING_WITHIN_PREFIX:
        pairs = pairs_within(tokens->head_dim, rotating_pairs(expected));
        break;
    default:
        return layouts_add(tokens, rows, width, layout, memory, samples, err);
    }
    return sample_add(tokens, rows, &pairs, &pairs, layout, memory, samples, err);
}
