/* SPDX-License-Identifier: MIT */
#include "service/settings.h"

#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "service/cgroup.h"

const struct svc_flag svc_flags[SVC_FLAGS] = {
#define FLAG(field, flag, type, fallback, doc)                                                     \
    {flag, SVC_##type, fallback, doc, offsetof(struct svc_settings, field)},
#include "service/settings.def"
#undef FLAG
};

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

/* Of the machine or of the control group, whichever is less. */
static uint64_t memory_half(void)
{
    static const char *const limits[] = {"/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    uint64_t least = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limit_read(limits[i]) < least)
            least = limit_read(limits[i]);
    return least / 2;
}

const char *svc_settings_complete(struct svc_settings *settings)
{
    if (settings->memory_budget == 0)
        settings->memory_budget = memory_half();
    if (settings->threads > 1024)
        return "--threads takes a number up to 1024";
    if (settings->memory_budget < (1 << 20))
        return "--memory-budget takes a size from 1MiB on";
    if (settings->anonymous_writes && *settings->token_file)
        return "--anonymous-writes lets everybody store, --token-file a few: only one can be set";
    return settings->base_path[0] == '/' ? NULL : "--base-path begins with /";
}

void svc_settings_give(const struct svc_settings *settings, struct api_settings *to)
{
    to->limits = (struct api_limits){
        .body_max = settings->body_max,
        .json_body_max = settings->json_body_max,
        .output_max = settings->output_max,
        .json_elements_max = settings->json_elements_max,
        .json_values_max = settings->json_values_max,
        .dim_max = settings->dim_max,
        .tensors_max = settings->tensors_max,
        .work_max = settings->work_max,
        .memory_budget = settings->memory_budget,
        .cache_max = settings->cache_max,
    };
    to->base_path = settings->base_path;
    to->cors_origin = settings->cors_origin;
    to->allowed_hosts = *settings->allowed_host ? settings->allowed_host : NULL;
    to->tables = *settings->tables ? settings->tables : NULL;
    to->token_file = *settings->token_file ? settings->token_file : NULL;
    to->anonymous_writes = settings->anonymous_writes != 0;
}

size_t svc_settings_threads(const struct svc_settings *settings)
{
    cpu_set_t usable;
    size_t quota;

    if (settings->threads > 0)
        return (size_t)settings->threads;
    quota = svc_cgroup_cpus("");
    if (sched_getaffinity(0, sizeof(usable), &usable) == 0 && (size_t)CPU_COUNT(&usable) <= quota)
        return 0;
    return quota;
}
