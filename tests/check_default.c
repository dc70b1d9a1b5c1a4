/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"

/* The main function of every program of tests that has none of its own. */
int main(void)
{
    return check_run();
}
