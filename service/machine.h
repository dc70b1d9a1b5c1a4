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

/* How many CPUs the process may use at once by the quota of its control group and of those above
 * it, rounded up; 0: there is no quota. Version 2 (cpu.max) and 1 (cpu.cfs_quota_us). `root` stands
 * before /proc and /sys: "" but in tests. Any thread. */
size_t svc_cgroup_cpus(const char *root);

/* How many bytes of memory it may have, likewise; 0: there is no limit. memory.max, or version 1's
 * memory.limit_in_bytes. Any thread. */
uint64_t svc_cgroup_memory(const char *root);

#endif
