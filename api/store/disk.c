/* SPDX-License-Identifier: MIT */
#include "api/store/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api/base/compiler.h"
#include "api/base/system.h"
#include "api/memory/json.h"
#include "api/memory/random.h"

enum { PATH_SIZE = 4096, TEXT_MAX = 4096 };

/* How the name of a version begins while it is written, and ends where it marks a deletion. */
static const char fresh_begin[] = ".new", deleted[] = ".deleted";

static const char *const files[] = {"table.safetensors", "meta.json"};

bool api_stored_name_is_good(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const size_t length = strlen(name);

    return length >= 1 && length <= API_STORED_NAME_MAX && strchr(first, name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

/* "DIR", "DIR/NAME", "DIR/NAME/PART" or "DIR/NAME/PART/FILE": parts after the first NULL are left
 * out. False: the path is too long. */
static bool path_print(char path[PATH_SIZE], const char *folder, const char *name, const char *part,
                       const char *file)
{
    return snprintf(path, PATH_SIZE, "%s%s%s%s%s%s%s", folder, name ? "/" : "", name ? name : "",
                    part ? "/" : "", part ? part : "", file ? "/" : "",
                    file ? file : "") < PATH_SIZE;
}

static struct api_file_id file_id_of(const struct stat *status)
{
    return (struct api_file_id){
        .device = status->st_dev,
        .inode = status->st_ino,
        .size = (uint64_t)status->st_size,
        .modified_ns = status->st_mtim.tv_sec * 1000000000ll + status->st_mtim.tv_nsec,
        .changed_ns = status->st_ctim.tv_sec * 1000000000ll + status->st_ctim.tv_nsec,
    };
}

/* Flushes a folder, so that its entries outlive a power cut; errno says why not. */
static bool folder_flush(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool flushed = folder >= 0 && fsync(folder) == 0;
    const int number = errno;

    if (folder >= 0)
        close(folder);
    errno = number;
    return flushed;
}

/* Removes the files of a version from NAME/PART, and then the part itself if `itself`. */
static void part_remove(const char *folder, const char *name, const char *part, bool itself)
{
    char path[PATH_SIZE];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (path_print(path, folder, name, part, files[i]))
            unlink(path);
    if (itself && path_print(path, folder, name, part, NULL) && rmdir(path) != 0)
        unlink(path);
}

bool api_disk_file(const char *folder, const char *name, uint64_t version, struct api_file_id *file)
{
    char path[PATH_SIZE], part[32];
    struct stat status;

    snprintf(part, sizeof(part), "%" PRIu64, version);
    if (!path_print(path, folder, name, part, "table.safetensors") || stat(path, &status) != 0)
        return false;
    *file = file_id_of(&status);
    return true;
}

/* ---- the lock -------------------------------------------------------------------------------- */

enum { LOCK_TRIES = 21, LOCK_PAUSE_MS = 50 };

/* Opens and locks the file. -1: errno says why not. NFS locks for writing only what is open for
 * writing. Mode 0600: a process that can open the file can also lock it. */
static int lock_try(const char *path)
{
    const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0)
        return file;
    const int number = errno;
    close(file);
    errno = number;
    return -1;
}

enum pe_status api_disk_lock(const char *folder, struct api_disk_lock *lock, struct pe_error *err)
{
    static const char hint[] = "to only read, start without --token-file and --anonymous-writes";
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_MS * 1000000L};
    char path[PATH_SIZE], reason[128];

    *lock = (struct api_disk_lock){.file = -1, .process = getpid()};
    if (!path_print(path, folder, ".writer", NULL, NULL))
        return pe_fail(err, PE_INVALID, "", "--tables: the path of the folder is too long");
    for (int tries = 0; tries < LOCK_TRIES; tries++) {
        lock->file = lock_try(path);
        if (lock->file >= 0)
            return PE_OK;
        if (errno != EWOULDBLOCK)
            return pe_fail(err, PE_INVALID, "",
                           "--tables: %.160s cannot be locked for writing: %.60s; %s", folder,
                           api_errno_text(errno, reason, sizeof(reason)), hint);
        nanosleep(&pause, NULL);
    }
    return pe_fail(err, PE_INVALID, "", "--tables: another process writes to %.180s; %s", folder,
                   hint);
}

bool api_disk_lock_is_held(const struct api_disk_lock *lock)
{
    return lock->file >= 0 && lock->process == getpid();
}

