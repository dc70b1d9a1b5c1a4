/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_STORE_INSIDE_H
#define API_STORE_STORE_INSIDE_H

/* Shared by store.c, which hands out, scan.c, which reads from disk, older.c, which hands out older
 * versions, and change.c, which stores and deletes. */

#include <pthread.h>
#include <stdatomic.h>

#include "api/store/store.h"
#include "api/store/writer.h"

struct api_store_entry {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t *versions;                    /* ascending */
    size_t versions_count;                 /* 0: the disk could not be asked yet */
    const struct api_stored_table *latest; /* NULL: damaged, or waits */
    struct api_file_id seen;               /* the file of the latest version as it was last read */
    /* The disk may have something newer that could not be read: it is tried again. */
    bool waits;
    double try_ms, pause_ms; /* when, and how long the pause before it is */
};

/* An older version that was found whole. */
struct api_older {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t version;
    struct api_checked checked;
};

enum { API_OLDER_MAX = 64 };

struct api_store {
    char *folder;  /* NULL: nothing is stored */
    bool writable; /* the folder is */
    bool applies;  /* to be the writer */
    struct api_memory *memory;
    struct api_host host;
    pthread_mutex_t turn;     /* held during a change or scan, with all its work on disk */
    struct api_writer writer; /* guarded by `turn`, as is the next */
    bool strange_reported;    /* a version number beyond the largest, since the last `again` */
    int lock_errno;           /* why the folder could not be locked, when that was last told */
    atomic_bool
        writes; /* this process is the writer, and knows what the one before it has stored */
    atomic_bool leaves;    /* this process goes down */
    atomic_size_t writing; /* changes that were let in and have not ended */
    pthread_mutex_t lock;  /* guards the members below; held for moments, inside of `turn` */
    struct api_store_entry *entries;
    size_t count, room;
    bool partial;  /* there may be names that no entry has: the folder could not be read whole */
    bool complete; /* it was once, so that there is a list to go on with */
    struct api_older older[API_OLDER_MAX];
    size_t older_next; /* which of them is overwritten next */
    _Atomic uint64_t generation;
};

/* With the lock held; `turn` is enough where nothing is changed. NULL: there is none of this name.
 */
struct api_store_entry *api_store_find(struct api_store *store, const char *name);
void api_store_remove(struct api_store *store, const char *name);
void api_store_entry_clear(struct api_store_entry *entry);
/* Makes room for the entry of one more name. False: no memory. */
bool api_store_reserve(struct api_store *store);
/* The entry of a name, added if there is none. NULL: no memory, and no room was made before. */
struct api_store_entry *api_store_entry_make(struct api_store *store, const char *name);
/* Makes these the versions of a name, and takes them and the latest over. False: no memory, as
 * above, and both are still the caller's. */
bool api_store_set(struct api_store *store, const char *name, uint64_t *versions, size_t count,
                   const struct api_stored_table *latest);
/* API_NOT_FOUND; API_BUSY where the folder could not be read whole. */
enum api_status api_store_not_found(struct api_store *store, const char *name,
                                    struct api_error *err);

/* With `turn` held: reads whatever the disk has and memory has not, of one name and of all. again:
 * also what was found damaged. False: memory is short, and has no entry of a name that the disk may
 * have. */
bool api_store_scan_name(struct api_store *store, const char *name, bool again);
void api_store_scan_all(struct api_store *store, bool again);
/* With `turn` held: is this process the writer? API_NOT_WRITER. */
enum api_status api_store_writer_check(struct api_store *store, struct api_error *err);

/* Has another process deleted a version, so that what is read of it looks damaged? */
bool api_store_is_gone(struct api_store *store, const char *name, uint64_t version);
/* Reads a version that is not in memory. */
enum api_status api_store_older_take(struct api_store *store, const char *name, uint64_t version,
                                     const struct api_stored_table **table, struct api_error *err);

#endif
