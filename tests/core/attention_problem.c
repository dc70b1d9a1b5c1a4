/* SPDX-License-Identifier: MIT */
#include "tests/core/attention_problem.h"

void *must(void *memory)
{
    demand(memory, "no memory\n");
    return memory;
}

double draw(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) * 0x1p-23 - 1;
}

static struct pe_tensor tensor_draw(enum pe_dtype dtype, unsigned rank, const size_t *shape,
                                    double size, unsigned *state, double **values)
{
    struct pe_tensor tensor = {.dtype = dtype, .rank = rank};
    size_t count = 1;

    for (unsigned i = 0; i < rank; i++)
        count *= tensor.shape[i] = shape[i];
    *values = must(malloc((count + 1) * sizeof(double)));
    for (size_t i = 0; i < count; i++)
        (*values)[i] = draw(state) * size;
    tensor.data = must(malloc((count + 1) * pe_dtype_info(dtype)->size));
    pe_from_f64(tensor.data, dtype, *values, count);
    pe_to_f64(*values, tensor.data, dtype, count);
    return tensor;
}

double start_of(const struct problem *p)
{
    return isnan(p->query_start) ? (double)p->keys - (double)p->queries : p->query_start;
}

/* Row t, column c: sin or cos of t 10000^(-2 (c div 2) / dim'), dim' the next even number. */
static double sine_of(double t, size_t c, size_t dim)
{
    const double angle = t * pow(10000, -(double)(c / 2 * 2) / (double)(dim + dim % 2));

    return c % 2 ? cos(angle) : sin(angle);
}

static double *sines_new(size_t rows, size_t dim)
{
    double *sines = must(malloc(rows * dim * sizeof(*sines)));

    for (size_t i = 0; i < rows * dim; i++)
        sines[i] = sine_of((double)(i / dim), i % dim, dim);
    return sines;
}

/* The row of distance d is at d - (start - (keys - 1)). */
static double *distances_new(const struct problem *p, const double *w_r)
{
    const size_t dim = w_r ? p->row_dim : p->head_dim, count = p->queries + p->keys;
    double *all = must(malloc(p->heads * count * p->head_dim * sizeof(*all)));
    double *row = must(malloc(dim * sizeof(*row)));

    for (size_t at = 0; at < count; at++) {
        for (size_t e = 0; e < dim; e++)
            row[e] = sine_of(start_of(p) - (double)p->keys + 1 + (double)at, e, dim);
        for (size_t i = 0; i < p->heads * p->head_dim; i++) {
            double *to = all + (i / p->head_dim * count + at) * p->head_dim + i % p->head_dim;
            *to = w_r ? 0 : row[i % p->head_dim];
            for (size_t e = 0; w_r && e < dim; e++)
                *to += w_r[i * dim + e] * row[e];
        }
    }
    free(row);
    return all;
}

struct inputs inputs_new(const struct problem *p)
{
    unsigned state = p->seed * 77 + 1;
    struct inputs in = {0};

    in.q = tensor_draw(p->dtype, 4, (size_t[]){p->batch, p->heads, p->queries, p->head_dim}, 2,
                       &state, &in.q64);
    in.k = tensor_draw(p->dtype, 4, (size_t[]){p->batch, p->kv_heads, p->keys, p->head_dim}, 2,
                       &state, &in.k64);
    in.v = tensor_draw(p->dtype, 4, (size_t[]){p->batch, p->kv_heads, p->keys, p->value_dim}, 1,
                       &state, &in.v64);
    if (p->position == T5)
        in.weights = tensor_draw(p->dtype, 2, (size_t[]){32, p->heads}, 3, &state, &in.weights64);
    if (p->position == SHAW_SINUSOIDAL)
        in.rel_k64 = in.rel_v64 = sines_new(2 * p->clip + 1, p->head_dim);
    if (p->position == TRANSFORMER_XL) {
        const size_t width = p->heads * p->head_dim;
        if (p->row_dim > 0)
            in.w_r =
                tensor_draw(p->dtype, 2, (size_t[]){width, p->row_dim}, 0.5, &state, &in.w_r64);
        in.distances64 = distances_new(p, in.w_r64);
        if (!p->no_u)
            in.u = tensor_draw(p->dtype, 2, (size_t[]){p->heads, p->head_dim}, 1, &state, &in.u64);
        if (!p->no_v)
            in.pos_v =
                tensor_draw(p->dtype, 2, (size_t[]){p->heads, p->head_dim}, 1, &state, &in.pos_v64);
    }
    if (p->position != SHAW && p->position != SHAW_BACKWARDS)
        return in;
    in.rel_k =
        tensor_draw(p->dtype, 2, (size_t[]){2 * p->clip + 1, p->head_dim}, 1, &state, &in.rel_k64);
    if (!p->no_rel_v)
        in.rel_v = tensor_draw(p->dtype, 2, (size_t[]){2 * p->clip + 1, p->value_dim}, 1, &state,
                               &in.rel_v64);
    return in;
}

