/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_SERVICE_H
#define SERVICE_SERVICE_H

/* What the files of the library share. */

#include <pthread.h>
#include <stdatomic.h>

#include "api/api.h"
#include "posenc/service.h"
#include "service/pump.h"
#include "service/settings.h"

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
