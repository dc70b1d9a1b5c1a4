/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

/* What the files of the library share. */

#include <pthread.h>
#include <stdatomic.h>

#include "api/api.h"
#include "posenc/service.h"
#include "service/settings.h"

/* ---- pump.c ---------------------------------------------------------------------------------- */

/* A body as runs of bytes, one after the other. With a pool its blocks are made ahead of the
 * reader, as two batches that take turns: one is made while the other is read. */

enum { SVC_BATCH_MAX = 64 };

struct svc_pump;

struct svc_batch {
    struct pe_job job;
    struct svc_pump *pump;
    unsigned char *rooms;
    size_t first, count;
    size_t sizes[SVC_BATCH_MAX]; /* SIZE_MAX: failed */
    bool working;
};

struct svc_pump {
    struct api_response *response;
    struct pe_pool *pool;
    uint64_t left; /* bytes to be handed out; or API_SIZE_UNKNOWN */
    enum { SVC_BEGIN, SVC_BLOCKS, SVC_TAIL, SVC_END, SVC_FAILED } stage;
    struct api_extent extent;
    size_t block;           /* the next one to hand out */
    size_t ahead;           /* the next one to make */
    size_t room, batch_max; /* bytes of a block; blocks of a batch, 0: none can be made ahead */
    size_t turn;            /* of the batches: which is read */
    struct svc_batch batches[2];
    unsigned char *alone; /* room of one block, where there are no batches */
    unsigned char tail[API_TAIL_MAX];
    pthread_mutex_t lock;
    pthread_cond_t done; /* a batch is */
};

/* `pool_of` is asked for threads where there is something to do for several; it may return NULL.
 * The response stays the caller's. */
void svc_pump_begin(struct svc_pump *pump, struct api_response *response,
                    struct pe_pool *(*pool_of)(void *context), void *context);

/* The next run of bytes, which lies there until the next call; *size 0: the end. false: a block
 * failed or was cancelled, or memory is short, and so does every later call. */
bool svc_pump_next(struct svc_pump *pump, const unsigned char **bytes, size_t *size);

/* Waits for blocks that are being made; the response can be freed then. */
void svc_pump_end(struct svc_pump *pump);

/* ---- service.c, request.c -------------------------------------------------------------------- */

struct pe_service {
    struct api *api;
    size_t threads; /* that the pool will have; 1: there is none */
    uint64_t poll_ms;
    _Atomic uint64_t tended_ms;
    pthread_mutex_t starting; /* of the pool */
    struct pe_pool *pool;
    bool started; /* or it was tried */
    void (*log)(void *context, const char *sentence);
    void *context;
};

struct pe_request {
    struct pe_service *service;
    struct api_intake *intake; /* NULL: refused by its head */
    bool intake_owned;         /* api_finish has not consumed it */
    struct api_response *made; /* NULL: not finished */
    const void *lent;          /* by pe_request_lend; NULL: nothing was */
    struct pe_response response;
    struct svc_pump pump;
    const unsigned char *rest; /* of a run that pe_request_read cut */
    size_t rest_size;
    atomic_bool cancelled;
};

/* The pool, started by whoever needs it first; NULL: this thread is to work alone. */
struct pe_pool *svc_pool(struct pe_service *service);

/* Once in two seconds does what pe_service_tend does. */
void svc_tend_if_due(struct pe_service *service);

/* A failure of api/ in the words of the library. */
enum pe_status svc_fail(struct pe_error *err, enum pe_status status, const char *where,
                        const char *detail);

#endif
