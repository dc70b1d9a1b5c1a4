/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CHECK_MAIN_H
#define TESTS_CHECK_MAIN_H

/* A program of tests. TEST(name) and a body is a test; TEST_LOOP(7, name) runs seven times, with _i
 * from 0 to 6. All that stand in the program's file run, each in a process of its own and in the
 * order of their lines: nothing lists them a second time, so none can be left out. */

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Check notes each assertion that it passes, in a file, to tell after a crash how far a test came.
 * That is most of the time of tests with an assertion for each number, so it is noted once for each
 * place of the source: the first time. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                   \
    do {                                                                                           \
        static _Thread_local bool noted;                                                           \
        if (!(expr))                                                                               \
            _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", ##__VA_ARGS__);  \
        if (!noted)                                                                                \
            mark_point();                                                                          \
        noted = true;                                                                              \
    } while (0)

/* How many elements an array has. */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A type of variables that are freed at the end of their block:
 *
 *     OWNED(answer, struct answer, answer_free(it))      the function that frees `it`, a pointer
 *     #define OWNED_ANSWER OWNER(answer) struct answer   the type, for OWNED_ANSWER answer = ... */
#define OWNED(name, type, end)                                                                     \
    static inline void name##_end(type *it)                                                        \
    {                                                                                              \
        end;                                                                                       \
    }
#define OWNER(name) __attribute__((cleanup(name##_end)))

/* Memory of malloc, likewise: OWNED_MEMORY char *text = ... */
static inline void memory_end(void *it)
{
    void *memory;

    memcpy(&memory, it, sizeof(memory));
    free(memory);
}
#define OWNED_MEMORY OWNER(memory)

/* A struct of the library that says its own size. */
#define SIZED(type, ...) ((struct type){.size = sizeof(struct type), __VA_ARGS__})

struct check_test {
    TTest test;
    int (*times)(void);
};

/* The step of loops over numbers: a sanitizer gets a fifth of them, because the plain build
 * compares the values of all; with NUMBERS_WHOLE it gets all. A prime, so that options that
 * alternate all occur. */
#if (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)) && !defined(NUMBERS_WHOLE)
enum { NUMBERS_STEP = 5 };
#else
enum { NUMBERS_STEP = 1 };
#endif

/* The same with a step of its own, for a loop with options that alternate by NUMBERS_STEP. */
#define NUMBERS_STEP_OF(step) (NUMBERS_STEP > 1 ? (step) : 1)

/* The linker puts the pointers of a program into one array. */
#define TEST_LOOP(count, name)                                                                     \
    static void name##_fn(int _i);                                                                 \
    static int name##_times(void)                                                                  \
    {                                                                                              \
        return (int)(count);                                                                       \
    }                                                                                              \
    static const struct check_test name##_test = {{#name, name##_fn, __FILE__, __LINE__},          \
                                                  name##_times};                                   \
    static const struct check_test *name##_entry __attribute__((used, section("check_tests"))) =   \
        &name##_test;                                                                              \
    static void name##_fn(int _i CK_ATTRIBUTE_UNUSED)

#define TEST(name) TEST_LOOP(1, name)

/* Check's own macro registers nothing: such a test would never run. */
#undef START_TEST
#define START_TEST(name) _Static_assert(false, #name " is to begin with TEST")

/* How a program wants its tests run, where it says anything. */
struct check_way {
    const unsigned long *cases; /* all in one process; this counter is printed in the end */
    void (*prepare)(void);      /* called before the processes part, which find what it made */
    void (*before)(void);       /* each test, in its process */
    void (*after)(void);
};

#define CHECK_WAY(...) const struct check_way check_way = {__VA_ARGS__}

extern const struct check_way check_way __attribute__((weak));

/* The exit code: for a program with a main function of its own. */
int check_run(void);

#endif
