/* SPDX-License-Identifier: MIT */

/* Ten million random and hard arguments of the functions of wide numbers, at every precision
 * level, compared with MPFR.
 *
 *   check_wide [millions [seed]]
 *
 * The arguments are those of tests/core/exact/test_wide.c. */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/core/wide_fixture.h"

enum { THREADS_MAX = 8 };

struct worker {
    pthread_t thread;
    struct wide_random random;
    unsigned long wanted, checked, wrong;
};

/* Mostly short ones: MPFR takes twenty times as long for the longest. */
static unsigned precision(struct wide_random *random)
{
    static const unsigned precisions[] = {192, 192, 192, 192, 192, 192, 320, 320,
                                          320, 320, 320, 256, 448, 640, 640, 1280};

    return precisions[wide_random_bits(random) % 16];
}

static void *work(void *argument)
{
    struct worker *w = argument;

    wide_mpfr_prepare();
    for (; w->checked < w->wanted && w->wrong < 10; w->checked++)
        w->wrong += !wide_function_check(w->checked % wide_functions_count, precision(&w->random),
                                         &w->random);
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
    return NULL;
}

int main(int argc, char **argv)
{
    const unsigned long millions = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (int)cores;
    struct worker workers[THREADS_MAX], all = {0};

    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){
            .random = {(seed * THREADS_MAX + (uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15)},
            .wanted = millions * 1000000 / (unsigned long)threads + 1};
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        all.checked += workers[i].checked;
        all.wrong += workers[i].wrong;
    }
    printf("%lu results beside MPFR's, %lu beyond their bounds\n", all.checked, all.wrong);
    return all.checked == 0 || all.wrong != 0;
}