void api_disk_unlock(struct api_disk_lock *lock)
{
    if (lock->file >= 0)
        close(lock->file);
    lock->file = -1;
}

/* ---- versions in memory --------------------------------------------------------------------- */

void api_stored_table_drop(const struct api_stored_table *shared)
{
    struct api_stored_table *table = (struct api_stored_table *)shared;

    if (!table || atomic_fetch_sub(&table->users, 1) > 1)
        return;
    api_memory_give(table->memory, table->tensor.data, table->capacity);
    api_memory_unpin(table->memory, table->size);
    free(table);
}

/* A version of a tensor's dtype and shape, whose elements are yet to be filled in. */
static enum pe_status table_new(struct api_stored_table **out, struct api_memory *memory,
                                const char *name, const struct pe_tensor *tensor,
                                struct pe_error *err)
{
    struct api_stored_table *table = calloc(1, sizeof(*table));
    size_t elements, size;

    *out = NULL;
    if (!table || !pe_shape_elements(tensor->shape, tensor->rank, &elements) ||
        !pe_size_multiply(elements, pe_dtype_info(tensor->dtype)->size, &size)) {
        free(table);
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the table %s", name);
    }
    if (!api_memory_pin(memory, size)) {
        free(table);
        return pe_fail(err, PE_BUSY, "",
                       "the table %s needs %zu bytes of --memory-budget, which others hold", name,
                       size);
    }
    snprintf(table->name, sizeof(table->name), "%s", name);
    table->tensor = *tensor;
    table->size = size;
    table->memory = memory;
    table->tensor.data = api_memory_take(memory, size, &table->capacity);
    if (!table->tensor.data) {
        api_memory_unpin(memory, size);
        free(table);
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the table %s", name);
    }
    atomic_init(&table->users, 1);
    *out = table;
    return PE_OK;
}

static void elements_digest(struct api_stored_table *table)
{
    unsigned char digest[crypto_hash_sha256_BYTES];

    _Static_assert(sizeof(table->sha256) == 2 * sizeof(digest) + 1, "two digits a byte");
    crypto_hash_sha256(digest, table->tensor.data, table->size);
    sodium_bin2hex(table->sha256, sizeof(table->sha256), digest, sizeof(digest));
}

enum pe_status api_stored_table_copy(struct api_stored_table **table, struct api_memory *memory,
                                     const char *name, const struct pe_tensor *tensor,
                                     struct pe_error *err)
{
    if (table_new(table, memory, name, tensor, err))
        return err->status;
    memcpy((*table)->tensor.data, tensor->data, (*table)->size);
    elements_digest(*table);
    return PE_OK;
}

/* ---- listing -------------------------------------------------------------------------------- */

/* An entry of a name's folder: "3", "3.deleted", ".new-*"; one of the first two with a number
 * beyond API_STORED_VERSION_MAX; or anything else. */
enum part_kind { PART_OTHER, PART_VERSION, PART_MARK, PART_FRESH, PART_STRANGE };

/* Reads a number without a sign or leading zeros. */
static enum part_kind part_read(const char *text, uint64_t *number)
{
    char *rest;

    if (strncmp(text, fresh_begin, strlen(fresh_begin)) == 0)
        return PART_FRESH;
    if (*text < '1' || *text > '9')
        return PART_OTHER;
    errno = 0;
    *number = strtoull(text, &rest, 10);
    const bool is_mark = strcmp(rest, deleted) == 0;
    if (*rest && !is_mark)
        return PART_OTHER;
    if (errno || *number > API_STORED_VERSION_MAX)
        return PART_STRANGE;
    return is_mark ? PART_MARK : PART_VERSION;
}

static bool version_add(struct api_versions *versions, size_t *capacity, uint64_t number)
{
    uint64_t *more = versions->numbers;

    if (versions->count == *capacity) {
        *capacity = 2 * *capacity + 4;
        more = realloc(more, *capacity * sizeof(*more));
        if (!more)
            return false;
        versions->numbers = more;
    }
    more[versions->count++] = number;
    return true;
}

/* All versions, deleted ones too, and the highest mark. False: errno says why. */
static bool parts_read(DIR *home, struct api_versions *versions, uint64_t *mark)
{
    size_t capacity = 0;
    uint64_t number;

    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(home);
        if (!entry)
            return errno == 0;
        const enum part_kind kind = part_read(entry->d_name, &number);
        versions->has_strange |= kind == PART_STRANGE;
        if (kind == PART_MARK && number > *mark)
            *mark = number;
        if (kind == PART_VERSION && !version_add(versions, &capacity, number)) {
            errno = ENOMEM;
            return false;
        }
    }
}

