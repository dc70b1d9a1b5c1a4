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
