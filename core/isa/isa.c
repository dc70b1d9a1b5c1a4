/* SPDX-License-Identifier: MIT */
#include "core/isa/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "posenc/posenc.h"

extern const struct pe_kernels pe_table_scalar;

static bool is_always_usable(void)
{
    return true;
}

#if defined(__x86_64__)
#include <cpuid.h>

extern const struct pe_kernels pe_table_sse2, pe_table_avx2, pe_table_avx512;

/* A bit of ECX, for extensions whose names only newer compilers know. */
static bool has_bit(unsigned leaf, unsigned bit)
{
    unsigned a, b, c, d;

    return __get_cpuid(leaf, &a, &b, &c, &d) && (c >> bit & 1);
}

enum { BASIC = 1, F16C = 29, MOVBE = 22, EXTENDED = 0x80000001, LZCNT = 5 };

/* Every extension that the Makefile's flags allow the compiler to use in a row's objects. The
 * builtin also asks whether the operating system saves the wider registers. */
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_bit(BASIC, F16C);
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && has_bit(EXTENDED, LZCNT) && has_bit(BASIC, MOVBE);
}
#elif defined(__aarch64__)
extern const struct pe_kernels pe_table_neon;
#endif

const struct pe_isa pe_isas[] = {
#if defined(__x86_64__)
    {"avx512", has_avx512, &pe_table_avx512},       {"avx2", has_avx2, &pe_table_avx2},
    {"sse2", is_always_usable, &pe_table_sse2},
#elif defined(__aarch64__)
    {"neon", is_always_usable, &pe_table_neon},
#endif
    {"scalar", is_always_usable, &pe_table_scalar}, {0},
};

/* The row that POSENC_ISA names or, where there is none of that name, the first. */
static const struct pe_isa *find_limit(const char *name)
{
    for (const struct pe_isa *isa = pe_isas; name && isa->name; isa++)
        if (strcmp(isa->name, name) == 0)
            return isa;
    return pe_isas;
}

const struct pe_isa *pe_isa(void)
{
    /* Threads that come first at the same time all find the same row. */
    static const struct pe_isa *_Atomic chosen;
    const struct pe_isa *isa = atomic_load_explicit(&chosen, memory_order_relaxed);

    if (isa)
        return isa;
    isa = find_limit(getenv("POSENC_ISA"));
    while (!isa->usable())
        isa++;
    atomic_store_explicit(&chosen, isa, memory_order_relaxed);
    return isa;
}

const char *pe_isa_name(void)
{
    return pe_isa()->name;
}
