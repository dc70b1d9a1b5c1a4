/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/base/system.h"
#include "api/store/disk.h"

/* Which versions of a name the disk has, and deleting them. */

static const char deleted[] = ".deleted";

/* ---- listing -------------------------------------------------------------------------------- */

/* An entry of a name's folder: "3", "3.deleted", ".new-*"; one of the first two with a number
 * beyond API_STORED_VERSION_MAX; or anything else. */
enum part_kind { PART_OTHER, PART_VERSION, PART_MARK, PART_FRESH, PART_STRANGE };

/* Reads a number without a sign or leading zeros. */
static enum part_kind part_read(const char *text, uint64_t *number)
{
    char *rest;

    if (strncmp(text, api_disk_fresh, strlen(api_disk_fresh)) == 0)
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

static bool version_add(struct api_versions *versions, size_t *room, uint64_t number)
{
    uint64_t *more = versions->numbers;

    if (versions->count == *room) {
        *room = 2 * *room + 4;
        more = realloc(more, *room * sizeof(*more));
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
    size_t room = 0;
    uint64_t number;

    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(home);
        if (!entry)
            return errno == 0;
        const enum part_kind kind = part_read(entry->d_name, &number);
        versions->strange |= kind == PART_STRANGE;
        if (kind == PART_MARK && number > *mark)
            *mark = number;
        if (kind == PART_VERSION && !version_add(versions, &room, number)) {
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

enum api_status api_disk_versions(const char *folder, const char *name,
                                  struct api_versions *versions, struct api_error *err)
{
    char path[API_DISK_PATH], reason[128];
    const bool fits = api_disk_path(path, folder, name, NULL, NULL);
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
        return API_OK;
    }
    free(versions->numbers);
    *versions = (struct api_versions){.next = 1};
    return api_fail(err, API_BUSY, "", "the versions of the table %s cannot be listed now: %s",
                    name, api_errno_text(number, reason, sizeof(reason)));
}

bool api_disk_file(const char *folder, const char *name, uint64_t version, struct api_file_id *file)
{
    char path[API_DISK_PATH], part[32];
    struct stat status;

    snprintf(part, sizeof(part), "%" PRIu64, version);
    if (!api_disk_path(path, folder, name, part, "table.safetensors") || stat(path, &status) != 0)
        return false;
    *file = api_file_id_of(&status);
    return true;
}

/* ---- deleting ------------------------------------------------------------------------------- */

/* Removes what is half written, and whatever the highest mark says is gone: versions up to it, and
 * marks below it. A failure leaves it to the next time. */
static void name_tidy(const char *folder, const char *name)
{
    char path[API_DISK_PATH];
    DIR *home = api_disk_path(path, folder, name, NULL, NULL) ? opendir(path) : NULL;
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
                api_disk_remove(folder, name, entry->d_name, is_dead);
        }
    }
    free(versions.numbers);
    closedir(home);
    if (mark == 0)
        rmdir(path); /* if it is empty: a first version was not written */
}

enum api_status api_disk_delete(const char *folder, const char *name, uint64_t last,
                                struct api_error *err)
{
    char home[API_DISK_PATH], from[API_DISK_PATH], to[API_DISK_PATH], part[32], mark[48];

    snprintf(part, sizeof(part), "%" PRIu64, last);
    snprintf(mark, sizeof(mark), "%s%s", part, deleted);
    if (!api_disk_path(home, folder, name, NULL, NULL) ||
        !api_disk_path(from, folder, name, part, NULL) ||
        !api_disk_path(to, folder, name, mark, NULL))
        return api_fail(err, API_INTERNAL, "", "the path of the tables is too long");
    /* The last version becomes the mark: a new file might find no room on the disk. */
    if (rename(from, to) != 0)
        return api_disk_fail(errno, "to delete the table", err);
    if (!api_disk_flush(home)) {
        const int number = errno;
        rename(to, from);
        return api_disk_fail(number, "to flush the folder of the table", err);
    }
    name_tidy(folder, name);
    return API_OK;
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
