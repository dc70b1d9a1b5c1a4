/* SPDX-License-Identifier: MIT */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Lists of names in one string, such as "a,b,c" with the separator ','. */

/* A name in a list; it does not end with a zero. */
struct pe_name {
    const char *at;
    size_t size;
};

/* Takes the first name off *list; false: there is none. *list NULL: an empty one. */
bool pe_text_next(const char **list, char separator, struct pe_name *name);

/* Is `text` (size bytes) one of the names? list NULL: no. */
bool pe_text_lists(const char *list, char separator, const char *text, size_t size);

/* Reads the longest plain decimal number at *at and steps behind it: the double nearest its text.
 * Unlike strtod: no white space, no hexadecimal, no names, and never the first dot of "7..9". */
bool pe_text_number(const char **at, double *number);

/* snprintf and vsnprintf in the C locale, in which numbers have a point, whatever locale the
 * program has set. */
int pe_text_print(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int pe_text_vprint(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
