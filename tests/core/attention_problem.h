/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_ATTENTION_PROBLEM_H
#define TESTS_CORE_ATTENTION_PROBLEM_H

/* Problems of attention, and random tensors for them. */

#include "posenc/posenc.h"
#include "tests/core/owned.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum position {
    NOWHERE,
    ROPE,
    ALIBI,
    SHAW,
    SHAW_BACKWARDS,
    T5,
    KERPLE_LOG,
    KERPLE_POWER,
    SANDWICH,
    SHAW_SINUSOIDAL,
    TRANSFORMER_XL,
    DEBERTA
};

/* Options; zeros are off. */
struct options {
    int window;  /* 0: none, 1: 7 keys before, 2: 5 before and 3 behind, 3: 4 behind */
    int chunk;   /* keys in one */
    int packed;  /* sequences, of queries and keys apart */
    int mask;    /* 1: bool, 2: numbers, some -inf */
    int bias;    /* full axes: 8 batch, 4 heads, 2 queries, 1 keys; 16 alone: none */
    int mask_of; /* likewise */
    double softcap;
    bool before_scale, sinks, temperature, positions;
    enum pe_attention_norm norm;
    bool norm_weights;
    int rows; /* deberta-log: 1 pos_key, 2 pos_query, 3 both */
};

struct problem {
    enum position position;
    enum pe_dtype dtype;
    size_t batch, heads, kv_heads, queries, keys, head_dim, value_dim;
    size_t clip;
    size_t row_dim; /* transformer-xl: width of the rows before w_r; 0: no w_r */
    bool causal, no_rel_v, no_u, no_v;
    double query_start; /* NAN: the last rows */
    double scale;       /* NAN: 1 / sqrt(d) */
    enum pe_attention_output output;
    enum pe_layout layout;
    unsigned seed;
    struct options options;
};

#define PROBLEM(...) ((struct problem){__VA_ARGS__})

/* Tensors of a problem, and the same values in double. */
struct inputs {
    struct pe_tensor q, k, v, rel_k, rel_v, weights, w_r, u, pos_v;
    double *q64, *k64, *v64, *rel_k64, *rel_v64, *weights64, *w_r64, *u64, *pos_v64;
    struct pe_tensor mask, bias, sinks, q_norm, k_norm, pos_key, pos_query, ends, key_ends;
    double *mask64, *bias64, *sinks64, *q_norm64, *k_norm64, *pos_key64, *pos_query64, *ends64,
        *key_ends64;
    double *positions, *key_positions; /* posted; NULL: none */
    double *distances64; /* transformer-xl: W_r R of each head and distance, from the least on */
};

/* An assertion that also works outside of a test of Check. */
#define demand(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

void *checked(void *memory);
double draw(unsigned *state);
double start_of(const struct problem *p);
/* transformer-xl: the least distance with a row, and how many rows there are. */
double distance_base(const struct problem *p);
static inline size_t distances_count(const struct problem *p)
{
    return p->queries + 2 * p->keys + 1;
}
struct inputs inputs_new(const struct problem *p);
void inputs_free(struct inputs *in);

OWNED(inputs, struct inputs, inputs_free(it))
#define OWNED_INPUTS OWNER(inputs) struct inputs

struct pe_scheme *scheme_open(const struct problem *p);
struct pe_attention_spec spec_of(const struct problem *p, const struct inputs *in,
                                 const struct pe_scheme *scheme);

/* The sequence of a query: its queries and keys. */
struct packed {
    double first, end, key_first, key_end;
};
struct packed packed_of(const struct problem *p, const struct inputs *in, size_t query);
/* The position of a query among all keys. */
double at_of(const struct problem *p, const struct inputs *in, size_t query);

/* None, rope and alibi in all their combinations at sizes drawn from i. */
struct problem problem_of(unsigned i);
/* The same with options drawn from i, and deberta-log and t5 too. */
struct problem options_of(unsigned i);

#endif
