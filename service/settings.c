/* SPDX-License-Identifier: MIT */
#include "service/settings.h"

#include "service/machine.h"

const struct svc_flag svc_flags[SVC_FLAGS] = {
#define FLAG(field, flag, type, fallback, doc)                                                     \
    {flag, SVC_##type, fallback, doc, offsetof(struct svc_settings, field)},
#include "service/settings.def"
#undef FLAG
};

const char *svc_settings_complete(struct svc_settings *settings)
{
    if (settings->memory_budget == 0)
        settings->memory_budget = svc_machine_memory();
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
    to->cors_origin = *settings->cors_origin ? settings->cors_origin : NULL;
    to->allowed_hosts = *settings->allowed_host ? settings->allowed_host : NULL;
    to->tables = *settings->tables ? settings->tables : NULL;
    to->token_file = *settings->token_file ? settings->token_file : NULL;
    to->anonymous_writes = settings->anonymous_writes != 0;
}

size_t svc_settings_threads(const struct svc_settings *settings)
{
    return settings->threads > 0 ? (size_t)settings->threads : svc_machine_threads();
}
