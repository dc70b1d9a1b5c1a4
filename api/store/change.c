/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/memory/json.h"
#include "api/numbers/text.h"
#include "api/store/entries.h"

/* Changes, which are written to the disk before memory; with `change_lock` held. */

/* Was memory refused to this request by a call that does not fail? */
static bool is_short_of_memory(const struct api_request *request)
{
    return api_json_memory_failed() || api_arena_failed(request->arena);
}

static enum pe_status answer_make(struct api_request *request, const struct api_store_entry *entry,
                                  struct api_store_answer *answer, struct pe_error *err)
{
    struct api_text text = {0};
    json_t *json = api_entry_json(entry);

    if (json)
        api_text_json(&text, json, false);
    api_text_put(&text, "\n");
    json_decref(json);
    answer->etag = api_stored_table_etag(request, entry->latest);
    answer->text = api_text_take(&text, request->arena);
    if (!json || !answer->text || is_short_of_memory(request))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    return PE_OK;
}

/* Before a change: checks that this process holds the lock, and updates the name from the disk.
 * needs_latest: the latest version has to be in memory too, unless it is damaged.
 * PE_WRITES_DISABLED, PE_BUSY. */
static enum pe_status ready_check(struct api_store *store, const char *name, bool needs_latest,
                                  struct pe_error *err)
{
    const struct api_store_entry *entry;

    if (!api_disk_lock_is_held(&store->writer))
        return pe_fail(err, PE_WRITES_DISABLED, "",
                       "a child process, made by fork, does not write to the tables");
    const bool scanned = api_store_name_scan(store, name, false);
    entry = api_entry_find(store, name);
    if (entry ? !entry->waits || (!needs_latest && entry->versions_count > 0) : scanned)
        return PE_OK;
    return pe_fail(err, PE_BUSY, "", "the table %s cannot be read now; try again", name);
}

/* RFC 9110, 13.1: do If-Match and If-None-Match allow a change of the name? */
static enum pe_status condition_check(struct api_store *store, struct api_request *request,
                                      struct pe_error *err)
{
    const struct api_store_entry *entry;
    const char *etag = NULL;
    bool exists, matches;

    pthread_mutex_lock(&store->lock);
    entry = api_entry_find(store, request->name);
    exists = entry;
    if (entry && entry->latest)
        etag = api_stored_table_etag(request, entry->latest);
    pthread_mutex_unlock(&store->lock);
    if (is_short_of_memory(request))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to look at what is stored");
    matches = request->if_match && exists && api_etag_listed(request->if_match, etag ? etag : "?");
    if (request->if_match && !matches)
        return pe_fail(err, PE_CHANGED, "header:If-Match",
                       exists ? "%s is another version by now" : "there is no %s", request->name);
    if (request->if_none_match && exists &&
        api_etag_listed(request->if_none_match, etag ? etag : "?"))
        return pe_fail(err, PE_CHANGED, "header:If-None-Match", "%s is there already",
                       request->name);
    return PE_OK;
}

/* Stored tables may take half of the budget; the other half is for requests. */
static enum pe_status budget_check(struct api_store *store, struct api_request *request,
                                   uint64_t size, struct pe_error *err)
{
    const uint64_t most = request->settings->limits.memory_budget / 2;
    const struct api_store_state state = api_store_state(store);

    if (size <= most && state.size <= most - size)
        return PE_OK;
    return pe_fail(err, PE_STORAGE_FULL, "",
                   "the tables would take more than %" PRIu64
                   " bytes of memory, half of --memory-budget; delete some",
                   most);
}

static bool is_same(const struct api_stored_table *a, const struct api_stored_table *b)
{
    return a->tensor.dtype == b->tensor.dtype && a->tensor.shape[0] == b->tensor.shape[0] &&
           a->tensor.shape[1] == b->tensor.shape[1] && strcmp(a->sha256, b->sha256) == 0;
}

