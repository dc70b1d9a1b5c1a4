/* SPDX-License-Identifier: MIT */
#include "api/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/compiler.h"
#include "api/base/names.h"
#include "api/base/system.h"
#include "api/memory/json.h"
#include "api/numbers/text.h"
#include "api/request/request.h"

/* Names, their versions and the latest table of each in memory; scans, which update memory from the
 * disk; and changes, which are written to the disk before memory. */

enum { PAUSE_MS = 500, PAUSE_MAX_MS = 8000, SCAN_TRIES = 3, CHECKED_MAX = 64 };

struct entry {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t *versions;                    /* ascending */
    size_t versions_count;                 /* 0: they could not be listed yet */
    const struct api_stored_table *latest; /* NULL: damaged, or `waits` */
    struct api_file_id seen;               /* the file of the latest version when last read */
    bool waits;              /* the disk could not be read, and may have something newer */
    double try_ms, pause_ms; /* when it is read again, and the pause before */
};

/* An older version whose file was hashed and found undamaged. */
struct checked_version {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t version;
    struct api_checked checked;
};

struct api_store {
    char *folder; /* NULL: nothing is stored */
    struct api_memory *memory;
    struct api_host host;
    struct api_disk_lock writer;
    /* Held during a change or a scan, disk access included. Only its holder modifies entries, and
     * may read them without `lock`. */
    pthread_mutex_t change_lock;
    bool strange_reported; /* a version number beyond the largest; guarded by `change_lock` */
    pthread_mutex_t lock;  /* guards the members below; held briefly, inside of `change_lock` */
    struct entry *entries; /* in the order of names */
    size_t count, capacity;
    bool is_partial;  /* the folder could not be read completely: it may have other names */
    bool is_complete; /* it was once, so that there is a list to show */
    struct checked_version checked[CHECKED_MAX];
    size_t checked_next; /* which of them is overwritten next */
    _Atomic uint64_t generation;
};

/* ---- entries, with the lock held ------------------------------------------------------------- */

static struct entry *entry_find(struct api_store *store, const char *name)
{
    for (size_t i = 0; i < store->count; i++)
        if (strcmp(store->entries[i].name, name) == 0)
            return &store->entries[i];
    return NULL;
}

static void entry_clear(struct entry *entry)
{
    api_stored_table_drop(entry->latest);
    free(entry->versions);
}

static void entry_remove(struct api_store *store, const char *name)
{
    struct entry *entry = entry_find(store, name);

    if (!entry)
        return;
    entry_clear(entry);
    store->count--;
    memmove(entry, entry + 1, (size_t)(store->entries + store->count - entry) * sizeof(*entry));
    atomic_fetch_add(&store->generation, 1);
}

/* Makes sure that one more entry can be added. False: no memory. */
static bool entry_reserve(struct api_store *store)
{
    const size_t capacity = 2 * store->capacity + 4;
    struct entry *more;

    if (store->count < store->capacity)
        return true;
    more = realloc(store->entries, capacity * sizeof(*more));
    if (!more)
        return false;
    store->entries = more;
    store->capacity = capacity;
    return true;
}

/* The entry of a name, added if there is none. NULL: no memory. */
static struct entry *entry_make(struct api_store *store, const char *name)
{
    struct entry *entry = entry_find(store, name);
    size_t at = store->count;

    if (entry)
        return entry;
    if (!entry_reserve(store))
        return NULL;
    entry = store->entries;
    for (; at > 0 && strcmp(entry[at - 1].name, name) > 0; at--)
        entry[at] = entry[at - 1];
    store->count++;
    entry[at] = (struct entry){0};
    strcpy(entry[at].name, name);
    return &entry[at];
}

/* Gives a name these versions and this latest table, and takes both over. False: no memory, and
 * both are still the caller's. */
static bool entry_set(struct api_store *store, const char *name,
                      const struct api_versions *versions, const struct api_stored_table *latest)
{
    struct entry *entry = entry_make(store, name);

    if (!entry)
        return false;
    entry_clear(entry);
    entry->versions = versions->numbers;
    entry->versions_count = versions->count;
    entry->latest = latest;
    entry->seen = latest ? latest->file : (struct api_file_id){0};
    atomic_fetch_add(&store->generation, 1);
    return true;
}

static uint64_t last_of(const uint64_t *versions, size_t count)
{
    return versions[count - 1];
}

/* ---- scanning, with `change_lock` held ------------------------------------------------------- */

static void report(const struct api_store *store, const char *text)
{
    if (store->host.log)
        store->host.log(store->host.context, text);
}

