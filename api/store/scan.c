/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/clock.h"
#include "api/base/wraps.h"
#include "api/store/store_inside.h"

/* From disk into memory, and who may write. All of it with `turn` held: then entries, which nobody
 * else changes, are read without the lock. */

enum { PAUSE_MS = 500, PAUSE_MAX_MS = 8000, TRIES = 3 };

static void tell(const struct api_store *store, const char *text)
{
    if (store->host.log)
        store->host.log(store->host.context, text);
}

/* ---- one name ------------------------------------------------------------------------------- */

/* Is the latest version in memory the file that was read, and not one that came in its place? Its
 * writer may have taken back a version that it could not flush. */
static bool is_same_file(const struct api_store *store, const struct api_store_entry *entry)
{
    struct api_file_id file;

    if (!api_disk_file(store->folder, entry->name, entry->latest->version, &file))
        return errno != ENOENT && errno != ENOTDIR;
    return memcmp(&file, &entry->seen, sizeof(file)) == 0;
}

/* Are these the versions that memory has? again: a damaged one counts as unknown. */
static bool is_known(struct api_store *store, const char *name, const struct api_versions *versions,
                     bool again)
{
    const struct api_store_entry *entry = api_store_find(store, name);

    if (!entry || entry->versions_count != versions->count ||
        memcmp(entry->versions, versions->numbers, versions->count * sizeof(uint64_t)) != 0)
        return false;
    return entry->latest ? is_same_file(store, entry) : !again && !entry->waits;
}

/* Keeps what memory has of a name, and notes that the disk is to be asked again: after a pause, for
 * a shortage of memory makes the cache smaller each time. Told once until it was read. */
static void wait_note(struct api_store *store, const char *name, const struct api_error *err)
{
    struct api_store_entry *entry;
    bool first = false;

    pthread_mutex_lock(&store->lock);
    entry = api_store_entry_make(store, name);
    if (entry) {
        first = entry->pause_ms == 0;
        entry->waits = true;
        entry->pause_ms = first                            ? PAUSE_MS
                          : entry->pause_ms < PAUSE_MAX_MS ? 2 * entry->pause_ms
                                                           : PAUSE_MAX_MS;
        entry->try_ms = api_now_ms() + entry->pause_ms;
    } else {
        store->partial = true;
    }
    pthread_mutex_unlock(&store->lock);
    if (first)
        tell(store, err->detail);
}

static void wait_end(struct api_store *store, const char *name)
{
    struct api_store_entry *entry;

    pthread_mutex_lock(&store->lock);
    entry = api_store_find(store, name);
    if (entry) {
        entry->waits = false;
        entry->pause_ms = 0;
    }
    pthread_mutex_unlock(&store->lock);
}

/* Makes versions those of a name, and takes their numbers over. */
static void versions_take(struct api_store *store, const char *name, struct api_versions *versions,
                          struct api_stored_table *table)
{
    bool took;

    pthread_mutex_lock(&store->lock);
    took = api_store_set(store, name, versions->numbers, versions->count, table);
    store->partial |= !took;
    pthread_mutex_unlock(&store->lock);
    if (!took) {
        free(versions->numbers);
        api_stored_table_drop(table);
    }
}

/* The latest version in memory, where it is that of these versions: it is better than a damaged
 * file. */
static bool damage_outlive(struct api_store *store, const char *name,
                           const struct api_versions *versions)
{
    struct api_store_entry *entry;
    bool kept;

    pthread_mutex_lock(&store->lock);
    entry = api_store_find(store, name);
    kept =
        entry && entry->latest && entry->latest->version == versions->numbers[versions->count - 1];
    if (kept && !api_disk_file(store->folder, name, entry->latest->version, &entry->seen))
        entry->seen = (struct api_file_id){0};
    pthread_mutex_unlock(&store->lock);
    return kept;
}

/* Reads the latest of these versions, and takes their numbers over. False: another process deleted
 * the version meanwhile. */
static bool latest_read(struct api_store *store, const char *name, struct api_versions *versions)
{
    struct api_error err = {0};
    struct api_stored_table *table = NULL;
    const struct api_store_entry *entry = api_store_find(store, name);
    const uint64_t latest = versions->numbers[versions->count - 1];
    const bool has_older = entry && entry->latest;

    api_disk_read(store->folder, store->memory, name, latest, NULL, &table, &err);
    const bool damaged = api_failed(&err) == API_INTERNAL;
    if (damaged && api_store_is_gone(store, name, latest)) {
        free(versions->numbers);
        return false;
    }
    if (damaged)
        tell(store, err.detail);
    if (damaged ? damage_outlive(store, name, versions) : api_failed(&err) && has_older)
        free(versions->numbers);
    else
        versions_take(store, name, versions, table);
    if (api_failed(&err) && !damaged)
        wait_note(store, name, &err);
    else
        wait_end(store, name);
    return true;
}

/* Folders whose number is beyond the largest are no versions. Reported once for all names, and once
 * more at each `again`. */
static void strange_report(struct api_store *store, const char *name,
                           const struct api_versions *versions)
{
    char text[256];

    if (!versions->strange || store->strange_reported)
        return;
    store->strange_reported = true;
    snprintf(text, sizeof(text),
             "a folder in that of the table %s has a number beyond %llu, the largest of a version, "
             "and is ignored",
             name, (unsigned long long)API_STORED_VERSION_MAX);
    tell(store, text);
}

