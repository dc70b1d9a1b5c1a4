/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_RANDOM_H
#define API_MEMORY_RANDOM_H

#include <stddef.h>

#include "posenc/status.h"

/* Fills `bytes` with random ones of the system, which nobody else can know. Waits where the machine
 * has just been started and has none yet. PE_INTERNAL: the system refuses; there is no weaker
 * source to fall back to. Thread-safe. */
enum pe_status api_random(void *bytes, size_t size, struct pe_error *err);

#endif
