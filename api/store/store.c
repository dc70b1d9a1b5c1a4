/* SPDX-License-Identifier: MIT */
#include "api/store/store.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/names.h"
#include "api/store/entries.h"

/* Opening, and reading: the latest versions from memory, older ones from disk. */

/* ---- the beginning and the end --------------------------------------------------------------- */

enum pe_status api_store_new(struct api_store **out, const char *folder, bool writes,
                             struct api_memory *memory, const struct api_host *host,
                             struct pe_error *err)
{
    struct api_store *store = calloc(1, sizeof(*store));
    struct stat status;

    *out = NULL;
    if (!store || (folder && !(store->folder = strdup(folder)))) {
        free(store);
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the tables");
    }
    store->memory = memory;
    store->host = *host;
    store->writer.file = -1;
    store->change_lock = store->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    *out = store;
    if (!folder)
        return PE_OK;
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return pe_fail(err, PE_INVALID, "", "--tables: there is no folder %.200s", folder);
    if (writes) {
        if (api_disk_lock(folder, &store->writer, err))
            return err->status;
        api_disk_clean(folder);
    }
    api_store_scan(store, true);
    return PE_OK;
}

void api_store_free(struct api_store *store)
{
    if (!store)
        return;
    for (size_t i = 0; i < store->count; i++)
        api_entry_clear(&store->entries[i]);
    free(store->entries);
    api_disk_unlock(&store->writer);
    free(store->folder);
    pthread_mutex_destroy(&store->change_lock);
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

uint64_t api_store_generation(const struct api_store *store)
{
    return atomic_load(&store->generation);
}

/* ---- older versions -------------------------------------------------------------------------- */

/* They are not in memory: each request reads its own copy from disk, and hashes it unless its file
 * was hashed before. */

/* With the lock held. */
static struct api_checked_version *checked_find(struct api_store *store, const char *name,
                                                uint64_t version)
{
    for (size_t i = 0; i < API_STORE_CHECKED_MAX; i++)
        if (store->checked[i].version == version && strcmp(store->checked[i].name, name) == 0)
            return &store->checked[i];
    return NULL;
}

static void checked_note(struct api_store *store, const struct api_stored_table *table)
{
    struct api_checked_version *version;

    pthread_mutex_lock(&store->lock);
    version = checked_find(store, table->name, table->version);
    if (!version)
        version = &store->checked[store->checked_next++ % API_STORE_CHECKED_MAX];
    strcpy(version->name, table->name);
    version->version = table->version;
    version->checked.file = table->file;
    strcpy(version->checked.sha256, table->sha256);
    pthread_mutex_unlock(&store->lock);
}

static enum pe_status older_take(struct api_store *store, const char *name, uint64_t version,
                                 const struct api_stored_table **out, struct pe_error *err)
{
    struct api_stored_table *table = NULL;
    const struct api_checked_version *known;
    struct api_checked checked;

    pthread_mutex_lock(&store->lock);
    known = checked_find(store, name, version);
    if (known)
        checked = known->checked;
    pthread_mutex_unlock(&store->lock);
    api_disk_read(store->folder, store->memory, name, version, known ? &checked : NULL, &table,
                  err);
    *out = table;
    if (table)
        checked_note(store, table);
    if (err->status == PE_INTERNAL && api_disk_is_gone(store->folder, name, version)) {
        *err = (struct pe_error){0};
        return pe_fail(err, PE_NOT_FOUND, "parameter:version", "%s has no version %" PRIu64, name,
                       version);
    }
    return err->status;
}

/* ---- reading -------------------------------------------------------------------------------- */

enum pe_status api_store_not_found(struct api_store *store, const char *name, struct pe_error *err)
{
    struct api_nearest nearest = {.word = name};
    char text[160];

    if (store->is_partial)
        return pe_fail(err, PE_BUSY, "parameter:table",
                       "the folder of the tables cannot be read now, and may have '%.64s'; try "
                       "again",
                       name);
    for (size_t i = 0; i < store->count; i++)
        api_nearest_offer(&nearest, store->entries[i].name, strlen(store->entries[i].name));
    return pe_fail(err, PE_NOT_FOUND, "parameter:table",
                   "there is no stored table '%.64s'; PUT /v1/encodings/{name} stores one%s", name,
                   api_nearest_print(&nearest, text, sizeof(text)));
}

/* Fails because a table is not in memory. */
static enum pe_status not_in_memory(const struct api_store_entry *entry, struct pe_error *err)
{
    if (entry->waits)
        return pe_fail(err, PE_BUSY, "parameter:table",
                       "the table %s cannot be read now; it is tried again, try so too",
                       entry->name);
    return pe_fail(err, PE_INTERNAL, "parameter:table",
                   "version %" PRIu64 " of the table %s could not be read from disk",
                   api_last_of(entry->versions, entry->versions_count), entry->name);
}

/* Returns a version in memory. PE_OK and *table NULL: it is an older one, to be read from disk. */
static enum pe_status latest_take(struct api_store *store, const char *name, uint64_t version,
                                  const struct api_stored_table **table, struct pe_error *err)
{
    const struct api_store_entry *entry = api_entry_find(store, name);
    bool is_there = version == 0;

    if (!entry)
        return api_store_not_found(store, name, err);
    for (size_t i = 0; i < entry->versions_count; i++)
        is_there = is_there || entry->versions[i] == version;
    if (!is_there && !entry->waits)
        return pe_fail(err, PE_NOT_FOUND, "parameter:version",
                       "%s has no version %" PRIu64 "; the latest is %" PRIu64, name, version,
                       api_last_of(entry->versions, entry->versions_count));
    if (!is_there || (version == 0 && !entry->latest))
        return not_in_memory(entry, err);
    if (entry->latest && (version == 0 || entry->latest->version == version)) {
        *table = entry->latest;
        atomic_fetch_add(&((struct api_stored_table *)*table)->users, 1);
    }
    return PE_OK;
}

enum pe_status api_store_take(struct api_store *store, const char *name, uint64_t version,
                              const struct api_stored_table **table, struct pe_error *err)
{
    *table = NULL;
    pthread_mutex_lock(&store->lock);
    latest_take(store, name, version, table, err);
    pthread_mutex_unlock(&store->lock);
    return err->status || *table ? err->status : older_take(store, name, version, table, err);
}

bool api_store_has(struct api_store *store, const char *name)
{
    bool found;

    pthread_mutex_lock(&store->lock);
    found = api_entry_find(store, name);
    pthread_mutex_unlock(&store->lock);
    return found;
}

enum pe_status api_store_absent(struct api_store *store, const char *name, struct pe_error *err)
{
    struct pe_error absent = {0};

    pthread_mutex_lock(&store->lock);
    if (api_store_not_found(store, name, &absent) == PE_BUSY)
        *err = absent;
    pthread_mutex_unlock(&store->lock);
    return err->status;
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
    pthread_mutex_unlock(&store->lock);
    return state;
}

/* ---- describing ----------------------------------------------------------------------------- */

json_t *api_store_entry_json(struct api_store *store, const char *name)
{
    const struct api_store_entry *entry;
    json_t *json;

    pthread_mutex_lock(&store->lock);
    entry = api_entry_find(store, name);
    json = entry && entry->versions_count > 0 ? api_entry_json(entry) : NULL;
    pthread_mutex_unlock(&store->lock);
    return json;
}

enum pe_status api_store_list_json(struct api_store *store, json_t **list, struct pe_error *err)
{
    bool is_complete;

    *list = json_array();
    pthread_mutex_lock(&store->lock);
    is_complete = store->is_complete;
    for (size_t i = 0; i < store->count; i++)
        json_array_append_new(*list, api_entry_json(&store->entries[i]));
    pthread_mutex_unlock(&store->lock);
    if (is_complete)
        return PE_OK;
    json_decref(*list);
    *list = NULL;
    return pe_fail(err, PE_BUSY, "",
                   "the folder of the tables cannot be read whole now, so not all of them can be "
                   "listed; try again");
}

void api_hash_stored_table(struct api_hash *hash, const struct api_stored_table *table)
{
    api_hash_text(hash, table->name);
    api_hash_bytes(hash, &table->version, sizeof(table->version));
    api_hash_bytes(hash, &table->tensor.dtype, sizeof(table->tensor.dtype));
    api_hash_bytes(hash, table->tensor.shape, 2 * sizeof(table->tensor.shape[0]));
    api_hash_text(hash, table->sha256);
}

const char *api_stored_table_etag(struct api_request *request, const struct api_stored_table *table)
{
    struct api_hash hash;

    api_hash_start(&hash);
    api_hash_text(&hash, request->api->revision);
    api_hash_stored_table(&hash, table);
    return api_hash_etag(&hash, request->arena);
}
