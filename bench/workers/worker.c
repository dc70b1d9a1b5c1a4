/* SPDX-License-Identifier: MIT */
#include "bench/workers/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "bench/normal.h"

enum { LINE_MAX_BYTES = 1 << 14, LARGE_PAGE = 2 << 20, SEED = 20170612 };

_Noreturn void worker_fail(const char *why)
{
    fprintf(stderr, "%s\n", why);
    exit(1);
}

void *worker_memory(size_t size)
{
    const size_t whole = (size + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    float *memory = aligned_alloc(LARGE_PAGE, whole);

    if (!memory)
        worker_fail("out of memory");
    madvise(memory, whole, MADV_HUGEPAGE);
    normal_fill(memory, whole / sizeof(*memory), SEED);
    return memory;
}

static double now(bool threaded)
{
    struct timespec time;

    clock_gettime(threaded ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double rate_of(const struct subject *subject, double seconds)
{
    const double begin = now(subject->threaded);
    double spent;
    size_t calls = 0;

    do {
        subject->run(subject->state);
        calls++;
        spent = now(subject->threaded) - begin;
    } while (spent < seconds);
    return (double)calls / spent;
}

static void subject_make(struct subject *subject, char *line, subject_open *open)
{
    char *words[WORDS_MAX];
    size_t count = 0;

    for (size_t i = 0; i < WORDS_MAX; i++) {
        char *word = line ? strsep(&line, ";") : NULL;
        words[i] = word ? word : "";
        count += word != NULL;
    }
    *subject = (struct subject){0};
    if (!open(subject, words, count))
        worker_fail("nobody knows these words");
    subject->run(subject->state);
}

int worker_run(int argc, char **argv, subject_open *open)
{
    char line[LINE_MAX_BYTES], words[LINE_MAX_BYTES] = "";
    struct subject subject = {0};

    for (int i = 1; i < argc; i++) {
        subject_make(&subject, argv[i], open);
        subject.end(subject.state);
    }
    if (argc > 1)
        return 0;
    while (fgets(line, sizeof(line), stdin)) {
        char *rest = line;
        const double seconds = strtod(strsep(&rest, ";"), NULL);

        if (!rest)
            worker_fail("SECONDS;WORD;WORD... is asked for");
        rest[strcspn(rest, "\n")] = '\0';
        if (strcmp(rest, words) != 0) {
            if (subject.end)
                subject.end(subject.state);
            snprintf(words, sizeof(words), "%s", rest);
            subject_make(&subject, rest, open);
        }
        printf("{\"rate\": %.9g}\n", rate_of(&subject, seconds));
        fflush(stdout);
    }
    if (subject.end)
        subject.end(subject.state);
    return 0;
}
