/* SPDX-License-Identifier: MIT */
#ifndef API_STORE_WRITER_H
#define API_STORE_WRITER_H

#include <stdbool.h>
#include <sys/types.h>

/* Which process may write to a folder: the one that has its file .writer locked. The lock (flock)
 * ends with the process, however that ends, so none is ever left behind; a file that somebody
 * removed or replaced is no longer the lock; and a child made by fork is not the writer, although
 * it keeps the lock held. It holds among all that share the folder: containers with one volume, and
 * machines where the file system passes locks on (NFS does). Not thread-safe. */
struct api_writer {
    int file; /* -1: another one writes */
    pid_t process;
};

#define API_WRITER_NONE ((struct api_writer){.file = -1})

/* Tries to become the writer, and does not wait. False: errno is EWOULDBLOCK where another process
 * is, else says why the folder cannot be locked. */
bool api_writer_try(struct api_writer *writer, const char *folder);

/* Is this process the writer still? */
bool api_writer_holds(const struct api_writer *writer, const char *folder);

void api_writer_release(struct api_writer *writer);

#endif
