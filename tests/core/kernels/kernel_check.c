/* SPDX-License-Identifier: MIT */
#include "tests/core/kernels/kernel_check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY_SIZE = 64, CANARY = 0xA5, SHOWN_MAX = 10 };

struct slot {
    char *begin, *end; /* between the guard pages */
    char *used, *used_end;
};

static struct slot slots[CHECK_SLOTS];

static void slot_map(struct slot *slot)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory =
        mmap(NULL, CHECK_SLOT_SIZE + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED ||
        mprotect(memory + page, CHECK_SLOT_SIZE, PROT_READ | PROT_WRITE) != 0) {
        perror("mmap");
        exit(2);
    }
    slot->begin = memory + page;
    slot->end = slot->begin + CHECK_SLOT_SIZE;
}

static char *before(const struct slot *slot)
{
    return slot->used - slot->begin > CANARY_SIZE ? slot->used - CANARY_SIZE : slot->begin;
}

static char *after(const struct slot *slot)
{
    return slot->end - slot->used_end > CANARY_SIZE ? slot->used_end + CANARY_SIZE : slot->end;
}

void *check_memory(size_t index, enum pe_dtype dtype, size_t count, size_t place)
{
    static const size_t offsets[CHECK_PLACES] = {0, 0, 1, 3};
    struct slot *slot = &slots[index];
    const size_t size = pe_dtype_info(dtype)->size;

    if (!slot->begin)
        slot_map(slot);
    if ((count + offsets[place]) * size > CHECK_SLOT_SIZE) {
        fprintf(stderr, "a check asks for more than %d bytes\n", CHECK_SLOT_SIZE);
        exit(2);
    }
    slot->used = place == 0 ? slot->end - count * size : slot->begin + offsets[place] * size;
    slot->used_end = slot->used + count * size;
    memset(before(slot), CANARY, (size_t)(after(slot) - before(slot)));
    return slot->used;
}

