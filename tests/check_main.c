/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"

#include <stdio.h>

/* For a loaded machine with sanitizers: only a test that hangs takes longer. */
enum { TIMEOUT_SECONDS = 300 };

extern const struct check_test *__start_check_tests[], *__stop_check_tests[];

static int by_line(const void *a, const void *b)
{
    const struct check_test *const *x = a, *const *y = b;

    return (*x)->test.line - (*y)->test.line;
}

int check_run(void)
{
    const struct check_way way = &check_way ? check_way : (struct check_way){0};
    const char *name = program_invocation_short_name;
    const struct check_test **tests = __start_check_tests;
    const size_t count = (size_t)(__stop_check_tests - tests);
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner = srunner_create(suite);

    qsort(tests, count, sizeof(*tests), by_line);
    tcase_set_timeout(tcase, TIMEOUT_SECONDS);
    if (way.prepare)
        tcase_add_unchecked_fixture(tcase, way.prepare, NULL);
    if (way.before)
        tcase_add_checked_fixture(tcase, way.before, way.after);
    for (size_t i = 0; i < count; i++)
        tcase_add_loop_test(tcase, &tests[i]->test, 0, tests[i]->times());
    suite_add_tcase(suite, tcase);
    if (way.cases)
        srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (way.cases)
        printf("%s: %lu cases\n", name, *way.cases);
    return failed != 0;
}
