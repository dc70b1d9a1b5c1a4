/* SPDX-License-Identifier: MIT */
#include "api/store/store_inside.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/request/nearest.h"

/* ---- entries, with the lock held ------------------------------------------------------------ */

struct api_store_entry *api_store_find(struct api_store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->entries[i].name, name) == 0)
            return &store->entries[i];
    return NULL;
}

static void entry_clear(struct api_store_entry *entry)
{
    api_stored_table_drop(entry->latest);
    free(entry->versions);
}

void api_store_remove(struct api_store *store, const char *name)
{
    struct api_store_entry *entry = api_store_find(store, name);

    if (!entry)
        return;
    entry_clear(entry);
    store->count--;
    memmove(entry, entry + 1, (size_t)(store->entries + store->count - entry) * sizeof(*entry));
    atomic_fetch_add(&store->generation, 1);
}

/* Adds an entry at its place in the order of names. NULL: no memory. */
static struct api_store_entry *entry_add(struct api_store *store, const char *name)
{
    struct api_store_entry *more = realloc(store->entries, (store->count + 1) * sizeof(*more));
    size_t at = store->count;

    if (!more)
        return NULL;
    store->entries = more;
    for (; at > 0 && strcmp(more[at - 1].name, name) > 0; at--)
        more[at] = more[at - 1];
    store->count++;
    more[at] = (struct api_store_entry){0};
    strcpy(more[at].name, name);
    return &more[at];
}

bool api_store_set(struct api_store *store, const char *name, uint64_t *versions, size_t count,
                   const struct api_stored_table *latest)
{
    struct api_store_entry *entry = api_store_find(store, name);

    if (!entry)
        entry = entry_add(store, name);
    if (!entry)
        return false;
    entry_clear(entry);
    entry->versions = versions;
    entry->versions_count = count;
    entry->latest = latest;
    atomic_fetch_add(&store->generation, 1);
    return true;
}

/* ---- from disk ------------------------------------------------------------------------------ */

static void tell(const struct api_store *store, const char *text)
{
    if (store->host.log)
        store->host.log(store->host.context, text);
}

/* Are these the versions that memory has? again: a damaged one counts as unknown. */
static bool is_known(struct api_store *store, const char *name, const uint64_t *versions,
                     size_t count, bool again)
{
    const struct api_store_entry *entry;
    bool known;

    pthread_mutex_lock(&store->lock);
    entry = api_store_find(store, name);
    known = entry && entry->versions_count == count &&
            memcmp(entry->versions, versions, count * sizeof(*versions)) == 0 &&
            (entry->latest || !again);
    pthread_mutex_unlock(&store->lock);
    return known;
}

static void name_scan(struct api_store *store, const char *name, bool again)
{
    struct api_error err = {0};
    struct api_stored_table *table = NULL;
    uint64_t next;
    size_t count;
    uint64_t *versions = api_disk_versions(store->folder, name, &count, &next);
    bool took;

    if (count == 0 || is_known(store, name, versions, count, again)) {
        free(versions);
        return;
    }
    if (api_disk_read(store->folder, store->memory, name, versions[count - 1], &table, &err))
        tell(store, err.detail);
    pthread_mutex_lock(&store->lock);
    took = api_store_set(store, name, versions, count, table);
    pthread_mutex_unlock(&store->lock);
    if (!took) {
        free(versions);
        api_stored_table_drop(table);
    }
}

/* Removes the names that are no longer on disk. Entries are read without the lock, for only the
 * holder of `turn` changes them. */
static void gone_remove(struct api_store *store)
{
    for (size_t i = store->count; i-- > 0;) {
        uint64_t next;
        size_t count;
        free(api_disk_versions(store->folder, store->entries[i].name, &count, &next));
        if (count > 0)
            continue;
        pthread_mutex_lock(&store->lock);
        api_store_remove(store, store->entries[i].name);
        pthread_mutex_unlock(&store->lock);
    }
}

