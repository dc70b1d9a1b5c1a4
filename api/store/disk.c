/* SPDX-License-Identifier: MIT */
#include "api/store/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/base/system.h"
#include "api/memory/random.h"

const char api_disk_fresh[] = ".new";

static const char *const files[] = {"table.safetensors", "meta.json"};

bool api_stored_name_is_good(const char *name)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const size_t length = strlen(name);

    return length >= 1 && length <= API_STORED_NAME_MAX && strchr(first, name[0]) &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

bool api_disk_path(char path[API_DISK_PATH], const char *folder, const char *name, const char *part,
                   const char *file)
{
    return snprintf(path, API_DISK_PATH, "%s%s%s%s%s%s%s", folder, name ? "/" : "",
                    name ? name : "", part ? "/" : "", part ? part : "", file ? "/" : "",
                    file ? file : "") < API_DISK_PATH;
}

struct api_file_id api_file_id_of(const struct stat *status)
{
    return (struct api_file_id){
        .device = status->st_dev,
        .inode = status->st_ino,
        .size = (uint64_t)status->st_size,
        .modified_ns = status->st_mtim.tv_sec * 1000000000ll + status->st_mtim.tv_nsec,
        .changed_ns = status->st_ctim.tv_sec * 1000000000ll + status->st_ctim.tv_nsec,
    };
}

bool api_disk_flush(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool flushed = folder >= 0 && fsync(folder) == 0;
    const int number = errno;

    if (folder >= 0)
        close(folder);
    errno = number;
    return flushed;
}

void api_disk_remove(const char *folder, const char *name, const char *part, bool itself)
{
    char path[API_DISK_PATH];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (api_disk_path(path, folder, name, part, files[i]))
            unlink(path);
    if (itself && api_disk_path(path, folder, name, part, NULL) && rmdir(path) != 0)
        unlink(path);
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
    char text[512], path[API_DISK_PATH];
    size_t size = header_print(text, sizeof(text), table);

    if (!api_disk_path(path, folder, table->name, fresh, files[0]) ||
        !file_write(path, text, size, table->tensor.data, table->size))
        return false;
    size = (size_t)snprintf(text, sizeof(text),
                            "{\"name\":\"%s\",\"version\":%" PRIu64
                            ",\"dtype\":\"%s\",\"shape\":[%zu,%zu],\"sha256\":\"%s\"}\n",
                            table->name, table->version, pe_dtype_info(table->tensor.dtype)->name,
                            table->tensor.shape[0], table->tensor.shape[1], table->sha256);
    return api_disk_path(path, folder, table->name, fresh, files[1]) &&
           file_write(path, text, size, NULL, 0) &&
           api_disk_path(path, folder, table->name, fresh, NULL) && api_disk_flush(path);
}

enum api_status api_disk_fail(int number, const char *step, struct api_error *err)
{
    char reason[128];
    const char *why = api_errno_text(number, reason, sizeof(reason));

    switch (number) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return api_fail(err, API_STORAGE_FULL, "", "there is no room on the disk of the tables");
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case EAGAIN:
        return api_fail(err, API_BUSY, "", "%s failed: %s; try again", step, why);
    case EEXIST:
    case ENOTEMPTY:
        return api_fail(err, API_NOT_WRITER, "",
                        "another process has stored a version at the same time; try again");
    default:
        return api_fail(err, API_INTERNAL, "", "%s failed: %s", step, why);
    }
}

/* Makes the folder of the name, and flushes the folder that it stands in before its first version:
 * a process that ended in between may have left it unflushed. */
static bool home_make(const char *folder, const char *home, const struct api_stored_table *table)
{
    return (mkdir(home, 0700) == 0 || errno == EEXIST) &&
           (table->version > 1 || api_disk_flush(folder));
}

enum api_status api_disk_write(const char *folder, struct api_stored_table *table,
                               struct api_error *err)
{
    char home[API_DISK_PATH], from[API_DISK_PATH], to[API_DISK_PATH], part[32], fresh[32];
    uint64_t unique;
    int number;

    if (api_random(&unique, sizeof(unique), err))
        return api_failed(err);
    snprintf(part, sizeof(part), "%" PRIu64, table->version);
    snprintf(fresh, sizeof(fresh), "%s-%016" PRIx64, api_disk_fresh, unique);
    if (!api_disk_path(home, folder, table->name, NULL, NULL) ||
        !api_disk_path(from, folder, table->name, fresh, NULL) ||
        !api_disk_path(to, folder, table->name, part, NULL))
        return api_fail(err, API_INTERNAL, "", "the path of the tables is too long");
    if (home_make(folder, home, table) && mkdir(from, 0700) == 0 &&
        files_write(folder, fresh, table) && rename(from, to) == 0) {
        /* The version is there for readers; flushing the folder makes it outlive a power cut. */
        if (api_disk_flush(home)) {
            api_disk_file(folder, table->name, table->version, &table->file);
            return API_OK;
        }
        number = errno;
        api_disk_remove(folder, table->name, part, true);
        return api_disk_fail(number, "to flush the table", err);
    }
    number = errno;
    api_disk_remove(folder, table->name, fresh, true);
    rmdir(home); /* if it is empty */
    return api_disk_fail(number, "to write the table", err);
}
