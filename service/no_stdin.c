/* SPDX-License-Identifier: MIT */
#include <stdio.h>

/* What jansson's own copy in the shared library takes for the standard input, to which it compares
 * a file that it reads from: none is. Its archive is compiled for programs, and could not name the
 * system's variable from a shared library. See JANSSON in Makefile. */
__attribute__((visibility("hidden"))) FILE *svc_no_stdin;
