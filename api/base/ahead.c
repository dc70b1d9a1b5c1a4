/* SPDX-License-Identifier: MIT */
#include "api/base/ahead.h"

#include <pthread.h>
#include <stdlib.h>

#include "api/base/system.h"

enum { PIECE = API_HUGE_PAGE, WINDOW = 4 * PIECE };

/* Freed by api_ahead_end or the end of the job, whichever is later. */
struct api_ahead {
    struct pe_job job; /* first: a job is its struct */
    struct pe_pool *pool;
    unsigned char *room;
    size_t size;
    size_t known; /* `ready` as it was last seen, without the lock */
    pthread_mutex_t lock;
    size_t ready, asked; /* bytes from the beginning: there, or there when the job is done */
    bool working, over;
    void (*wake)(void *context); /* NULL: nobody waits */
    void *context;
};

static void ahead_free(struct api_ahead *ahead)
{
    pthread_mutex_destroy(&ahead->lock);
    free(ahead);
}

void api_ahead_end(void *what)
{
    struct api_ahead *ahead = what;
    bool working;

    pthread_mutex_lock(&ahead->lock);
    ahead->over = true;
    working = ahead->working;
    pthread_mutex_unlock(&ahead->lock);
    if (!working)
        ahead_free(ahead);
}

struct api_ahead *api_ahead_new(struct pe_pool *pool, unsigned char *room, size_t size)
{
    struct api_ahead *ahead = calloc(1, sizeof(*ahead));

    if (!ahead)
        return NULL;
    ahead->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ahead->pool = pool;
    ahead->room = room;
    ahead->size = size;
    return ahead;
}

/* The room may be given back at any moment: no byte of it is changed, whoever has it then. */
static void piece_run(struct pe_job *job, size_t block)
{
    struct api_ahead *ahead = (struct api_ahead *)job;
    const size_t begin = ahead->ready + block * PIECE;
    bool over;

    pthread_mutex_lock(&ahead->lock);
    over = ahead->over;
    pthread_mutex_unlock(&ahead->lock);
    if (!over)
        api_pages_populate(ahead->room + begin,
                           ahead->size - begin < PIECE ? ahead->size - begin : PIECE);
}

static void pieces_done(struct pe_job *job)
{
    struct api_ahead *ahead = (struct api_ahead *)job;
    void (*wake)(void *context);
    void *context;
    bool over;

    pthread_mutex_lock(&ahead->lock);
    ahead->working = false;
    ahead->ready = ahead->asked;
    wake = ahead->wake;
    context = ahead->context;
    ahead->wake = NULL;
    over = ahead->over;
    pthread_mutex_unlock(&ahead->lock);
    if (over)
        ahead_free(ahead);
    else if (wake)
        wake(context);
}

/* Has more made where it is time. With the lock held; true: the job is to be submitted. */
static bool more_begin(struct api_ahead *ahead, size_t end)
{
    if (ahead->working)
        return false;
    while (ahead->ready < ahead->size && ahead->ready < end + WINDOW &&
           api_pages_are_there(ahead->room + ahead->ready))
        ahead->ready += PIECE;
    if (ahead->ready >= ahead->size || ahead->ready >= end + WINDOW)
        return false;
    ahead->asked = ahead->ready + WINDOW;
    if (ahead->asked > ahead->size)
        ahead->asked = ahead->size;
    ahead->job = (struct pe_job){.run = piece_run,
                                 .done = pieces_done,
                                 .blocks = (ahead->asked - ahead->ready + PIECE - 1) / PIECE,
                                 .brief = true};
    return ahead->working = true;
}

bool api_ahead_waits(struct api_ahead *ahead, size_t end, void (*wake)(void *context),
                     void *context)
{
    bool waits, begins;

    if (end > ahead->size)
        end = ahead->size;
    if (ahead->known >= ahead->size || end + WINDOW / 2 <= ahead->known)
        return false;
    pthread_mutex_lock(&ahead->lock);
    begins = more_begin(ahead, end);
    ahead->known = ahead->ready;
    waits = end > ahead->ready;
    if (waits) {
        ahead->wake = wake;
        ahead->context = context;
    }
    pthread_mutex_unlock(&ahead->lock);
    if (begins)
        pe_pool_submit(ahead->pool, &ahead->job);
    return waits;
}
