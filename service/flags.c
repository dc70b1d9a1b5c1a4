/* SPDX-License-Identifier: MIT */
#include "service/flags.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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
