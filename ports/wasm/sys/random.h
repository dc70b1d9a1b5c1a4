/* SPDX-License-Identifier: MIT */
#ifndef PORTS_WASM_SYS_RANDOM_H
#define PORTS_WASM_SYS_RANDOM_H

/* Random bytes of the host, which wasi-libc hands out under another name. */

#include <sys/types.h>
#include <unistd.h>

static inline ssize_t getrandom(void *bytes, size_t size, unsigned flags)
{
    const size_t most = size < 256 ? size : 256; /* of one call */

    (void)flags;
    return getentropy(bytes, most) == 0 ? (ssize_t)most : -1;
}

#endif
