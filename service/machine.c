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
#include <unistd.h>

#include "service/cgroup.h"

uint64_t svc_machine_memory(void)
{
    const uint64_t group = svc_cgroup_memory("");
    const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    return (group > 0 && group < all ? group : all) / 2;
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
