/* SPDX-License-Identifier: MIT */
/* Preloaded into posencd: what turns of a loop over a millisecond were spent on, a line each in the
 * file $TURNS. A turn lies between two readings of its thread's processor clock, which the server
 * makes for its own metrics; here each call between them is timed by that clock too. What is in no
 * call is "itself": parsing, copies, page faults. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define SLOW_SECONDS 1e-3

enum cause { SENDING, RECEIVING, WAITING, MEMORY, ITSELF, CAUSES };

static const char *const names[CAUSES] = {"sending", "receiving", "waiting", "memory", "itself"};

static _Thread_local double began, spent[CAUSES];
static _Thread_local bool is_turn;
static int file = -1;

/* The function that this one stands before. */
#define REAL(name)                                                                                 \
    static __typeof__(&name) real;                                                                 \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, #name)

static int clock_real(clockid_t id, struct timespec *now)
{
    REAL(clock_gettime);
    return real(id, now);
}

static double now_seconds(void)
{
    struct timespec now;

    clock_real(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void turn_end(void)
{
    const double seconds = now_seconds() - began;
    enum cause most = ITSELF;
    char line[64];
    int length;

    if (seconds <= SLOW_SECONDS)
        return;
    spent[ITSELF] = seconds;
    for (enum cause cause = 0; cause < ITSELF; cause++)
        spent[ITSELF] -= spent[cause];
    for (enum cause cause = 0; cause < CAUSES; cause++)
        most = spent[cause] > spent[most] ? cause : most;
    length = snprintf(line, sizeof(line), "%s %.2f ms\n", names[most], 1e3 * seconds);
    if (write(file, line, (size_t)length) != length)
        abort();
}

/* Exported, as all of the rest is. */
#pragma GCC visibility push(default)

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (id != CLOCK_THREAD_CPUTIME_ID || file < 0)
        return clock_real(id, now);
    if (is_turn)
        turn_end();
    is_turn = !is_turn;
    memset(spent, 0, sizeof(spent));
    began = now_seconds();
    return clock_real(id, now);
}

/* A call that is timed. */
#define TIMED(cause, type, name, parameters, arguments)                                            \
    type name parameters                                                                           \
    {                                                                                              \
        REAL(name);                                                                                \
        if (!is_turn)                                                                              \
            return real arguments;                                                                 \
        const double call_began = now_seconds();                                                   \
        type result = real arguments;                                                              \
        spent[cause] += now_seconds() - call_began;                                                \
        return result;                                                                             \
    }

TIMED(SENDING, ssize_t, send, (int fd, const void *bytes, size_t size, int flags),
      (fd, bytes, size, flags))
TIMED(SENDING, ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags),
      (fd, message, flags))
TIMED(RECEIVING, ssize_t, recv, (int fd, void *bytes, size_t size, int flags),
      (fd, bytes, size, flags))
TIMED(WAITING, int, epoll_wait, (int fd, struct epoll_event *events, int most, int timeout),
      (fd, events, most, timeout))
TIMED(MEMORY, int, munmap, (void *pages, size_t size), (pages, size))
TIMED(MEMORY, int, madvise, (void *pages, size_t size, int advice), (pages, size, advice))
TIMED(MEMORY, void *, mmap, (void *at, size_t size, int use, int flags, int fd, off_t offset),
      (at, size, use, flags, fd, offset))

#pragma GCC visibility pop

static __attribute__((constructor)) void file_open(void)
{
    const char *path = getenv("TURNS");

    if (path)
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}
