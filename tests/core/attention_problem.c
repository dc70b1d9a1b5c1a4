/* SPDX-License-Identifier: MIT */
#include "tests/core/attention_problem.h"

void *checked(void *memory)
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
    *values = checked(malloc((count + 1) * sizeof(double)));
    for (size_t i = 0; i < count; i++)
        (*values)[i] = draw(state) * size;
    tensor.data = checked(malloc((count + 1) * pe_dtype_info(dtype)->size));
    pe_from_f64(tensor.data, dtype, *values, count);
    pe_to_f64(*values, tensor.data, dtype, count);
    return tensor;
}

double start_of(const struct problem *p)
{
    return isnan(p->query_start) ? (double)p->keys - (double)p->queries : p->query_start;
}

/* Row t, column c: sin or cos of t 10000^(-2 (c div 2) / dim). */
static double sine_of(double t, size_t c, size_t dim)
{
    const double angle = t * pow(10000, -(double)(c / 2 * 2) / (double)dim);

    return c % 2 ? cos(angle) : sin(angle);
}

static double *sines_new(size_t rows, size_t dim)
{
    double *sines = checked(malloc(rows * dim * sizeof(*sines)));

    for (size_t i = 0; i < rows * dim; i++)
        sines[i] = sine_of((double)(i / dim), i % dim, dim);
    return sines;
}

double distance_base(const struct problem *p)
{
    return (p->options.packed ? -(double)p->queries : start_of(p)) - (double)p->keys;
}

