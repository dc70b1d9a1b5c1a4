/* SPDX-License-Identifier: MIT */
#include "tests/core/attention_reference.h"

enum { HEAD_DIM_MAX = 512 };

size_t bucket_of(const struct problem *p, const struct inputs *in, size_t i, size_t j)
{
    const double clip = (double)p->clip, distance = (double)j - at_of(p, in, i);

    return (size_t)(fmax(-clip, fmin(p->position == SHAW_BACKWARDS ? -distance : distance, clip)) +
                    clip);
}

/* rope(q, m) . rope(k, n): pair after pair, base 10000 */
static double rotated_dot(const struct problem *p, const double *q, const double *k, double m,
                          double n)
{
    const size_t pairs = p->head_dim / 2;
    double sum = 0;

    for (size_t pair = 0; pair < pairs; pair++) {
        const size_t x = p->layout == PE_LAYOUT_HALF ? pair : 2 * pair;
        const size_t y = p->layout == PE_LAYOUT_HALF ? pair + pairs : 2 * pair + 1;
        const double w = pow(10000, -2.0 * (double)pair / (double)p->head_dim);
        const double q0 = q[x] * cos(m * w) - q[y] * sin(m * w);
        const double q1 = q[x] * sin(m * w) + q[y] * cos(m * w);
        sum += q0 * (k[x] * cos(n * w) - k[y] * sin(n * w));
        sum += q1 * (k[x] * sin(n * w) + k[y] * cos(n * w));
    }
    return sum;
}

/* Rotates a row. */
static void rotate(const struct problem *p, double *row, double t)
{
    const size_t pairs = p->head_dim / 2;

    for (size_t pair = 0; pair < pairs; pair++) {
        const size_t x = p->layout == PE_LAYOUT_HALF ? pair : 2 * pair;
        const size_t y = p->layout == PE_LAYOUT_HALF ? pair + pairs : 2 * pair + 1;
        const double w = pow(10000, -2.0 * (double)pair / (double)p->head_dim), a = row[x];
        row[x] = a * cos(t * w) - row[y] * sin(t * w);
        row[y] = a * sin(t * w) + row[y] * cos(t * w);
    }
}

/* The addend of a logit; `distance` is key - query. */
static double bias_of(const struct problem *p, const struct inputs *in, size_t head,
                      double distance)
{
    switch (p->position) {
    case ALIBI:
        return -slope_of(p->heads, head) * fabs(distance);
    case T5:
        return in->weights64[t5_bucket_of(distance) * p->heads + head];
    case KERPLE_LOG:
        return -1.25 * log(1 + 0.75 * fabs(distance));
    case KERPLE_POWER:
        return -0.75 * pow(fabs(distance), 1.25);
    case SANDWICH:
        return 0.375 * sandwich_sum(32, 500, distance);
    default:
        return 0;
    }
}

static size_t kv_head_of(const struct problem *p, size_t batch, size_t head)
{
    return batch * p->kv_heads + head * p->kv_heads / p->heads;
}

/* (q + u) k + (q + v) W_r R(i - j) */
static double distance_dot(const struct problem *p, const struct inputs *in, size_t head, size_t i,
                           size_t j, const double *q, const double *k)
{
    const size_t place = (size_t)(at_of(p, in, i) - (double)j - distance_base(p));
    const double *row = in->distances64 + (head * distances_count(p) + place) * p->head_dim;
    double sum = 0;

    for (size_t c = 0; c < p->head_dim; c++) {
        const size_t at = head * p->head_dim + c;
        sum += (q[c] + (in->u64 ? in->u64[at] : 0)) * k[c];
        sum += (q[c] + (in->pos_v64 ? in->pos_v64[at] : 0)) * row[c];
    }
    return sum;
}

