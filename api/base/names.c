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
