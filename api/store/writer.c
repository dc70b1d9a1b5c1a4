/* SPDX-License-Identifier: MIT */
#include "api/store/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/store/disk.h"

static const char lock_name[] = ".writer";

/* Is the open file the one of this path? */
static bool is_at(int file, const char *path)
{
    struct stat open_one, named;

    return fstat(file, &open_one) == 0 && stat(path, &named) == 0 &&
           open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

bool api_writer_try(struct api_writer *writer, const char *folder)
{
    char path[API_DISK_PATH];
    int file, number;

    if (!api_disk_path(path, folder, lock_name, NULL, NULL)) {
        errno = ENAMETOOLONG;
        return false;
    }
    /* NFS locks for writing only what is open for writing. Nobody but its owner may open the file,
     * for whoever may can also lock it. */
    file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return false;
    if (flock(file, LOCK_EX | LOCK_NB) == 0) {
        if (is_at(file, path)) {
            *writer = (struct api_writer){file, getpid()};
            return true;
        }
        errno = EWOULDBLOCK; /* it was removed meanwhile: next time */
    }
    number = errno;
    close(file);
    errno = number;
    return false;
}

bool api_writer_holds(const struct api_writer *writer, const char *folder)
{
    char path[API_DISK_PATH];

    return writer->file >= 0 && writer->process == getpid() &&
           api_disk_path(path, folder, lock_name, NULL, NULL) && is_at(writer->file, path);
}

void api_writer_release(struct api_writer *writer)
{
    if (writer->file >= 0)
        close(writer->file);
    *writer = API_WRITER_NONE;
}
