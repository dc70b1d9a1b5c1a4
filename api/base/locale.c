/* SPDX-License-Identifier: MIT */
#include "api/base/locale.h"

#include <locale.h>
#include <stdio.h>

/* The C locale is a constant of the C library: nothing is allocated, and nothing is to be freed. */
int api_vprint(char *out, size_t size, const char *format, va_list args)
{
    const locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    const int length = vsnprintf(out, size, format, args);

    uselocale(before);
    return length;
}

int api_print(char *out, size_t size, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = api_vprint(out, size, format, args);
    va_end(args);
    return length;
}
