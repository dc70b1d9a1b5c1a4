/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_KERNELS_KERNEL_CHECK_H
#define TESTS_CORE_KERNELS_KERNEL_CHECK_H

/* Shared by the checks of kernels. Each kernel NAME of kernels.def has a function check_NAME in one
 * of the kernel_*.c; it runs the scalar build and another one on the same input, at several sizes
 * and places, and passes both results to check_same. */

#include "core/base/isa.h"
#include "posenc/dtype.h"

struct kernel_check {
    const struct pe_isa *isa;
    const struct pe_kernels *scalar, *kernels; /* the oracle; the checked build */
    const char *name;                          /* of the kernel */
    uint64_t random;                           /* state */
    uint64_t hash;                             /* of all results; every NaN counts as the same */
    size_t cases, elements, failures;
};

#define KERNEL(name, args) __attribute__((weak)) void check_##name(struct kernel_check *check);
#include "core/kernels/kernels.def"
#undef KERNEL

enum { CHECK_SLOTS = 8, CHECK_SLOT_SIZE = 1 << 18, CHECK_PLACES = 4 };

/* Memory for `count` elements in one of CHECK_SLOTS slots between two guard pages, with canaries
 * before and after. Place 0 ends at the guard page; 1, 2, 3 begin 0, 1 and 3 elements behind the
 * front one. Discards the former contents of the slot. */
void *check_memory(size_t slot, enum pe_dtype dtype, size_t count, size_t place);

enum check_values {
    CHECK_UNIT,   /* within (-2, 2) */
    CHECK_RANDOM, /* any finite magnitude whose sums are finite */
    CHECK_EDGES,  /* zeros, subnormals, the largest, infinities, NaN, and some of the others */
    CHECK_KINDS
};

uint64_t check_random(struct kernel_check *check);
void check_fill(struct kernel_check *check, void *out, enum pe_dtype dtype, size_t count,
                enum check_values kind);

/* The two results must be the same bytes, or both NaN; canaries must be intact. */
void check_same(struct kernel_check *check, enum pe_dtype dtype, const void *want, const void *got,
                size_t count, const char *format, ...) __attribute__((format(printf, 6, 7)));

#endif
