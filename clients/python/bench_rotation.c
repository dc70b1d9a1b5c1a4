/* SPDX-License-Identifier: MIT */
/* The peers of bench.py: the C calls on 4 MiB of queries, in microseconds, one line each:
 * median and least of pe_rotate alone, of pe_rotation_new and pe_rotate, of both on a copy. */
#include <posenc/posenc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HEADS = 8, TOKENS = 1024, DIM = 128, ELEMENTS = HEADS * TOKENS * DIM, ROUNDS = 201 };

enum { ALONE, WHOLE, COPIED, WAYS };

static double now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One round: the same work, cut at each of the three times. */
static void round_run(const struct pe_rotation_spec *spec, const struct pe_axes *axes,
                      const float *from, float *q, double *times, struct pe_error *err)
{
    struct pe_rotation *rotation = NULL;
    double copied, made, began = now_us();

    memcpy(q, from, ELEMENTS * sizeof(*q));
    copied = now_us();
    if (!pe_rotation_new(&rotation, spec, PE_F32, NULL, NULL, err)) {
        made = now_us();
        pe_rotate(rotation, q, axes, 0, HEADS * TOKENS, NULL, err);
        times[ALONE] = now_us() - made;
    }
    times[WHOLE] = now_us() - copied;
    times[COPIED] = now_us() - began;
    pe_rotation_free(rotation);
}

int main(void)
{
    static double times[WAYS][ROUNDS];
    float *from = aligned_alloc(64, ELEMENTS * sizeof(*from));
    float *q = aligned_alloc(64, ELEMENTS * sizeof(*q));
    const struct pe_tensor tensor = {PE_F32, 4, {1, HEADS, TOKENS, DIM}, q};
    struct pe_rotation_spec spec = {.size = sizeof(spec),
                                    .positions = {.step = 1, .count = TOKENS}};
    struct pe_error err = {0};
    struct pe_params params;
    struct pe_scheme *scheme = NULL;
    struct pe_axes axes;

    if (!from || !q || pe_params_parse(&params, "rope", "dim=128", &err) ||
        pe_scheme_new(&scheme, pe_encoding_find("rope"), &params, NULL, &err) ||
        pe_axes_parse(&axes, "bhsd", &tensor, 0, &err))
        return 1;
    spec.scheme = scheme;
    for (int i = 0; i < ELEMENTS; i++)
        from[i] = (float)(i % 1000) / 1000;
    for (int round = 0; round < ROUNDS && !err.status; round++) {
        double of[WAYS];
        round_run(&spec, &axes, from, q, of, &err);
        for (int way = 0; way < WAYS; way++)
            times[way][round] = of[way];
    }
    for (int way = 0; way < WAYS; way++) {
        qsort(times[way], ROUNDS, sizeof(double), compare);
        printf("%.1f %.1f\n", times[way][ROUNDS / 2], times[way][0]);
    }
    pe_scheme_free(scheme);
    pe_params_free(&params);
    free(from);
    free(q);
    return err.status != PE_OK;
}
