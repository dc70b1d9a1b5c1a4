/* SPDX-License-Identifier: MIT */
#include "core/base/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "posenc/posenc.h"

/* ---- features of the processor: the column `usable` of isas.def ------------------------------ */

/* The flags need no optional feature of the processor. */
static bool has_all(void)
{
    return true;
}

#if defined(__x86_64__)
#include <cpuid.h>

/* A bit of ECX, for extensions that older compilers cannot name. */
static bool has_bit(unsigned leaf, unsigned bit)
{
    unsigned a, b, c, d;

    return __get_cpuid(leaf, &a, &b, &c, &d) && (c >> bit & 1);
}

enum { BASIC = 1, F16C = 29, MOVBE = 22, EXTENDED = 0x80000001, LZCNT = 5 };

/* The builtin also checks that the operating system saves the wider registers. */
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
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

/* The kernels are compiled for vectors of 32 bytes and wrong at any other length. The length
 * belongs to the thread, and its children inherit it. */
static bool has_sve256(void)
{
    const int length = getauxval(AT_HWCAP) & HWCAP_SVE ? prctl(PR_SVE_GET_VL) : 0;

    return length > 0 && (length & PR_SVE_VL_LEN_MASK) == 32;
}
#endif

/* ---- the choice ------------------------------------------------------------------------------ */

#define ISA(name, lanes, usable, flags) extern const struct pe_kernels pe_kernels_##name;
#include "core/base/isas.def"
#undef ISA

const struct pe_isa pe_isas[] = {
#define ISA(name, lanes, usable, flags) {#name, usable, &pe_kernels_##name},
#include "core/base/isas.def"
#undef ISA
    {0},
};

/* The row that POSENC_ISA names; the first one if there is no such row. */
static const struct pe_isa *find_limit(const char *name)
{
    for (const struct pe_isa *isa = pe_isas; name && isa->name; isa++)
        if (strcmp(isa->name, name) == 0)
            return isa;
    return pe_isas;
}

const struct pe_isa *pe_isa(void)
{
    /* Threads that race here all find the same row. */
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

const char *pe_isa_at(size_t index)
{
    return index < sizeof(pe_isas) / sizeof(pe_isas[0]) ? pe_isas[index].name : NULL;
}
