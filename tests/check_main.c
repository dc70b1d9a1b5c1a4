/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"

#include <stdio.h>

/* For a loaded machine with sanitizers: only a test that hangs takes longer. */
enum { TIMEOUT_SECONDS = 300 };

int check_run(const char *name, const unsigned long *cases, void (*prepare)(void),
              const TTest *const *tests, size_t count)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tcase, TIMEOUT_SECONDS);
    if (prepare)
        tcase_add_unchecked_fixture(tcase, prepare, NULL);
    for (size_t i = 0; i < count; i++) {
        const int times = tests[i]->fn ? 1 : tests[i++]->line;
        tcase_add_loop_test(tcase, tests[i], 0, times);
    }
    suite_add_tcase(suite, tcase);
    if (cases)
        srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (cases)
        printf("%s: %lu cases\n", name, *cases);
    return failed != 0;
}
