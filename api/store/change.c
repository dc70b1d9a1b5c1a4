/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/memory/json_memory.h"
#include "api/numbers/text.h"
#include "api/store/store_inside.h"

/* Storing and deleting tables, and describing them in JSON. */

/* ---- describing ----------------------------------------------------------------------------- */

/* Where no version is known yet, there is none in it. */
static json_t *entry_json(const struct api_store_entry *entry)
{
    json_t *versions = json_array();
    json_t *json = json_pack("{ss}", "name", entry->name);

    for (size_t i = 0; i < entry->versions_count; i++)
        json_array_append_new(versions, json_integer((json_int_t)entry->versions[i]));
    if (entry->versions_count > 0)
        json_object_set_new(json, "version",
                            json_integer((json_int_t)entry->versions[entry->versions_count - 1]));
    json_object_set_new(json, "versions", versions);
    if (entry->latest) {
        const struct pe_tensor *tensor = &entry->latest->tensor;
        json_object_set_new(json, "dtype", json_string(pe_dtype_info(tensor->dtype)->name));
        json_object_set_new(
            json, "shape",
            json_pack("[II]", (json_int_t)tensor->shape[0], (json_int_t)tensor->shape[1]));
        json_object_set_new(json, "sha256", json_string(entry->latest->sha256));
    } else {
        json_object_set_new(json, entry->waits ? "waits" : "damaged", json_true());
    }
    return json;
}

json_t *api_store_entry_json(struct api_store *store, const char *name)
{
    const struct api_store_entry *entry;
    json_t *json;

    pthread_mutex_lock(&store->lock);
    entry = api_store_find(store, name);
    json = entry && entry->versions_count > 0 ? entry_json(entry) : NULL;
    pthread_mutex_unlock(&store->lock);
    return json;
}

enum api_status api_store_list_json(struct api_store *store, json_t **list, struct api_error *err)
{
    bool complete;

    *list = json_array();
    pthread_mutex_lock(&store->lock);
    complete = store->complete;
    for (size_t i = 0; i < store->count; i++)
        json_array_append_new(*list, entry_json(&store->entries[i]));
    pthread_mutex_unlock(&store->lock);
    if (complete)
        return API_OK;
    json_decref(*list);
    *list = NULL;
    return api_fail(err, API_BUSY, "",
                    "the folder of the tables cannot be read whole now, so not all of them can be "
                    "listed; try again");
}

/* Was memory refused to this request, even where nobody has said so? */
static bool is_short_of_memory(const struct api_request *request)
{
    return api_json_memory_failed() || api_arena_failed(request->arena);
}

static enum api_status told_make(struct api_request *request, const struct api_store_entry *entry,
                                 struct api_store_told *told, struct api_error *err)
{
    struct api_text text = {0};
    json_t *json = entry_json(entry);

    if (json)
        api_text_json(&text, json, false);
    api_text_put(&text, "\n");
    json_decref(json);
    told->etag = api_stored_table_etag(request, entry->latest);
    told->text = api_text_take(&text, request->arena);
    if (!json || !told->text || is_short_of_memory(request))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the answer");
    return API_OK;
}

/* ---- changing ------------------------------------------------------------------------------- */

/* Before a change: is this process the writer, and has memory what the disk has of the name? Others
 * may have written in spite of the lock. whole: the latest version has to be there too, unless it
 * is damaged. API_NOT_WRITER, API_BUSY. */
static enum api_status ready_check(struct api_store *store, const char *name, bool whole,
                                   struct api_error *err)
{
    const struct api_store_entry *entry;

    if (api_store_writer_check(store, err))
        return api_failed(err);
    const bool scanned = api_store_scan_name(store, name, false);
    entry = api_store_find(store, name);
    if (entry ? !entry->waits || (!whole && entry->versions_count > 0) : scanned)
        return API_OK;
    return api_fail(err, API_BUSY, "", "the table %s cannot be read now; try again", name);
}

/* RFC 9110, 13.1: do If-Match and If-None-Match allow to change the name as it is now? */
static enum api_status condition_check(struct api_store *store, struct api_request *request,
                                       struct api_error *err)
{
    const struct api_store_entry *entry;
    const char *etag = NULL;
    bool exists, matches;

    pthread_mutex_lock(&store->lock);
    entry = api_store_find(store, request->name);
    exists = entry;
    if (entry && entry->latest)
        etag = api_stored_table_etag(request, entry->latest);
    pthread_mutex_unlock(&store->lock);
    if (is_short_of_memory(request))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory to look at what is stored");
    matches = request->if_match && exists && api_etag_listed(request->if_match, etag ? etag : "?");
    if (request->if_match && !matches)
        return api_fail(err, API_CHANGED, "header:If-Match",
                        exists ? "%s is another version by now" : "there is no %s", request->name);
    if (request->if_none_match && exists &&
        api_etag_listed(request->if_none_match, etag ? etag : "?"))
        return api_fail(err, API_CHANGED, "header:If-None-Match", "%s is there already",
                        request->name);
    return API_OK;
}