static bool canaries_are_whole(void)
{
    static char whole[CANARY_SIZE];

    memset(whole, CANARY, sizeof(whole));
    for (const struct slot *slot = slots; slot < slots + CHECK_SLOTS; slot++)
        if (slot->begin &&
            (memcmp(before(slot), whole, (size_t)(slot->used - before(slot))) != 0 ||
             memcmp(slot->used_end, whole, (size_t)(after(slot) - slot->used_end)) != 0))
            return false;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* splitmix64, so that every machine draws the same. */
uint64_t check_random(struct kernel_check *check)
{
    uint64_t z = check->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Bits of sign, exponent, fraction. */
struct format {
    int exponent_bits, fraction_bits;
};

static const struct format formats[] = {
    [PE_F64] = {11, 52}, [PE_F32] = {8, 23}, [PE_F16] = {5, 10}, [PE_BF16] = {8, 7}};

static uint64_t edge(struct format f, uint64_t fraction, uint64_t choice)
{
    const uint64_t exponents = (UINT64_C(1) << f.exponent_bits) - 1;
    const uint64_t edges[] = {0,
                              1,
                              (UINT64_C(1) << f.fraction_bits) - 1,      /* subnormal */
                              UINT64_C(1) << f.fraction_bits,            /* least */
                              (exponents << f.fraction_bits) - 1,        /* largest */
                              exponents << f.fraction_bits,              /* Inf */
                              (exponents << f.fraction_bits) + 1,        /* signalling */
                              (exponents << f.fraction_bits) | fraction, /* NaN, or Inf */
                              (UINT64_C(1) << (f.exponent_bits + f.fraction_bits)) - 1,
                              (exponents / 2) << f.fraction_bits, /* 1 */
                              fraction};                          /* subnormal */

    return edges[choice % (sizeof(edges) / sizeof(edges[0]))];
}

static uint64_t random_bits(struct kernel_check *check, struct format f, enum check_values kind)
{
    const uint64_t bits = check_random(check), exponents = (UINT64_C(1) << f.exponent_bits) - 1;
    const uint64_t fraction = bits & ((UINT64_C(1) << f.fraction_bits) - 1);
    const uint64_t choice = check_random(check);
    const uint64_t sign = (bits >> 63) << (f.exponent_bits + f.fraction_bits);
    uint64_t exponent = kind == CHECK_UNIT ? exponents / 2 - choice % 8 : choice % (exponents - 1);

    if (kind == CHECK_EDGES && (bits >> 56 & 1))
        return sign | edge(f, fraction, bits >> 57);
    if (exponent > exponents - 3)
        exponent = exponents - 3;
    return sign | exponent << f.fraction_bits | fraction;
}

void check_fill(struct kernel_check *check, void *out, enum pe_dtype dtype, size_t count,
                enum check_values kind)
{
    const size_t size = pe_dtype_info(dtype)->size;

    for (size_t i = 0; i < count; i++) {
        const uint64_t bits = random_bits(check, formats[dtype], kind);
        memcpy((char *)out + i * size, &bits, size); /* the low bytes: little-endian, as all ISAs */
    }
}

/* ---- comparison ------------------------------------------------------------------------------ */

/* Bits that are infinity's, and all but the sign; no whole number is above the former. */
struct limits {
    uint64_t infinity, magnitude;
};

static struct limits limits_of(enum pe_dtype dtype)
{
    if (!pe_dtype_is_float(dtype))
        return (struct limits){UINT64_MAX, UINT64_MAX};
    const struct format f = formats[dtype];
    return (struct limits){((UINT64_C(1) << f.exponent_bits) - 1) << f.fraction_bits,
                           (UINT64_C(1) << (f.exponent_bits + f.fraction_bits)) - 1};
}

/* NaN becomes one NaN; the rest stays as it is. */
static uint64_t canonical(uint64_t bits, struct limits limits)
{
    return (bits & limits.magnitude) > limits.infinity ? limits.infinity + 1 : bits;
}

static inline uint64_t bits_at(const void *data, size_t size, size_t i)
{
    uint64_t bits = 0;

    memcpy(&bits, (const char *)data + i * size, size);
    return bits;
}

/* The first element that differs, or `count`. Nearly all time goes here, under qemu above all: the
 * size is a constant of each call. */
static inline __attribute__((always_inline)) size_t differing(struct kernel_check *check,
                                                              struct limits limits,
                                                              const void *want, const void *got,
                                                              size_t count, size_t size)
{
    size_t first = count;
    uint64_t hash = check->hash;

    for (size_t i = 0; i < count; i++) {
        const uint64_t a = canonical(bits_at(want, size, i), limits);
        const uint64_t b = canonical(bits_at(got, size, i), limits);
        if (a != b && first == count)
            first = i;
        hash = (hash ^ b) * UINT64_C(0x100000001b3);
    }
    check->hash = hash;
    return first;
}

static size_t differing_of(struct kernel_check *check, enum pe_dtype dtype, const void *want,
                           const void *got, size_t count)
{
    const struct limits limits = limits_of(dtype);

    switch (pe_dtype_info(dtype)->size) {
    case 1:
        return differing(check, limits, want, got, count, 1);
    case 2:
        return differing(check, limits, want, got, count, 2);
    case 4:
        return differing(check, limits, want, got, count, 4);
    default:
        return differing(check, limits, want, got, count, 8);
    }
}

static void fail(struct kernel_check *check, const char *format, va_list args, const char *what)
{
    check->failures++;
    if (check->failures > SHOWN_MAX)
        return;
    fprintf(stderr, "FAIL %s/%s ", check->name, check->isa->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, ": %s\n", what);
}

void check_same(struct kernel_check *check, enum pe_dtype dtype, const void *want, const void *got,
                size_t count, const char *format, ...)
{
    char what[128] = "";
    va_list args;

    check->cases++;
    check->elements += count;
    const size_t i = differing_of(check, dtype, want, got, count),
                 size = pe_dtype_info(dtype)->size;
    if (i < count)
        snprintf(what, sizeof(what), "element %zu of %zu is %#llx, scalar has %#llx", i, count,
                 (unsigned long long)bits_at(got, size, i),
                 (unsigned long long)bits_at(want, size, i));
    if (!*what && !canaries_are_whole())
        snprintf(what, sizeof(what), "wrote outside");
    if (!*what)
        return;
    va_start(args, format);
    fail(check, format, args, what);
    va_end(args);
}