static int number_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Sorts them, and leaves out those that are deleted. */
static void versions_end(struct api_versions *versions, uint64_t mark)
{
    size_t dead = 0;

    if (versions->count > 0)
        qsort(versions->numbers, versions->count, sizeof(*versions->numbers), number_compare);
    while (dead < versions->count && versions->numbers[dead] <= mark)
        dead++;
    versions->count -= dead;
    if (versions->count > 0 && dead > 0)
        memmove(versions->numbers, versions->numbers + dead,
                versions->count * sizeof(*versions->numbers));
    const uint64_t last = versions->count > 0 ? versions->numbers[versions->count - 1] : mark;
    versions->next = last < API_STORED_VERSION_MAX ? last + 1 : 0;
}

enum pe_status api_disk_versions(const char *folder, const char *name,
                                 struct api_versions *versions, struct pe_error *err)
{
    char path[PATH_SIZE], reason[128];
    const bool fits = path_print(path, folder, name, NULL, NULL);
    DIR *home = fits ? opendir(path) : NULL;
    uint64_t mark = 0;
    bool good = !fits || home || errno == ENOENT || errno == ENOTDIR;
    int number = errno;

    *versions = (struct api_versions){.next = 1};
    if (home) {
        good = parts_read(home, versions, &mark);
        number = errno;
        closedir(home);
    }
    if (good) {
        versions_end(versions, mark);
        return PE_OK;
    }
    free(versions->numbers);
    *versions = (struct api_versions){.next = 1};
    return pe_fail(err, PE_BUSY, "", "the versions of the table %s cannot be listed now: %s", name,
                   api_errno_text(number, reason, sizeof(reason)));
}

