/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api/handlers/readings.h"

/* All tokens of q and q_rotated: what turned each pair, by least squares over all heads; and of the
 * head that was turned most unlike the others, by itself, so that damage to one is not averaged
 * away. */

enum { PIECE = 128 };

/* Pairs [begin, begin + count) of one head of a token, before and after. */
struct piece {
    size_t count;
    double before[2][PIECE], after[2][PIECE];
};

/* The sums of a pair over heads: of real and imaginary parts, and of how long it is. */
struct turn {
    double real, imaginary, weight;
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

    return (struct turn){x0 * y0 + x1 * y1, x0 * y1 - x1 * y0, x0 * x0 + x1 * x1};
}

static bool is_number(const struct turn *turn)
{
    return isfinite(turn->weight) && isfinite(turn->real) && isfinite(turn->imaginary);
}

/* How far a head's pair lies from where the turn of all heads would take it, squared; infinitely
 * far where it is no number. */
static double distance(const struct turn *own, const struct turn *all)
{
    const double real = own->real - own->weight * all->real / all->weight;
    const double imaginary = own->imaginary - own->weight * all->imaginary / all->weight;

    if (!is_number(own) || !is_number(all))
        return is_number(own) ? 0 : INFINITY;
    return own->weight > 0 ? (real * real + imaginary * imaginary) / own->weight : 0;
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
        }
    }
}

/* The head that was turned most unlike the others; of one head alone, that one. */
static void piece_turn(const struct api_tokens *tokens, size_t row, size_t begin, size_t count,
                       struct turn *turns)
{
    const size_t heads = heads_count(tokens);
    struct turn all[PIECE];
    double most[PIECE] = {0};
    struct piece piece = {.count = count};

    piece_sum(tokens, row, begin, count, all);
    memcpy(turns, all, count * sizeof(*turns));
    for (size_t head = 0; head < heads && heads > 1; head++) {
        piece_read(tokens, row, head, begin, &piece);
        for (size_t i = 0; i < count; i++) {
            const struct turn turn = turn_of(&piece, i);
            const double far = distance(&turn, &all[i]);
            if (head == 0 || far > most[i]) {
                most[i] = far;
                turns[i] = turn;
            }
        }
    }
}

/* A turn as a cosine and a sine: NaN where there was nothing to turn, and infinite where what was
 * posted is no number. */
static void turn_write(const struct turn *turn, double *cos, double *sin)
{
    const bool is_seen = turn->weight != 0, is_good = is_number(turn);

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

static void rows_read(const void *context, size_t begin, size_t rows, double *cos, double *sin,
                      double *weight)
{
    const struct api_tokens *tokens = context;
    struct turn turns[PIECE];

    for (size_t row = 0; row < rows; row++)
        for (size_t first = 0; first < tokens->pairs; first += PIECE) {
            const size_t left = tokens->pairs - first, count = left < PIECE ? left : PIECE;
            const size_t at = row * tokens->pairs + first;
            piece_turn(tokens, begin + row, first, count, turns);
            for (size_t i = 0; i < count; i++) {
                turn_write(&turns[i], &cos[at + i], &sin[at + i]);
                weight[at + i] = turns[i].weight * tokens->weight;
            }
        }
}

void api_readings_tokens(struct api_tokens *tokens, const struct api_readings *readings,
                         struct pe_sample *reading)
{
    tokens->all = (struct pe_sample_rows){.size = sizeof(tokens->all),
                                          .positions = readings->all,
                                          .read = rows_read,
                                          .context = tokens};
    reading->all = &tokens->all;
}
