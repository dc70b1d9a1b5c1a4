/* SPDX-License-Identifier: MIT */
#include "service/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096 };

/* Where the groups of a version may be mounted. Version 2 has no list of controllers in
 * /proc/self/cgroup, version 1 has one; the folder of the CPU's has one name or the other. */
static const struct {
    const char *folder;
    bool unified;
} mounts[] = {
    {"/sys/fs/cgroup", true},
    {"/sys/fs/cgroup/unified", true},
    {"/sys/fs/cgroup/cpu", false},
    {"/sys/fs/cgroup/cpu,cpuacct", false},
};

enum { MOUNTS = sizeof(mounts) / sizeof(mounts[0]) };

/* The first number of a file; false: there is none ("max"), or no such file. */
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

/* The quota of one group in CPUs; 0: none. */
static size_t quota_of(const char *folder, bool unified)
{
    long long quota = -1, period = 100000, unused;

    if (unified ? !numbers_read(folder, "cpu.max", &quota, &period)
                : !numbers_read(folder, "cpu.cfs_quota_us", &quota, &unused) ||
                      !numbers_read(folder, "cpu.cfs_period_us", &period, &unused))
        return 0;
    return quota > 0 && period > 0 ? (size_t)((quota + period - 1) / period) : 0;
}

static size_t lesser(size_t a, size_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The least quota from a group up to the root. In a container the path is often the host's, and
 * what is mounted begins further down: groups that are not there have no quota. */
static size_t quota_upwards(const char *root, const char *mount, char *group, bool unified)
{
    char folder[PATH_SIZE];
    size_t least = 0;

    for (char *end = group + strlen(group); end; end = strrchr(group, '/')) {
        *end = '\0';
        if (snprintf(folder, sizeof(folder), "%s%s%s", root, mount, group) < PATH_SIZE)
            least = lesser(least, quota_of(folder, unified));
    }
    return least;
}

static bool has_cpu(const char *controllers, size_t length)
{
    for (const char *at = controllers; at < controllers + length; at += strcspn(at, ",:") + 1)
        if (strcspn(at, ",:") == 3 && strncmp(at, "cpu", 3) == 0)
            return true;
    return false;
}

/* A line is HIERARCHY:CONTROLLERS:PATH. */
static size_t quota_of_line(const char *root, const char *line)
{
    const char *controllers = strchr(line, ':');
    const char *path = controllers ? strchr(controllers + 1, ':') : NULL;
    const bool unified = path == controllers + 1;
    size_t least = 0;

    if (!path || (!unified && !has_cpu(controllers + 1, (size_t)(path - controllers - 1))))
        return 0;
    for (size_t i = 0; i < MOUNTS; i++) {
        char group[PATH_SIZE];
        snprintf(group, sizeof(group), "%.*s", (int)strcspn(path + 1, "\n"), path + 1);
        if (mounts[i].unified == unified)
            least = lesser(least, quota_upwards(root, mounts[i].folder, group, unified));
    }
    return least;
}

size_t svc_cgroup_cpus(const char *root)
{
    char line[PATH_SIZE];
    size_t least = 0;
    FILE *file;

    snprintf(line, sizeof(line), "%s/proc/self/cgroup", root);
    file = fopen(line, "re");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file))
        least = lesser(least, quota_of_line(root, line));
    fclose(file);
    return least;
}