bool api_store_scan_name(struct api_store *store, const char *name, bool again)
{
    struct api_versions versions;

    for (int tries = 0; tries < TRIES; tries++) {
        struct api_error err = {0};
        if (api_disk_versions(store->folder, name, &versions, &err)) {
            wait_note(store, name, &err);
            break;
        }
        strange_report(store, name, &versions);
        if (versions.count == 0) {
            free(versions.numbers);
            pthread_mutex_lock(&store->lock);
            api_store_remove(store, name);
            pthread_mutex_unlock(&store->lock);
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
    return api_store_find(store, name);
}

/* ---- all names ------------------------------------------------------------------------------ */

/* With a pause behind what could not be read, unless `again`. */
static void name_visit(struct api_store *store, const char *name, bool again)
{
    const struct api_store_entry *entry = api_store_find(store, name);

    if (again || !entry || !entry->waits || api_now_ms() >= entry->try_ms)
        api_store_scan_name(store, name, again);
}

/* Removes the names whose folder is gone. */
API_WRAPS("counts down past 0")
static void gone_remove(struct api_store *store)
{
    char path[API_DISK_PATH];
    struct stat status;

    for (size_t i = store->count; i-- > 0;) {
        if (!api_disk_path(path, store->folder, store->entries[i].name, NULL, NULL) ||
            stat(path, &status) == 0 || errno != ENOENT)
            continue;
        pthread_mutex_lock(&store->lock);
        api_store_remove(store, store->entries[i].name);
        pthread_mutex_unlock(&store->lock);
    }
}

void api_store_scan_all(struct api_store *store, bool again)
{
    DIR *folder = opendir(store->folder);
    const struct dirent *entry = NULL;
    char text[200];
    int number = errno;
    bool was_partial;

    store->strange_reported &= !again;
    pthread_mutex_lock(&store->lock);
    was_partial = store->partial;
    store->partial = !folder;
    pthread_mutex_unlock(&store->lock);
    while (folder) {
        errno = 0;
        entry = readdir(folder);
        number = errno;
        if (!entry)
            break;
        if (api_stored_name_is_good(entry->d_name) && !pe_encoding_find(entry->d_name))
            name_visit(store, entry->d_name, again);
    }
    if (folder)
        closedir(folder);
    pthread_mutex_lock(&store->lock);
    store->partial |= number != 0;
    store->complete |= !store->partial;
    pthread_mutex_unlock(&store->lock);
    if (folder && number == 0) {
        gone_remove(store);
        return;
    }
    errno = number;
    snprintf(text, sizeof(text), "the folder of the tables cannot be read now: %m");
    if (!was_partial)
        tell(store, text);
}

void api_store_scan(struct api_store *store, bool again)
{
    if (!store->folder)
        return;
    pthread_mutex_lock(&store->turn);
    api_store_scan_all(store, again);
    pthread_mutex_unlock(&store->turn);
}

/* ---- who writes ----------------------------------------------------------------------------- */

static void writer_end(struct api_store *store, const char *why)
{
    atomic_store(&store->writes, false);
    api_writer_release(&store->writer);
    store->lock_errno = ENOENT;
    tell(store, why);
}

/* Becomes the writer, if there is none. `turn` is held until memory has what the last one stored:
 * no change is judged by less. */
static void writer_become(struct api_store *store)
{
    char text[200];

    if (api_writer_try(&store->writer, store->folder)) {
        api_disk_clean(store->folder);
        api_store_scan_all(store, true);
        atomic_store(&store->writes, true);
        if (store->lock_errno)
            tell(store, "this process writes to the folder of --tables now");
        store->lock_errno = 0;
        return;
    }
    snprintf(text, sizeof(text),
             errno == EWOULDBLOCK
                 ? "another process writes to the folder of --tables; this one reads it, and "
                   "takes over when that one has ended"
                 : "the folder of --tables cannot be locked, so nothing is stored: %m");
    if (store->lock_errno != errno)
        tell(store, text);
    store->lock_errno = errno;
}

enum api_status api_store_writer_check(struct api_store *store, struct api_error *err)
{
    if (api_store_writes(store) && !api_writer_holds(&store->writer, store->folder))
        writer_end(store, "this process writes no longer to the folder of --tables: its file "
                          ".writer was removed");
    return api_store_writes(store) ? API_OK : api_store_not_writer(err);
}

enum api_status api_store_not_writer(struct api_error *err)
{
    return api_fail(err, API_NOT_WRITER, "",
                    "another process writes to the tables of this server; when that one has ended, "
                    "this one does");
}

/* Names that wait, when their time has come. */
API_WRAPS("counts down past 0")
static void waiting_read(struct api_store *store)
{
    for (size_t i = store->count; i-- > 0;) {
        char name[API_STORED_NAME_MAX + 1];
        if (!store->entries[i].waits || api_now_ms() < store->entries[i].try_ms)
            continue;
        strcpy(name, store->entries[i].name);
        api_store_scan_name(store, name, false);
    }
}

/* Leaves the folder to the next writer, or becomes it. */
static void writer_tend(struct api_store *store)
{
    if (!atomic_load(&store->leaves)) {
        if (store->applies && api_store_writer_check(store, &(struct api_error){0}))
            writer_become(store);
    } else if (api_store_writes(store) && atomic_load(&store->writing) == 0) {
        writer_end(store, "this process goes down, and another may write to the folder of "
                          "--tables from now on");
    }
}

void api_store_tend(struct api_store *store)
{
    /* A thread that has the turn writes or scans, and is not waited for: this thread handles
     * signals too. */
    if (!store->folder || pthread_mutex_trylock(&store->turn) != 0)
        return;
    writer_tend(store);
    if (store->partial)
        api_store_scan_all(store, false);
    else
        waiting_read(store);
    pthread_mutex_unlock(&store->turn);
}