bool api_disk_is_gone(const char *folder, const char *name, uint64_t version)
{
    struct api_versions versions;
    struct pe_error err = {0};
    bool is_gone = api_disk_versions(folder, name, &versions, &err) == PE_OK;

    for (size_t i = 0; i < versions.count; i++)
        is_gone = is_gone && versions.numbers[i] != version;
    free(versions.numbers);
    return is_gone;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* How a reading ended. READ_LATER: it cannot be done now; errno says why. */
enum outcome { READ_WHOLE, READ_DAMAGED, READ_LATER };

static enum outcome bytes_read(int file, void *bytes, size_t size)
{
    char *at = bytes;

    while (size > 0) {
        const ssize_t got = read(file, at, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0 ? READ_DAMAGED : READ_LATER;
        at += got;
        size -= (size_t)got;
    }
    return READ_WHOLE;
}

/* Opens a file of a version. READ_DAMAGED: it is not there, or not a plain file. */
static enum outcome file_open(const char *folder, const char *name, uint64_t version,
                              const char *file, int *handle, struct api_file_id *id)
{
    char path[PATH_SIZE], part[32];
    struct stat status;

    snprintf(part, sizeof(part), "%" PRIu64, version);
    if (!path_print(path, folder, name, part, file))
        return READ_DAMAGED;
    *handle = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*handle < 0)
        return errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO
                   ? READ_DAMAGED
                   : READ_LATER;
    const bool is_known = fstat(*handle, &status) == 0;
    if (is_known && S_ISREG(status.st_mode)) {
        *id = file_id_of(&status);
        return READ_WHOLE;
    }
    const int number = errno;
    close(*handle);
    errno = number;
    return is_known ? READ_DAMAGED : READ_LATER;
}

/* Parses a text of a version. */
static enum outcome text_parse(const char *text, size_t size, json_t **json)
{
    struct pe_error err = {0};

    *json = api_json_parse(text, size, "", &err);
    if (*json)
        return READ_WHOLE;
    errno = ENOMEM;
    return err.status == PE_OUT_OF_MEMORY ? READ_LATER : READ_DAMAGED;
}

static bool shape_read(const json_t *json, struct pe_tensor *tensor)
{
    tensor->rank = 2;
    for (size_t i = 0; i < 2; i++) {
        const json_t *length = json_array_get(json, i);
        if (!json_is_integer(length) || json_integer_value(length) < 1)
            return false;
        tensor->shape[i] = (size_t)json_integer_value(length);
    }
    return json_array_size(json) == 2;
}

static bool meta_take(const json_t *json, struct pe_tensor *tensor, char *sha256)
{
    const char *sum = json_string_value(json_object_get(json, "sha256"));
    const char *dtype = json_string_value(json_object_get(json, "dtype"));

    if (!sum || strlen(sum) != API_SHA256_TEXT - 1 || !dtype ||
        !pe_dtype_find(dtype, &tensor->dtype) || !pe_dtype_is_float(tensor->dtype) ||
        !shape_read(json_object_get(json, "shape"), tensor))
        return false;
    strcpy(sha256, sum);
    return true;
}

/* Reads dtype, shape and SHA-256 of the elements from meta.json. */
static enum outcome meta_read(const char *folder, const char *name, uint64_t version,
                              struct pe_tensor *tensor, char *sha256)
{
    struct api_file_id id;
    char text[TEXT_MAX];
    int file;
    enum outcome outcome = file_open(folder, name, version, "meta.json", &file, &id);
    json_t *json = NULL;

    if (outcome)
        return outcome;
    outcome = id.size <= TEXT_MAX ? bytes_read(file, text, id.size) : READ_DAMAGED;
    close(file);
    if (outcome == READ_WHOLE)
        outcome = text_parse(text, id.size, &json);
    if (outcome == READ_WHOLE && !meta_take(json, tensor, sha256))
        outcome = READ_DAMAGED;
    json_decref(json);
    return outcome;
}

/* Does the header of a safetensors file say the same as meta.json? Leaves the file at the
 * elements. */
API_WRAPS("counts down past 0")
static enum outcome header_read(int file, uint64_t size, const struct api_stored_table *table)
{
    unsigned char length_bytes[8];
    struct pe_tensor tensor = {0};
    uint64_t length = 0;
    char text[TEXT_MAX];
    const char *dtype;
    json_t *json, *entry;
    enum outcome outcome = bytes_read(file, length_bytes, sizeof(length_bytes));

    if (outcome)
        return outcome;
    for (size_t i = 8; i-- > 0;)
        length = length << 8 | length_bytes[i];
    if (length > TEXT_MAX || size != 8 + length + table->size)
        return READ_DAMAGED;
    outcome = bytes_read(file, text, length);
    if (outcome || (outcome = text_parse(text, length, &json)))
        return outcome;
    entry = json_object_get(json, "table");
    dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dtype || strcmp(dtype, pe_dtype_info(table->tensor.dtype)->safetensors) != 0 ||
        !shape_read(json_object_get(entry, "shape"), &tensor) ||
        memcmp(tensor.shape, table->tensor.shape, 2 * sizeof(*tensor.shape)) != 0)
        outcome = READ_DAMAGED;
    json_decref(json);
    return outcome;
}

/* Are the elements those whose digest is `sha256`, and finite? checked: a file that was found to be
 * so before. */
static enum outcome elements_check(struct api_stored_table *table, const char *sha256,
                                   const struct api_checked *checked)
{
    struct pe_error fault = {0};

    if (checked && strcmp(checked->sha256, sha256) == 0 &&
        memcmp(&checked->file, &table->file, sizeof(table->file)) == 0) {
        strcpy(table->sha256, sha256);
        return READ_WHOLE;
    }
    elements_digest(table);
    return strcmp(table->sha256, sha256) == 0 &&
                   pe_table_check(&table->tensor, "", NULL, &fault) == PE_OK
               ? READ_WHOLE
               : READ_DAMAGED;
}

static enum outcome elements_read(const char *folder, struct api_stored_table *table,
                                  const char *sha256, const struct api_checked *checked)
{
    int file;
    enum outcome outcome =
        file_open(folder, table->name, table->version, "table.safetensors", &file, &table->file);

    if (outcome)
        return outcome;
    outcome = header_read(file, table->file.size, table);
    if (outcome == READ_WHOLE)
        outcome = bytes_read(file, table->tensor.data, table->size);
    close(file);
    return outcome ? outcome : elements_check(table, sha256, checked);
}

/* Does the size of the file of elements match meta.json? Checked before memory is allocated. */
static enum outcome size_check(const char *folder, const char *name, uint64_t version,
                               const struct pe_tensor *tensor)
{
    struct api_file_id id;
    size_t elements, bytes;
    int file;
    const enum outcome outcome = file_open(folder, name, version, "table.safetensors", &file, &id);

    if (outcome)
        return outcome;
    close(file);
    return pe_shape_elements(tensor->shape, 2, &elements) &&
                   pe_size_multiply(elements, pe_dtype_info(tensor->dtype)->size, &bytes) &&
                   bytes < id.size
               ? READ_WHOLE
               : READ_DAMAGED;
}

