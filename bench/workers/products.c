/* SPDX-License-Identifier: MIT */
/* The limit of attention: both products of it by a library's sgemm, for each head, without a
 * softmax between them. products LIBRARY.so; words: products;QUERIES;KEYS;WIDTH;HEADS */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/workers/worker.h"

enum { ROW_MAJOR = 101, AS_IS = 111, TRANSPOSED = 112 }; /* of the C interface of BLAS */

typedef void blas_sgemm(int order, int a_order, int b_order, int rows, int columns, int depth,
                        float alpha, const float *a, int a_stride, const float *b, int b_stride,
                        float beta, float *c, int c_stride);
typedef int onednn_sgemm(char a_order, char b_order, int64_t rows, int64_t columns, int64_t depth,
                         float alpha, const float *a, int64_t a_stride, const float *b,
                         int64_t b_stride, float beta, float *c, int64_t c_stride);

static blas_sgemm *by_blas;
static onednn_sgemm *by_onednn;

struct products {
    int queries, keys, width, heads;
    float *q, *k, *v, *logits, *out;
};

static void product(bool transposed, int rows, int columns, int depth, const float *a,
                    const float *b, float *c)
{
    const int b_stride = transposed ? depth : columns;

    if (by_blas)
        by_blas(ROW_MAJOR, AS_IS, transposed ? TRANSPOSED : AS_IS, rows, columns, depth, 1, a,
                depth, b, b_stride, 0, c, columns);
    else
        by_onednn('N', transposed ? 'T' : 'N', rows, columns, depth, 1, a, depth, b, b_stride, 0, c,
                  columns);
}

static void run(void *state)
{
    const struct products *p = state;

    for (int head = 0; head < p->heads; head++) {
        const size_t of_q = (size_t)head * p->queries * p->width;
        const size_t of_k = (size_t)head * p->keys * p->width;

        product(true, p->queries, p->keys, p->width, p->q + of_q, p->k + of_k, p->logits);
        product(false, p->queries, p->width, p->keys, p->logits, p->v + of_k, p->out + of_q);
    }
}

static void end(void *state)
{
    struct products *p = state;

    free(p->q);
    free(p->k);
    free(p->v);
    free(p->logits);
    free(p->out);
    free(p);
}

static float *matrix(int count, int rows, int columns)
{
    return worker_memory((size_t)count * rows * columns * sizeof(float));
}

static bool open(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    struct products *p = calloc(1, sizeof(*p));

    if (count != 5 || !p)
        return false;
    *p = (struct products){atoi(words[1]), atoi(words[2]), atoi(words[3]), atoi(words[4]),
                           .logits = NULL};
    p->q = matrix(p->heads, p->queries, p->width);
    p->k = matrix(p->heads, p->keys, p->width);
    p->v = matrix(p->heads, p->keys, p->width);
    p->logits = matrix(1, p->queries, p->keys);
    p->out = matrix(p->heads, p->queries, p->width);
    *subject = (struct subject){.state = p, .run = run, .end = end};
    return true;
}

static void *symbol(void *library, const char *const names[])
{
    void *found = NULL;

    for (size_t i = 0; names[i] && !found; i++)
        found = dlsym(library, names[i]);
    return found;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

    if (!library) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "usage: products LIBRARY.so");
        return 2;
    }
    by_blas = symbol(library, (const char *const[]){"scipy_cblas_sgemm", "cblas_sgemm", NULL});
    by_onednn = symbol(library, (const char *const[]){"dnnl_sgemm", NULL});
    if (!by_blas && !by_onednn)
        worker_fail("the library has no sgemm");
    return worker_run(1, argv, open);
}
