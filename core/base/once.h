/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_ONCE_H
#define CORE_BASE_ONCE_H

/* An object that is made once, by the first thread that needs it. Other threads wait for that
 * thread, and make the object themselves if it failed or was cancelled. */

#include <pthread.h>
#include <stdatomic.h>

#include "posenc/work.h"

struct pe_once {
    atomic_bool made;
    bool making;
    pthread_mutex_t mutex;
    pthread_cond_t ended; /* an attempt has ended */
};

/* Makes the object; may be called again after a failure. */
typedef enum pe_status pe_once_make(void *object, struct pe_work *work, struct pe_error *err);

/* False: the system has no resources for it, and there is nothing to destroy. */
bool pe_once_init(struct pe_once *once);
void pe_once_destroy(struct pe_once *once);

/* PE_OK: the object is complete and will not change. PE_CANCELLED as soon as the work of the
 * waiting thread has ended; else the failure of `make`. Any thread. */
enum pe_status pe_once(struct pe_once *once, pe_once_make *make, void *object, struct pe_work *work,
                       struct pe_error *err);

#endif
