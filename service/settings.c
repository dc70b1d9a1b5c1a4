/* SPDX-License-Identifier: MIT */
#include "service/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* ---- flags ----------------------------------------------------------------------------------- */

/* Written in any case: powers of 1024 have the i, as in Kubernetes. */
static const struct {
    const char *suffix;
    uint64_t factor;
} sizes[] = {{"", 1},
             {"B", 1},
             {"K", 1000},
             {"KB", 1000},
             {"Ki", 1 << 10},
             {"KiB", 1 << 10},
             {"M", 1000000},
             {"MB", 1000000},
             {"Mi", 1 << 20},
             {"MiB", 1 << 20},
             {"G", 1000000000},
             {"GB", 1000000000},
             {"Gi", 1 << 30},
             {"GiB", 1 << 30},
             {"T", UINT64_C(1000000000000)},
             {"TB", UINT64_C(1000000000000)},
             {"Ti", UINT64_C(1) << 40},
             {"TiB", UINT64_C(1) << 40}},
  times[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}};

static bool number_read(const char *text, enum svc_type type, uint64_t *number)
{
    char *end;

    if (type == SVC_SWITCH) {
        *number = strcmp(text, "true") == 0;
        return *number || strcmp(text, "false") == 0;
    }
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (errno)
        return false;
    if (type == SVC_COUNT)
        return *end == '\0';
    for (size_t i = 0; type == SVC_SIZE && i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (strcasecmp(end, sizes[i].suffix) == 0)
            return !__builtin_mul_overflow(*number, sizes[i].factor, number);
    for (size_t i = 0; type == SVC_TIME && i < sizeof(times) / sizeof(times[0]); i++)
        if (strcmp(end, times[i].suffix) == 0)
            return !__builtin_mul_overflow(*number, times[i].factor, number);
    return false;
}

const char *svc_flag_takes(enum svc_type type)
{
    static const char *const takes[] = {SVC_TAKES_TEXT, SVC_TAKES_COUNT, SVC_TAKES_SIZE,
                                        SVC_TAKES_TIME, SVC_TAKES_SWITCH};

    return takes[type];
}

bool svc_flag_set(void *settings, const struct svc_flag *flag, const char *text)
{
    void *field = (char *)settings + flag->offset;

    if (flag->type != SVC_TEXT)
        return number_read(text, flag->type, field);
    *(const char **)field = text;
    return true;
}

void svc_flags_default(void *settings, const struct svc_flag *flags, size_t count)
{
    for (size_t i = 0; i < count; i++)
        svc_flag_set(settings, &flags[i], flags[i].fallback);
}

static void text_print(const char *text, bool json, FILE *out)
{
    if (json)
        fputc('"', out);
    for (const char *c = text; *c; c++) {
        if (json && (*c == '"' || *c == '\\'))
            fputc('\\', out);
        if (!json || (unsigned char)*c >= ' ')
            fputc(*c, out);
    }
    if (json)
        fputc('"', out);
}

void svc_flag_print(const void *settings, const struct svc_flag *flag, bool json, FILE *out)
{
    const void *field = (const char *)settings + flag->offset;

    if (flag->type == SVC_TEXT)
        text_print(*(const char *const *)field, json, out);
    else if (flag->type == SVC_SWITCH)
        fputs(*(const uint64_t *)field ? "true" : "false", out);
    else
        fprintf(out, "%llu%s", (unsigned long long)*(const uint64_t *)field,
                !json && flag->type == SVC_TIME ? "ms" : "");
}

char *svc_flags_json(const void *settings, const struct svc_flag *flags, size_t count)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "%s\"%s%s\": ", i ? ", " : "{", flags[i].name,
                flags[i].type == SVC_TIME ? "-ms" : "");
        svc_flag_print(settings, &flags[i], true, out);
    }
    fputc('}', out);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}
