/* SPDX-License-Identifier: MIT */
#include "api/store/store_inside.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/request/service.h"

/* ---- entries, with the lock held ------------------------------------------------------------ */

struct api_tables_entry *api_tables_find(struct api_tables *tables, const char *name)
{
    for (size_t i = 0; i < tables->count; i++)
        if (strcmp(tables->entries[i].name, name) == 0)
            return &tables->entries[i];
    return NULL;
}

static void entry_clear(struct api_tables_entry *entry)
{
    api_table_drop(entry->latest);
    free(entry->versions);
}

void api_tables_remove(struct api_tables *tables, const char *name)
{
    struct api_tables_entry *entry = api_tables_find(tables, name);

    if (!entry)
        return;
    entry_clear(entry);
    tables->count--;
    memmove(entry, entry + 1, (size_t)(tables->entries + tables->count - entry) * sizeof(*entry));
    atomic_fetch_add(&tables->generation, 1);
}

/* Adds an entry at its place in the order of names. NULL: no memory. */
static struct api_tables_entry *entry_add(struct api_tables *tables, const char *name)
{
    struct api_tables_entry *more = realloc(tables->entries, (tables->count + 1) * sizeof(*more));
    size_t at = tables->count;

    if (!more)
        return NULL;
    tables->entries = more;
    for (; at > 0 && strcmp(more[at - 1].name, name) > 0; at--)
        more[at] = more[at - 1];
    tables->count++;
    more[at] = (struct api_tables_entry){0};
    strcpy(more[at].name, name);
    return &more[at];
}

bool api_tables_set(struct api_tables *tables, const char *name, uint64_t *versions, size_t count,
                    const struct api_table *latest)
{
    struct api_tables_entry *entry = api_tables_find(tables, name);

    if (!entry)
        entry = entry_add(tables, name);
    if (!entry)
        return false;
    entry_clear(entry);
    entry->versions = versions;
    entry->versions_count = count;
    entry->latest = latest;
    atomic_fetch_add(&tables->generation, 1);
    return true;
}

/* ---- from disk ------------------------------------------------------------------------------ */

static void tell(const struct api_tables *tables, const char *text)
{
    if (tables->host.log)
        tables->host.log(tables->host.context, text);
}

/* Are these the versions that memory has? again: a damaged one counts as unknown. */
static bool is_known(struct api_tables *tables, const char *name, const uint64_t *versions,
                     size_t count, bool again)
{
    const struct api_tables_entry *entry;
    bool known;

    pthread_mutex_lock(&tables->lock);
    entry = api_tables_find(tables, name);
    known = entry && entry->versions_count == count &&
            memcmp(entry->versions, versions, count * sizeof(*versions)) == 0 &&
            (entry->latest || !again);
    pthread_mutex_unlock(&tables->lock);
    return known;
}

static void name_scan(struct api_tables *tables, const char *name, bool again)
{
    struct api_error err = {0};
    struct api_table *table = NULL;
    uint64_t next;
    size_t count;
    uint64_t *versions = api_store_versions(tables->folder, name, &count, &next);
    bool took;

    if (count == 0 || is_known(tables, name, versions, count, again)) {
        free(versions);
        return;
    }
    if (api_store_read(tables->folder, tables->memory, name, versions[count - 1], &table, &err))
        tell(tables, err.detail);
    pthread_mutex_lock(&tables->lock);
    took = api_tables_set(tables, name, versions, count, table);
    pthread_mutex_unlock(&tables->lock);
    if (!took) {
        free(versions);
        api_table_drop(table);
    }
}

/* Removes the names that are no longer on disk. Entries are read without the lock, for only the
 * holder of `turn` changes them. */
static void gone_remove(struct api_tables *tables)
{
    for (size_t i = tables->count; i-- > 0;) {
        uint64_t next;
        size_t count;
        free(api_store_versions(tables->folder, tables->entries[i].name, &count, &next));
        if (count > 0)
            continue;
        pthread_mutex_lock(&tables->lock);
        api_tables_remove(tables, tables->entries[i].name);
        pthread_mutex_unlock(&tables->lock);
    }
}

