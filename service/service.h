/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

/* Shared by the files of libposenc-service. */

#include <pthread.h>
#include <stdatomic.h>

#include "api/api.h"
#include "posenc/service.h"
#include "service/settings.h"

/* ---- body_reader.c --------------------------------------------------------------------------- */

/* A response body as successive runs of bytes. With a pool its blocks are made in advance, in two
 * batches: one is made while the other is read. */

enum { SVC_BATCH_MAX = 64 };

struct svc_body_reader;

struct svc_batch {
    struct pe_job job;
    struct svc_body_reader *reader;
    unsigned char *buffer;
    size_t first, count;
    size_t sizes[SVC_BATCH_MAX]; /* SIZE_MAX: failed */
    bool working;
};

struct svc_body_reader {
    struct api_response *response;
    struct pe_pool *pool;
    uint64_t left; /* bytes still to be read; or API_SIZE_UNKNOWN */
    enum { SVC_BEGIN, SVC_BLOCKS, SVC_TAIL, SVC_END, SVC_FAILED } stage;
    struct api_extent extent;
    size_t block;        /* the next one to read */
    size_t next_make;    /* the next one to make */
    size_t block_stride; /* bytes from block to block in a buffer */
    size_t batch_max;    /* blocks of a batch; 0: there are no batches */
    size_t current;      /* the batch that is read */
    struct svc_batch batches[2];
    unsigned char *alone; /* the buffer of one block, without batches */
    unsigned char tail[API_TAIL_MAX];
    pthread_mutex_t lock;
    pthread_cond_t done; /* a batch is done */
};

/* pool_of is called if the body has blocks for several threads; it may return NULL. The response
 * stays the caller's. */
void svc_body_reader_begin(struct svc_body_reader *reader, struct api_response *response,
                           struct pe_pool *(*pool_of)(void *context), void *context);

/* The next run of bytes, valid until the next call; *size 0: the end. false: a block failed or was
 * cancelled, or out of memory, and every later call fails too. */
bool svc_body_reader_next(struct svc_body_reader *reader, const unsigned char **bytes,
                          size_t *size);

/* Waits for blocks that are being made; afterwards the response can be freed. */
void svc_body_reader_end(struct svc_body_reader *reader);

/* ---- service.c, request.c -------------------------------------------------------------------- */

struct pe_service {
    struct api *api;
    size_t threads; /* of the pool; 1: there is no pool */
    uint64_t poll_ms;
    _Atomic uint64_t tended_ms;
    pthread_mutex_t starting; /* of the pool */
    struct pe_pool *pool;
    bool started; /* the pool was started, or could not be */
    void (*log)(void *context, const char *sentence);
    void *context;
};

struct pe_request {
    struct pe_service *service;
    struct api_intake *intake; /* NULL: refused by its head */
    bool intake_owned;         /* until api_finish consumes it */
    struct api_response *made; /* NULL: not finished */
    const void *borrowed;      /* the body of pe_request_lend; NULL: none */
    struct pe_response response;
    struct svc_body_reader reader;
    const unsigned char *rest; /* of a run that pe_request_read did not read completely */
    size_t rest_size;
    atomic_bool cancelled;
};

/* The pool, started by the first call; NULL: there is none. */
struct pe_pool *svc_pool(struct pe_service *service);

/* Calls pe_service_tend at most once in two seconds. */
void svc_tend_if_due(struct pe_service *service);

/* Sets an error, unless err has one, and returns its status. */
enum pe_status svc_fail(struct pe_error *err, enum pe_status status, const char *where,
                        const char *detail);

#endif
