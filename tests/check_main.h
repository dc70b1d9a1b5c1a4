/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CHECK_MAIN_H
#define TESTS_CHECK_MAIN_H

/* The main function of a program of tests:
 *
 *     CHECK_PROGRAM("name", first, second, LOOP(7, third))
 *
 * runs each test in a process of its own, `third` seven times with _i from 0 to 6. CHECK_CASES runs
 * all in one process, so that a counter of theirs can be printed in the end; CHECK_PREPARED calls a
 * function before it starts the processes, which find what that function made. */

#include <check.h>

/* How many elements an array has. */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A TTest without a function stands before the test that it repeats; its line is how often. */
#define LOOP(times, test) &(const TTest){.line = (int)(times)}, test

/* The exit code. `cases`: what CHECK_CASES prints, NULL where each test is a process; `prepare`:
 * run before the processes part, NULL where nothing is. */
int check_run(const char *name, const unsigned long *cases, void (*prepare)(void),
              const TTest *const *tests, size_t count);

/* Tests of a main function that does something else besides. */
#define CHECK_RUN(name, cases, prepare, ...)                                                       \
    check_run(name, cases, prepare, (const TTest *const[]){__VA_ARGS__},                           \
              COUNT_OF(((const TTest *const[]){__VA_ARGS__})))

#define CHECK_MAIN(...)                                                                            \
    int main(void)                                                                                 \
    {                                                                                              \
        return CHECK_RUN(__VA_ARGS__);                                                             \
    }

#define CHECK_PROGRAM(name, ...)           CHECK_MAIN(name, NULL, NULL, __VA_ARGS__)
#define CHECK_CASES(name, cases, ...)      CHECK_MAIN(name, &(cases), NULL, __VA_ARGS__)
#define CHECK_PREPARED(name, prepare, ...) CHECK_MAIN(name, NULL, prepare, __VA_ARGS__)

#endif
