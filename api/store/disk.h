/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_DISK_H
#define API_STORE_DISK_H

#include <stdatomic.h>
#include <sys/types.h>

#include "api/memory/budget.h"
#include "posenc/posenc.h"
#include "posenc/status.h"

/* Learned tables in a folder: NAME/VERSION/table.safetensors with a meta.json beside it. A version
 * is written to a NAME/.new-* of its own, flushed, and renamed to its number, so that it is either
 * complete or absent, and it never changes afterwards. A folder NAME/N.deleted marks the versions
 * up to N as deleted, even if files of them remain; their numbers are not used again. One process
 * writes (api_disk_lock); any number read.
 *
 * Damage and lack of resources are different failures. PE_INTERNAL: the files differ from the
 * stored ones. PE_BUSY and PE_OUT_OF_MEMORY: the files could not be read (no descriptor, no memory,
 * a disk or network that does not answer), and a later try may succeed. */

/* A SHA-256 in hexadecimal digits, ended by a zero byte. */
enum { API_STORED_NAME_MAX = 64, API_SHA256_TEXT = 65 };

/* The largest number of a version, that of the parameter `version`: a double holds it exactly. */
#define API_STORED_VERSION_MAX (((uint64_t)1 << 53) - 1)

/* Identifies the content of a file: two of equal members have the same content. */
struct api_file_id {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
};

/* A version in memory. It is immutable and counted; each user drops it. */
struct api_stored_table {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t version;
    struct pe_tensor tensor;      /* [rows, width] */
    char sha256[API_SHA256_TEXT]; /* of the elements */
    uint64_t size;                /* of the elements, in bytes */
    struct api_file_id file;      /* with the elements; zeros where it is not known */
    struct api_memory *memory;
    size_t capacity;
    atomic_int users;
};

void api_stored_table_drop(const struct api_stored_table *table); /* NULL is fine */

/* Copies checked elements into a version without a number. Its bytes are taken out of the budget.
 * PE_BUSY, PE_OUT_OF_MEMORY. */
enum pe_status api_stored_table_copy(struct api_stored_table **table, struct api_memory *memory,
                                     const char *name, const struct pe_tensor *tensor,
                                     struct pe_error *err);

/* A name has 1 to 64 small letters, digits, '.', '_' and '-', and begins with a letter or digit. */
bool api_stored_name_is_good(const char *name);

/* ---- the lock -------------------------------------------------------------------------------- */

/* The exclusive flock on the file .writer of a folder. It ends with the process, so that it is
 * never stale. A child made by fork inherits it, but is not its owner. */
struct api_disk_lock {
    int file; /* -1: not held */
    pid_t process;
};

/* Tries for a second, so that the successor of a process that is ending can start. PE_INVALID:
 * another process has it, or the folder cannot be locked. */
enum pe_status api_disk_lock(const char *folder, struct api_disk_lock *lock, struct pe_error *err);
bool api_disk_lock_is_held(const struct api_disk_lock *lock);
void api_disk_unlock(struct api_disk_lock *lock);

/* ---- versions -------------------------------------------------------------------------------- */

/* A file of elements whose SHA-256 was computed before. */
struct api_checked {
    struct api_file_id file;
    char sha256[API_SHA256_TEXT];
};

/* Reads a version and checks that its elements are those that were stored. checked: a file that is
 * not hashed again; NULL: none. PE_INTERNAL, PE_BUSY, PE_OUT_OF_MEMORY. */
enum pe_status api_disk_read(const char *folder, struct api_memory *memory, const char *name,
                             uint64_t version, const struct api_checked *checked,
                             struct api_stored_table **table, struct pe_error *err);

/* Writes a version under its number, and sets its file id. Files are 0600 and folders 0700,
 * with any umask. PE_STORAGE_FULL, PE_BUSY, PE_INTERNAL: nothing was written. */
enum pe_status api_disk_write(const char *folder, struct api_stored_table *table,
                              struct pe_error *err);

struct api_versions {
    uint64_t *numbers; /* ascending; free() */
    size_t count;
    uint64_t next;    /* the first number never used; 0: every number up to the largest was used */
    bool has_strange; /* the folder has numbers beyond the largest, which are no versions */
};

/* The versions of a name; a name without a folder has none. PE_BUSY, PE_OUT_OF_MEMORY: they
 * cannot be listed now, and *versions is empty. */
enum pe_status api_disk_versions(const char *folder, const char *name,
                                 struct api_versions *versions, struct pe_error *err);

/* Is this version certainly absent? */
bool api_disk_is_gone(const char *folder, const char *name, uint64_t version);

/* Identifies the file of elements of a version. False: errno says why not. */
bool api_disk_file(const char *folder, const char *name, uint64_t version,
                   struct api_file_id *file);

/* Deletes the versions up to a number, all at once, and then their files. PE_STORAGE_FULL,
 * PE_BUSY, PE_INTERNAL: nothing was deleted. */
enum pe_status api_disk_delete(const char *folder, const char *name, uint64_t last,
                               struct pe_error *err);

/* Removes what a killed process left half written or half deleted. For the writer alone. */
void api_disk_clean(const char *folder);

#endif
