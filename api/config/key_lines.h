/* SPDX-License-Identifier: MIT */
#ifndef API_CONFIG_KEY_LINES_H
#define API_CONFIG_KEY_LINES_H

#include <stddef.h>

/* The line of a key in a JSON text, counted from 1 at the beginning of the object that `member` of
 * the top has, or of the text where member is NULL. `path`: keys joined by dots. 0: there is no
 * such key, or it is written with escapes. The text must be valid JSON. */
size_t api_key_line(const char *text, size_t size, const char *member, const char *path);

#endif
