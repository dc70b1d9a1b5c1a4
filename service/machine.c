/* SPDX-License-Identifier: MIT */
#include "service/machine.h"

#if defined(__wasi__)

/* A module has at most 4 GiB, and one thread. */
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
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- control groups -------------------------------------------------------------------------- */

enum { PATH_SIZE = 4096 };

/* Where control groups may be mounted. Version 2 (controller NULL) has one tree; version 1 one for
 * each controller, and that of the CPU has one of two names. */
static const struct {
    const char *folder, *controller;
} mounts[] = {
    {"/sys/fs/cgroup", NULL},
    {"/sys/fs/cgroup/unified", NULL},
    {"/sys/fs/cgroup/cpu", "cpu"},
    {"/sys/fs/cgroup/cpu,cpuacct", "cpu"},
    {"/sys/fs/cgroup/memory", "memory"},
};

enum { MOUNTS = sizeof(mounts) / sizeof(mounts[0]) };

/* Reads one or two numbers of a file; false: there is none ("max"), or no such file. */
static bool numbers_read(const char *folder, const char *name, long long *first, long long *second)
{
    char path[PATH_SIZE + 64];
    FILE *file;
    int count;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "re");
    if (!file)
        return false;
    count = fscanf(file, "%lld %lld", first, second);
    fclose(file);
    return count >= 1;
}

/* A controller, and its limit of one group, 0 for none. */
struct resource {
    const char *controller;
    uint64_t (*limit_of)(const char *folder, bool unified);
};

/* In CPUs. */
static uint64_t quota_of(const char *folder, bool unified)
{
    long long quota = -1, period = 100000, unused;

    if (unified ? !numbers_read(folder, "cpu.max", &quota, &period)
                : !numbers_read(folder, "cpu.cfs_quota_us", &quota, &unused) ||
                      !numbers_read(folder, "cpu.cfs_period_us", &period, &unused))
        return 0;
    return quota > 0 && period > 0 ? (uint64_t)((quota + period - 1) / period) : 0;
}

/* In bytes. */
static uint64_t memory_of(const char *folder, bool unified)
{
    long long limit = 0, unused;

    if (!numbers_read(folder, unified ? "memory.max" : "memory.limit_in_bytes", &limit, &unused))
        return 0;
    return limit > 0 ? (uint64_t)limit : 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The length of a group's path without its last part; -1 for the root's, which is empty. */
static int parent_length(const char *group, int length)
{
    while (length > 0 && group[length - 1] != '/')
        length--;
    return length - 1;
}

/* The least limit from a group up to the root. In a container the path is often the host's, of
 * which only a part is mounted: absent groups have no limit. */
static uint64_t limit_upwards(const struct resource *resource, const char *root, const char *mount,
                              const char *group, bool unified)
{
    char folder[PATH_SIZE];
    uint64_t least = 0;

    for (int length = (int)strcspn(group, "\n"); length >= 0; length = parent_length(group, length))
        if (snprintf(folder, sizeof(folder), "%s%s%.*s", root, mount, length, group) < PATH_SIZE)
            least = lesser(least, resource->limit_of(folder, unified));
    return least;
}

static bool has_word(const char *list, size_t length, const char *word)
{
    for (const char *at = list; at < list + length; at += strcspn(at, ",:") + 1)
        if (strcspn(at, ",:") == strlen(word) && strncmp(at, word, strlen(word)) == 0)
            return true;
    return false;
}

/* A line is HIERARCHY:CONTROLLERS:PATH. */
static uint64_t limit_of_line(const struct resource *resource, const char *root, const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    const bool unified = path == controllers + 1;
    uint64_t least = 0;

    if (!path || (!unified && !has_word(controllers + 1, (size_t)(path - controllers - 1),
                                        resource->controller)))
        return 0;
    for (size_t i = 0; i < MOUNTS; i++) {
        const char *controller = mounts[i].controller;
        if (unified ? !controller : controller && strcmp(controller, resource->controller) == 0)
            least =
                lesser(least, limit_upwards(resource, root, mounts[i].folder, path + 1, unified));
    }
    return least;
}

static uint64_t limit_find(const struct resource *resource, const char *root)
{
    char line[PATH_SIZE];
    uint64_t least = 0;
    FILE *file;

    snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
    file = fopen(line, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file))
        least = lesser(least, limit_of_line(resource, root, line));
    fclose(file);
    return least;
}

size_t svc_cgroup_cpus(const char *root)
{
    return (size_t)limit_find(&(struct resource){"cpu", quota_of}, root);
}

uint64_t svc_cgroup_memory(const char *root)
{
    return limit_find(&(struct resource){"memory", memory_of}, root);
}

/* ---- the machine ----------------------------------------------------------------------------- */

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
