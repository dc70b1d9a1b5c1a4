/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/store/store_inside.h"

/* Older versions are not in memory: each request reads its own copy from disk. The elements are
 * hashed at the first reading, and then while the file is another one than it was. */

/* With the lock held. */
static struct api_older *older_find(struct api_store *store, const char *name, uint64_t version)
{
    for (size_t i = 0; i < API_OLDER_MAX; i++)
        if (store->older[i].version == version && strcmp(store->older[i].name, name) == 0)
            return &store->older[i];
    return NULL;
}

static bool checked_find(struct api_store *store, const char *name, uint64_t version,
                         struct api_checked *checked)
{
    const struct api_older *older;

    pthread_mutex_lock(&store->lock);
    older = older_find(store, name, version);
    if (older)
        *checked = older->checked;
    pthread_mutex_unlock(&store->lock);
    return older;
}

static void checked_note(struct api_store *store, const struct api_stored_table *table)
{
    struct api_older *older;

    pthread_mutex_lock(&store->lock);
    older = older_find(store, table->name, table->version);
    if (!older)
        older = &store->older[store->older_next++ % API_OLDER_MAX];
    strcpy(older->name, table->name);
    older->version = table->version;
    older->checked.file = table->file;
    strcpy(older->checked.sha256, table->sha256);
    pthread_mutex_unlock(&store->lock);
}

bool api_store_is_gone(struct api_store *store, const char *name, uint64_t version)
{
    struct api_versions versions;
    struct api_error err = {0};
    bool gone = api_disk_versions(store->folder, name, &versions, &err) == API_OK;

    for (size_t i = 0; i < versions.count; i++)
        gone = gone && versions.numbers[i] != version;
    free(versions.numbers);
    return gone;
}

enum api_status api_store_older_take(struct api_store *store, const char *name, uint64_t version,
                                     const struct api_stored_table **out, struct api_error *err)
{
    struct api_stored_table *table = NULL;
    struct api_checked checked;
    const bool known = checked_find(store, name, version, &checked);

    api_disk_read(store->folder, store->memory, name, version, known ? &checked : NULL, &table,
                  err);
    *out = table;
    if (table)
        checked_note(store, table);
    if (api_failed(err) == API_INTERNAL && api_store_is_gone(store, name, version)) {
        *err = (struct api_error){0};
        return api_fail(err, API_NOT_FOUND, "parameter:version", "%s has no version %" PRIu64, name,
                        version);
    }
    return api_failed(err);
}
