/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Lists of names in one string, such as "a,b,c" with the separator ','. */

/* A name in a list, not terminated. */
struct pe_name {
    const char *at;
    size_t size;
};

/* Takes the first name off *list; false: the list is empty, or NULL. */
bool pe_text_next(const char **list, char separator, struct pe_name *name);

/* Is `text` (size bytes) one of the names? list NULL: no. */
bool pe_text_lists(const char *list, char separator, const char *text, size_t size);

/* Reads the longest plain decimal number at *at, rounded to the nearest double, and moves after
 * it. Unlike strtod it takes no white space, hexadecimal, names, or the first dot of "7..9". */
bool pe_text_number(const char **at, double *number);

/* snprintf and vsnprintf in the C locale, whose decimal point is a point. */
int pe_text_print(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int pe_text_vprint(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
