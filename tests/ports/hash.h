/* SPDX-License-Identifier: MIT */
#ifndef TESTS_PORTS_HASH_H
#define TESTS_PORTS_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a of the bytes, by which the outputs of two builds are compared. */
static inline uint64_t hash_of(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = 0xcbf29ce484222325;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3;
    return hash;
}

#endif
