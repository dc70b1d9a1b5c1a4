/* SPDX-License-Identifier: MIT */
/* How fast libposenc is, and the memory that limits it: see worker.h and library.h. */
#include "bench/workers/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    subject_open *open;
} subjects[] = {
    {"view", view_open},     {"made", made_open}, {"rotate", rotation_open},
    {"store", store_open},   {"past", past_open}, {"attention", attention_open},
    {"stream", stream_open},
};

_Noreturn void library_fail(const struct pe_error *err)
{
    fprintf(stderr, "%s: ", err->where);
    worker_fail(err->detail);
}

enum pe_dtype library_dtype(const char *name)
{
    for (enum pe_dtype dtype = 0; pe_dtype_info(dtype); dtype++)
        if (strcmp(pe_dtype_info(dtype)->name, name) == 0)
            return dtype;
    worker_fail("no such dtype");
}

static uint16_t half_of(float value)
{
    const _Float16 half = (_Float16)value;
    uint16_t bits;

    memcpy(&bits, &half, sizeof(bits));
    return bits;
}

/* Cut: which neighbour it is does not matter here. */
static uint16_t brain_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (uint16_t)(bits >> 16);
}

static double *doubles_of(float *values, size_t count)
{
    double *wide = worker_memory(count * sizeof(*wide));

    for (size_t i = 0; i < count; i++)
        wide[i] = values[i];
    free(values);
    return wide;
}

void *library_values(enum pe_dtype dtype, size_t count)
{
    float *values = worker_memory(count * sizeof(*values));
    uint16_t *narrow;

    if (dtype == PE_F32)
        return values;
    if (dtype == PE_F64)
        return doubles_of(values, count);
    narrow = worker_memory(count * sizeof(*narrow));
    for (size_t i = 0; i < count; i++)
        narrow[i] = dtype == PE_F16 ? half_of(values[i]) : brain_of(values[i]);
    free(values);
    return narrow;
}

struct pe_pool *library_pool(size_t threads)
{
    struct pe_error err = {0};
    struct pe_pool *pool = NULL;

    /* The thread that submits a job takes part in it. */
    if (threads > 1 && pe_pool_new(&pool, threads - 1, false, &err))
        library_fail(&err);
    return pool;
}

static void weights_give(struct pe_scheme *scheme, struct pe_error *err)
{
    enum { BUCKETS = 32, HEADS = 8 };
    float *values = library_values(PE_F32, BUCKETS * HEADS);
    const struct pe_tensor weights = {PE_F32, 2, {BUCKETS, HEADS}, values};

    if (pe_scheme_give(scheme, "weights", &weights, NULL, err))
        library_fail(err);
    free(values);
}

struct pe_scheme *library_scheme(const char *name, const char *text)
{
    const struct pe_encoding *encoding = pe_encoding_find(name);
    struct pe_error err = {0};
    struct pe_scheme *scheme;
    struct pe_params params;

    if (pe_params_parse(&params, name, text, &err) ||
        pe_scheme_open(&scheme, encoding, &params, NULL, &err))
        library_fail(&err);
    if (strcmp(name, "t5") == 0)
        weights_give(scheme, &err);
    if (pe_scheme_prepare(scheme, NULL, &err))
        library_fail(&err);
    pe_params_free(&params);
    return scheme;
}

static bool open_any(struct subject *subject, char *const words[WORDS_MAX], size_t count)
{
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
        if (strcmp(words[0], subjects[i].name) == 0)
            return subjects[i].open(subject, words, count);
    return false;
}

int main(int argc, char **argv)
{
    return worker_run(argc, argv, open_any);
}
