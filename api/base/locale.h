/* SPDX-License-Identifier: MIT */
#ifndef API_BASE_LOCALE_H
#define API_BASE_LOCALE_H

#include <stdarg.h>
#include <stddef.h>

/* snprintf and vsnprintf in the C locale, in which numbers have a point: a program that links the
 * service may have set a locale whose numbers have a comma. Text with numbers that are not whole is
 * printed by these. */
int api_print(char *out, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int api_vprint(char *out, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