void inputs_free(struct inputs *in)
{
    void *all[] = {in->q.data,   in->k.data,  in->v.data,     in->rel_k.data,   in->rel_v.data,
                   in->w_r.data, in->u.data,  in->pos_v.data, in->weights.data, in->q64,
                   in->k64,      in->v64,     in->rel_k64,    in->weights64,    in->w_r64,
                   in->u64,      in->pos_v64, in->distances64};

    if (in->rel_v64 != in->rel_k64)
        free(in->rel_v64);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

struct pe_scheme *scheme_open(const struct problem *p)
{
    static const char *const names[] = {NULL,       "rope", "alibi",         "shaw",
                                        "shaw",     "t5",   "kerple-log",    "kerple-power",
                                        "sandwich", "shaw", "transformer-xl"};
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_scheme *scheme;
    char text[100];

    if (p->position == NOWHERE)
        return NULL;
    if (p->position == ROPE)
        snprintf(text, sizeof(text), "dim=%zu", p->head_dim);
    else if (p->position == ALIBI)
        snprintf(text, sizeof(text), "heads=%zu", p->heads);
    else if (p->position == T5)
        text[0] = '\0';
    else if (p->position == SANDWICH)
        snprintf(text, sizeof(text), "heads=%zu dim=32 base=500 scales=0.375", p->heads);
    else if (p->position == SHAW_SINUSOIDAL)
        snprintf(text, sizeof(text), "max_relative_position=%zu vectors=sinusoidal dim=%zu",
                 p->clip, p->head_dim);
    else if (p->position == TRANSFORMER_XL)
        snprintf(text, sizeof(text), "dim=%zu", p->row_dim > 0 ? p->row_dim : p->head_dim);
    else if (p->position >= KERPLE_LOG)
        snprintf(text, sizeof(text), "heads=%zu p=1.25 a=0.75", p->heads);
    else
        snprintf(text, sizeof(text), "max_relative_position=%zu direction=%s", p->clip,
                 p->position == SHAW ? "j-i" : "i-j");
    demand(!pe_params_parse(&params, names[p->position], text, &err), "%s\n", err.detail);
    demand(!pe_scheme_open(&scheme, pe_encoding_find(names[p->position]), &params, NULL, &err),
           "%s\n", err.detail);
    pe_params_free(&params);
    return scheme;
}

struct pe_attention_spec spec_of(const struct problem *p, const struct inputs *in,
                                 const struct pe_scheme *scheme)
{
    return SIZED(pe_attention_spec, .scheme = scheme, .layout = p->layout, .q = in->q, .k = in->k,
                 .v = in->v, .rel_k = in->rel_k, .rel_v = in->rel_v, .w_r = in->w_r,
                 .pos_bias_u = in->u, .pos_bias_v = in->pos_v, .causal = p->causal,
                 .scale = p->scale, .query_start = p->query_start, .output = p->output);
}

struct problem problem_of(unsigned i)
{
    static const enum pe_dtype dtypes[] = {PE_F32, PE_F64, PE_F16, PE_BF16};
    static const size_t groups[][2] = {{4, 4}, {4, 2}, {8, 1}, {2, 2}};
    unsigned state = i + 1;

    draw(&state);
    return PROBLEM(.position = (enum position)(i % 3), .dtype = i % 2 ? PE_F32 : dtypes[i / 2 % 4],
                   .batch = 1 + i % 2, .heads = groups[i % 4][0], .kv_heads = groups[i % 4][1],
                   .queries = 1 + (size_t)((draw(&state) + 1) * 60),
                   .keys = (size_t)((draw(&state) + 1) * 90),
                   .head_dim = 2 * (1 + (size_t)((draw(&state) + 1) * 20)),
                   .value_dim = 1 + (size_t)((draw(&state) + 1) * 40), .causal = i / 3 % 2,
                   .query_start = i % 4 ? NAN : floor(draw(&state) * 100),
                   .scale = i % 5 ? NAN : 0.3, .output = (enum pe_attention_output)(i / 6 % 3),
                   .layout = i % 7 < 3 ? PE_LAYOUT_HALF : PE_LAYOUT_INTERLEAVED, .seed = i);
}
