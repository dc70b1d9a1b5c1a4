/* SPDX-License-Identifier: MIT */
/* Compares every kernel at every ISA of this machine with the scalar build, bit for bit.
 *     check_kernels [SEED]         the comparison
 *     check_kernels --list         the ISAs of this machine, best first
 *     check_kernels --hash [ISA]   the comparison of one ISA (default: the one in use), and a hash
 * of the results of each kernel, which must be the same everywhere */
#include "tests/core/kernels/kernel_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*check)(struct kernel_check *check);
} checks[] = {
#define KERNEL(name, args) {#name, check_##name},
#include "core/kernels/kernels.def"
#undef KERNEL
};

enum { CHECKS = sizeof(checks) / sizeof(checks[0]) };

/* NULL: this build has no such ISA. */
static const struct pe_isa *row_of(const char *name)
{
    for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
        if (strcmp(isa->name, name) == 0)
            return isa;
    return NULL;
}

static void check_isa(const struct pe_isa *isa, uint64_t seed, bool hashes,
                      struct kernel_check *total)
{
    struct kernel_check sum = {0};

    for (size_t i = 0; i < CHECKS; i++) {
        struct kernel_check check = {.isa = isa,
                                     .scalar = row_of("scalar")->kernels,
                                     .kernels = isa->kernels,
                                     .name = checks[i].name,
                                     .random = seed};
        if (checks[i].check)
            checks[i].check(&check);
        if (check.cases == 0) {
            fprintf(stderr, "FAIL %s has no check\n", checks[i].name);
            check.failures++;
        }
        if (hashes)
            printf("%s %016llx\n", check.name, (unsigned long long)check.hash);
        sum.cases += check.cases;
        sum.elements += check.elements;
        sum.failures += check.failures;
    }
    if (!hashes)
        printf("%s %s: %d kernels, %zu cases, %zu elements, %zu failures\n",
               sum.failures ? "FAIL" : "ok", isa->name, CHECKS, sum.cases, sum.elements,
               sum.failures);
    total->cases += sum.cases;
    total->failures += sum.failures;
}

static int list(void)
{
    for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
        if (isa->usable())
            printf("%s\n", isa->name);
    return 0;
}

static int hash(const char *name)
{
    const struct pe_isa *isa = name ? row_of(name) : pe_isa();
    struct kernel_check total = {0};

    if (!isa || !isa->usable()) {
        fprintf(stderr, "%s: not on this machine\n", name);
        return 1;
    }
    check_isa(isa, 1, true, &total);
    return total.failures != 0 || total.cases == 0;
}

static int check(uint64_t seed)
{
    struct kernel_check total = {0};

    for (const struct pe_isa *isa = pe_isas; isa->name; isa++)
        if (isa->usable())
            check_isa(isa, seed, false, &total);
        else
            printf("skip %s: not on this machine\n", isa->name);
    printf("seed %llu: %zu cases, %zu failures\n", (unsigned long long)seed, total.cases,
           total.failures);
    return total.failures != 0 || total.cases == 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--list") == 0)
        return list();
    if (argc > 1 && strcmp(argv[1], "--hash") == 0)
        return hash(argv[2]);
    return check(argc > 1 ? strtoull(argv[1], NULL, 0) : 1);
}
