/* SPDX-License-Identifier: MIT */
#include "core/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

locale_t pe_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static size_t digits_skip(const char *text)
{
    return strspn(text, "0123456789");
}

bool pe_text_number(const char **at, double *number)
{
    const char *text = *at;
    char copy[512];
    size_t size = text[0] == '-' || text[0] == '+';
    const size_t whole = digits_skip(text + size);
    size_t fraction = 0;

    size += whole;
    if (text[size] == '.' && text[size + 1] != '.') {
        fraction = digits_skip(text + size + 1);
        size += 1 + fraction;
    }
    if (whole + fraction == 0)
        return false;
    if (text[size] == 'e' || text[size] == 'E') {
        const size_t sign = text[size + 1] == '-' || text[size + 1] == '+';
        const size_t exponent = digits_skip(text + size + 1 + sign);
        size += exponent ? 1 + sign + exponent : 0;
    }
    /* strtod reads on past the end of the number ("7..9" as 7.), so it gets a copy. Longer texts
     * than this carry no number that a person wrote. */
    if (size >= sizeof(copy))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    *number = strtod_l(copy, NULL, pe_locale());
    *at = text + size;
    return true;
}
