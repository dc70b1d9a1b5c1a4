/* SPDX-License-Identifier: MIT */
#include "core/base/text.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "posenc/dtype.h"

bool pe_text_next(const char **list, char separator, struct pe_name *name)
{
    const char *end;

    if (!*list || !**list)
        return false;
    end = strchrnul(*list, separator);
    *name = (struct pe_name){*list, (size_t)(end - *list)};
    *list = end + (*end != '\0');
    return true;
}

bool pe_text_lists(const char *list, char separator, const char *text, size_t size)
{
    struct pe_name name;

    while (pe_text_next(&list, separator, &name))
        if (name.size == size && memcmp(name.at, text, size) == 0)
            return true;
    return false;
}

/* ---- numbers -------------------------------------------------------------------------------- */

bool pe_text_number(const char **at, double *number)
{
    const size_t size = pe_from_text(number, PE_F64, *at, strspn(*at, "0123456789+-.eE"));

    *at += size;
    return size > 0;
}

/* newlocale returns the C locale as a constant of the C library, which is not freed. */
int pe_text_vprint(char *out, size_t size, const char *format, va_list args)
{
    const locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    const int length = vsnprintf(out, size, format, args);

    uselocale(before);
    return length;
}

int pe_text_print(char *out, size_t size, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = pe_text_vprint(out, size, format, args);
    va_end(args);
    return length;
}
