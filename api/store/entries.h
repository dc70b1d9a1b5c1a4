/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_ENTRIES_H
#define API_STORE_ENTRIES_H

/* The names of the store in memory, for the files of this folder. */

#include <pthread.h>

#include "api/store/store.h"

enum { API_STORE_CHECKED_MAX = 64 };

struct api_store_entry {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t *versions;                    /* ascending */
    size_t versions_count;                 /* 0: they could not be listed yet */
    const struct api_stored_table *latest; /* NULL: damaged, or `waits` */
    struct api_file_id seen;               /* the file of the latest version when last read */
    bool waits;              /* the disk could not be read, and may have something newer */
    double try_ms, pause_ms; /* when it is read again, and the pause before */
};

/* An older version whose file was hashed and found undamaged. */
struct api_checked_version {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t version;
    struct api_checked checked;
};

struct api_store {
    char *folder; /* NULL: nothing is stored */
    struct api_memory *memory;
    struct api_host host;
    struct api_disk_lock writer;
    /* Held during a change or a scan, disk access included. Only its holder modifies entries, and
     * may read them without `lock`. */
    pthread_mutex_t change_lock;
    bool strange_reported; /* a version number beyond the largest; guarded by `change_lock` */
    pthread_mutex_t lock;  /* guards the members below; held briefly, inside of `change_lock` */
    struct api_store_entry *entries; /* in the order of names */
    size_t count, capacity;
    bool is_partial;  /* the folder could not be read completely: it may have other names */
    bool is_complete; /* it was once, so that there is a list to show */
    struct api_checked_version checked[API_STORE_CHECKED_MAX];
    size_t checked_next; /* which of them is overwritten next */
    _Atomic uint64_t generation;
};

/* With `lock` held. */
struct api_store_entry *api_entry_find(struct api_store *store, const char *name);
void api_entry_clear(struct api_store_entry *entry);
void api_entry_remove(struct api_store *store, const char *name);
/* Makes sure that one more entry can be added. False: no memory. */
bool api_entry_reserve(struct api_store *store);
/* The entry of a name, added if there is none. NULL: no memory. */
struct api_store_entry *api_entry_make(struct api_store *store, const char *name);
/* Gives a name these versions and this latest table, and takes both over. False: no memory, and
 * both are still the caller's. */
bool api_entry_set(struct api_store *store, const char *name, const struct api_versions *versions,
                   const struct api_stored_table *latest);
/* Without "version" if no version is known yet. */
json_t *api_entry_json(const struct api_store_entry *entry);

uint64_t api_last_of(const uint64_t *versions, size_t count);

/* With `change_lock` held: updates a name from the disk. again: also reads a damaged version again.
 * False: out of memory, and the name has no entry. */
bool api_store_name_scan(struct api_store *store, const char *name, bool again);
/* With `change_lock` held: removes a name that is no longer on disk. */
void api_store_name_forget(struct api_store *store, const char *name);

/* With `lock` held, of a name without an entry. PE_NOT_FOUND, PE_BUSY. */
enum pe_status api_store_not_found(struct api_store *store, const char *name, struct pe_error *err);

#endif