/* Stored tables may take half of the budget; the other half is the requests'. */
static enum api_status room_check(struct api_store *store, struct api_request *request,
                                  uint64_t size, struct api_error *err)
{
    const uint64_t most = request->settings->limits.memory_budget / 2;
    const struct api_store_state state = api_store_state(store);

    if (size <= most && state.size <= most - size)
        return API_OK;
    return api_fail(err, API_STORAGE_FULL, "",
                    "the tables would take more than %" PRIu64
                    " bytes of memory, half of --memory-budget; delete some",
                    most);
}

static bool is_same(const struct api_stored_table *a, const struct api_stored_table *b)
{
    return a->tensor.dtype == b->tensor.dtype && a->tensor.shape[0] == b->tensor.shape[0] &&
           a->tensor.shape[1] == b->tensor.shape[1] && strcmp(a->sha256, b->sha256) == 0;
}

/* The versions of a name and room for one more. */
static enum api_status versions_read(struct api_store *store, const char *name,
                                     struct api_versions *versions, struct api_error *err)
{
    uint64_t *more;
    bool has_room;

    if (api_disk_versions(store->folder, name, versions, err))
        return api_failed(err);
    if (versions->next == 0) {
        free(versions->numbers);
        return api_fail(err, API_STORAGE_FULL, "",
                        "the table %s has used its last version number; store under another name",
                        name);
    }
    pthread_mutex_lock(&store->lock);
    has_room = api_store_reserve(store);
    pthread_mutex_unlock(&store->lock);
    more = has_room ? realloc(versions->numbers, (versions->count + 1) * sizeof(*more)) : NULL;
    if (more) {
        versions->numbers = more;
        return API_OK;
    }
    free(versions->numbers);
    return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the table %s", name);
}

/* Writes a table as the next version of its name, and makes it the latest in memory. Takes it over
 * where that goes well. All memory is taken before the version is on disk. */
static enum api_status version_add(struct api_store *store, struct api_request *request,
                                   struct api_stored_table *table, struct api_store_told *told,
                                   struct api_error *err)
{
    struct api_store_entry entry = {.latest = table};
    struct api_versions versions;

    if (versions_read(store, table->name, &versions, err))
        return api_failed(err);
    versions.numbers[versions.count++] = table->version = versions.next;
    strcpy(entry.name, table->name);
    entry.versions = versions.numbers;
    entry.versions_count = versions.count;
    if (told_make(request, &entry, told, err) || api_disk_write(store->folder, table, err)) {
        free(versions.numbers);
        return api_failed(err);
    }
    pthread_mutex_lock(&store->lock);
    api_store_set(store, table->name, versions.numbers, versions.count, table);
    pthread_mutex_unlock(&store->lock);
    return API_OK;
}

static enum api_status table_put(struct api_store *store, struct api_request *request,
                                 const struct pe_tensor *tensor, struct api_store_told *told,
                                 struct api_error *err)
{
    const struct api_store_entry *entry;
    struct api_stored_table *table;

    if (ready_check(store, request->name, true, err) || condition_check(store, request, err) ||
        api_stored_table_copy(&table, store->memory, request->name, tensor, err))
        return api_failed(err);
    entry = api_store_find(store, request->name);
    told->is_first = !entry || !entry->latest;
    if (entry && entry->latest && is_same(entry->latest, table)) {
        api_stored_table_drop(table);
        return told_make(request, entry, told, err);
    }
    if (room_check(store, request, table->size, err) ||
        version_add(store, request, table, told, err))
        api_stored_table_drop(table);
    return api_failed(err);
}

enum api_status api_store_put(struct api_store *store, struct api_request *request,
                              const struct pe_tensor *tensor, struct api_store_told *told,
                              struct api_error *err)
{
    pthread_mutex_lock(&store->turn);
    table_put(store, request, tensor, told, err);
    pthread_mutex_unlock(&store->turn);
    return api_failed(err);
}

static enum api_status name_delete(struct api_store *store, struct api_request *request,
                                   struct api_error *err)
{
    struct api_versions versions;
    uint64_t last = 0;

    if (ready_check(store, request->name, request->if_match, err))
        return api_failed(err);
    if (!api_store_has(store, request->name))
        return api_store_not_found(store, request->name, err);
    if (condition_check(store, request, err) ||
        api_disk_versions(store->folder, request->name, &versions, err))
        return api_failed(err);
    if (versions.count > 0)
        last = versions.numbers[versions.count - 1];
    free(versions.numbers);
    if (last > 0 && api_disk_delete(store->folder, request->name, last, err))
        return api_failed(err);
    pthread_mutex_lock(&store->lock);
    api_store_remove(store, request->name);
    pthread_mutex_unlock(&store->lock);
    return API_OK;
}

enum api_status api_store_delete(struct api_store *store, struct api_request *request,
                                 struct api_error *err)
{
    pthread_mutex_lock(&store->turn);
    name_delete(store, request, err);
    pthread_mutex_unlock(&store->turn);
    return api_failed(err);
}
