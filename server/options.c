/* SPDX-License-Identifier: MIT */
#include "server/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posenc/posenc.h"
#include "server/options.h"

static const struct svc_flag flags[] = {
#define FLAG(field, flag, type, fallback, doc)                                                     \
    {flag, SVC_##type, fallback, doc, offsetof(struct srv_options, field)},
#include "server/options.def"
#undef FLAG
#define FLAG(field, flag, type, fallback, doc)                                                     \
    {flag, SVC_##type, fallback, doc, offsetof(struct srv_options, service.field)},
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

static bool flag_set(struct srv_options *options, const struct svc_flag *flag, const char *text,
                     const char *from, char *message, size_t size)
{
    if (svc_flag_set(options, flag, text))
        return true;
    snprintf(message, size, "%s%s takes %s, got '%.60s'", *from == '-' ? "--" : from,
             *from == '-' ? flag->name : "", svc_flag_takes(flag->type), text);
    return false;
}

/* "POSENC_BODY_MAX" of --body-max */
static void environment_name(const struct svc_flag *flag, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "POSENC_");

    for (const char *c = flag->name; *c && at + 1 < size; c++)
        out[at++] = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    out[at] = '\0';
}

static bool is_variable(const char *variable)
{
    char name[64];

    for (size_t i = 0; i < FLAGS; i++) {
        environment_name(&flags[i], name, sizeof(name));
        if (strcmp(name, variable) == 0)
            return true;
    }
    return false;
}

/* tcp://10.0.0.1:80, udp://..., sctp://...: an address that Kubernetes sets for a Service. */
static bool is_service_address(const char *value)
{
    static const char *const schemes[] = {"tcp://", "udp://", "sctp://"};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (strncmp(value, schemes[i], strlen(schemes[i])) == 0)
            return true;
    return false;
}

static bool environment_read(struct srv_options *options, char *message, size_t size)
{
    char name[64];

    for (size_t i = 0; i < FLAGS; i++) {
        const char *value;
        environment_name(&flags[i], name, sizeof(name));
        value = getenv(name);
        if (value && !is_service_address(value) &&
            !flag_set(options, &flags[i], value, name, message, size))
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

/* Checks ranges, and flags that exclude each other. NULL: they are valid; else a sentence. */
static const char *options_check(struct srv_options *options)
{
    if (options->port > 65535)
        return "--port takes a number up to 65535";
    if (options->loops < 1 || options->loops > 256)
        return "--loops takes a number from 1 to 256";
    if (options->connections_max < 1 || options->connections_max > 1000000)
        return "--connections-max takes a number from 1 to 1000000";
    if (options->queue_max < 1)
        return "--queue-max takes a number from 1 on";
    if (options->per_ip_max > 1000000)
        return "--per-ip-max takes a number up to 1000000";
    if (options->idle_timeout > 86400000)
        return "--idle-timeout takes a time up to 1440m";
    if (strcmp(options->log_format, "auto") != 0 && strcmp(options->log_format, "text") != 0 &&
        strcmp(options->log_format, "json") != 0 && strcmp(options->log_format, "off") != 0)
        return "--log-format takes auto, text, json or off";
    return svc_settings_complete(&options->service);
}

enum srv_action srv_options_read(struct srv_options *options, int argc, char **argv, char *message,
                                 size_t size)
{
    enum srv_action action = SRV_SERVE;

    svc_flags_default(options, flags, FLAGS);
    if (!environment_read(options, message, size))
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
        if (!flag_set(options, flag, value ? value + 1 : argv[++i], "-", message, size))
            return SRV_BAD_USAGE;
    }
    const char *wrong = options_check(options);
    if (!wrong)
        return action;
    snprintf(message, size, "%s", wrong);
    return SRV_BAD_USAGE;
}

/* ---- printing -------------------------------------------------------------------------------- */

void srv_options_each(void (*each)(void *context, const struct srv_option_info *option),
                      void *context)
{
    for (size_t i = 0; i < FLAGS; i++)
        each(context, &(struct srv_option_info){flags[i].name, flags[i].doc,
                                                svc_flag_takes(flags[i].type), flags[i].fallback});
    for (size_t i = 0; i < ACTIONS; i++)
        if (actions[i].doc)
            each(context,
                 &(struct srv_option_info){.name = actions[i].name, .doc = actions[i].doc});
}

static void help_line(void *out, const struct srv_option_info *option)
{
    /* An empty line separates actions from flags. */
    fprintf(out, "%s  --%-18s %s",
            !option->takes && strcmp(option->name, actions[0].name) == 0 ? "\n" : "", option->name,
            option->doc);
    if (option->takes)
        fprintf(out, " (%s)", *option->fallback ? option->fallback : "none");
    fputc('\n', out);
}

void srv_options_help(FILE *out)
{
    fprintf(out, "posencd: positional encodings over HTTP\n\nusage: posencd [--flag value]...\n\n");
    srv_options_each(help_line, out);
    fprintf(out, "\nEvery flag can stand in the environment: --body-max is POSENC_BODY_MAX.\n"
                 "POSENC_ISA=NAME lowers the instruction set:");
    for (size_t i = 0; pe_isa_at(i); i++)
        fprintf(out, " %s", pe_isa_at(i));
    fprintf(out, "\n");
}

void srv_options_print(const struct srv_options *options, FILE *out)
{
    for (size_t i = 0; i < FLAGS; i++) {
        fprintf(out, "--%s=", flags[i].name);
        svc_flag_print(options, &flags[i], false, out);
        fputc('\n', out);
    }
}

char *srv_options_json(const struct srv_options *options)
{
    return svc_flags_json(options, flags, FLAGS);
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* For valid settings that are perhaps not intended. */

/* Kubernetes sets variables in a pod for each Service; for one named posenc they are
 * POSENC_SERVICE_HOST, POSENC_SERVICE_PORT_NAME, POSENC_PORT_80_TCP_ADDR and the like. */
static bool is_of_a_service(const char *name)
{
    return strncmp(name, "POSENC_SERVICE_", 15) == 0 ||
           (strncmp(name, "POSENC_PORT_", 12) == 0 && name[12] >= '0' && name[12] <= '9');
}

/* POSENC_ISA is read by the library. */
static bool is_known(const char *name)
{
    return strcmp(name, "POSENC_ISA") == 0 || is_variable(name);
}

typedef void (*report_fn)(const char *sentence);

/* `variable` is NAME=VALUE. strange: unknown names are reported too. */
static void variable_check(const char *variable, bool strange, report_fn report)
{
    const size_t length = strcspn(variable, "=");
    char name[64], sentence[256];

    if (strncmp(variable, "POSENC_", 7) != 0)
        return;
    snprintf(name, sizeof(name), "%.*s", (int)length, variable);
    if (is_of_a_service(name) ||
        (is_known(name) && is_service_address(variable + length + !!variable[length])))
        snprintf(sentence, sizeof(sentence),
                 "%s is Kubernetes' word for a Service named posenc, and no setting: ignored",
                 name);
    else if (is_known(name) || !strange)
        return;
    else
        snprintf(sentence, sizeof(sentence), "%s is no setting: ignored (--help lists them)", name);
    for (char *c = sentence; *c; c++)
        *c = *c >= ' ' && *c < 127 ? *c : '?';
    report(sentence);
}

bool srv_options_is_loopback(const struct srv_options *options)
{
    return strncmp(options->bind, "127.", 4) == 0 || strcmp(options->bind, "::1") == 0 ||
           strcmp(options->bind, "localhost") == 0;
}

void srv_options_warn(const struct srv_options *options, bool strange, report_fn report)
{
    struct stat folder, file;
    char sentence[256];

    for (char *const *variable = environ; *variable; variable++)
        variable_check(*variable, strange, report);
    if (*options->service.tables &&
        (stat(options->service.tables, &folder) != 0 || !S_ISDIR(folder.st_mode))) {
        snprintf(sentence, sizeof(sentence), "--tables names '%.150s', where there is no folder",
                 options->service.tables);
        report(sentence);
    }
    if (*options->service.token_file && stat(options->service.token_file, &file) == 0 &&
        (file.st_mode & (S_IRWXO | S_IWGRP))) {
        snprintf(sentence, sizeof(sentence),
                 "--token-file %.150s has mode %04o, open to others: chmod 600 keeps the tokens",
                 options->service.token_file, (unsigned)(file.st_mode & 07777));
        report(sentence);
    }
    if (options->service.anonymous_writes && !srv_options_is_loopback(options)) {
        snprintf(sentence, sizeof(sentence),
                 "--anonymous-writes lets everybody who reaches %.100s write to --tables",
                 options->bind);
        report(sentence);
    }
}
