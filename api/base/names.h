/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_NAMES_H
#define API_BASE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* Is a name of `size` bytes one of those in a list such as "a,b,c"? list NULL: no. */
bool api_names_have(const char *list, const char *separator, const char *name, size_t size);

/* A letter as names of parameters have it: small, and '_' for '-'. */
char api_letter_fold(char letter);
/* Are two names the same but for that? */
bool api_names_alike(const char *a, const char *b);

#endif