/* The row of distance d is at d - distance_base. */
static double *distances_new(const struct problem *p, const double *w_r)
{
    const size_t dim = w_r ? p->row_dim : p->head_dim, count = distances_count(p);
    double *all = checked(malloc(p->heads * count * p->head_dim * sizeof(*all)));
    double *row = checked(malloc(dim * sizeof(*row)));

    for (size_t at = 0; at < count; at++) {
        for (size_t e = 0; e < dim; e++)
            row[e] = sine_of(distance_base(p) + (double)at, e, dim);
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

/* ---- options --------------------------------------------------------------------------------- */

/* Smaller tensors of half precisions are f32 in every other problem. */
static enum pe_dtype option_dtype(const struct problem *p)
{
    return p->seed % 2 && (p->dtype == PE_F16 || p->dtype == PE_BF16) ? PE_F32 : p->dtype;
}

static struct pe_tensor broadcast_draw(const struct problem *p, enum pe_dtype dtype, int axes,
                                       unsigned *state, double **values)
{
    const size_t full[] = {p->batch, p->heads, p->queries, p->keys};
    const unsigned rank = axes & 8 ? 4 : axes & 4 ? 3 : axes & 2 ? 2 : 1;
    size_t shape[4] = {1, 1, 1, 1};

    for (int i = 0; i < 4; i++)
        shape[i] = axes >> (3 - i) & 1 ? full[i] : 1;
    return tensor_draw(dtype, rank, shape + 4 - rank, 2, state, values);
}

/* A third of the keys are hidden. */
static void mask_draw(const struct problem *p, struct inputs *in, unsigned *state)
{
    const bool is_bool = p->options.mask == 1;
    size_t count = 1;

    in->mask = broadcast_draw(p, option_dtype(p), p->options.mask_of, state, &in->mask64);
    for (unsigned i = 0; i < in->mask.rank; i++)
        count *= in->mask.shape[i];
    for (size_t i = 0; i < count; i++) {
        const bool hidden = draw(state) > 0.3;
        in->mask64[i] = is_bool ? !hidden : hidden ? -INFINITY : in->mask64[i];
    }
    in->mask.dtype = is_bool ? PE_BOOL : in->mask.dtype;
    pe_from_f64(in->mask.data, in->mask.dtype, in->mask64, count);
}

/* Ends of sequences, some of which are empty. */
static struct pe_tensor ends_draw(size_t sequences, size_t tokens, unsigned *state, double **ends)
{
    struct pe_tensor tensor = tensor_draw(PE_I32, 1, (size_t[]){sequences + 1}, 0, state, ends);

    for (size_t i = 1; i < sequences; i++)
        (*ends)[i] =
            fmin((double)tokens,
                 (*ends)[i - 1] + floor((draw(state) + 1) * (double)tokens / (double)sequences));
    (*ends)[sequences] = (double)tokens;
    pe_from_f64(tensor.data, PE_I32, *ends, sequences + 1);
    return tensor;
}

static double *positions_draw(size_t count, unsigned *state)
{
    double *positions = checked(malloc((count + 1) * sizeof(*positions)));

    for (size_t i = 0; i < count; i++)
        positions[i] = floor((draw(state) + 1) * 300);
    return positions;
}

static void options_draw(const struct problem *p, struct inputs *in)
{
    const struct options *o = &p->options;
    const size_t vectors[] = {16, p->heads * p->head_dim};
    unsigned state = p->seed + 5;

    if (o->packed) {
        in->ends = ends_draw((size_t)o->packed, p->queries, &state, &in->ends64);
        in->key_ends = ends_draw((size_t)o->packed, p->keys, &state, &in->key_ends64);
    }
    if (o->mask)
        mask_draw(p, in, &state);
    if (o->bias)
        in->bias = broadcast_draw(p, option_dtype(p), o->bias, &state, &in->bias64);
    if (o->sinks)
        in->sinks = tensor_draw(option_dtype(p), 1, &p->heads, 3, &state, &in->sinks64);
    if (o->norm && o->norm_weights)
        in->q_norm = tensor_draw(option_dtype(p), 1, &p->head_dim, 2, &state, &in->q_norm64);
    if (o->norm && o->norm_weights)
        in->k_norm = tensor_draw(option_dtype(p), 1, &p->head_dim, 2, &state, &in->k_norm64);
    if (o->rows & 1)
        in->pos_key = tensor_draw(option_dtype(p), 2, vectors, 1, &state, &in->pos_key64);
    if (o->rows & 2)
        in->pos_query = tensor_draw(option_dtype(p), 2, vectors, 1, &state, &in->pos_query64);
    if (o->positions) {
        in->positions = positions_draw(p->batch * p->queries, &state);
        in->key_positions = positions_draw(p->batch * p->keys, &state);
    }
}

struct packed packed_of(const struct problem *p, const struct inputs *in, size_t query)
{
    size_t i = 0;

    if (!p->options.packed)
        return (struct packed){0, (double)p->queries, 0, (double)p->keys};
    while ((double)query >= in->ends64[i + 1])
        i++;
    return (struct packed){in->ends64[i], in->ends64[i + 1], in->key_ends64[i],
                           in->key_ends64[i + 1]};
}

double at_of(const struct problem *p, const struct inputs *in, size_t query)
{
    const struct packed packed = packed_of(p, in, query);

    return (p->options.packed ? packed.key_end - packed.end : start_of(p)) + (double)query;
}

struct inputs inputs_new(const struct problem *p)
{
    unsigned state = p->seed * 77 + 1;
    struct inputs in = {0};

    options_draw(p, &in);
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
    void *all[] = {
        in->q.data,     in->k.data,        in->v.data,       in->rel_k.data,   in->rel_v.data,
        in->w_r.data,   in->u.data,        in->pos_v.data,   in->weights.data, in->q64,
        in->k64,        in->v64,           in->rel_k64,      in->weights64,    in->w_r64,
        in->u64,        in->pos_v64,       in->distances64,  in->mask.data,    in->bias.data,
        in->sinks.data, in->q_norm.data,   in->k_norm.data,  in->pos_key.data, in->pos_query.data,
        in->ends.data,  in->key_ends.data, in->mask64,       in->bias64,       in->sinks64,
        in->q_norm64,   in->k_norm64,      in->pos_key64,    in->pos_query64,  in->ends64,
        in->key_ends64, in->positions,     in->key_positions};

    if (in->rel_v64 != in->rel_k64)
        free(in->rel_v64);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

struct pe_scheme *scheme_open(const struct problem *p)
{
    static const char *const names[] = {NULL,       "rope", "alibi",          "shaw",
                                        "shaw",     "t5",   "kerple-log",     "kerple-power",
                                        "sandwich", "shaw", "transformer-xl", "deberta-log"};
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
    else if (p->position == DEBERTA)
        snprintf(text, sizeof(text), "position_buckets=8 max_relative_positions=24");
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
    static const int64_t windows[][2] = {{0}, {7, -1}, {5, 3}, {-1, 4}};
    const struct options *o = &p->options;
    struct pe_attention_spec spec =
        SIZED(pe_attention_spec, .scheme = scheme, .layout = p->layout, .q = in->q, .k = in->k,
              .v = in->v, .rel_k = in->rel_k, .rel_v = in->rel_v, .w_r = in->w_r,
              .pos_bias_u = in->u, .pos_bias_v = in->pos_v, .causal = p->causal, .scale = p->scale,
              .query_start = p->query_start, .output = p->output);

    spec.has_window = o->window > 0;
    spec.window_left = windows[o->window][0];
    spec.window_right = windows[o->window][1];
    spec.chunk = (uint64_t)o->chunk;
    spec.cu_seqlens = in->ends;
    spec.cu_seqlens_k = in->key_ends;
    spec.mask = in->mask;
    spec.bias = in->bias;
    spec.softcap = o->softcap;
    spec.bias_before_scale = o->before_scale;
    spec.sinks = in->sinks;
    if (o->temperature)
        spec.temperature = (struct pe_temperature){0.25, 8, 1};
    spec.norm = o->norm;
    spec.q_norm = in->q_norm;
    spec.k_norm = in->k_norm;
    spec.norm_epsilon = o->norm ? 1e-5 : 0;
    spec.norm_offset = o->norm && o->norm_weights ? 1 : 0;
    spec.pos_key = in->pos_key;
    spec.pos_query = in->pos_query;
    if (o->positions) {
        spec.positions =
            (struct pe_positions){.values = in->positions, .count = p->queries, .batch = p->batch};
        spec.key_positions = (struct pe_positions){.values = in->key_positions,
                                                   .count = p->position == ROPE ? p->keys : 0,
                                                   .batch = p->batch};
    }
    return spec;
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

struct problem options_of(unsigned i)
{
    struct problem p = problem_of(i);
    struct options *o = &p.options;
    unsigned state = i + 100;

    draw(&state);
    p.position = (enum position[]){NOWHERE, ROPE, ALIBI, T5, SHAW, DEBERTA, TRANSFORMER_XL}[i % 7];
    p.clip = 4;
    p.queries = i % 20 ? p.queries % 30 + 1 : p.queries;
    p.keys = i % 20 ? p.keys % 50 + 1 : p.keys + 3;
    o->window = i / 2 % 4;
    o->chunk = i % 5 == 0 ? 11 : 0;
    o->packed = i % 4 == 1 ? 3 : 0;
    o->mask = i / 3 % 3;
    o->mask_of = i % 17 % 15 + 1;
    o->bias = i % 3 == 0 ? (i % 13 % 15 + 1) : 0;
    o->softcap = i % 4 == 2 ? 2.5 : 0;
    o->before_scale = p.position == ALIBI && i % 2;
    o->sinks = i % 3 == 1;
    o->norm = (enum pe_attention_norm)(i / 7 % 3);
    o->norm_weights = i % 2;
    o->rows = p.position == DEBERTA ? 1 + (int)(i / 7 % 3) : 0;
    o->positions = p.position <= ROPE && i / 7 % 2;
    o->temperature = o->positions || (i % 6 == 0 && p.queries <= p.keys && isnan(p.query_start));
    if (p.position == NOWHERE && !o->temperature)
        o->positions = false;
    if (o->packed) {
        p.batch = 1;
        p.query_start = NAN;
        o->temperature = false; /* a sequence may have more queries than keys */
        o->positions = o->positions && p.position == ROPE;
    }
    return p;
}
