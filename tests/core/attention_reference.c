/* SPDX-License-Identifier: MIT */
#include "tests/core/attention_reference.h"

size_t bucket_of(const struct problem *p, size_t i, size_t j)
{
    const double clip = (double)p->clip, distance = (double)j - (start_of(p) + (double)i);

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
    const double *row =
        in->distances64 + (head * (p->queries + p->keys) + i + p->keys - 1 - j) * p->head_dim;
    double sum = 0;

    for (size_t c = 0; c < p->head_dim; c++) {
        const size_t at = head * p->head_dim + c;
        sum += (q[c] + (in->u64 ? in->u64[at] : 0)) * k[c];
        sum += (q[c] + (in->pos_v64 ? in->pos_v64[at] : 0)) * row[c];
    }
    return sum;
}

static double logit(const struct problem *p, const struct inputs *in, size_t batch, size_t head,
                    size_t i, size_t j)
{
    const double *q = in->q64 + ((batch * p->heads + head) * p->queries + i) * p->head_dim;
    const double *k = in->k64 + (kv_head_of(p, batch, head) * p->keys + j) * p->head_dim;
    const double scale = isnan(p->scale) ? 1 / sqrt((double)p->head_dim) : p->scale;
    const double at = start_of(p) + (double)i;
    double sum = 0;

    if (p->causal && (double)j > at)
        return -INFINITY;
    if (p->position == ROPE)
        return rotated_dot(p, q, k, at, (double)j) * scale;
    if (p->position == TRANSFORMER_XL)
        return distance_dot(p, in, head, i, j, q, k) * scale;
    for (size_t c = 0; c < p->head_dim; c++)
        sum +=
            q[c] * (k[c] + (in->rel_k64 ? in->rel_k64[bucket_of(p, i, j) * p->head_dim + c] : 0));
    return sum * scale + bias_of(p, in, head, (double)j - at);
}

/* One row of the answer. */
static void reference_row(const struct problem *p, const struct inputs *in, size_t row, double *out)
{
    const size_t i = row % p->queries, head = row / p->queries % p->heads;
    const size_t batch = row / p->queries / p->heads;
    double *a = must(malloc((p->keys + 1) * sizeof(*a))), max = -INFINITY, sum = 0;

    for (size_t j = 0; j < p->keys; j++) {
        a[j] = logit(p, in, batch, head, i, j);
        max = fmax(max, a[j]);
    }
    if (p->output != PE_ATTENTION_SCORES)
        for (size_t j = 0; j < p->keys; j++)
            sum += a[j] = max == -INFINITY ? 0 : exp(a[j] - max);
    for (size_t j = 0; j < p->keys && p->output != PE_ATTENTION_SCORES; j++)
        a[j] /= sum == 0 ? 1 : sum;
    if (p->output != PE_ATTENTION_OUTPUT)
        memcpy(out, a, p->keys * sizeof(*a));
    for (size_t c = 0; c < p->value_dim && p->output == PE_ATTENTION_OUTPUT; c++) {
        out[c] = 0;
        for (size_t j = 0; j < p->keys; j++) {
            const double v = in->v64[(kv_head_of(p, batch, head) * p->keys + j) * p->value_dim + c];
            const double r = in->rel_v64 ? in->rel_v64[bucket_of(p, i, j) * p->value_dim + c] : 0;
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
    char *out = must(malloc(output->rows * row_size + 1));
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
    double *want = must(malloc((width + 1) * sizeof(double)));
    double *got = must(malloc((width + 1) * sizeof(double)));
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
