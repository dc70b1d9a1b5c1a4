/* SPDX-License-Identifier: MIT */
#ifndef POSENC_POOL_H
#define POSENC_POOL_H

#include "posenc/status.h"

/* Threads: W workers and one queue of jobs cut into blocks. Blocks go round-robin over the jobs
 * waiting, so that a small job does not wait for a large one. Where blocks are long even that is a
 * wait: one thread more runs brief jobs while every worker is at another one, and else sleeps.
 * Every function may be called by any thread. */
struct pe_pool;
struct pe_work;

struct pe_job {
    void (*run)(struct pe_job *job, size_t block); /* on any worker; blocks run side by side */
    void (*done)(struct pe_job *job); /* once, on the worker of the last block; may be NULL */
    size_t blocks;                    /* 0: done is called at once, by the submitter */
    struct pe_work *work; /* once it has ended no more blocks are run; NULL: all of them are */
    bool brief;           /* its blocks take 20 ms at most, inner jobs included */
    /* The rest is the pool's. */
    struct pe_job *next, *previous;
    size_t next_block, blocks_left;
    bool cancelled, awaited, ended;
    void *reserved[1];
};

PE_DECLARATIONS_BEGIN

/* workers 0: one for each CPU this process may run on. pin: each to a CPU of its own.
 * PE_OUT_OF_RANGE, PE_OUT_OF_MEMORY where not all of them start. */
PE_API enum pe_status pe_pool_new(struct pe_pool **pool, size_t workers, bool pin,
                                  struct pe_error *err);
/* Runs what is queued, then ends. No other call may be under way in it. NULL is fine. */
PE_API void pe_pool_free(struct pe_pool *pool);
PE_API size_t pe_pool_workers(const struct pe_pool *pool);
PE_API size_t pe_pool_depth(struct pe_pool *pool); /* jobs submitted and not done */

/* Queues a job and returns. The job is the caller's, begins as zeros, and must live until `done`
 * was called; then it may be queued again, not before. */
PE_API void pe_pool_submit(struct pe_pool *pool, struct pe_job *job);

/* Hands out no more blocks of a job; `done` is called as ever, once those running have ended. Does
 * nothing to a job that has none left, or was never queued. */
PE_API void pe_pool_cancel(struct pe_pool *pool, struct pe_job *job);

/* Runs a job to its end, the caller taking part; safe inside a block. pool NULL: no one else.
 * false: its work ended before all blocks were run. */
PE_API bool pe_pool_run(struct pe_pool *pool, struct pe_job *job);

PE_DECLARATIONS_END

#endif