/* Reads the versions of a name, and allocates memory for one more. */
static enum pe_status versions_read(struct api_store *store, const char *name,
                                    struct api_versions *versions, struct pe_error *err)
{
    uint64_t *more;
    bool is_reserved;

    if (api_disk_versions(store->folder, name, versions, err))
        return err->status;
    if (versions->next == 0) {
        free(versions->numbers);
        return pe_fail(err, PE_STORAGE_FULL, "",
                       "the table %s has used its last version number; store under another name",
                       name);
    }
    pthread_mutex_lock(&store->lock);
    is_reserved = api_entry_reserve(store);
    pthread_mutex_unlock(&store->lock);
    more = is_reserved ? realloc(versions->numbers, (versions->count + 1) * sizeof(*more)) : NULL;
    if (more) {
        versions->numbers = more;
        return PE_OK;
    }
    free(versions->numbers);
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the table %s", name);
}

/* Writes a table as the next version of its name, and makes it the latest in memory. On success the
 * store owns it. All memory is allocated before the version is on disk. */
static enum pe_status version_add(struct api_store *store, struct api_request *request,
                                  struct api_stored_table *table, struct api_store_answer *answer,
                                  struct pe_error *err)
{
    struct api_store_entry entry = {.latest = table};
    struct api_versions versions;

    if (versions_read(store, table->name, &versions, err))
        return err->status;
    versions.numbers[versions.count++] = table->version = versions.next;
    strcpy(entry.name, table->name);
    entry.versions = versions.numbers;
    entry.versions_count = versions.count;
    if (answer_make(request, &entry, answer, err) || api_disk_write(store->folder, table, err)) {
        free(versions.numbers);
        return err->status;
    }
    pthread_mutex_lock(&store->lock);
    api_entry_set(store, table->name, &versions, table);
    pthread_mutex_unlock(&store->lock);
    return PE_OK;
}

static enum pe_status table_put(struct api_store *store, struct api_request *request,
                                const struct pe_tensor *tensor, struct api_store_answer *answer,
                                struct pe_error *err)
{
    const struct api_store_entry *entry;
    struct api_stored_table *table;

    if (ready_check(store, request->name, true, err) || condition_check(store, request, err) ||
        api_stored_table_copy(&table, store->memory, request->name, tensor, err))
        return err->status;
    entry = api_entry_find(store, request->name);
    answer->is_first = !entry || !entry->latest;
    if (entry && entry->latest && is_same(entry->latest, table)) {
        api_stored_table_drop(table);
        return answer_make(request, entry, answer, err);
    }
    if (budget_check(store, request, table->size, err) ||
        version_add(store, request, table, answer, err))
        api_stored_table_drop(table);
    return err->status;
}

enum pe_status api_store_put(struct api_store *store, struct api_request *request,
                             const struct pe_tensor *tensor, struct api_store_answer *answer,
                             struct pe_error *err)
{
    pthread_mutex_lock(&store->change_lock);
    table_put(store, request, tensor, answer, err);
    pthread_mutex_unlock(&store->change_lock);
    return err->status;
}

static enum pe_status name_delete(struct api_store *store, struct api_request *request,
                                  struct pe_error *err)
{
    struct api_versions versions;
    uint64_t last = 0;

    if (ready_check(store, request->name, request->if_match, err))
        return err->status;
    if (!api_store_has(store, request->name))
        return api_store_not_found(store, request->name, err);
    if (condition_check(store, request, err) ||
        api_disk_versions(store->folder, request->name, &versions, err))
        return err->status;
    if (versions.count > 0)
        last = versions.numbers[versions.count - 1];
    free(versions.numbers);
    if (last > 0 && api_disk_delete(store->folder, request->name, last, err))
        return err->status;
    api_store_name_forget(store, request->name);
    return PE_OK;
}

enum pe_status api_store_delete(struct api_store *store, struct api_request *request,
                                struct pe_error *err)
{
    pthread_mutex_lock(&store->change_lock);
    name_delete(store, request, err);
    pthread_mutex_unlock(&store->change_lock);
    return err->status;
}
