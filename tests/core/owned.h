/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_OWNED_H
#define TESTS_CORE_OWNED_H

#include "posenc/schemes.h"
#include "tests/check_main.h"

OWNED(scheme, struct pe_scheme *, pe_scheme_free(*it))
#define OWNED_SCHEME OWNER(scheme) struct pe_scheme *

#endif
