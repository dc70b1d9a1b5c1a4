/* SPDX-License-Identifier: MIT */
#include "api/memory/random.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "api/base/system.h"

enum pe_status api_random(void *bytes, size_t size, struct pe_error *err)
{
    unsigned char *at = bytes;
    char reason[128];

    while (size > 0) {
        const ssize_t got = getrandom(at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return pe_fail(err, PE_INTERNAL, "",
                           "the system gives no random bytes (getrandom: %s), which the secret of "
                           "the cache is made of",
                           api_errno_text(got < 0 ? errno : EIO, reason, sizeof(reason)));
        at += got;
        size -= (size_t)got;
    }
    return PE_OK;
}
