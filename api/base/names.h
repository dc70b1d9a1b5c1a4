/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_NAMES_H
#define API_BASE_NAMES_H

/* Names of parameters and lists of names. */

#include <stdbool.h>
#include <stddef.h>

/* Is a name of `size` bytes in a list such as "a,b,c"? list NULL: no. */
bool api_names_have(const char *list, const char *separator, const char *name, size_t size);

/* A letter in the form that names of parameters have: lower case, and '_' for '-'. */
char api_letter_fold(char letter);
/* Are two names equal in that form? */
bool api_names_alike(const char *a, const char *b);

enum { API_NEAREST_MAX = 3 };

/* Suggestions for an unknown word: the most similar names that were offered. */
struct api_nearest {
    const char *word;
    const char *names[API_NEAREST_MAX];
    size_t lengths[API_NEAREST_MAX];
    int distances[API_NEAREST_MAX];
    size_t count;
};

/* The name has `length` bytes, which must outlive *nearest. */
void api_nearest_offer(struct api_nearest *nearest, const char *name, size_t length);
/* Writes "; did you mean 'length' or 'lengths'?", or "" if no name is similar. Returns out. */
const char *api_nearest_print(const struct api_nearest *nearest, char *out, size_t size);

#endif
