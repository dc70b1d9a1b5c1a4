/* SPDX-License-Identifier: MIT */
#include "api/base/names.h"

#include <string.h>

bool api_names_have(const char *list, const char *separator, const char *name, size_t size)
{
    for (const char *at = list; at && *at; at += strspn(at, separator)) {
        const size_t length = strcspn(at, separator);
        if (length == size && memcmp(at, name, size) == 0)
            return true;
        at += length;
    }
    return false;
}

char api_letter_fold(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return (char)(letter - 'A' + 'a');
    return letter == '-' ? '_' : letter;
}

bool api_names_alike(const char *a, const char *b)
{
    while (*a && api_letter_fold(*a) == api_letter_fold(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}
