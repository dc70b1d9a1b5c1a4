/* SPDX-License-Identifier: MIT */
#include "tests/core/kernels/kernel_check.h"

#include <string.h>

struct size {
    size_t tokens, heads, head_dim, pairs;
};

typedef void rotate(const struct pe_kernels *kernels, void *data, const void *cos, const void *sin,
                    const struct size *size);

/* Few bits in a number, so that many results stand in the middle between two of a narrow dtype. */
static void make_coarse(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        bits &= 0xfffc0000;
        memcpy(&values[i], &bits, sizeof(bits));
    }
}

static void check_case(struct kernel_check *check, rotate *run, enum pe_dtype dtype,
                       const struct size *size, size_t place, enum check_values kind)
{
    const enum pe_dtype real = dtype == PE_F64 ? PE_F64 : PE_F32;
    const size_t count = size->tokens * size->heads * size->head_dim;
    const size_t table = size->tokens * size->pairs;
    /* The results stand where alignment and guard pages are to be tried; so do cos and sin. */
    void *want = check_memory(0, dtype, count, place), *got = check_memory(1, dtype, count, place);
    void *cos = check_memory(2, real, table, place), *sin = check_memory(3, real, table, place);

    check_fill(check, cos, real, table, CHECK_UNIT);
    check_fill(check, sin, real, table, CHECK_UNIT);
    if (real == PE_F32 && kind == CHECK_RANDOM) {
        make_coarse(cos, table);
        make_coarse(sin, table);
    }
    check_fill(check, want, dtype, count, kind);
    memcpy(got, want, count * pe_dtype_info(dtype)->size);
    run(check->scalar, want, cos, sin, size);
    run(check->kernels, got, cos, sin, size);
    check_same(check, dtype, want, got, count,
               "tokens=%zu heads=%zu head_dim=%zu pairs=%zu place=%zu kind=%d", size->tokens,
               size->heads, size->head_dim, size->pairs, place, (int)kind);
}

static void check_rotate(struct kernel_check *check, rotate *run, enum pe_dtype dtype)
{
    static const size_t heads[] = {0, 1, 2, 5}, tokens[] = {0, 1, 3}, rest[] = {0, 3};
    enum { SMALL = 40 };
    static const size_t large[] = {48, 64, 80, 96, 128, 131}; /* past several of the widest step */

    for (size_t p = 0; p <= SMALL + 6; p++)
        for (size_t variant = 0; variant < 4 * 3 * 2; variant++) {
            const size_t pairs = p <= SMALL ? p : large[p - SMALL - 1];
            const struct size size = {.tokens = tokens[variant / 4 % 3],
                                      .heads = heads[variant % 4],
                                      .head_dim = 2 * pairs + rest[variant / 12],
                                      .pairs = pairs};
            for (size_t place = 0; place < CHECK_PLACES; place++)
                for (int kind = 0; kind < CHECK_KINDS; kind++)
                    check_case(check, run, dtype, &size, place, kind);
        }
}

#define ROTATE(layout, suffix, DTYPE)                                                              \
    static void run_##layout##_##suffix(const struct pe_kernels *kernels, void *data,              \
                                        const void *cos, const void *sin, const struct size *size) \
    {                                                                                              \
        kernels->rotate_##layout##_##suffix(data, cos, sin, size->tokens, size->heads,             \
                                            size->head_dim, 2 * size->pairs);                      \
    }                                                                                              \
    void check_rotate_##layout##_##suffix(struct kernel_check *check)                              \
    {                                                                                              \
        check_rotate(check, run_##layout##_##suffix, DTYPE);                                       \
    }

ROTATE(half, f64, PE_F64)
ROTATE(half, f32, PE_F32)
ROTATE(half, f16, PE_F16)
ROTATE(half, bf16, PE_BF16)
ROTATE(interleaved, f64, PE_F64)
ROTATE(interleaved, f32, PE_F32)
ROTATE(interleaved, f16, PE_F16)
ROTATE(interleaved, bf16, PE_BF16)