void api_store_scan(struct api_store *store, bool again)
{
    DIR *folder;

    if (!store->folder)
        return;
    pthread_mutex_lock(&store->turn);
    folder = opendir(store->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (api_stored_name_is_good(entry->d_name) && !pe_encoding_find(entry->d_name))
            name_scan(store, entry->d_name, again);
    if (folder) {
        closedir(folder);
        gone_remove(store);
    }
    pthread_mutex_unlock(&store->turn);
}

/* ---- the beginning and the end -------------------------------------------------------------- */

enum api_status api_store_new(struct api_store **out, const char *folder, struct api_memory *memory,
                              const struct api_host *host, struct api_error *err)
{
    struct api_store *store = calloc(1, sizeof(*store));
    struct stat status;

    *out = NULL;
    if (!store || (folder && !(store->folder = strdup(folder)))) {
        free(store);
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the tables");
    }
    store->memory = memory;
    store->host = *host;
    pthread_mutex_init(&store->turn, NULL);
    pthread_mutex_init(&store->lock, NULL);
    *out = store;
    if (!folder)
        return API_OK;
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return api_fail(err, API_INVALID, "", "--tables: there is no folder %.200s", folder);
    store->writable = access(folder, W_OK) == 0;
    if (store->writable)
        api_disk_clean(folder);
    api_store_scan(store, true);
    return API_OK;
}

void api_store_free(struct api_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->count; i++)
        entry_clear(&store->entries[i]);
    free(store->entries);
    free(store->folder);
    pthread_mutex_destroy(&store->turn);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

bool api_store_has_folder(const struct api_store *store)
{
    return store->folder;
}

bool api_store_is_writable(const struct api_store *store)
{
    return store->writable;
}

uint64_t api_store_generation(const struct api_store *store)
{
    return atomic_load(&store->generation);
}

/* ---- asking --------------------------------------------------------------------------------- */

enum api_status api_store_not_found(struct api_store *store, const char *name,
                                    struct api_error *err)
{
    struct api_nearest nearest = {.word = name};
    char text[160];

    for (size_t i = 0; i < store->count; i++)
        api_nearest_offer(&nearest, store->entries[i].name, strlen(store->entries[i].name));
    return api_fail(err, API_NOT_FOUND, "parameter:table",
                    "there is no stored table '%.64s'%s; PUT /v1/encodings/{name} stores one", name,
                    api_nearest_print(&nearest, text, sizeof(text)));
}

/* Hands out a version that is in memory. API_OK and *table NULL: it is an older one, to be read
 * from disk. */
static enum api_status latest_take(struct api_store *store, const char *name, uint64_t version,
                                   const struct api_stored_table **table, struct api_error *err)
{
    const struct api_store_entry *entry = api_store_find(store, name);
    bool is_there = version == 0;

    if (!entry)
        return api_store_not_found(store, name, err);
    for (size_t i = 0; i < entry->versions_count; i++)
        is_there = is_there || entry->versions[i] == version;
    if (!is_there)
        return api_fail(err, API_NOT_FOUND, "parameter:version",
                        "%s has no version %" PRIu64 "; the latest is %" PRIu64, name, version,
                        entry->versions[entry->versions_count - 1]);
    if (entry->latest && (version == 0 || entry->latest->version == version)) {
        *table = entry->latest;
        atomic_fetch_add(&((struct api_stored_table *)*table)->users, 1);
    } else if (version == 0) {
        return api_fail(err, API_INTERNAL, "parameter:table",
                        "version %" PRIu64 " of the table %s could not be read from disk",
                        entry->versions[entry->versions_count - 1], name);
    }
    return API_OK;
}

enum api_status api_store_take(struct api_store *store, const char *name, uint64_t version,
                               const struct api_stored_table **table, struct api_error *err)
{
    struct api_stored_table *older = NULL;

    *table = NULL;
    pthread_mutex_lock(&store->lock);
    latest_take(store, name, version, table, err);
    pthread_mutex_unlock(&store->lock);
    if (api_failed(err) || *table)
        return api_failed(err);
    api_disk_read(store->folder, store->memory, name, version, &older, err);
    *table = older;
    return api_failed(err);
}

bool api_store_has(struct api_store *store, const char *name)
{
    bool found;

    pthread_mutex_lock(&store->lock);
    found = api_store_find(store, name);
    pthread_mutex_unlock(&store->lock);
    return found;
}

struct api_store_state api_store_state(struct api_store *store)
{
    struct api_store_state state = {0};

    pthread_mutex_lock(&store->lock);
    state.count = store->count;
    for (size_t i = 0; i < store->count; i++)
        if (store->entries[i].latest)
            state.size += store->entries[i].latest->size;
        else
            state.damaged++;
    pthread_mutex_unlock(&store->lock);
    return state;
}
