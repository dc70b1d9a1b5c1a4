/* SPDX-License-Identifier: MIT */
#ifndef SERVICE_CGROUP_H
#define SERVICE_CGROUP_H

#include <stddef.h>
#include <stdint.h>

/* How many CPUs the process may use at once by the quota of its control group and of those above
 * it, rounded up; 0: there is no quota. Version 2 (cpu.max) and 1 (cpu.cfs_quota_us). `root` stands
 * before /proc and /sys: "" but in tests. Any thread. */
size_t svc_cgroup_cpus(const char *root);

/* How many bytes of memory it may have, likewise; 0: there is no limit. memory.max, or version 1's
 * memory.limit_in_bytes. Any thread. */
uint64_t svc_cgroup_memory(const char *root);

#endif
