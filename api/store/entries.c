/* SPDX-License-Identifier: MIT */
#include "api/store/entries.h"

#include <stdlib.h>
#include <string.h>

#include "api/memory/json.h"

struct api_store_entry *api_entry_find(struct api_store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->entries[i].name, name) == 0)
            return &store->entries[i];
    return NULL;
}

void api_entry_clear(struct api_store_entry *entry)
{
    api_stored_table_drop(entry->latest);
    free(entry->versions);
}

void api_entry_remove(struct api_store *store, const char *name)
{
    struct api_store_entry *entry = api_entry_find(store, name);

    if (!entry)
        return;
    api_entry_clear(entry);
    store->count--;
    memmove(entry, entry + 1, (size_t)(store->entries + store->count - entry) * sizeof(*entry));
    atomic_fetch_add(&store->generation, 1);
}

bool api_entry_reserve(struct api_store *store)
{
    const size_t capacity = 2 * store->capacity + 4;
    struct api_store_entry *more;

    if (store->count < store->capacity)
        return true;
    more = realloc(store->entries, capacity * sizeof(*more));
    if (!more)
        return false;
    store->entries = more;
    store->capacity = capacity;
    return true;
}

struct api_store_entry *api_entry_make(struct api_store *store, const char *name)
{
    struct api_store_entry *entry = api_entry_find(store, name);
    size_t at = store->count;

    if (entry)
        return entry;
    if (!api_entry_reserve(store))
        return NULL;
    entry = store->entries;
    for (; at > 0 && strcmp(entry[at - 1].name, name) > 0; at--)
        entry[at] = entry[at - 1];
    store->count++;
    entry[at] = (struct api_store_entry){0};
    strcpy(entry[at].name, name);
    return &entry[at];
}

bool api_entry_set(struct api_store *store, const char *name, const struct api_versions *versions,
                   const struct api_stored_table *latest)
{
    struct api_store_entry *entry = api_entry_make(store, name);

    if (!entry)
        return false;
    api_entry_clear(entry);
    entry->versions = versions->numbers;
    entry->versions_count = versions->count;
    entry->latest = latest;
    entry->seen = latest ? latest->file : (struct api_file_id){0};
    atomic_fetch_add(&store->generation, 1);
    return true;
}

uint64_t api_last_of(const uint64_t *versions, size_t count)
{
    return versions[count - 1];
}

json_t *api_entry_json(const struct api_store_entry *entry)
{
    json_t *versions = json_array();
    json_t *json = json_pack("{ss}", "name", entry->name);

    for (size_t i = 0; i < entry->versions_count; i++)
        json_array_append_new(versions, json_integer((json_int_t)entry->versions[i]));
    if (entry->versions_count > 0)
        json_object_set_new(
            json, "version",
            json_integer((json_int_t)api_last_of(entry->versions, entry->versions_count)));
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
