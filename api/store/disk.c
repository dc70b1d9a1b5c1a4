/* SPDX-License-Identifier: MIT */
#include "api/store/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static const char fresh[] = ".new", deleted[] = ".deleted";
static const char *const files[] = {"table.safetensors", "meta.json"};

bool api_stored_name_is_good(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const size_t length = strlen(name);

    return length >= 1 && length <= API_STORED_NAME_MAX && strchr(first, name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

/* "DIR", "DIR/NAME", "DIR/NAME/PART" or "DIR/NAME/PART/FILE": the parts behind the first NULL are
 * left out. False: the path is too long. */
static bool path_print(char *path, const char *folder, const char *name, const char *part,
                       const char *file)
{
    return snprintf(path, PATH_SIZE, "%s%s%s%s%s%s%s", folder, name ? "/" : "", name ? name : "",
                    part ? "/" : "", part ? part : "", file ? "/" : "",
                    file ? file : "") < PATH_SIZE;
}

static bool folder_flush(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool flushed = folder >= 0 && fsync(folder) == 0;

    if (folder >= 0)
        close(folder);
    return flushed;
}

static void folder_remove(const char *folder, const char *name, const char *part, bool itself)
{
    char path[PATH_SIZE];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (path_print(path, folder, name, part, files[i]))
            unlink(path);
    if (itself && path_print(path, folder, name, part, NULL))
        rmdir(path);
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
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
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

/* Writes and flushes both files, then flushes their folder. `path` is room for names, and has the
 * folder's own where that succeeds. */
static bool files_write(char path[PATH_SIZE], const char *folder,
                        const struct api_stored_table *table)
{
    char text[512];
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

static enum api_status failure_tell(int number, const char *step, struct api_error *err)
{
    char reason[128];

    if (number == ENOSPC || number == EDQUOT || number == EFBIG)
        return api_fail(err, API_STORAGE_FULL, "", "there is no room on the disk of the tables");
    return api_fail(err, API_INTERNAL, "", "%s failed: %s", step,
                    strerror_r(number, reason, sizeof(reason)));
}

enum api_status api_disk_write(const char *folder, const struct api_stored_table *table,
                               struct api_error *err)
{
    char home[PATH_SIZE], from[PATH_SIZE], to[PATH_SIZE], part[32];
    int number;

    snprintf(part, sizeof(part), "%" PRIu64, table->version);
    if (!path_print(home, folder, table->name, NULL, NULL) ||
        !path_print(from, folder, table->name, fresh, NULL) ||
        !path_print(to, folder, table->name, part, NULL))
        return api_fail(err, API_INTERNAL, "", "the path of the tables is too long");
    if ((mkdir(home, 0755) == 0 ? folder_flush(folder) : errno == EEXIST) &&
        (mkdir(from, 0755) == 0 || errno == EEXIST) && files_write(from, folder, table) &&
        rename(from, to) == 0) {
        /* The version is there for readers; flushing the folder makes it outlive a power cut. */
        if (folder_flush(home))
            return API_OK;
        number = errno;
        folder_remove(folder, table->name, part, true);
        return failure_tell(number, "to flush the table", err);
    }
    number = errno;
    folder_remove(folder, table->name, fresh, true);
    rmdir(home); /* if it is empty */
    return failure_tell(number, "to write the table", err);
}

/* ---- listing -------------------------------------------------------------------------------- */

static int number_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Reads a version's number, without a sign or leading zeros. *rest: the text behind its digits. */
static bool version_read(const char *text, uint64_t *version, const char **rest)
{
    char *end;

    if (*text < '1' || *text > '9')
        return false;
    errno = 0;
    *version = strtoull(text, &end, 10);
    *rest = end;
    return errno == 0;
}

uint64_t *api_disk_versions(const char *folder, const char *name, size_t *count, uint64_t *next)
{
    char path[PATH_SIZE];
    DIR *home = path_print(path, folder, name, NULL, NULL) ? opendir(path) : NULL;
    uint64_t *versions = NULL, version;
    size_t room = 0;

    *count = 0;
    *next = 1;
    for (struct dirent *entry; home && (entry = readdir(home));) {
        const char *rest;
        if (!version_read(entry->d_name, &version, &rest) || (*rest && strcmp(rest, deleted) != 0))
            continue;
        if (version >= *next)
            *next = version + 1;
        if (*rest)
            continue;
        if (*count == room) {
            room = 2 * room + 4;
            uint64_t *more = realloc(versions, room * sizeof(*versions));
            if (!more)
                break;
            versions = more;
        }
        versions[(*count)++] = version;
    }
    if (home)
        closedir(home);
    if (*count > 0)
        qsort(versions, *count, sizeof(*versions), number_compare);
    return versions;
}

/* ---- deleting ------------------------------------------------------------------------------- */

enum api_status api_disk_delete(const char *folder, const char *name, const uint64_t *versions,
                                size_t count, struct api_error *err)
{
    char from[PATH_SIZE], to[PATH_SIZE], part[32], grave[48];

    for (size_t i = 0; i < count; i++) {
        snprintf(part, sizeof(part), "%" PRIu64, versions[i]);
        snprintf(grave, sizeof(grave), "%s%s", part, deleted);
        if (!path_print(from, folder, name, part, NULL) ||
            !path_print(to, folder, name, grave, NULL) || rename(from, to) != 0)
            return failure_tell(errno, "to delete the table", err);
        folder_remove(folder, name, grave, i + 1 < count);
    }
    if (!path_print(to, folder, name, NULL, NULL) || !folder_flush(to))
        return failure_tell(errno, "to flush the folder of the table", err);
    return API_OK;
}

void api_disk_clean(const char *folder)
{
    DIR *home = opendir(folder);

    for (struct dirent *entry; home && (entry = readdir(home));)
        if (api_stored_name_is_good(entry->d_name))
            folder_remove(folder, entry->d_name, fresh, true);
    if (home)
        closedir(home);
}
