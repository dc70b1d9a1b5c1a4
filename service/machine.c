/* SPDX-License-Identifier: MIT */
#include "service/machine.h"

#if defined(__wasi__)

/* A module has 4 GiB at most, and one thread. */
uint64_t svc_machine_memory(void)
{
    return UINT64_C(2) << 30;
}

size_t svc_machine_threads(void)
{
    return 1;
}

#else
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "service/cgroup.h"

/* A number in a file of the system; UINT64_MAX: none ("max", or there is no such file). */
static uint64_t limit_read(const char *path)
{
    unsigned long long limit;
    FILE *file = fopen(path, "re");

    if (!file)
        return UINT64_MAX;
    if (fscanf(file, "%llu", &limit) != 1)
        limit = UINT64_MAX;
    fclose(file);
    return limit;
}

uint64_t svc_machine_memory(void)
{
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    uint64_t least = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limit_read(limits[i]) < least)
            least = limit_read(limits[i]);
    return least / 2;
}

size_t svc_machine_threads(void)
{
    cpu_set_t usable;
    const size_t quota = svc_cgroup_cpus("");

    if (sched_getaffinity(0, sizeof(usable), &usable) == 0 && (size_t)CPU_COUNT(&usable) <= quota)
        return 0;
    return quota;
}
#endif
