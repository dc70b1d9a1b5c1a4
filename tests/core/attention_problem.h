/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_ATTENTION_PROBLEM_H
#define TESTS_CORE_ATTENTION_PROBLEM_H

/* Problems of attention: what is asked, and random tensors for it. */

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
    TRANSFORMER_XL
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
};

#define PROBLEM(...) ((struct problem){__VA_ARGS__})

/* A problem's tensors: the values that its dtype holds, and the same in double. */
struct inputs {
    struct pe_tensor q, k, v, rel_k, rel_v, weights, w_r, u, pos_v;
    double *q64, *k64, *v64, *rel_k64, *rel_v64, *weights64, *w_r64, *u64, *pos_v64;
    double *distances64; /* transformer-xl: W_r R of each head and distance, from the least on */
};

/* For what also runs outside of a test, where Check cannot be told. */
#define demand(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

void *must(void *memory);
double draw(unsigned *state);
double start_of(const struct problem *p);
struct inputs inputs_new(const struct problem *p);
void inputs_free(struct inputs *in);

OWNED(inputs, struct inputs, inputs_free(it))
#define OWNED_INPUTS OWNER(inputs) struct inputs

struct pe_scheme *scheme_open(const struct problem *p);
struct pe_attention_spec spec_of(const struct problem *p, const struct inputs *in,
                                 const struct pe_scheme *scheme);

/* None, rope and alibi in all their combinations at sizes drawn from i. */
struct problem problem_of(unsigned i);

#endif
