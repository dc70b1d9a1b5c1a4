/* SPDX-License-Identifier: MIT */
#include "api/store/store_inside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/base/nearest.h"
#include "api/request/service.h"

/* ---- entries, with the lock held ------------------------------------------------------------ */

struct api_store_entry *api_store_find(struct api_store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->entries[i].name, name) == 0)
            return &store->entries[i];
    return NULL;
}

void api_store_entry_clear(struct api_store_entry *entry)
{
    api_stored_table_drop(entry->latest);
    free(entry->versions);
}

void api_store_remove(struct api_store *store, const char *name)
{
    struct api_store_entry *entry = api_store_find(store, name);

    if (!entry)
        return;
    api_store_entry_clear(entry);
    store->count--;
    memmove(entry, entry + 1, (size_t)(store->entries + store->count - entry) * sizeof(*entry));
    atomic_fetch_add(&store->generation, 1);
}

bool api_store_reserve(struct api_store *store)
{
    const size_t room = 2 * store->room + 4;
    struct api_store_entry *more;

    if (store->count < store->room)
        return true;
    more = realloc(store->entries, room * sizeof(*more));
    if (!more)
        return false;
    store->entries = more;
    store->room = room;
    return true;
}

/* Entries are in the order of names. */
struct api_store_entry *api_store_entry_make(struct api_store *store, const char *name)
{
    struct api_store_entry *more = api_store_find(store, name);
    size_t at = store->count;

    if (more)
        return more;
    if (!api_store_reserve(store))
        return NULL;
    more = store->entries;
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
    struct api_store_entry *entry = api_store_entry_make(store, name);

    if (!entry)
        return false;
    api_store_entry_clear(entry);
    entry->versions = versions;
    entry->versions_count = count;
    entry->latest = latest;
    entry->seen = latest ? latest->file : (struct api_file_id){0};
    atomic_fetch_add(&store->generation, 1);
    return true;
}

/* ---- the beginning and the end -------------------------------------------------------------- */

enum api_status api_store_new(struct api_store **out, const char *folder, bool writes,
                              struct api_memory *memory, const struct api_host *host,
                              struct api_error *err)
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
    store->writer = API_WRITER_NONE;
    store->turn = store->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    *out = store;
    if (!folder)
        return API_OK;
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return api_fail(err, API_INVALID, "", "--tables: there is no folder %.200s", folder);
    store->writable = access(folder, W_OK) == 0;
    store->applies = writes && store->writable;
    api_store_tend(store);
    if (!api_store_writes(store))
        api_store_scan(store, true);
    return API_OK;
}

void api_store_free(struct api_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->count; i++)
        api_store_entry_clear(&store->entries[i]);
    free(store->entries);
    api_writer_release(&store->writer);
    free(store->folder);
    pthread_mutex_destroy(&store->turn);
    pthread_mutex_destroy(&store->lock);
    free(store);
}

struct api_store *api_store_of(struct api_request *request)
{
    struct api_store *store = request->api->store;

    request->reads_store |= api_store_has_folder(store);
    return store;
}

bool api_store_has_folder(const struct api_store *store)
{
    return store->folder;
}

bool api_store_is_writable(const struct api_store *store)
{
    return store->writable;
}

bool api_store_writes(const struct api_store *store)
{
    return atomic_load(&store->writes);
}

/* Counted before it is asked whether this process leaves: whoever sees that it leaves and that
 * nothing is counted may let go. */
bool api_store_write_begin(struct api_store *store)
{
    atomic_fetch_add(&store->writing, 1);
    if (api_store_writes(store) && !atomic_load(&store->leaves))
        return true;
    api_store_write_end(store);
    return false;
}

void api_store_write_end(void *store)
{
    atomic_fetch_sub(&((struct api_store *)store)->writing, 1);
}

void api_store_leave(struct api_store *store)
{
    atomic_store(&store->leaves, true);
    api_store_tend(store);
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

    if (store->partial)
        return api_fail(err, API_BUSY, "parameter:table",
                        "the folder of the tables cannot be read now, and may have '%.64s'; try "
                        "again",
                        name);
    for (size_t i = 0; i < store->count; i++)
        api_nearest_offer(&nearest, store->entries[i].name, strlen(store->entries[i].name));
    return api_fail(err, API_NOT_FOUND, "parameter:table",
                    "there is no stored table '%.64s'; PUT /v1/encodings/{name} stores one%s", name,
                    api_nearest_print(&nearest, text, sizeof(text)));
}

/* A table that is not in memory: why? */
static enum api_status not_here(const struct api_store_entry *entry, struct api_error *err)
{
    if (entry->waits)
        return api_fail(err, API_BUSY, "parameter:table",
                        "the table %s cannot be read now; it is tried again, try so too",
                        entry->name);
    return api_fail(err, API_INTERNAL, "parameter:table",
                    "version %" PRIu64 " of the table %s could not be read from disk",
                    entry->versions[entry->versions_count - 1], entry->name);
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
    if (!is_there && !entry->waits)
        return api_fail(err, API_NOT_FOUND, "parameter:version",
                        "%s has no version %" PRIu64 "; the latest is %" PRIu64, name, version,
                        entry->versions[entry->versions_count - 1]);
    if (!is_there || (version == 0 && !entry->latest))
        return not_here(entry, err);
    if (entry->latest && (version == 0 || entry->latest->version == version)) {
        *table = entry->latest;
        atomic_fetch_add(&((struct api_stored_table *)*table)->users, 1);
    }
    return API_OK;
}

enum api_status api_store_take(struct api_store *store, const char *name, uint64_t version,
                               const struct api_stored_table **table, struct api_error *err)
{
    *table = NULL;
    pthread_mutex_lock(&store->lock);
    latest_take(store, name, version, table, err);
    pthread_mutex_unlock(&store->lock);
    return api_failed(err) || *table ? api_failed(err)
                                     : api_store_older_take(store, name, version, table, err);
}

bool api_store_has(struct api_store *store, const char *name)
{
    bool found;

    pthread_mutex_lock(&store->lock);
    found = api_store_find(store, name);
    pthread_mutex_unlock(&store->lock);
    return found;
}

enum api_status api_store_absent(struct api_store *store, const char *name, struct api_error *err)
{
    struct api_error absent = {0};

    pthread_mutex_lock(&store->lock);
    if (api_store_not_found(store, name, &absent) == API_BUSY)
        *err = absent;
    pthread_mutex_unlock(&store->lock);
    return api_failed(err);
}

struct api_store_state api_store_state(struct api_store *store)
{
    struct api_store_state state = {0};

    pthread_mutex_lock(&store->lock);
    for (size_t i = 0; i < store->count; i++) {
        const struct api_store_entry *entry = &store->entries[i];
        state.count += entry->versions_count > 0;
        state.size += entry->latest ? entry->latest->size : 0;
        state.damaged += !entry->latest && !entry->waits;
        state.waiting += entry->waits;
    }
    state.writes = api_store_writes(store);
    pthread_mutex_unlock(&store->lock);
    return state;
}
