/* SPDX-License-Identifier: MIT */
/* Every kernel at every ISA that this machine has, bit for bit against the scalar build.
 *     check_kernels [SEED]          the check
 *     check_kernels --hash [SEED]   the check of the chosen ISA, and a hash of each kernel's
 * results, which machines must agree on */
#include "tests/core/kernel_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*check)(struct kernel_check *check);
} checks[] = {
#define KERNEL(name, args) {#name, check_##name},
#include "core/isa/kernels.def"
#undef KERNEL
};

enum { CHECKS = sizeof(checks) / sizeof(checks[0]) };

static const struct pe_isa *scalar_row(void)
{
    const struct pe_isa *isa = pe_isas;

    while (strcmp(isa->name, "scalar") != 0)
        isa++;
    return isa;
}

static void check_isa(const struct pe_isa *isa, uint64_t seed, bool hashes,
                      struct kernel_check *total)
{
    struct kernel_check sum = {0};

    for (size_t i = 0; i < CHECKS; i++) {
        struct kernel_check check = {.isa = isa,
                                     .scalar = scalar_row()->kernels,
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

int main(int argc, char **argv)
{
    const bool hashes = argc > 1 && strcmp(argv[1], "--hash") == 0;
    const char *text = argc > 1 + hashes ? argv[1 + hashes] : "1";
    const uint64_t seed = strtoull(text, NULL, 0);
    struct kernel_check total = {0};

    for (const struct pe_isa *isa = pe_isas; isa->name; isa++) {
        if (hashes ? isa != pe_isa() : !isa->usable()) {
            if (!hashes)
                printf("skip %s: not on this machine\n", isa->name);
            continue;
        }
        check_isa(isa, seed, hashes, &total);
    }
    if (!hashes)
        printf("seed %llu: %zu cases, %zu failures\n", (unsigned long long)seed, total.cases,
               total.failures);
    return total.failures != 0 || total.cases == 0;
}
