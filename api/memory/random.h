/* SPDX-License-Identifier: MIT */
#ifndef API_MEMORY_RANDOM_H
#define API_MEMORY_RANDOM_H

#include <stddef.h>

#include "posenc/status.h"

/* Fills `bytes` from the system's random source, waiting if the machine has just started and has no
 * entropy yet. PE_INTERNAL: the system refuses; there is no weaker fallback. Thread-safe. */
enum pe_status api_random(void *bytes, size_t size, struct pe_error *err);

#endif