/* The row of a distance with 8 buckets up to 24: 4 of one distance each, 4 by its logarithm. */
static size_t deberta_row(double distance)
{
    const double n = fabs(distance), far = 4 + ceil(log(n / 4) / log(23.0 / 4) * 3);
    const double bucket = n <= 4 ? n : far;

    return (size_t)fmax(0, fmin(8 + (distance < 0 ? -bucket : bucket), 15));
}

static bool is_seen(const struct problem *p, const struct inputs *in, size_t i, size_t j)
{
    static const double windows[][2] = {{1e9, 1e9}, {7, 1e9}, {5, 3}, {1e9, 4}};
    const struct options *o = &p->options;
    const struct packed packed = packed_of(p, in, i);
    const double at = at_of(p, in, i), key = (double)j, chunk = o->chunk ? o->chunk : 1e9;

    return key >= packed.key_first && key < packed.key_end && !(p->causal && key > at) &&
           key >= at - windows[o->window][0] && key <= at + windows[o->window][1] &&
           (!o->chunk ||
            floor((key - packed.key_first) / chunk) == floor((at - packed.key_first) / chunk));
}

/* The number that a tensor with axes of 1 has for a query and a key. */
static double spread_at(const struct pe_tensor *tensor, const double *values, size_t batch,
                        size_t head, size_t i, size_t j)
{
    const size_t at[] = {batch, head, i, j};
    size_t place = 0;

    for (unsigned axis = 0; axis < tensor->rank; axis++)
        place = place * tensor->shape[axis] +
                (tensor->shape[axis] > 1 ? at[4 - tensor->rank + axis] : 0);
    return values[place];
}

/* A row of q or k after its norm; weights have 1 added to them. */
static void row_norm(const struct problem *p, const double *weights, double *row)
{
    double sum = 0;

    for (size_t c = 0; c < p->head_dim; c++)
        sum += row[c] * row[c];
    for (size_t c = 0; c < p->head_dim; c++)
        row[c] = row[c] / sqrt(sum / (double)p->head_dim + 1e-5) * (weights ? 1 + weights[c] : 1);
}

static double dot(const struct problem *p, const struct inputs *in, size_t head, size_t i, size_t j,
                  const double *q, const double *k)
{
    const double distance = (double)j - at_of(p, in, i);
    const size_t width = p->heads * p->head_dim, first = head * p->head_dim;
    double sum = 0;

    if (p->position == TRANSFORMER_XL)
        return distance_dot(p, in, head, i, j, q, k);
    for (size_t c = 0; c < p->head_dim; c++) {
        sum += q[c] *
               (k[c] + (in->rel_k64 ? in->rel_k64[bucket_of(p, in, i, j) * p->head_dim + c] : 0));
        if (in->pos_key64)
            sum += q[c] * in->pos_key64[deberta_row(-distance) * width + first + c];
        if (in->pos_query64)
            sum += k[c] * in->pos_query64[deberta_row(-distance) * width + first + c];
    }
    return sum;
}

/* Of rows that are read: norm, rotation and temperature, in both orders. */
static double product(const struct problem *p, const struct inputs *in, size_t batch, size_t head,
                      size_t i, size_t j, double *q, double *k)
{
    const struct options *o = &p->options;
    const struct packed packed = packed_of(p, in, i);
    const double at =
        in->positions ? in->positions[batch * p->queries + i] : at_of(p, in, i) - packed.key_first;
    const double key =
        in->key_positions ? in->key_positions[batch * p->keys + j] : (double)j - packed.key_first;
    double factor = o->temperature ? 1 + 0.25 * log(1 + floor((at + 1) / 8)) : 1;

    if (o->norm == PE_NORM_BEFORE || p->position != ROPE) {
        if (o->norm)
            row_norm(p, in->q_norm64, q);
        if (o->norm)
            row_norm(p, in->k_norm64, k);
    }
    for (size_t c = 0; c < p->head_dim; c++)
        q[c] *= factor;
    if (p->position != ROPE)
        return dot(p, in, head, i, j, q, k);
    if (o->norm != PE_NORM_AFTER)
        return rotated_dot(p, q, k, at, key);
    rotate(p, q, at);
    rotate(p, k, key);
    for (size_t c = 0; c < p->head_dim; c++)
        q[c] /= factor;
    row_norm(p, in->q_norm64, q);
    row_norm(p, in->k_norm64, k);
    for (size_t c = 0; c < p->head_dim; c++)
        q[c] *= factor;
    return dot(p, in, head, i, j, q, k);
}

