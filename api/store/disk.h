/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_DISK_H
#define API_STORE_DISK_H

#include <stdatomic.h>

#include "api/memory/budget.h"
#include "posenc/posenc.h"

/* Learned tables in a folder: NAME/VERSION/table.safetensors with a meta.json beside it. A version
 * is written elsewhere, flushed, and put there by one rename, so that it is there whole or not at
 * all; it is never changed. A version that was deleted leaves an empty NAME/VERSION.deleted, so
 * that its number is not used again. One process writes; any number read. */

/* A SHA-256 in hexadecimal digits, ended by a zero byte. */
enum { API_TABLE_NAME_MAX = 64, API_SHA256_TEXT = 65 };

/* Never changes. Whoever has one drops it. */
struct api_table {
    char name[API_TABLE_NAME_MAX + 1];
    uint64_t version;
    struct pe_tensor tensor;      /* [rows, width] */
    char sha256[API_SHA256_TEXT]; /* of the elements */
    uint64_t size;                /* bytes of them */
    struct api_memory *memory;
    size_t room;
    atomic_int users;
};

void api_table_drop(const struct api_table *table); /* NULL is fine */

/* A copy of checked elements, counted in the budget. PE_BUSY, PE_OUT_OF_MEMORY. */
enum pe_status api_table_copy(struct api_table **table, struct api_memory *memory, const char *name,
                              const struct pe_tensor *tensor, struct pe_error *err);

/* Small letters, digits, and . _ - not in front; at most 64. */
bool api_table_name_is_good(const char *name);

/* Reads and checks a version: its elements are those that were stored. PE_INTERNAL: they are not.
 */
enum pe_status api_store_read(const char *folder, struct api_memory *memory, const char *name,
                              uint64_t version, struct api_table **table, struct pe_error *err);

/* Writes a table as its version. PE_STORAGE_FULL, PE_INTERNAL: nothing was written. */
enum pe_status api_store_write(const char *folder, const struct api_table *table,
                               struct pe_error *err);

/* The versions of a name, ascending; free() it. *next: the first number never used. NULL with
 * count 0: there is none, or memory is short. */
uint64_t *api_store_versions(const char *folder, const char *name, size_t *count, uint64_t *next);

/* Deletes versions, the oldest first. PE_INTERNAL. */
enum pe_status api_store_delete(const char *folder, const char *name, const uint64_t *versions,
                                size_t count, struct pe_error *err);

/* What a crash left half written. */
void api_store_clean(const char *folder);

#endif
