/* SPDX-License-Identifier: MIT */
#ifndef SERVER_OPTIONS_H
#define SERVER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "service/settings.h"

/* The options of posencd: its own and the settings of the service. */
struct srv_options {
#define FLAG(field, flag, type, fallback, doc) SVC_TYPE_##type field;
#include "server/options.def"
#undef FLAG
    struct svc_settings service;
};

enum srv_action {
    SRV_SERVE,
    SRV_HELP,
    SRV_VERSION,
    SRV_CHECK_CONFIG,
    SRV_PRINT_CONFIG,
    SRV_HEALTHCHECK,
    SRV_MANUAL, /* print the manual page: for the build, and not in --help */
    SRV_BAD_USAGE,
};

/* Defaults, then the environment, then the arguments. Texts point into argv and the environment.
 * Variables that are the address of a Service (srv_options_is_address) are ignored. SRV_BAD_USAGE:
 * message is a sentence that names the flag. */
enum srv_action srv_options_read(struct srv_options *options, int argc, char **argv, char *message,
                                 size_t size);

/* A loopback address, which no other machine reaches. */
bool srv_options_is_loopback(const struct srv_options *options);
/* Reports a sentence each for variables of the environment that Kubernetes set for a Service, and
 * for settings that are valid and perhaps not intended; strange: also for unknown POSENC_ names. */
void srv_options_warn(const struct srv_options *options, bool strange,
                      void (*report)(const char *sentence));

/* A flag; or an action, whose takes and fallback are NULL. */
struct srv_option_info {
    const char *name, *doc, *takes, *fallback;
};

/* Calls `each` with every flag, and then with every action. */
void srv_options_each(void (*each)(void *context, const struct srv_option_info *info),
                      void *context);
void srv_options_help(FILE *out);
void srv_options_print(const struct srv_options *options, FILE *out);
/* {"port": 8080, ...}; the caller frees it; NULL: out of memory. */
char *srv_options_json(const struct srv_options *options);

/* The manual page posencd(8) in roff, with every flag (manual.c). */
void srv_manual_print(FILE *out);

#endif
