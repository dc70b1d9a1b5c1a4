/* SPDX-License-Identifier: MIT */
#ifndef POSENC_POOL_H
#define POSENC_POOL_H

#include "posenc/status.h"

/* A pool of threads: W workers and one queue of jobs, which consist of blocks. Workers take blocks
 * from the queued jobs in turn, so that a small job does not wait for a large one. Blocks can be
 * long, so one extra thread runs brief jobs while every worker is busy with another job. Any thread
 * may call every function. */
struct pe_pool;
struct pe_work;

struct pe_job {
    void (*run)(struct pe_job *job, size_t block); /* on any worker; blocks run concurrently */
    void (*done)(struct pe_job *job); /* once, on the worker of the last block; may be NULL */
    size_t blocks;                    /* 0: done is called at once, by the submitter */
    struct pe_work *work;             /* no block is started after it has ended; NULL: all are */
    bool brief;                       /* its blocks take 20 ms at most, inner jobs included */
    /* Private members of the pool. */
    struct pe_job *next, *previous;
    size_t next_block, blocks_left;
    bool cancelled, awaited, ended;
    void *reserved[1];
};

PE_DECLARATIONS_BEGIN

/* workers 0: one for each CPU of this process. pin: binds each to a CPU. PE_OUT_OF_RANGE;
 * PE_OUT_OF_MEMORY where not all of them start. */
PE_API enum pe_status pe_pool_new(struct pe_pool **pool, size_t workers, bool pin,
                                  struct pe_error *err);
/* Runs the queued jobs, then frees the pool. No other call may use it meanwhile. NULL is fine. */
PE_API void pe_pool_free(struct pe_pool *pool);
PE_API size_t pe_pool_workers(const struct pe_pool *pool);
PE_API size_t pe_pool_depth(struct pe_pool *pool); /* jobs submitted and not done */

/* Queues a job and returns. The caller owns the job, which begins as zeros and must live until
 * `done` was called; then it may be queued again. */
PE_API void pe_pool_submit(struct pe_pool *pool, struct pe_job *job);

/* Starts no more blocks of a job; `done` is called after the running ones. Does nothing to a job
 * without remaining blocks, or that was never queued. */
PE_API void pe_pool_cancel(struct pe_pool *pool, struct pe_job *job);

/* Runs a job to its end on the pool and the calling thread; safe inside a block. pool NULL: on the
 * calling thread only. false: its work ended before all blocks were run. */
PE_API bool pe_pool_run(struct pe_pool *pool, struct pe_job *job);

PE_DECLARATIONS_END

#endif
