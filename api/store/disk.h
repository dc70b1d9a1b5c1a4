/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_DISK_H
#define API_STORE_DISK_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "api/memory/budget.h"
#include "api/status.h"
#include "posenc/posenc.h"

/* Learned tables in a folder: NAME/VERSION/table.safetensors with a meta.json beside it. A version
 * is written to a NAME/.new-* of its own, flushed, and renamed to its number, so that it is there
 * whole or not at all, and never changed afterwards. A folder NAME/N.deleted says that the versions
 * up to N are deleted, whatever is left of them, and that their numbers are not used again. One
 * process writes (api/store/writer.h); any number read.
 *
 * Damage is told apart from a shortage: what a second try may read (descriptors, memory, a disk or
 * a network that does not answer) is API_BUSY or API_OUT_OF_MEMORY, and says nothing of the disk's
 * content. */

/* A SHA-256 in hexadecimal digits, ended by a zero byte. */
enum { API_STORED_NAME_MAX = 64, API_SHA256_TEXT = 65 };

/* The largest number of a version, that of the parameter `version`: a double holds it exactly. */
#define API_STORED_VERSION_MAX (((uint64_t)1 << 53) - 1)

/* Which file it is, and whether it was changed: two of equal members have the same content. */
struct api_file_id {
    uint64_t device, inode, size;
    int64_t modified_ns, changed_ns;
};

/* A version in memory. It never changes, is counted, and each of its users drops it. */
struct api_stored_table {
    char name[API_STORED_NAME_MAX + 1];
    uint64_t version;
    struct pe_tensor tensor;      /* [rows, width] */
    char sha256[API_SHA256_TEXT]; /* of the elements */
    uint64_t size;                /* of the elements, in bytes */
    struct api_file_id file;      /* with the elements; zeros where nobody asked for it */
    struct api_memory *memory;
    size_t room;
    atomic_int users;
};

void api_stored_table_drop(const struct api_stored_table *table); /* NULL is fine */

/* Copies elements that were checked into a version without a number, its bytes taken out of the
 * budget. API_BUSY, API_OUT_OF_MEMORY. */
enum api_status api_stored_table_copy(struct api_stored_table **table, struct api_memory *memory,
                                      const char *name, const struct pe_tensor *tensor,
                                      struct api_error *err);

/* A name has 1 to 64 small letters, digits, '.', '_' and '-', and begins with a letter or digit. */
bool api_stored_name_is_good(const char *name);

/* Reads a version and checks that its elements are those that were stored. checked: the file of
 * elements whose SHA-256 was found to be `sha256` before, so that it is not hashed again while it
 * is that file; NULL: none was. API_INTERNAL: the version is damaged. API_BUSY, API_OUT_OF_MEMORY:
 * it cannot be read now. */
struct api_checked {
    struct api_file_id file;
    char sha256[API_SHA256_TEXT];
};

enum api_status api_disk_read(const char *folder, struct api_memory *memory, const char *name,
                              uint64_t version, const struct api_checked *checked,
                              struct api_stored_table **table, struct api_error *err);

/* Files are 0600 and folders 0700, whatever the umask allows: tables are read through the service.
 *
 * Writes a version under its number, and fills in its file. API_STORAGE_FULL, API_BUSY,
 * API_INTERNAL: nothing was written. API_NOT_WRITER: somebody else has used the number. */
enum api_status api_disk_write(const char *folder, struct api_stored_table *table,
                               struct api_error *err);

/* ---- versions (api/store/versions.c) -------------------------------------------------------- */

struct api_versions {
    uint64_t *numbers; /* ascending; free() */
    size_t count;
    uint64_t next; /* the first number never used; 0: every number up to the largest was used */
    bool strange;  /* the folder has numbers beyond the largest, which are no versions */
};

/* The versions of a name; a name without a folder has none. API_BUSY, API_OUT_OF_MEMORY: they
 * cannot be told now, and *versions is empty. */
enum api_status api_disk_versions(const char *folder, const char *name,
                                  struct api_versions *versions, struct api_error *err);

/* The file of elements of a version. False: it is not there, or cannot be asked now. */
bool api_disk_file(const char *folder, const char *name, uint64_t version,
                   struct api_file_id *file);

/* Deletes the versions up to a number, all at once, and then whatever is left of them.
 * API_STORAGE_FULL, API_BUSY, API_INTERNAL: nothing was deleted. */
enum api_status api_disk_delete(const char *folder, const char *name, uint64_t last,
                                struct api_error *err);

/* Removes whatever a process left half written or half deleted. For the writer alone. */
void api_disk_clean(const char *folder);

/* ---- shared by the files about the disk ----------------------------------------------------- */

enum { API_DISK_PATH = 4096 };

/* "DIR", "DIR/NAME", "DIR/NAME/PART" or "DIR/NAME/PART/FILE": the parts behind the first NULL are
 * left out. False: the path is too long. */
bool api_disk_path(char path[API_DISK_PATH], const char *folder, const char *name, const char *part,
                   const char *file);

/* Flushes a folder, so that its entries outlive a power cut; errno says why not. */
bool api_disk_flush(const char *path);

/* Removes the files that a version has from NAME/PART, and then the part itself if so wanted. */
void api_disk_remove(const char *folder, const char *name, const char *part, bool itself);

extern const char api_disk_fresh[]; /* how the name of a version begins while it is written */

struct api_file_id api_file_id_of(const struct stat *status);

/* The failure of a change by its errno: no room, a shortage that passes, or anything else. */
enum api_status api_disk_fail(int number, const char *step, struct api_error *err);

#endif
