/* SPDX-License-Identifier: MIT */
/* The host of a module, seen from wasi-libc: there are no files, no arguments and no environment,
 * and a module that gives up traps. What is left to import is a clock, random bytes and the way out
 * of calls (api/base/system.c): four functions, so that a page needs no WASI. */
#include <errno.h>
#include <sodium.h>
#include <stdint.h>
#include <sys/file.h>

__attribute__((import_module("posenc"), import_name("now"))) double host_now(void);
__attribute__((import_module("posenc"), import_name("random"))) void host_random(void *bytes,
                                                                                 size_t size);

/* libsodium looks here for what a processor has. */
int sodium_init(void)
{
    return 0;
}

void sodium_misuse(void)
{
    __builtin_trap();
}

int flock(int file, int operation)
{
    (void)file, (void)operation;
    errno = ENOTSUP;
    return -1;
}

/* Functions that wasi-libc would import, by the names that it has for them. */
#define WASI(name, ...)                                                                            \
    int32_t __imported_wasi_snapshot_preview1_##name(__VA_ARGS__);                                 \
    int32_t __imported_wasi_snapshot_preview1_##name(__VA_ARGS__)

enum { BAD_FILE = 8 }; /* WASI's EBADF */

#pragma clang diagnostic ignored "-Wunused-parameter"

WASI(clock_time_get, int32_t clock, int64_t precision, int32_t out)
{
    *(uint64_t *)(uintptr_t)out = (uint64_t)(host_now() * 1e6);
    return 0;
}

WASI(random_get, int32_t bytes, int32_t size)
{
    host_random((void *)(uintptr_t)bytes, (size_t)size);
    return 0;
}

WASI(environ_sizes_get, int32_t count, int32_t size)
{
    *(uint32_t *)(uintptr_t)count = *(uint32_t *)(uintptr_t)size = 0;
    return 0;
}

WASI(environ_get, int32_t pointers, int32_t texts)
{
    return 0;
}

_Noreturn void __imported_wasi_snapshot_preview1_proc_exit(int32_t code);
_Noreturn void __imported_wasi_snapshot_preview1_proc_exit(int32_t code)
{
    __builtin_trap();
}

/* Files: no name leads to one. */
#define NO_FILE(name, ...)                                                                         \
    WASI(name, __VA_ARGS__)                                                                        \
    {                                                                                              \
        return BAD_FILE;                                                                           \
    }

NO_FILE(fd_close, int32_t file)
NO_FILE(fd_fdstat_get, int32_t file, int32_t out)
NO_FILE(fd_fdstat_set_flags, int32_t file, int32_t flags)
NO_FILE(fd_filestat_get, int32_t file, int32_t out)
NO_FILE(fd_prestat_get, int32_t file, int32_t out)
NO_FILE(fd_prestat_dir_name, int32_t file, int32_t path, int32_t size)
NO_FILE(fd_read, int32_t file, int32_t parts, int32_t count, int32_t out)
NO_FILE(fd_readdir, int32_t file, int32_t out, int32_t size, int64_t cookie, int32_t used)
NO_FILE(fd_seek, int32_t file, int64_t offset, int32_t whence, int32_t out)
NO_FILE(fd_sync, int32_t file)
NO_FILE(fd_write, int32_t file, int32_t parts, int32_t count, int32_t out)
NO_FILE(path_create_directory, int32_t file, int32_t path, int32_t size)
NO_FILE(path_filestat_get, int32_t file, int32_t flags, int32_t path, int32_t size, int32_t out)
NO_FILE(path_open, int32_t file, int32_t how, int32_t path, int32_t size, int32_t flags,
        int64_t rights, int64_t inherited, int32_t more, int32_t out)
NO_FILE(path_remove_directory, int32_t file, int32_t path, int32_t size)
NO_FILE(path_rename, int32_t file, int32_t path, int32_t size, int32_t to, int32_t to_path,
        int32_t to_size)
NO_FILE(path_unlink_file, int32_t file, int32_t path, int32_t size)
/* nanosleep: nothing waits for another process here. */
NO_FILE(poll_oneoff, int32_t events, int32_t out, int32_t count, int32_t used)
