/* SPDX-License-Identifier: MIT */
#ifndef BENCH_WORKERS_LIBRARY_H
#define BENCH_WORKERS_LIBRARY_H

#include "bench/workers/worker.h"
#include "posenc/posenc.h"

/* The subjects of `library`. Words, the first of which is the subject's name:
 *
 *   view;ENCODING;VIEW;DTYPE;PARAMETERS OF THE SCHEME;OF THE VIEW   filled on one thread
 *   made;...                                                        the view is made anew too
 *   rotate;DTYPE;LAYOUT;TOKENS;THREADS        [1, TOKENS, 32, 128] in place
 *   attention;ENCODING;PARAMETERS;QUERIES;KEYS;WIDTH;HEADS;THREADS;DTYPE;SOFTCAP   packing
 *                                             included; without the last two f32 and none
 *   store;BYTES  past;BYTES       the limits of a table: plain stores, stores past the cache
 *   stream;BYTES;THREADS          the limit of a rotation: what is there is multiplied in place */
subject_open view_open, made_open, rotation_open, attention_open, store_open, past_open,
    stream_open;

/* Prepared, with random weights where it learns them; ends the program where it cannot be. */
struct pe_scheme *library_scheme(const char *encoding, const char *params);
enum pe_dtype library_dtype(const char *name);
/* N(0,1) in a dtype, on large pages. */
void *library_values(enum pe_dtype dtype, size_t count);
/* NULL for one thread. */
struct pe_pool *library_pool(size_t threads);
_Noreturn void library_fail(const struct pe_error *err);

#endif
