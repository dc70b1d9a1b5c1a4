/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_DISK_H
#define API_STORE_DISK_H

#include <stdatomic.h>

#include "api/memory/budget.h"
#include "api/status.h"
#include "posenc/posenc.h"

/* Learned tables in a folder: NAME/VERSION/table.safetensors with a meta.json beside it. A version
 * is written to NAME/.new, flushed, and renamed to its number, so that it is there whole or not at
 * all, and never changed afterwards. Of a deleted version the last one of its name leaves an empty
 * NAME/VERSION.deleted, so that its number is not used again. One process writes; any number read.
 */

/* A SHA-256 in hexadecimal digits, ended by a zero byte. */
enum { API_STORED_NAME_MAX = 64, API_SHA256_TEXT = 65 };

/* A version in memory. It never changes, is counted, and each of its users drops it. */
struct api_stored_table {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t version;
    struct pe_tensor tensor;      /* [rows, width] */
    char sha256[API_SHA256_TEXT]; /* of the elements */
    uint64_t size;                /* of the elements, in bytes */
    struct api_memory *memory;
    size_t room;
    atomic_int users;
};

void api_stored_table_drop(const struct api_stored_table *table); /* NULL is fine */

/* Copies elements that were checked into a version without a number, its bytes taken out of the
 * budget. API_BUSY, API_OUT_OF_MEMORY. */
enum api_status api_stored_table_copy(struct api_stored_table **table, struct api_memory *memory,
                                      const char *name, const struct pe_tensor *tensor,
                                      struct api_error *err);

/* A name has 1 to 64 small letters, digits, '.', '_' and '-', and begins with a letter or digit. */
bool api_stored_name_is_good(const char *name);

/* Reads a version and checks that its elements are those that were stored. API_INTERNAL: it is
 * damaged. API_BUSY, API_OUT_OF_MEMORY. */
enum api_status api_disk_read(const char *folder, struct api_memory *memory, const char *name,
                              uint64_t version, struct api_stored_table **table,
                              struct api_error *err);

/* Writes a version under its number. API_STORAGE_FULL, API_INTERNAL: nothing was written. */
enum api_status api_disk_write(const char *folder, const struct api_stored_table *table,
                               struct api_error *err);

/* The numbers of a name's versions, ascending, to be freed by free(). *next: the first number never
 * used. *count 0: there is none, or memory is short. */
uint64_t *api_disk_versions(const char *folder, const char *name, size_t *count, uint64_t *next);

/* Deletes versions, the oldest first. API_INTERNAL. */
enum api_status api_disk_delete(const char *folder, const char *name, const uint64_t *versions,
                                size_t count, struct api_error *err);

/* Removes the versions that a crash left half written. */
void api_disk_clean(const char *folder);

#endif
