/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api/routes/readings.h"

/* All tokens of q and q_rotated: what turned each pair, by least squares over all heads; and of
 * each head by itself, so that damage to one is not averaged away. */

enum { PIECE = 128 };

/* The largest of any number of errors is at most so many times their rms. */
#define KEPT_NOISE 8.0

/* Pairs [begin, begin + count) of one head of a token, before and after. */
struct piece {
    size_t count;
    double before[2][PIECE], after[2][PIECE];
};

/* The sums of a pair over heads: of real and imaginary parts, and of the squared lengths before and
 * after. */
struct turn {
    double real, imaginary, weight, after;
};

size_t api_heads_element(const struct api_heads *heads, size_t head, size_t token)
{
    const size_t row = heads->sequence > 0 ? token / heads->sequence : 0;

    return heads->first + head / heads->inner * heads->outer_step +
           head % heads->inner * heads->inner_step + row * heads->batch_step +
           (token - row * heads->sequence) * heads->token_step;
}

static void piece_read(const struct api_tokens *tokens, size_t row, size_t head, size_t begin,
                       struct piece *piece)
{
    const size_t first = api_heads_element(&tokens->heads, head, row);

    for (size_t i = 0; i < 2; i++) {
        const size_t at = first + begin * tokens->step + i * tokens->second;
        api_readings_elements(tokens->before, at, tokens->step, piece->count, piece->before[i]);
        api_readings_elements(tokens->after, at, tokens->step, piece->count, piece->after[i]);
    }
}

static struct turn turn_of(const struct piece *piece, size_t i)
{
    const double x0 = piece->before[0][i], x1 = piece->before[1][i];
    const double y0 = piece->after[0][i], y1 = piece->after[1][i];

    return (struct turn){x0 * y0 + x1 * y1, x0 * y1 - x1 * y0, x0 * x0 + x1 * x1,
                         y0 * y0 + y1 * y1};
}

static bool is_number(const struct turn *turn)
{
    return isfinite(turn->weight) && isfinite(turn->real) && isfinite(turn->imaginary);
}

static size_t heads_count(const struct api_tokens *tokens)
{
    return tokens->heads.outer * tokens->heads.inner;
}

/* Sums over the heads, in their order. */
static void piece_sum(const struct api_tokens *tokens, size_t row, size_t begin, size_t count,
                      struct turn *all)
{
    struct piece piece = {.count = count};

    memset(all, 0, count * sizeof(*all));
    for (size_t head = 0; head < heads_count(tokens); head++) {
        piece_read(tokens, row, head, begin, &piece);
        for (size_t i = 0; i < count; i++) {
            const struct turn turn = turn_of(&piece, i);
            all[i].real += turn.real;
            all[i].imaginary += turn.imaginary;
            all[i].weight += turn.weight;
            all[i].after += turn.after;
        }
    }
}

/* A turn as a cosine and a sine: NaN where there was nothing to turn, and infinite where what was
 * posted is no number, or no turn of nothing. */
static void turn_write(const struct turn *turn, double *cos, double *sin)
{
    const bool is_seen = turn->weight != 0 || turn->after != 0;
    const bool is_good = is_number(turn) && turn->weight != 0;

    *cos = !is_seen ? NAN : is_good ? turn->real / turn->weight : INFINITY;
    *sin = !is_seen ? NAN : is_good ? turn->imaginary / turn->weight : INFINITY;
}

void api_tokens_turn(const struct api_tokens *tokens, size_t token, double *cos, double *sin,
                     double *weight)
{
    struct turn all[PIECE];

    for (size_t first = 0; first < tokens->pairs; first += PIECE) {
        const size_t left = tokens->pairs - first, count = left < PIECE ? left : PIECE;
        piece_sum(tokens, token, first, count, all);
        for (size_t i = 0; i < count; i++) {
            turn_write(&all[i], &cos[first + i], &sin[first + i]);
            weight[first + i] = all[i].weight;
        }
    }
}

static void head_read(const void *context, size_t head, size_t begin, size_t rows, double *cos,
                      double *sin, double *weight)
{
    const struct api_tokens *tokens = context;
    struct piece piece;

    for (size_t row = 0; row < rows; row++)
        for (size_t first = 0; first < tokens->pairs; first += PIECE) {
            const size_t left = tokens->pairs - first, at = row * tokens->pairs + first;
            piece.count = left < PIECE ? left : PIECE;
            piece_read(tokens, begin + row, head, first, &piece);
            for (size_t i = 0; i < piece.count; i++) {
                const struct turn turn = turn_of(&piece, i);
                turn_write(&turn, &cos[at + i], &sin[at + i]);
                weight[at + i] = turn.weight * tokens->weight;
            }
        }
}

/* Is an element that does not turn the same after, but for its rounding and the noise that the
 * chosen tokens have there? Of memory that was never written NaN may be read, before and after. */
static bool is_same(const struct api_tokens *tokens, double before, double after)
{
    return before == after || fabs(after - before) <= KEPT_NOISE * tokens->kept.noise ||
           after == pe_round_to(before, tokens->kept.precision) || (isnan(before) && isnan(after));
}

static bool head_keeps(const void *context, size_t head, size_t row, struct pe_bad_rows *bad)
{
    const struct api_tokens *tokens = context;
    const size_t at = api_heads_element(&tokens->heads, head, row);
    double before[PIECE], after[PIECE];

    for (size_t first = 2 * tokens->pairs; first < tokens->kept.end; first += PIECE) {
        const size_t left = tokens->kept.end - first, count = left < PIECE ? left : PIECE;
        api_readings_elements(tokens->before, at + first, 1, count, before);
        api_readings_elements(tokens->after, at + first, 1, count, after);
        for (size_t i = 0; i < count; i++)
            if (!is_same(tokens, before[i], after[i])) {
                bad->pair = first + i;
                bad->seen = after[i];
                bad->predicted = before[i];
                return false;
            }
    }
    return true;
}

void api_readings_tokens(struct api_tokens *tokens, const struct pe_positions *positions,
                         struct pe_sample *reading)
{
    tokens->all = (struct pe_sample_rows){.size = sizeof(tokens->all),
                                          .positions = *positions,
                                          .context = tokens,
                                          .heads = heads_count(tokens),
                                          .read_head = head_read,
                                          .unit = tokens->weight,
                                          .is_kept = head_keeps};
    reading->all = &tokens->all;
}
