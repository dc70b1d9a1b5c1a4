/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_MACHINE_H
#define SERVICE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The machine's resources for one process. A port changes only machine.c. */

/* The default memory budget: half of the memory of the machine or of its control group, whichever
 * is less. */
uint64_t svc_machine_memory(void);

/* Threads of a pool: as many as the CPU quota lets run at once. 0: one for each CPU. */
size_t svc_machine_threads(void);

/* CPUs by the quota of the process's control group and those above it, rounded up; 0: no quota.
 * Version 2 (cpu.max) and 1 (cpu.cfs_quota_us). `root` is prefixed to /proc and /sys: "" except in
 * tests. Any thread. */
size_t svc_cgroup_cpus(const char *root);

/* Bytes of memory, likewise; 0: no limit. memory.max, or version 1's memory.limit_in_bytes. */
uint64_t svc_cgroup_memory(const char *root);

#endif
