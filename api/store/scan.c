/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/compiler.h"
#include "api/base/system.h"
#include "api/store/entries.h"

/* Scans, which update memory from the disk; with `change_lock` held. */

enum { PAUSE_MS = 500, PAUSE_MAX_MS = 8000, SCAN_TRIES = 3 };

static void report(const struct api_store *store, const char *text)
{
    if (store->host.log)
        store->host.log(store->host.context, text);
}

void api_store_name_forget(struct api_store *store, const char *name)
{
    pthread_mutex_lock(&store->lock);
    api_entry_remove(store, name);
    pthread_mutex_unlock(&store->lock);
}

/* Is the latest version in memory still the file on disk? The writer may have removed a version
 * that it could not flush, and stored another one. */
static bool is_same_file(const struct api_store *store, const struct api_store_entry *entry)
{
    struct api_file_id file;

    if (!api_disk_file(store->folder, entry->name, entry->latest->version, &file))
        return errno != ENOENT && errno != ENOTDIR;
    return memcmp(&file, &entry->seen, sizeof(file)) == 0;
}

/* True if these are the versions in memory. again: a damaged one counts as unknown. */
static bool is_known(struct api_store *store, const char *name, const struct api_versions *versions,
                     bool again)
{
    const struct api_store_entry *entry = api_entry_find(store, name);

    if (!entry || entry->versions_count != versions->count ||
        memcmp(entry->versions, versions->numbers, versions->count * sizeof(uint64_t)) != 0)
        return false;
    return entry->latest ? is_same_file(store, entry) : !again && !entry->waits;
}

/* Leaves a name as it is in memory, to be read again after a pause, since each attempt may evict
 * from the cache. Reported once. */
static void wait_begin(struct api_store *store, const char *name, const struct pe_error *err)
{
    struct api_store_entry *entry;
    bool is_first = false;

    pthread_mutex_lock(&store->lock);
    entry = api_entry_make(store, name);
    if (entry) {
        is_first = entry->pause_ms == 0;
        entry->waits = true;
        entry->pause_ms = is_first                         ? PAUSE_MS
                          : entry->pause_ms < PAUSE_MAX_MS ? 2 * entry->pause_ms
                                                           : PAUSE_MAX_MS;
        entry->try_ms = api_now_ms() + entry->pause_ms;
    } else {
        store->is_partial = true;
    }
    pthread_mutex_unlock(&store->lock);
    if (is_first)
        report(store, err->detail);
}

static void wait_end(struct api_store *store, const char *name)
{
    struct api_store_entry *entry;

    pthread_mutex_lock(&store->lock);
    entry = api_entry_find(store, name);
    if (entry) {
        entry->waits = false;
        entry->pause_ms = 0;
    }
    pthread_mutex_unlock(&store->lock);
}

/* Takes over versions and the latest table (NULL: it could not be read). */
static void versions_accept(struct api_store *store, const char *name,
                            struct api_versions *versions, struct api_stored_table *table)
{
    bool is_set;

    pthread_mutex_lock(&store->lock);
    is_set = api_entry_set(store, name, versions, table);
    store->is_partial |= !is_set;
    pthread_mutex_unlock(&store->lock);
    if (!is_set) {
        free(versions->numbers);
        api_stored_table_drop(table);
    }
}

/* A version that was damaged on disk after it was read stays in memory. */
static bool damage_ignore(struct api_store *store, const char *name, uint64_t version)
{
    struct api_store_entry *entry;
    bool is_in_memory;

    pthread_mutex_lock(&store->lock);
    entry = api_entry_find(store, name);
    is_in_memory = entry && entry->latest && entry->latest->version == version;
    if (is_in_memory && !api_disk_file(store->folder, name, version, &entry->seen))
        entry->seen = (struct api_file_id){0};
    pthread_mutex_unlock(&store->lock);
    return is_in_memory;
}

/* Reads the latest version. Memory takes it, or keeps the table that it has: then a read that
 * failed is retried later. False: the version is damaged because it was deleted meanwhile; list
 * again. The numbers of `versions` are owned by the entry afterwards, or freed. */
