/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_SETTINGS_H
#define SERVICE_SETTINGS_H

/* The settings of the service, for the library and for posencd. */

#include "api/api.h"
#include "service/flags.h"

struct svc_settings {
#define FLAG(field, flag, type, fallback, doc) SVC_TYPE_##type field;
#include "service/settings.def"
#undef FLAG
};

enum {
#define FLAG(field, flag, type, fallback, doc) SVC_FLAG_##field,
#include "service/settings.def"
#undef FLAG
    SVC_FLAGS
};

extern const struct svc_flag svc_flags[SVC_FLAGS];

/* Puts numbers for what is left to the machine (memory_budget 0), and checks settings that are
 * wrong together or out of range. NULL: they are sound; else a sentence that names flags. */
const char *svc_settings_complete(struct svc_settings *settings);

/* What api_new takes of them; texts are lent. */
void svc_settings_give(const struct svc_settings *settings, struct api_settings *to);

/* Threads of the pool; 0: as many as there are CPUs. */
size_t svc_settings_threads(const struct svc_settings *settings);

#endif
