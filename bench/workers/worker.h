/* SPDX-License-Identifier: MIT */
/* A program that is asked line by line how fast something is, so that several of them can be asked
 * by turns. A question is SECONDS;WORD;WORD...: the words say what is run, again and again for that
 * long, and the answer is {"rate": calls a second}. What the words made stays until other words
 * come. With words as its arguments a program runs each of them once and ends. */
#ifndef BENCH_WORKERS_WORKER_H
#define BENCH_WORKERS_WORKER_H

#include <stdbool.h>
#include <stddef.h>

enum { WORDS_MAX = 12 };

struct subject {
    void *state;
    void (*run)(void *state);
    void (*end)(void *state);
    bool threaded; /* its time is the clock's, else that of the process's own work */
};

/* Makes the subject that the words name; words beyond `count` are "". false: there is none. */
typedef bool subject_open(struct subject *subject, char *const words[WORDS_MAX], size_t count);

int worker_run(int argc, char **argv, subject_open *open);

/* Memory on large pages, filled with N(0,1); the program ends where there is none. */
void *worker_memory(size_t size);
_Noreturn void worker_fail(const char *why);

#endif
