/* SPDX-License-Identifier: MIT */
#include "tests/core/kernels/kernel_check.h"

#include <string.h>

typedef void convert(const struct pe_kernels *kernels, void *out, const void *in, size_t count);

static void check_case(struct kernel_check *check, convert *run, enum pe_dtype from,
                       enum pe_dtype to, size_t count, size_t place)
{
    void *in = check_memory(0, from, count, place);
    void *want = check_memory(1, to, count, place), *got = check_memory(2, to, count, place);

    for (int kind = 0; kind < CHECK_KINDS; kind++) {
        check_fill(check, in, from, count, kind);
        run(check->scalar, want, in, count);
        run(check->kernels, got, in, count);
        check_same(check, to, want, got, count, "count=%zu place=%zu kind=%d", count, place, kind);
    }
}

/* f32 around every number of 16 bits: itself, the midpoint to the next one, and just beside both.
 */
static void check_neighbours(struct kernel_check *check, convert *run, enum pe_dtype to)
{
    enum { COUNT = 1 << 12 };
    const int dropped = to == PE_F16 ? 13 : 16;
    uint32_t *in = check_memory(0, PE_F32, 5 * COUNT, 1);
    uint16_t *want = check_memory(1, to, 5 * COUNT, 1), *got = check_memory(2, to, 5 * COUNT, 1);

    for (uint64_t base = 0; base < UINT64_C(1) << (32 - dropped); base += COUNT) {
        for (uint32_t i = 0; i < COUNT; i++) {
            const uint32_t bits = (uint32_t)(base + i) << dropped, half = 1u << (dropped - 1);
            const uint32_t near[] = {bits, bits + half - 1, bits + half, bits + half + 1,
                                     bits + 2 * half - 1};
            memcpy(in + 5 * i, near, sizeof(near));
        }
        run(check->scalar, want, in, 5 * COUNT);
        run(check->kernels, got, in, 5 * COUNT);
        check_same(check, to, want, got, 5 * COUNT, "neighbours of %#llx << %d",
                   (unsigned long long)base, dropped);
    }
}

static void check_all_of_16_bits(struct kernel_check *check, convert *run, enum pe_dtype from)
{
    enum { COUNT = 1 << 15 };
    uint16_t *in = check_memory(0, from, COUNT, 1);
    void *want = check_memory(1, PE_F32, COUNT, 1), *got = check_memory(2, PE_F32, COUNT, 1);

    for (uint32_t sign = 0; sign < 2; sign++) {
        for (uint32_t i = 0; i < COUNT; i++)
            in[i] = (uint16_t)(sign << 15 | i);
        run(check->scalar, want, in, COUNT);
        run(check->kernels, got, in, COUNT);
        check_same(check, PE_F32, want, got, COUNT, "all of sign %u", (unsigned)sign);
    }
}

static void check_convert(struct kernel_check *check, convert *run, enum pe_dtype from,
                          enum pe_dtype to)
{
    for (size_t count = 0; count <= 100; count++)
        for (size_t place = 0; place < CHECK_PLACES; place++)
            check_case(check, run, from, to, count, place);
    if (from == PE_F32)
        check_neighbours(check, run, to);
    else
        check_all_of_16_bits(check, run, from);
}

#define CONVERT(name, FROM, TO)                                                                    \
    static void run_##name(const struct pe_kernels *kernels, void *out, const void *in,            \
                           size_t count)                                                           \
    {                                                                                              \
        kernels->name(out, in, count);                                                             \
    }                                                                                              \
    void check_##name(struct kernel_check *check)                                                  \
    {                                                                                              \
        check_convert(check, run_##name, FROM, TO);                                                \
    }

CONVERT(convert_f32_f16, PE_F32, PE_F16)
CONVERT(convert_f32_bf16, PE_F32, PE_BF16)
CONVERT(convert_f16_f32, PE_F16, PE_F32)
CONVERT(convert_bf16_f32, PE_BF16, PE_F32)
