/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_NEAREST_H
#define API_BASE_NEAREST_H

/* Suggestions for a name that is unknown. */

#include <stddef.h>

enum { API_NEAREST_MAX = 3 };

/* The names most like a word that is none of them. */
struct api_nearest {
    const char *word;
    const char *names[API_NEAREST_MAX];
    size_t lengths[API_NEAREST_MAX];
    int distances[API_NEAREST_MAX];
    size_t count;
};

/* `length` bytes at name, kept. */
void api_nearest_offer(struct api_nearest *nearest, const char *name, size_t length);
/* "; did you mean 'length' or 'lengths'?", or "" where nothing is near. Returns out. */
const char *api_nearest_print(const struct api_nearest *nearest, char *out, size_t size);

#endif
