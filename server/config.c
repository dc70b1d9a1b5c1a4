/* SPDX-License-Identifier: MIT */
#include "server/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "posenc/posenc.h"

enum type { TEXT, COUNT, SIZE, TIME, SWITCH };

static const struct flag {
    const char *name;
    enum type type;
    const char *fallback, *doc;
    size_t offset;
} flags[] = {
#define FLAG(field, flag, type, fallback, doc)                                                     \
    {flag, type, fallback, doc, offsetof(struct srv_config, field)},
#include "server/config.def"
#undef FLAG
};

enum { FLAGS = sizeof(flags) / sizeof(flags[0]) };

static const struct {
    const char *name;
    enum srv_action action;
    const char *doc;
} actions[] = {
    {"help", SRV_HELP, "this text; -h too"},
    {"version", SRV_VERSION, "the version"},
    {"check-config", SRV_CHECK_CONFIG, "read the settings, say whether they are sound, and end"},
    {"print-config", SRV_PRINT_CONFIG, "print the settings in force, and end"},
    {"healthcheck", SRV_HEALTHCHECK, "ask a running server whether it is ready: exit code 0 or 1"},
};

enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };

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

static bool number_read(const char *text, enum type type, uint64_t *number)
{
    char *end;

    if (type == SWITCH) {
        *number = strcmp(text, "true") == 0;
        return *number || strcmp(text, "false") == 0;
    }
    if (!isdigit((unsigned char)*text))
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (errno)
        return false;
    if (type == COUNT)
        return *end == '\0';
    for (size_t i = 0; type == SIZE && i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (strcasecmp(end, sizes[i].suffix) == 0)
            return !__builtin_mul_overflow(*number, sizes[i].factor, number);
    for (size_t i = 0; type == TIME && i < sizeof(times) / sizeof(times[0]); i++)
        if (strcmp(end, times[i].suffix) == 0)
            return !__builtin_mul_overflow(*number, times[i].factor, number);
    return false;
}

static bool flag_set(struct srv_config *config, const struct flag *flag, const char *text,
                     const char *from, char *message, size_t size)
{
    static const char *const expected[] = {
        "", "a whole number",
        "a size in bytes, or with KiB MiB GiB TiB (powers of 1024) or K M G T (of 1000) behind it",
        "a time in seconds, or with ms s m behind it", "true or false"};
    void *field = (char *)config + flag->offset;

    if (flag->type == TEXT) {
        *(const char **)field = text;
        return true;
    }
    if (number_read(text, flag->type, field))
        return true;
    snprintf(message, size, "%s%s takes %s, got '%.60s'", *from == '-' ? "--" : from,
             *from == '-' ? flag->name : "", expected[flag->type], text);
    return false;
}

/* --body-max is POSENC_BODY_MAX */
static void environment_name(const struct flag *flag, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "POSENC_");

    for (const char *c = flag->name; *c && at + 1 < size; c++)
        out[at++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    out[at] = '\0';
}

bool srv_config_has(const char *variable)
{
    char name[64];

    for (size_t i = 0; i < FLAGS; i++) {
        environment_name(&flags[i], name, sizeof(name));
        if (strcmp(name, variable) == 0)
            return true;
    }
    return false;
}

bool srv_config_is_address(const char *value)
{
    static const char *const schemes[] = {"tcp://", "udp://", "sctp://"};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (strncmp(value, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

static bool environment_read(struct srv_config *config, char *message, size_t size)
{
    char name[64];

    for (size_t i = 0; i < FLAGS; i++) {
        const char *value;
        environment_name(&flags[i], name, sizeof(name));
        value = getenv(name);
        if (value && !srv_config_is_address(value) &&
            !flag_set(config, &flags[i], value, name, message, size))
            return false;
    }
    return true;
}

static const struct flag *flag_find(const char *name, size_t length)
{
    for (size_t i = 0; i < FLAGS; i++)
        if (strlen(flags[i].name) == length && strncmp(flags[i].name, name, length) == 0)
            return &flags[i];
    return NULL;
}

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

/* Checks that involve several flags. */
static enum srv_action sound(const struct srv_config *config, enum srv_action action, char *message,
                             size_t size)
{
    const char *wrong = NULL;

    if (config->port > 65535)
        wrong = "--port takes a number up to 65535";
    else if (config->loops < 1 || config->loops > 256)
        wrong = "--loops takes a number from 1 to 256";
    else if (config->threads > 1024)
        wrong = "--threads takes a number up to 1024";
    else if (config->connections_max < 1 || config->connections_max > 1000000)
        wrong = "--connections-max takes a number from 1 to 1000000";
    else if (config->memory_budget < (1 << 20))
        wrong = "--memory-budget takes a size from 1MiB on";
    else if (config->queue_max < 1)
        wrong = "--queue-max takes a number from 1 on";
    else if (config->per_ip_max > 1000000)
        wrong = "--per-ip-max takes a number up to 1000000";
    else if (config->idle_timeout > 86400000)
        wrong = "--idle-timeout takes a time up to 1440m";
    else if (config->anonymous_writes && *config->token_file)
        wrong = "--anonymous-writes lets everybody store, --token-file a few: only one can be set";
    else if (config->base_path[0] != '/')
        wrong = "--base-path begins with /";
    else if (strcmp(config->log_format, "auto") != 0 && strcmp(config->log_format, "text") != 0 &&
             strcmp(config->log_format, "json") != 0 && strcmp(config->log_format, "off") != 0)
        wrong = "--log-format takes auto, text, json or off";
    if (!wrong)
        return action;
    snprintf(message, size, "%s", wrong);
    return SRV_BAD_USAGE;
}

enum srv_action srv_config_read(struct srv_config *config, int argc, char **argv, char *message,
                                size_t size)
{
    enum srv_action action = SRV_SERVE;

    for (size_t i = 0; i < FLAGS; i++)
        flag_set(config, &flags[i], flags[i].fallback, "-", message, size);
    if (!environment_read(config, message, size))
        return SRV_BAD_USAGE;
    for (int i = 1; i < argc; i++) {
        const bool is_flag = strncmp(argv[i], "--", 2) == 0;
        const bool is_short = strcmp(argv[i], "-h") == 0;
        const char *name = is_short ? "help" : is_flag ? argv[i] + 2 : "";
        const char *value = strchr(argv[i], '=');
        const struct flag *flag;
        size_t known = 0;

        while (known < ACTIONS && strcmp(name, actions[known].name) != 0)
            known++;
        if (known < ACTIONS) {
            action = actions[known].action;
            continue;
        }
        flag = flag_find(name, is_flag && value ? (size_t)(value - name) : strlen(name));
        if (!flag || (!value && i + 1 >= argc)) {
            snprintf(message, size, flag ? "%.60s needs a value" : "there is no flag '%.60s'",
                     argv[i]);
            return SRV_BAD_USAGE;
        }
        if (!flag_set(config, flag, value ? value + 1 : argv[++i], "-", message, size))
            return SRV_BAD_USAGE;
    }
    if (config->memory_budget == 0)
        config->memory_budget = memory_half();
    return sound(config, action, message, size);
}

/* ---- out ------------------------------------------------------------------------------------- */

void srv_config_help(FILE *out)
{
    fprintf(out, "posencd: positional encodings over HTTP\n\nusage: posencd [--flag value]...\n\n");
    for (size_t i = 0; i < FLAGS; i++)
        fprintf(out, "  --%-18s %s (%s)\n", flags[i].name, flags[i].doc,
                *flags[i].fallback ? flags[i].fallback : "none");
    fprintf(out, "\n");
    for (size_t i = 0; i < ACTIONS; i++)
        fprintf(out, "  --%-18s %s\n", actions[i].name, actions[i].doc);
    fprintf(out, "\nEvery flag can stand in the environment: --body-max is POSENC_BODY_MAX.\n"
                 "POSENC_ISA=NAME lowers the instruction set:");
    for (size_t i = 0; pe_isa_at(i); i++)
        fprintf(out, " %s", pe_isa_at(i));
    fprintf(out, "\n");
}

static void value_print(const struct srv_config *config, const struct flag *flag, bool json,
                        FILE *out)
{
    const void *field = (const char *)config + flag->offset;

    if (flag->type == SWITCH) {
        fputs(*(const uint64_t *)field ? "true" : "false", out);
        return;
    }
    if (flag->type != TEXT) {
        fprintf(out, "%llu", (unsigned long long)*(const uint64_t *)field);
        if (!json && flag->type == TIME)
            fprintf(out, "ms");
        return;
    }
    if (json)
        fputc('"', out);
    for (const char *c = *(const char *const *)field; *c; c++) {
        if (json && (*c == '"' || *c == '\\'))
            fputc('\\', out);
        if (!json || (unsigned char)*c >= ' ')
            fputc(*c, out);
    }
    if (json)
        fputc('"', out);
}

void srv_config_print(const struct srv_config *config, FILE *out)
{
    for (size_t i = 0; i < FLAGS; i++) {
        fprintf(out, "--%s=", flags[i].name);
        value_print(config, &flags[i], false, out);
        fputc('\n', out);
    }
}

char *srv_config_json(const struct srv_config *config)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    for (size_t i = 0; i < FLAGS; i++) {
        fprintf(out, "%s\"%s%s\": ", i ? ", " : "{", flags[i].name,
                flags[i].type == TIME ? "-ms" : "");
        value_print(config, &flags[i], true, out);
    }
    fputc('}', out);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}
