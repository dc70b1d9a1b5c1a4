/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_FLAGS_H
#define SERVICE_FLAGS_H

/* Settings as texts: the types of a list such as service/settings.def. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

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

/* One of the texts above. */
const char *svc_flag_takes(enum svc_type type);

/* Reads a text into the field of a flag; a TEXT keeps the pointer. false: it is no such value. */
bool svc_flag_set(void *settings, const struct svc_flag *flag, const char *text);

/* Sets each flag to its default. */
void svc_flags_default(void *settings, const struct svc_flag *flags, size_t count);

/* The value of a flag, as JSON or as a text that svc_flag_set takes. */
void svc_flag_print(const void *settings, const struct svc_flag *flag, bool json, FILE *out);

/* {"port": 8080, ...}; the caller frees it; NULL: out of memory. */
char *svc_flags_json(const void *settings, const struct svc_flag *flags, size_t count);

#endif