/* Removes a name that is no longer on disk. */
static void name_forget(struct api_store *store, const char *name)
{
    pthread_mutex_lock(&store->lock);
    entry_remove(store, name);
    pthread_mutex_unlock(&store->lock);
}

/* Is the latest version in memory still the file on disk? The writer may have removed a version
 * that it could not flush, and stored another one. */
static bool is_same_file(const struct api_store *store, const struct entry *entry)
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
    const struct entry *entry = entry_find(store, name);

    if (!entry || entry->versions_count != versions->count ||
        memcmp(entry->versions, versions->numbers, versions->count * sizeof(uint64_t)) != 0)
        return false;
    return entry->latest ? is_same_file(store, entry) : !again && !entry->waits;
}

/* Leaves a name as it is in memory, to be read again after a pause, since each attempt may evict
 * from the cache. Reported once. */
static void wait_begin(struct api_store *store, const char *name, const struct pe_error *err)
{
    struct entry *entry;
    bool is_first = false;

    pthread_mutex_lock(&store->lock);
    entry = entry_make(store, name);
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
    struct entry *entry;

    pthread_mutex_lock(&store->lock);
    entry = entry_find(store, name);
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
    is_set = entry_set(store, name, versions, table);
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
    struct entry *entry;
    bool is_in_memory;

    pthread_mutex_lock(&store->lock);
    entry = entry_find(store, name);
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
    const struct entry *entry = entry_find(store, name);
    const uint64_t latest = last_of(versions->numbers, versions->count);
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

/* Updates a name from the disk. again: also reads a damaged version again. False: out of memory,
 * and the name has no entry. */
static bool name_scan(struct api_store *store, const char *name, bool again)
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
            name_forget(store, name);
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
    return entry_find(store, name);
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
        const struct entry *entry = entry_find(store, part->d_name);
        if (again || !entry || !entry->waits || api_now_ms() >= entry->try_ms)
            name_scan(store, part->d_name, again);
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
            name_forget(store, store->entries[i].name);
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
        entry_clear(&store->entries[i]);
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
static struct checked_version *checked_find(struct api_store *store, const char *name,
                                            uint64_t version)
{
    for (size_t i = 0; i < CHECKED_MAX; i++)
        if (store->checked[i].version == version && strcmp(store->checked[i].name, name) == 0)
            return &store->checked[i];
    return NULL;
}

static void checked_note(struct api_store *store, const struct api_stored_table *table)
{
    struct checked_version *version;

    pthread_mutex_lock(&store->lock);
    version = checked_find(store, table->name, table->version);
    if (!version)
        version = &store->checked[store->checked_next++ % CHECKED_MAX];
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
    const struct checked_version *known;
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

/* With the lock held, of a name without an entry. PE_NOT_FOUND, PE_BUSY. */
static enum pe_status not_found(struct api_store *store, const char *name, struct pe_error *err)
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
static enum pe_status not_in_memory(const struct entry *entry, struct pe_error *err)
{
    if (entry->waits)
        return pe_fail(err, PE_BUSY, "parameter:table",
                       "the table %s cannot be read now; it is tried again, try so too",
                       entry->name);
    return pe_fail(err, PE_INTERNAL, "parameter:table",
                   "version %" PRIu64 " of the table %s could not be read from disk",
                   last_of(entry->versions, entry->versions_count), entry->name);
}

/* Returns a version in memory. PE_OK and *table NULL: it is an older one, to be read from disk. */
static enum pe_status latest_take(struct api_store *store, const char *name, uint64_t version,
                                  const struct api_stored_table **table, struct pe_error *err)
{
    const struct entry *entry = entry_find(store, name);
    bool is_there = version == 0;

    if (!entry)
        return not_found(store, name, err);
    for (size_t i = 0; i < entry->versions_count; i++)
        is_there = is_there || entry->versions[i] == version;
    if (!is_there && !entry->waits)
        return pe_fail(err, PE_NOT_FOUND, "parameter:version",
                       "%s has no version %" PRIu64 "; the latest is %" PRIu64, name, version,
                       last_of(entry->versions, entry->versions_count));
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
    found = entry_find(store, name);
    pthread_mutex_unlock(&store->lock);
    return found;
}

enum pe_status api_store_absent(struct api_store *store, const char *name, struct pe_error *err)
{
    struct pe_error absent = {0};

    pthread_mutex_lock(&store->lock);
    if (not_found(store, name, &absent) == PE_BUSY)
        *err = absent;
    pthread_mutex_unlock(&store->lock);
    return err->status;
}

struct api_store_state api_store_state(struct api_store *store)
{
    struct api_store_state state = {0};

    pthread_mutex_lock(&store->lock);
    for (size_t i = 0; i < store->count; i++) {
        const struct entry *entry = &store->entries[i];
        state.count += entry->versions_count > 0;
        state.size += entry->latest ? entry->latest->size : 0;
        state.damaged += !entry->latest && !entry->waits;
        state.waiting += entry->waits;
    }
    pthread_mutex_unlock(&store->lock);
    return state;
}

/* ---- describing ----------------------------------------------------------------------------- */

/* Without "version" if no version is known yet. */
static json_t *entry_json(const struct entry *entry)
{
    json_t *versions = json_array();
    json_t *json = json_pack("{ss}", "name", entry->name);

    for (size_t i = 0; i < entry->versions_count; i++)
        json_array_append_new(versions, json_integer((json_int_t)entry->versions[i]));
    if (entry->versions_count > 0)
        json_object_set_new(
            json, "version",
            json_integer((json_int_t)last_of(entry->versions, entry->versions_count)));
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
    const struct entry *entry;
    json_t *json;

    pthread_mutex_lock(&store->lock);
    entry = entry_find(store, name);
    json = entry && entry->versions_count > 0 ? entry_json(entry) : NULL;
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
        json_array_append_new(*list, entry_json(&store->entries[i]));
    pthread_mutex_unlock(&store->lock);
    if (is_complete)
        return PE_OK;
    json_decref(*list);
    *list = NULL;
    return pe_fail(err, PE_BUSY, "",
                   "the folder of the tables cannot be read whole now, so not all of them can be "
                   "listed; try again");
}

/* Was memory refused to this request by a call that does not fail? */
static bool is_short_of_memory(const struct api_request *request)
{
    return api_json_memory_failed() || api_arena_failed(request->arena);
}

static enum pe_status answer_make(struct api_request *request, const struct entry *entry,
                                  struct api_store_answer *answer, struct pe_error *err)
{
    struct api_text text = {0};
    json_t *json = entry_json(entry);

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

/* ---- changing ------------------------------------------------------------------------------- */

/* Before a change: checks that this process holds the lock, and updates the name from the disk.
 * needs_latest: the latest version has to be in memory too, unless it is damaged.
 * PE_WRITES_DISABLED, PE_BUSY. */
static enum pe_status ready_check(struct api_store *store, const char *name, bool needs_latest,
                                  struct pe_error *err)
{
    const struct entry *entry;

    if (!api_disk_lock_is_held(&store->writer))
        return pe_fail(err, PE_WRITES_DISABLED, "",
                       "a child process, made by fork, does not write to the tables");
    const bool scanned = name_scan(store, name, false);
    entry = entry_find(store, name);
    if (entry ? !entry->waits || (!needs_latest && entry->versions_count > 0) : scanned)
        return PE_OK;
    return pe_fail(err, PE_BUSY, "", "the table %s cannot be read now; try again", name);
}

/* RFC 9110, 13.1: do If-Match and If-None-Match allow a change of the name? */
static enum pe_status condition_check(struct api_store *store, struct api_request *request,
                                      struct pe_error *err)
{
    const struct entry *entry;
    const char *etag = NULL;
    bool exists, matches;

    pthread_mutex_lock(&store->lock);
    entry = entry_find(store, request->name);
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
    is_reserved = entry_reserve(store);
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
    struct entry entry = {.latest = table};
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
    entry_set(store, table->name, &versions, table);
    pthread_mutex_unlock(&store->lock);
    return PE_OK;
}

static enum pe_status table_put(struct api_store *store, struct api_request *request,
                                const struct pe_tensor *tensor, struct api_store_answer *answer,
                                struct pe_error *err)
{
    const struct entry *entry;
    struct api_stored_table *table;

    if (ready_check(store, request->name, true, err) || condition_check(store, request, err) ||
        api_stored_table_copy(&table, store->memory, request->name, tensor, err))
        return err->status;
    entry = entry_find(store, request->name);
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
        return not_found(store, request->name, err);
    if (condition_check(store, request, err) ||
        api_disk_versions(store->folder, request->name, &versions, err))
        return err->status;
    if (versions.count > 0)
        last = versions.numbers[versions.count - 1];
    free(versions.numbers);
    if (last > 0 && api_disk_delete(store->folder, request->name, last, err))
        return err->status;
    name_forget(store, request->name);
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