static enum pe_status outcome_report(enum outcome outcome, const char *name, uint64_t version,
                                     struct pe_error *err)
{
    char reason[128];
    const char *why = api_errno_text(errno, reason, sizeof(reason));

    if (outcome == READ_LATER)
        return pe_fail(err, PE_BUSY, "",
                       "version %" PRIu64 " of the table %s cannot be read now: %s", version, name,
                       why);
    return pe_fail(err, PE_INTERNAL, "parameter:table",
                   "version %" PRIu64 " of the table %s is damaged on disk", version, name);
}

enum pe_status api_disk_read(const char *folder, struct api_memory *memory, const char *name,
                             uint64_t version, const struct api_checked *checked,
                             struct api_stored_table **out, struct pe_error *err)
{
    struct pe_tensor tensor = {0};
    char sha256[API_SHA256_TEXT];
    struct api_stored_table *table;
    enum outcome outcome = meta_read(folder, name, version, &tensor, sha256);

    *out = NULL;
    if (outcome == READ_WHOLE)
        outcome = size_check(folder, name, version, &tensor);
    if (outcome)
        return outcome_report(outcome, name, version, err);
    if (table_new(&table, memory, name, &tensor, err))
        return err->status;
    table->version = version;
    outcome = elements_read(folder, table, sha256, checked);
    if (outcome == READ_WHOLE) {
        *out = table;
        return PE_OK;
    }
    outcome_report(outcome, name, version, err);
    api_stored_table_drop(table);
    return err->status;
}
/* ---- writing -------------------------------------------------------------------------------- */

static bool bytes_write(int file, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        const ssize_t written = write(file, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        at += written;
        size -= (size_t)written;
    }
    return true;
}

static bool file_write(const char *path, const void *head, size_t head_size, const void *rest,
                       size_t rest_size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = file >= 0 && bytes_write(file, head, head_size) &&
                   bytes_write(file, rest, rest_size) && fsync(file) == 0;

    if (file >= 0 && close(file) != 0)
        written = false;
    return written;
}

/* The safetensors header: its length in eight bytes, then JSON and blanks up to a multiple of 8. */
static size_t header_print(char *out, size_t size, const struct api_stored_table *table)
{
    const size_t text = (size_t)snprintf(
        out + 8, size - 8,
        "{\"table\":{\"dtype\":\"%s\",\"shape\":[%zu,%zu],\"data_offsets\":[0,%" PRIu64 "]}}",
        pe_dtype_info(table->tensor.dtype)->safetensors, table->tensor.shape[0],
        table->tensor.shape[1], table->size);
    const size_t length = (text + 7) / 8 * 8;

    memset(out + 8 + text, ' ', length - text);
    for (size_t i = 0; i < 8; i++)
        out[i] = (char)(unsigned char)(length >> 8 * i);
    return 8 + length;
}

/* Writes and flushes both files of a version into a folder, and the folder. Not inlined: paths are
 * long, and stacks small. */
__attribute__((noinline)) static bool files_write(const char *folder, const char *fresh,
                                                  const struct api_stored_table *table)
{
    char text[512], path[PATH_SIZE];
    size_t size = header_print(text, sizeof(text), table);

    if (!path_print(path, folder, table->name, fresh, files[0]) ||
        !file_write(path, text, size, table->tensor.data, table->size))
        return false;
    size = (size_t)snprintf(text, sizeof(text),
                            "{\"name\":\"%s\",\"version\":%" PRIu64
                            ",\"dtype\":\"%s\",\"shape\":[%zu,%zu],\"sha256\":\"%s\"}\n",
                            table->name, table->version, pe_dtype_info(table->tensor.dtype)->name,
                            table->tensor.shape[0], table->tensor.shape[1], table->sha256);
    return path_print(path, folder, table->name, fresh, files[1]) &&
           file_write(path, text, size, NULL, 0) &&
           path_print(path, folder, table->name, fresh, NULL) && folder_flush(path);
}

