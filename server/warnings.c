/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/config.h"

/* Settings that are sound, and perhaps not meant. */

static const char *const others[] = {"POSENC_ISA"}; /* read by the library */

/* Kubernetes tells a pod of each Service by variables: of one that is named posenc by
 * POSENC_SERVICE_HOST, POSENC_SERVICE_PORT_NAME, POSENC_PORT_80_TCP_ADDR and the like. */
static bool is_of_a_service(const char *name)
{
    return strncmp(name, "POSENC_SERVICE_", 15) == 0 ||
           (strncmp(name, "POSENC_PORT_", 12) == 0 && name[12] >= '0' && name[12] <= '9');
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return srv_config_has(name);
}

typedef void (*tell_fn)(const char *sentence);

/* `variable` is NAME=VALUE. strange: names that nobody knows are told too. */
static size_t variable_judge(const char *variable, bool strange, tell_fn tell)
{
    const size_t length = strcspn(variable, "=");
    char name[64], sentence[256];

    if (strncmp(variable, "POSENC_", 7) != 0)
        return 0;
    snprintf(name, sizeof(name), "%.*s", (int)length, variable);
    if (is_of_a_service(name) ||
        (is_known(name) && srv_config_is_address(variable + length + !!variable[length])))
        snprintf(sentence, sizeof(sentence),
                 "%s is Kubernetes' word for a Service named posenc, and no setting: ignored",
                 name);
    else if (is_known(name) || !strange)
        return 0;
    else
        snprintf(sentence, sizeof(sentence), "%s is no setting: ignored (--help lists them)", name);
    for (char *c = sentence; *c; c++)
        *c = *c >= ' ' && *c < 127 ? *c : '?';
    tell(sentence);
    return 1;
}

bool srv_config_is_loopback(const struct srv_config *config)
{
    return strncmp(config->bind, "127.", 4) == 0 || strcmp(config->bind, "::1") == 0 ||
           strcmp(config->bind, "localhost") == 0;
}

size_t srv_config_warn(const struct srv_config *config, bool strange, tell_fn tell)
{
    struct stat folder, file;
    char sentence[256];
    size_t count = 0;

    for (char *const *variable = environ; *variable; variable++)
        count += variable_judge(*variable, strange, tell);
    if (*config->service.tables &&
        (stat(config->service.tables, &folder) != 0 || !S_ISDIR(folder.st_mode))) {
        snprintf(sentence, sizeof(sentence), "--tables names '%.150s', where there is no folder",
                 config->service.tables);
        tell(sentence);
        count++;
    }
    if (*config->service.token_file && stat(config->service.token_file, &file) == 0 &&
        (file.st_mode & (S_IRWXO | S_IWGRP))) {
        snprintf(sentence, sizeof(sentence),
                 "--token-file %.150s has mode %04o, open to others: chmod 600 keeps the tokens",
                 config->service.token_file, (unsigned)(file.st_mode & 07777));
        tell(sentence);
        count++;
    }
    if (config->service.anonymous_writes && !srv_config_is_loopback(config)) {
        snprintf(sentence, sizeof(sentence),
                 "--anonymous-writes lets everybody who reaches %.100s write to --tables",
                 config->bind);
        tell(sentence);
        count++;
    }
    return count;
}
