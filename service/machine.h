/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_MACHINE_H
#define SERVICE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* What the machine has for one process: where that is asked in another way, a port changes
 * machine.c alone. */

/* Bytes of memory that the service may plan with: half of the machine's, or of what its control
 * group or one above it has, whichever is least. */
uint64_t svc_machine_memory(void);

/* Threads of a pool: as many as may run at once, for more would only stop each other when the quota
 * of CPU time is used up. 0: one for each CPU. */
size_t svc_machine_threads(void);

#endif
