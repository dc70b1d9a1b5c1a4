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

static const struct svc_flag flags[] = {
#define FLAG(field, flag, type, fallback, doc)                                                     \
    {flag, SVC_##type, fallback, doc, offsetof(struct srv_config, field)},
#include "server/config.def"
#undef FLAG
#define FLAG(field, flag, type, fallback, doc)                                                     \
    {flag, SVC_##type, fallback, doc, offsetof(struct srv_config, service.field)},
#include "service/settings.def"
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
    {"man", SRV_MANUAL, NULL},
};

enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };

static bool flag_set(struct srv_config *config, const struct svc_flag *flag, const char *text,
                     const char *from, char *message, size_t size)
{
    if (svc_flag_set(config, flag, text))
        return true;
    snprintf(message, size, "%s%s takes %s, got '%.60s'", *from == '-' ? "--" : from,
             *from == '-' ? flag->name : "", svc_flag_takes(flag->type), text);
    return false;
}

/* --body-max is POSENC_BODY_MAX */
static void environment_name(const struct svc_flag *flag, char *out, size_t size)
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

static const struct svc_flag *flag_find(const char *name, size_t length)
{
    for (size_t i = 0; i < FLAGS; i++)
        if (strlen(flags[i].name) == length && strncmp(flags[i].name, name, length) == 0)
            return &flags[i];
    return NULL;
}

/* Checks of ranges, and of several flags together. NULL: they are sound. */
static const char *what_is_wrong(struct srv_config *config)
{
    if (config->port > 65535)
        return "--port takes a number up to 65535";
    if (config->loops < 1 || config->loops > 256)
        return "--loops takes a number from 1 to 256";
    if (config->connections_max < 1 || config->connections_max > 1000000)
        return "--connections-max takes a number from 1 to 1000000";
    if (config->queue_max < 1)
        return "--queue-max takes a number from 1 on";
    if (config->per_ip_max > 1000000)
        return "--per-ip-max takes a number up to 1000000";
    if (config->idle_timeout > 86400000)
        return "--idle-timeout takes a time up to 1440m";
    if (strcmp(config->log_format, "auto") != 0 && strcmp(config->log_format, "text") != 0 &&
        strcmp(config->log_format, "json") != 0 && strcmp(config->log_format, "off") != 0)
        return "--log-format takes auto, text, json or off";
    return svc_settings_complete(&config->service);
}

enum srv_action srv_config_read(struct srv_config *config, int argc, char **argv, char *message,
                                size_t size)
{
    enum srv_action action = SRV_SERVE;

    svc_flags_default(config, flags, FLAGS);
    if (!environment_read(config, message, size))
        return SRV_BAD_USAGE;
    for (int i = 1; i < argc; i++) {
        const bool is_flag = strncmp(argv[i], "--", 2) == 0;
        const bool is_short = strcmp(argv[i], "-h") == 0;
        const char *name = is_short ? "help" : is_flag ? argv[i] + 2 : "";
        const char *value = strchr(argv[i], '=');
        const struct svc_flag *flag;
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
    const char *wrong = what_is_wrong(config);
    if (!wrong)
        return action;
    snprintf(message, size, "%s", wrong);
    return SRV_BAD_USAGE;
}

/* ---- out ------------------------------------------------------------------------------------- */

void srv_config_each(void (*each)(void *context, const struct srv_option *option), void *context)
{
    for (size_t i = 0; i < FLAGS; i++)
        each(context, &(struct srv_option){flags[i].name, flags[i].doc,
                                           svc_flag_takes(flags[i].type), flags[i].fallback});
    for (size_t i = 0; i < ACTIONS; i++)
        if (actions[i].doc)
            each(context, &(struct srv_option){.name = actions[i].name, .doc = actions[i].doc});
}

static void help_line(void *out, const struct srv_option *option)
{
    /* Actions are a list of their own. */
    fprintf(out, "%s  --%-18s %s",
            !option->takes && strcmp(option->name, actions[0].name) == 0 ? "\n" : "", option->name,
            option->doc);
    if (option->takes)
        fprintf(out, " (%s)", *option->fallback ? option->fallback : "none");
    fputc('\n', out);
}

void srv_config_help(FILE *out)
{
    fprintf(out, "posencd: positional encodings over HTTP\n\nusage: posencd [--flag value]...\n\n");
    srv_config_each(help_line, out);
    fprintf(out, "\nEvery flag can stand in the environment: --body-max is POSENC_BODY_MAX.\n"
                 "POSENC_ISA=NAME lowers the instruction set:");
    for (size_t i = 0; pe_isa_at(i); i++)
        fprintf(out, " %s", pe_isa_at(i));
    fprintf(out, "\n");
}

void srv_config_print(const struct srv_config *config, FILE *out)
{
    for (size_t i = 0; i < FLAGS; i++) {
        fprintf(out, "--%s=", flags[i].name);
        svc_flag_print(config, &flags[i], false, out);
        fputc('\n', out);
    }
}

char *srv_config_json(const struct srv_config *config)
{
    return svc_flags_json(config, flags, FLAGS);
}