static double logit(const struct problem *p, const struct inputs *in, size_t batch, size_t head,
                    size_t i, size_t j)
{
    const struct options *o = &p->options;
    const double *from = in->q64 + ((batch * p->heads + head) * p->queries + i) * p->head_dim;
    const double *of_key = in->k64 + (kv_head_of(p, batch, head) * p->keys + j) * p->head_dim;
    const double terms = 1 + (o->rows & 1) + (o->rows >> 1 & 1);
    const double scale = isnan(p->scale) ? 1 / sqrt((double)p->head_dim * terms) : p->scale;
    const double bias = bias_of(p, in, head, (double)j - at_of(p, in, i));
    double q[HEAD_DIM_MAX], k[HEAD_DIM_MAX];

    if (!is_seen(p, in, i, j))
        return -INFINITY;
    memcpy(q, from, p->head_dim * sizeof(*q));
    memcpy(k, of_key, p->head_dim * sizeof(*k));
    double sum = product(p, in, batch, head, i, j, q, k);
    sum = o->before_scale ? (sum + bias) * scale : sum * scale;
    if (o->softcap > 0)
        sum = o->softcap * tanh(sum / o->softcap);
    sum += o->before_scale ? 0 : bias;
    if (in->bias64)
        sum += spread_at(&in->bias, in->bias64, batch, head, i, j);
    if (in->mask64 && o->mask == 2)
        sum += spread_at(&in->mask, in->mask64, batch, head, i, j);
    return in->mask64 && o->mask == 1 && spread_at(&in->mask, in->mask64, batch, head, i, j) == 0
               ? -INFINITY
               : sum;
}

/* One row of the answer. */
static void reference_row(const struct problem *p, const struct inputs *in, size_t row, double *out)
{
    const size_t i = row % p->queries, head = row / p->queries % p->heads;
    const size_t batch = row / p->queries / p->heads;
    double *a = checked(malloc((p->keys + 1) * sizeof(*a))), max = -INFINITY, sum = 0;

    for (size_t j = 0; j < p->keys; j++) {
        a[j] = logit(p, in, batch, head, i, j);
        max = fmax(max, a[j]);
    }
    if (p->output != PE_ATTENTION_SCORES)
        for (size_t j = 0; j < p->keys; j++)
            sum += a[j] = max == -INFINITY ? 0 : exp(a[j] - max);
    if (in->sinks64)
        sum += exp(in->sinks64[head] - (max == -INFINITY ? 0 : max));
    for (size_t j = 0; j < p->keys && p->output != PE_ATTENTION_SCORES; j++)
        a[j] /= sum == 0 ? 1 : sum;
    if (p->output != PE_ATTENTION_OUTPUT)
        memcpy(out, a, p->keys * sizeof(*a));
    for (size_t c = 0; c < p->value_dim && p->output == PE_ATTENTION_OUTPUT; c++) {
        out[c] = 0;
        for (size_t j = 0; j < p->keys; j++) {
            const double v = in->v64[(kv_head_of(p, batch, head) * p->keys + j) * p->value_dim + c];
            const double r =
                in->rel_v64 ? in->rel_v64[bucket_of(p, in, i, j) * p->value_dim + c] : 0;
            out[c] += a[j] * (v + r);
        }
    }
    free(a);
}

/* The error that rounding may leave in sums of some hundred terms of size about 10; f16 and bf16
 * have half a unit of their own in the last place besides. */
