/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_STORE_INSIDE_H
#define API_STORE_STORE_INSIDE_H

/* Shared by store.c, which scans and hands out, and change.c, which stores and deletes. */

#include <pthread.h>
#include <stdatomic.h>

#include "api/store/store.h"

struct api_store_entry {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t *versions; /* ascending, one at least */
    size_t versions_count;
    const struct api_stored_table *latest; /* NULL: damaged */
};

struct api_store {
    char *folder; /* NULL: nothing is stored */
    bool writable;
    struct api_memory *memory;
    struct api_host host;
    pthread_mutex_t turn; /* held during a change or scan, with all its work on disk */
    pthread_mutex_t lock; /* guards the members below; held for moments, inside of `turn` */
    struct api_store_entry *entries;
    size_t count;
    _Atomic uint64_t generation;
};

/* With the lock held; `turn` is enough where nothing is changed. NULL: there is none of this name.
 */
struct api_store_entry *api_store_find(struct api_store *store, const char *name);
void api_store_remove(struct api_store *store, const char *name);
/* Makes these the versions of a name, and takes them and the latest over. False: no memory, and
 * both are still the caller's. */
bool api_store_set(struct api_store *store, const char *name, uint64_t *versions, size_t count,
                   const struct api_stored_table *latest);
enum api_status api_store_not_found(struct api_store *store, const char *name,
                                    struct api_error *err);

#endif