/* The failure of a change by its errno: no space, a shortage that passes, or any other. */
static enum pe_status change_fail(int number, const char *step, struct pe_error *err)
{
    char reason[128];
    const char *why = api_errno_text(number, reason, sizeof(reason));

    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return pe_fail(err, PE_STORAGE_FULL, "", "there is no room on the disk of the tables");
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case EAGAIN:
    case EEXIST: /* the number was taken by a folder that somebody copied */
    case ENOTEMPTY:
        return pe_fail(err, PE_BUSY, "", "%s failed: %s; try again", step, why);
    default:
        return pe_fail(err, PE_INTERNAL, "", "%s failed: %s", step, why);
    }
}

/* Makes the folder of the name, and flushes its parent folder before its first version:
 * a process that ended in between may have left it unflushed. */
static bool home_make(const char *folder, const char *home, const struct api_stored_table *table)
{
    return (mkdir(home, 0700) == 0 || errno == EEXIST) &&
           (table->version > 1 || folder_flush(folder));
}

enum pe_status api_disk_write(const char *folder, struct api_stored_table *table,
                              struct pe_error *err)
{
    char home[PATH_SIZE], from[PATH_SIZE], to[PATH_SIZE], part[32], fresh[32];
    uint64_t unique;
    int number;

    if (api_random(&unique, sizeof(unique), err))
        return err->status;
    snprintf(part, sizeof(part), "%" PRIu64, table->version);
    snprintf(fresh, sizeof(fresh), "%s-%016" PRIx64, fresh_begin, unique);
    if (!path_print(home, folder, table->name, NULL, NULL) ||
        !path_print(from, folder, table->name, fresh, NULL) ||
        !path_print(to, folder, table->name, part, NULL))
        return pe_fail(err, PE_INTERNAL, "", "the path of the tables is too long");
    if (home_make(folder, home, table) && mkdir(from, 0700) == 0 &&
        files_write(folder, fresh, table) && rename(from, to) == 0) {
        /* The version is there for readers; flushing the folder makes it outlive a power cut. */
        if (folder_flush(home)) {
            api_disk_file(folder, table->name, table->version, &table->file);
            return PE_OK;
        }
        number = errno;
        part_remove(folder, table->name, part, true);
        return change_fail(number, "to flush the table", err);
    }
    number = errno;
    part_remove(folder, table->name, fresh, true);
    rmdir(home); /* if it is empty */
    return change_fail(number, "to write the table", err);
}

/* ---- deleting ------------------------------------------------------------------------------- */

/* Removes half-written versions, versions up to the highest mark, and lower marks. After a failure
 * the next call continues. */
static void name_tidy(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    DIR *home = path_print(path, folder, name, NULL, NULL) ? opendir(path) : NULL;
    struct api_versions versions = {0};
    uint64_t mark = 0, number;

    if (!home)
        return;
    if (parts_read(home, &versions, &mark)) {
        rewinddir(home);
        for (struct dirent *entry; (entry = readdir(home));) {
            const enum part_kind kind = part_read(entry->d_name, &number);
            const bool is_dead = kind == PART_FRESH || (kind == PART_VERSION && number <= mark) ||
                                 (kind == PART_MARK && number < mark);
            if (is_dead || kind == PART_MARK)
                part_remove(folder, name, entry->d_name, is_dead);
        }
    }
    free(versions.numbers);
    closedir(home);
    if (mark == 0)
        rmdir(path); /* if it is empty: a first version was not written */
}

enum pe_status api_disk_delete(const char *folder, const char *name, uint64_t last,
                               struct pe_error *err)
{
    char home[PATH_SIZE], from[PATH_SIZE], to[PATH_SIZE], part[32], mark[48];

    snprintf(part, sizeof(part), "%" PRIu64, last);
    snprintf(mark, sizeof(mark), "%s%s", part, deleted);
    if (!path_print(home, folder, name, NULL, NULL) ||
        !path_print(from, folder, name, part, NULL) || !path_print(to, folder, name, mark, NULL))
        return pe_fail(err, PE_INTERNAL, "", "the path of the tables is too long");
    /* The last version becomes the mark: a new file could fail on a full disk. */
    if (rename(from, to) != 0)
        return change_fail(errno, "to delete the table", err);
    if (!folder_flush(home)) {
        const int number = errno;
        rename(to, from);
        return change_fail(number, "to flush the folder of the table", err);
    }
    name_tidy(folder, name);
    return PE_OK;
}

void api_disk_clean(const char *folder)
{
    DIR *home = opendir(folder);

    for (struct dirent *entry; home && (entry = readdir(home));)
        if (api_stored_name_is_good(entry->d_name))
            name_tidy(folder, entry->d_name);
    if (home)
        closedir(home);
}