static double tolerance(enum pe_dtype dtype)
{
    switch (dtype) {
    case PE_F64:
        return 1e-13;
    case PE_F32:
        return 1e-5;
    case PE_F16:
        return 0x1p-10;
    default:
        return 0x1p-7;
    }
}

struct filling {
    struct pe_job job;
    const struct pe_attention *attention;
    char *out;
    size_t cut, rows, row_size;
};

static void filling_run(struct pe_job *job, size_t block)
{
    const struct filling *filling = (const struct filling *)job;
    const size_t row = block * filling->cut, rest = filling->rows - row;

    demand((pe_attention_fill(
                filling->attention, row, row + (rest < filling->cut ? rest : filling->cut),
                filling->out + row * filling->row_size, NULL, &(struct pe_error){0}) == PE_OK),
           "no memory\n");
}

void *attention_run(const struct problem *p, const struct inputs *in, struct pe_pool *pool,
                    size_t cut, size_t *size)
{
    struct pe_error err = {0};
    struct pe_scheme *scheme = scheme_open(p);
    if (in->weights.data)
        demand(!pe_scheme_give(scheme, "weights", &in->weights, NULL, &err), "%s\n", err.detail);
    if (scheme)
        demand(!pe_scheme_prepare(scheme, NULL, &err), "%s\n", err.detail);
    const struct pe_attention_spec spec = spec_of(p, in, scheme);
    struct pe_attention *attention;

    demand(pe_attention_new(&attention, &spec, pool, NULL, &err) == PE_OK, "%s\n", err.detail);
    const struct pe_output *output = pe_attention_output(attention);
    const size_t row_size = output->row_elements * pe_dtype_info(output->dtype)->size;
    char *out = checked(malloc(output->rows * row_size + 1));
    memset(out, 0x5A, output->rows * row_size + 1);
    struct filling filling = {{.run = filling_run, .blocks = (output->rows + cut - 1) / cut},
                              attention,
                              out,
                              cut,
                              output->rows,
                              row_size};
    pe_pool_run(pool, &filling.job);
    demand(out[output->rows * row_size] == 0x5A, "wrote past the end\n");
    *size = output->rows * row_size;
    pe_attention_free(attention);
    pe_scheme_free(scheme);
    return out;
}

size_t attention_compare(const struct problem *p, struct pe_pool *pool)
{
    struct inputs in = inputs_new(p);
    const size_t rows = p->batch * p->heads * p->queries;
    const size_t width = p->output == PE_ATTENTION_OUTPUT ? p->value_dim : p->keys;
    double *want = checked(malloc((width + 1) * sizeof(double)));
    double *got = checked(malloc((width + 1) * sizeof(double)));
    size_t size;
    char *out = attention_run(p, &in, pool, 1 + p->seed % 150, &size);

    ck_assert_uint_eq(size, rows * width * pe_dtype_info(p->dtype)->size);
    for (size_t row = 0; row < rows; row++) {
        reference_row(p, &in, row, want);
        pe_to_f64(got, out + row * width * pe_dtype_info(p->dtype)->size, p->dtype, width);
        for (size_t c = 0; c < width; c++) {
            const bool same = want[c] == got[c] ||
                              fabs(want[c] - got[c]) <= tolerance(p->dtype) * (1 + fabs(want[c]));
            if (!same) /* a passed assertion costs Check a system call */
                ck_abort_msg(
                    "position %d dtype %s output %d b%zu h%zu/%zu s%zu n%zu d%zu/%zu clip %zu "
                    "causal %d start %g: row %zu column %zu is %.17g, expected %.17g",
                    p->position, pe_dtype_info(p->dtype)->name, p->output, p->batch, p->heads,
                    p->kv_heads, p->queries, p->keys, p->head_dim, p->value_dim, p->clip, p->causal,
                    p->query_start, row, c, got[c], want[c]);
        }
    }
    free(out);
    free(got);
    free(want);
    inputs_free(&in);
    return rows * width;
}
