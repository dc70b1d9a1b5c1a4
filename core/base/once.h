/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_ONCE_H
#define CORE_BASE_ONCE_H

/* Things that are made once, by the thread that needs them first. Other threads wait for it, and
 * try themselves where it failed or was cancelled. */

#include <pthread.h>
#include <stdatomic.h>

#include "posenc/work.h"

struct pe_once {
    atomic_bool made;
    bool making;
    pthread_mutex_t mutex;
    pthread_cond_t ended; /* the making */
};

/* Makes the thing, or makes it anew where an earlier call failed. */
typedef enum pe_status pe_once_make(void *thing, struct pe_work *work, struct pe_error *err);

/* False: the system has no room for it; there is nothing to destroy. */
bool pe_once_init(struct pe_once *once);
void pe_once_destroy(struct pe_once *once);

/* PE_OK: the thing is there, whole, and will not change. PE_CANCELLED as soon as the work of the
 * waiting thread has ended; else the failure of `make`. Any thread. */
enum pe_status pe_once(struct pe_once *once, pe_once_make *make, void *thing, struct pe_work *work,
                       struct pe_error *err);

#endif