static bool latest_read(struct api_store *store, const char *name, struct api_versions *versions)
{
    struct pe_error err = {0};
    struct api_stored_table *table = NULL;
    const struct api_store_entry *entry = api_entry_find(store, name);
    const uint64_t latest = api_last_of(versions->numbers, versions->count);
    const bool has_older = entry && entry->latest;

    api_disk_read(store->folder, store->memory, name, latest, NULL, &table, &err);
    const bool is_damaged = err.status == PE_INTERNAL;
    if (is_damaged && api_disk_is_gone(store->folder, name, latest)) {
        free(versions->numbers);
        return false;
    }
    if (is_damaged)
        report(store, err.detail);
    if (is_damaged ? damage_ignore(store, name, latest) : err.status && has_older)
        free(versions->numbers);
    else
        versions_accept(store, name, versions, table);
    if (err.status && !is_damaged)
        wait_begin(store, name, &err);
    else
        wait_end(store, name);
    return true;
}

/* Reports the first number beyond the largest, and again after each `again`. */
static void strange_report(struct api_store *store, const char *name)
{
    char text[256];

    if (store->strange_reported)
        return;
    store->strange_reported = true;
    snprintf(text, sizeof(text),
             "a folder in that of the table %s has a number beyond %llu, the largest of a version, "
             "and is ignored",
             name, (unsigned long long)API_STORED_VERSION_MAX);
    report(store, text);
}

bool api_store_name_scan(struct api_store *store, const char *name, bool again)
{
    struct api_versions versions;

    for (int tries = 0; tries < SCAN_TRIES; tries++) {
        struct pe_error err = {0};
        if (api_disk_versions(store->folder, name, &versions, &err)) {
            wait_begin(store, name, &err);
            break;
        }
        if (versions.has_strange)
            strange_report(store, name);
        if (versions.count == 0) {
            free(versions.numbers);
            api_store_name_forget(store, name);
            return true;
        }
        if (is_known(store, name, &versions, again)) {
            free(versions.numbers);
            wait_end(store, name);
            return true;
        }
        if (latest_read(store, name, &versions))
            break;
    }
    return api_entry_find(store, name);
}

/* Scans the names of the folder, except those in a pause (unless `again`). Returns an errno; 0: all
 * names were listed. */
static int folder_scan(struct api_store *store, bool again)
{
    DIR *folder = opendir(store->folder);
    const struct dirent *part = NULL;
    int number = errno;

    while (folder) {
        errno = 0;
        part = readdir(folder);
        number = errno;
        if (!part)
            break;
        if (!api_stored_name_is_good(part->d_name) || pe_encoding_find(part->d_name))
            continue;
        const struct api_store_entry *entry = api_entry_find(store, part->d_name);
        if (again || !entry || !entry->waits || api_now_ms() >= entry->try_ms)
            api_store_name_scan(store, part->d_name, again);
    }
    if (folder)
        closedir(folder);
    return number;
}

/* Removes the names whose folder is gone. */
API_WRAPS("counts down past 0")
static void gone_remove(struct api_store *store)
{
    char path[4096];
    struct stat status;

    for (size_t i = store->count; i-- > 0;) {
        snprintf(path, sizeof(path), "%s/%s", store->folder, store->entries[i].name);
        if (stat(path, &status) != 0 && errno == ENOENT)
            api_store_name_forget(store, store->entries[i].name);
    }
}

static void store_scan(struct api_store *store, bool again)
{
    const bool was_partial = store->is_partial;
    char text[200];
    int number;

    store->strange_reported &= !again;
    pthread_mutex_lock(&store->lock);
    store->is_partial = false;
    pthread_mutex_unlock(&store->lock);
    number = folder_scan(store, again);
    pthread_mutex_lock(&store->lock);
    store->is_partial |= number != 0;
    store->is_complete |= !store->is_partial;
    pthread_mutex_unlock(&store->lock);
    if (number == 0) {
        gone_remove(store);
        return;
    }
    errno = number;
    snprintf(text, sizeof(text), "the folder of the tables cannot be read now: %m");
    if (!was_partial)
        report(store, text);
}

void api_store_scan(struct api_store *store, bool again)
{
    if (!store->folder)
        return;
    if (again)
        pthread_mutex_lock(&store->change_lock);
    else if (pthread_mutex_trylock(&store->change_lock) != 0)
        return; /* a change or another scan is under way, and this thread handles signals too */
    store_scan(store, again);
    pthread_mutex_unlock(&store->change_lock);
}
