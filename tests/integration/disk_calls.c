/* SPDX-License-Identifier: MIT */

/* Loaded before the C library: what a program does to a disk, a line each in DISK_LOG, and one of
 * those calls made to fail. Only paths below DISK_FOLDER count, and not its lock. DISK_FAIL is
 * "fsync 3 5": the third fsync ends with errno 5; "any 7 0": the program is killed at the seventh
 * call of any name, which is not made. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Is there something of a table below the folder at this path? */
static int counts(const char *path)
{
    const char *folder = getenv("DISK_FOLDER");

    return folder && path && strncmp(path, folder, strlen(folder)) == 0 && !strstr(path, ".writer");
}

/* Tells of a call; nonzero: it fails, and errno says how. */
static int call_note(const char *name, const char *path, const char *other)
{
    static int seen;
    const char *log = getenv("DISK_LOG"), *fail = getenv("DISK_FAIL");
    char line[8300], wanted[32];
    int at, number, fails = 0, file;

    if (!counts(path))
        return 0;
    pthread_mutex_lock(&lock);
    if (fail && sscanf(fail, "%31s %d %d", wanted, &at, &number) == 3 &&
        (strcmp(wanted, name) == 0 || strcmp(wanted, "any") == 0))
        fails = ++seen == at;
    if (fails && number == 0)
        kill(getpid(), SIGKILL);
    snprintf(line, sizeof(line), "%s%s\t%s\t%s\n", fails ? "failed " : "", name, path, other);
    file = log ? (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644) : -1;
    if (file >= 0) {
        syscall(SYS_write, file, line, strlen(line));
        syscall(SYS_close, file);
    }
    pthread_mutex_unlock(&lock);
    if (fails)
        errno = number;
    return fails;
}

static const char *path_of(int file, char *path, size_t size)
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
    length = readlink(link, path, size - 1);
    path[length > 0 ? length : 0] = '\0';
    return path;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int open(const char *path, int flags, ...)
{
    va_list arguments;
    mode_t mode = 0;

    va_start(arguments, flags);
    if (flags & O_CREAT)
        mode = va_arg(arguments, mode_t);
    va_end(arguments);
    if (flags & O_CREAT && call_note("create", path, ""))
        return -1;
    return REAL(open)(path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t size)
{
    char path[4096];

    return call_note("write", path_of(file, path, sizeof(path)), "")
               ? -1
               : REAL(write)(file, bytes, size);
}

int fsync(int file)
{
    char path[4096];

    return call_note("fsync", path_of(file, path, sizeof(path)), "") ? -1 : REAL(fsync)(file);
}

int mkdir(const char *path, mode_t mode)
{
    struct stat status;
    const int there = stat(path, &status) == 0; /* then nothing is made */

    return !there && call_note("mkdir", path, "") ? -1 : REAL(mkdir)(path, mode);
}

int rename(const char *from, const char *to)
{
    return call_note("rename", from, to) ? -1 : REAL(rename)(from, to);
}

int unlink(const char *path)
{
    return call_note("unlink", path, "") ? -1 : REAL(unlink)(path);
}