void api_tables_scan(struct api_tables *tables, bool again)
{
    DIR *folder;

    if (!tables->folder)
        return;
    pthread_mutex_lock(&tables->turn);
    folder = opendir(tables->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (api_table_name_is_good(entry->d_name) && !pe_encoding_find(entry->d_name))
            name_scan(tables, entry->d_name, again);
    if (folder) {
        closedir(folder);
        gone_remove(tables);
    }
    pthread_mutex_unlock(&tables->turn);
}

/* ---- the beginning and the end -------------------------------------------------------------- */

enum api_status api_tables_new(struct api_tables **out, const char *folder,
                               struct api_memory *memory, const struct api_host *host,
                               struct api_error *err)
{
    struct api_tables *tables = calloc(1, sizeof(*tables));
    struct stat status;

    *out = NULL;
    if (!tables || (folder && !(tables->folder = strdup(folder)))) {
        free(tables);
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the tables");
    }
    tables->memory = memory;
    tables->host = *host;
    pthread_mutex_init(&tables->turn, NULL);
    pthread_mutex_init(&tables->lock, NULL);
    *out = tables;
    if (!folder)
        return API_OK;
    if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode))
        return api_fail(err, API_INVALID, "", "--tables: there is no folder %.200s", folder);
    tables->writable = access(folder, W_OK) == 0;
    if (tables->writable)
        api_store_clean(folder);
    api_tables_scan(tables, true);
    return API_OK;
}

void api_tables_free(struct api_tables *tables)
{
    if (!tables)
        return;
    for (size_t i = 0; i < tables->count; i++)
        entry_clear(&tables->entries[i]);
    free(tables->entries);
    free(tables->folder);
    pthread_mutex_destroy(&tables->turn);
    pthread_mutex_destroy(&tables->lock);
    free(tables);
}

bool api_tables_are_stored(const struct api_tables *tables)
{
    return tables->folder;
}

bool api_tables_are_writable(const struct api_tables *tables)
{
    return tables->writable;
}

uint64_t api_tables_generation(const struct api_tables *tables)
{
    return atomic_load(&tables->generation);
}

/* ---- asking --------------------------------------------------------------------------------- */

enum api_status api_tables_not_found(struct api_tables *tables, const char *name,
                                     struct api_error *err)
{
    struct api_nearest nearest = {.word = name};
    char text[160];

    for (size_t i = 0; i < tables->count; i++)
        api_nearest_offer(&nearest, tables->entries[i].name, strlen(tables->entries[i].name));
    return api_fail(err, API_NOT_FOUND, "parameter:table",
                    "there is no stored table '%.64s'%s; PUT /v1/encodings/{name} stores one", name,
                    api_nearest_print(&nearest, text, sizeof(text)));
}

/* Hands out a version that is in memory. API_OK and *table NULL: it is an older one, to be read
 * from disk. */
static enum api_status latest_take(struct api_tables *tables, const char *name, uint64_t version,
                                   const struct api_table **table, struct api_error *err)
{
    const struct api_tables_entry *entry = api_tables_find(tables, name);
    bool is_there = version == 0;

    if (!entry)
        return api_tables_not_found(tables, name, err);
    for (size_t i = 0; i < entry->versions_count; i++)
        is_there = is_there || entry->versions[i] == version;
    if (!is_there)
        return api_fail(err, API_NOT_FOUND, "parameter:version",
                        "%s has no version %" PRIu64 "; the latest is %" PRIu64, name, version,
                        entry->versions[entry->versions_count - 1]);
    if (entry->latest && (version == 0 || entry->latest->version == version)) {
        *table = entry->latest;
        atomic_fetch_add(&((struct api_table *)*table)->users, 1);
    } else if (version == 0) {
        return api_fail(err, API_INTERNAL, "parameter:table",
                        "version %" PRIu64 " of the table %s could not be read from disk",
                        entry->versions[entry->versions_count - 1], name);
    }
    return API_OK;
}

enum api_status api_tables_take(struct api_tables *tables, const char *name, uint64_t version,
                                const struct api_table **table, struct api_error *err)
{
    struct api_table *older = NULL;

    *table = NULL;
    pthread_mutex_lock(&tables->lock);
    latest_take(tables, name, version, table, err);
    pthread_mutex_unlock(&tables->lock);
    if (api_failed(err) || *table)
        return api_failed(err);
    api_store_read(tables->folder, tables->memory, name, version, &older, err);
    *table = older;
    return api_failed(err);
}

bool api_tables_have(struct api_tables *tables, const char *name)
{
    bool found;

    pthread_mutex_lock(&tables->lock);
    found = api_tables_find(tables, name);
    pthread_mutex_unlock(&tables->lock);
    return found;
}

struct api_tables_state api_tables_state(struct api_tables *tables)
{
    struct api_tables_state state = {0};

    pthread_mutex_lock(&tables->lock);
    state.count = tables->count;
    for (size_t i = 0; i < tables->count; i++)
        if (tables->entries[i].latest)
            state.size += tables->entries[i].latest->size;
        else
            state.damaged++;
    pthread_mutex_unlock(&tables->lock);
    return state;
}
