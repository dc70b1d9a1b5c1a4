/* SPDX-License-Identifier: MIT */
#ifndef SERVER_CONFIG_H
#define SERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "service/settings.h"

struct srv_config {
#define FLAG(field, flag, type, fallback, doc) SVC_TYPE_##type field;
#include "server/config.def"
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

/* Defaults, then the environment, then the arguments. The texts are those of argv and the
 * environment, where values that are an address of a Service (srv_config_is_address) are passed
 * over. SRV_BAD_USAGE: a sentence that names the flag is in message. */
enum srv_action srv_config_read(struct srv_config *config, int argc, char **argv, char *message,
                                size_t size);

/* Is it a variable of the environment that is a flag's twin? */
bool srv_config_has(const char *variable);
/* tcp://10.0.0.1:80, udp://..., sctp://...: Kubernetes' word for a Service, no value of a flag. */
bool srv_config_is_address(const char *value);

/* A loopback address: nobody else reaches it. */
bool srv_config_is_loopback(const struct srv_config *config);
/* A sentence each for variables of the environment that are a Service's, and for settings that are
 * sound and perhaps not meant; strange: also for POSENC_ names that are no settings, which may be
 * slips. Returns how many. */
size_t srv_config_warn(const struct srv_config *config, bool strange,
                       void (*tell)(const char *sentence));

/* A flag, or what the program does instead of serving: takes and fallback are NULL then. */
struct srv_option {
    const char *name, *doc, *takes, *fallback;
};

/* Calls `each` with every flag, and then with everything else that can be asked for. */
void srv_config_each(void (*each)(void *context, const struct srv_option *option), void *context);
void srv_config_help(FILE *out);
void srv_config_print(const struct srv_config *config, FILE *out);
/* {"port": 8080, ...}; the caller frees it; NULL: out of memory. */
char *srv_config_json(const struct srv_config *config);

#endif
