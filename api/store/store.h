/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_STORE_H
#define API_STORE_STORE_H

#include "api/request/request.h"
#include "api/response/etag.h"
#include "api/store/disk.h"

/* The store of learned tables: all versions on disk, the latest of each name in memory. All calls
 * are thread-safe; changes and scans run one after the other. One process writes to a folder, and
 * any number read it.
 *
 * While the disk cannot be read (PE_BUSY), tables in memory stay valid, and the disk
 * is read again by a later scan. */
struct api_store;

/* The store for an answer to this request, which from then on depends on the stored tables: pages
 * of other origins may read it only where --cors-origin allows that. Handlers reach the store
 * through this alone. */
struct api_store *api_store_of(struct api_request *request);

/* folder NULL: the store is empty and refuses tables. writes: locks the folder until the store is
 * freed; else the store only reads. PE_INVALID: there is no such folder, or it cannot be locked;
 * the caller frees the store also then. A version that cannot be read is reported to the host's log
 * (may be NULL) and listed as damaged. */
enum pe_status api_store_new(struct api_store **store, const char *folder, bool writes,
                             struct api_memory *memory, const struct api_host *host,
                             struct pe_error *err);
void api_store_free(struct api_store *store);

/* Reads what another process has stored or deleted since, and what could not be read before.
 * again: waits for a change that is under way, and also reads damaged versions again. */
void api_store_scan(struct api_store *store, bool again);

bool api_store_has_folder(const struct api_store *store);

/* Increases with every change; part of the key of cached responses, so that none made of older
 * tables is found. */
uint64_t api_store_generation(const struct api_store *store);

/* Hands out a version, 0 for the latest, to be dropped. PE_NOT_FOUND (where: parameter:table or
 * parameter:version); PE_INTERNAL: it is damaged; PE_BUSY, PE_OUT_OF_MEMORY: it cannot be read
 * now. */
enum pe_status api_store_take(struct api_store *store, const char *name, uint64_t version,
                              const struct api_stored_table **table, struct pe_error *err);
/* Is a table stored under this name? */
bool api_store_has(struct api_store *store, const char *name);
/* For a name that the store does not have. PE_BUSY: the folder could not be read, and may have
 * it. */
enum pe_status api_store_absent(struct api_store *store, const char *name, struct pe_error *err);

/* The entity tag of a table, in the arena; NULL: no memory. */
const char *api_stored_table_etag(struct api_request *request,
                                  const struct api_stored_table *table);
/* Adds the name and the content of a table to the hash of an answer that is made of it. */
void api_hash_stored_table(struct api_hash *hash, const struct api_stored_table *table);

/* The answer to a change, in the arena. It is made before the change, which therefore cannot be
 * stored and then refused for want of memory. */
struct api_store_answer {
    const char *etag,
        *text;     /* of the latest version; api_store_entry_json printed, and a newline */
    bool is_first; /* the name had no version before */
};

/* Stores a checked tensor under the request's name, if its If-Match and If-None-Match allow it and
 * its latest version is another one. PE_CHANGED, PE_STORAGE_FULL, PE_WRITES_DISABLED, PE_BUSY,
 * PE_OUT_OF_MEMORY, PE_INTERNAL: nothing was stored. */
enum pe_status api_store_put(struct api_store *store, struct api_request *request,
                             const struct pe_tensor *tensor, struct api_store_answer *answer,
                             struct pe_error *err);

/* Deletes all versions of a name. PE_NOT_FOUND, and the failures of api_store_put: nothing was
 * deleted. */
enum pe_status api_store_delete(struct api_store *store, struct api_request *request,
                                struct pe_error *err);

/* {"name", "version", "versions", "dtype", "shape", "sha256"} of a name; NULL if there is none or
 * its versions are not known yet. The caller owns it. */
json_t *api_store_entry_json(struct api_store *store, const char *name);
/* A list of those of all names, which the caller owns: as the folder is, or was when it could last
 * be read completely. PE_BUSY: it never could. */
enum pe_status api_store_list_json(struct api_store *store, json_t **list, struct pe_error *err);

struct api_store_state {
    uint64_t count, size, damaged, waiting;
};
struct api_store_state api_store_state(struct api_store *store);

#endif
