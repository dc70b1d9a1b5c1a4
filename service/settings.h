/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_SETTINGS_H
#define SERVICE_SETTINGS_H

/* The settings of the service, for the library and for posencd, and flags of any such list. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "api/api.h"

/* ---- flags ----------------------------------------------------------------------------------- */

/* Settings as texts. The types of a list such as service/settings.def: */

#define SVC_TYPE_TEXT   const char *
#define SVC_TYPE_COUNT  uint64_t
#define SVC_TYPE_SIZE   uint64_t
#define SVC_TYPE_TIME   uint64_t /* milliseconds */
#define SVC_TYPE_SWITCH uint64_t /* 0 or 1 */

enum svc_type { SVC_TEXT, SVC_COUNT, SVC_SIZE, SVC_TIME, SVC_SWITCH };

struct svc_flag {
    const char *name;
    enum svc_type type;
    const char *fallback, *doc;
    size_t offset; /* of its field in a struct of settings */
};

#define SVC_TAKES_TEXT  "a text"
#define SVC_TAKES_COUNT "a whole number"
#define SVC_TAKES_SIZE                                                                             \
    "a size in bytes, or with KiB MiB GiB TiB (powers of 1024) or K M G T (of 1000) behind it"
#define SVC_TAKES_TIME   "a time in seconds, or with ms s m behind it"
#define SVC_TAKES_SWITCH "true or false"

/* The text above of a type. */
const char *svc_flag_takes(enum svc_type type);

/* Reads a text into the field of a flag; for TEXT only the pointer is stored. false: invalid. */
bool svc_flag_set(void *settings, const struct svc_flag *flag, const char *text);

/* Sets each flag to its default. */
void svc_flags_default(void *settings, const struct svc_flag *flags, size_t count);

/* Prints the value of a flag, as JSON or as a text that svc_flag_set accepts. */
void svc_flag_print(const void *settings, const struct svc_flag *flag, bool json, FILE *out);

/* {"port": 8080, ...}; the caller frees it; NULL: out of memory. */
char *svc_flags_json(const void *settings, const struct svc_flag *flags, size_t count);

/* ---- the settings ---------------------------------------------------------------------------- */

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

/* Sets what depends on the machine (memory_budget 0), and checks ranges and combinations. NULL:
 * valid; else a sentence that names flags. */
const char *svc_settings_complete(struct svc_settings *settings);

/* Sets the members of api_settings; texts are not copied. */
void svc_settings_give(const struct svc_settings *settings, struct api_settings *to);

/* Threads of the pool; 0: as many as there are CPUs. */
size_t svc_settings_threads(const struct svc_settings *settings);

#endif
