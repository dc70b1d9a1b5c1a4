/* SPDX-License-Identifier: MIT */
#include "api/formats/formats.h"

#include <string.h>

const struct api_format *const api_formats[] = {
#define FORMAT(media_type, name) &api_format_##name,
#include "api/formats/formats.def"
#undef FORMAT
    NULL,
};

const struct api_format *api_format_find(const char *name)
{
    for (const struct api_format *const *format = api_formats; *format; format++)
        if (strcmp((*format)->name, name) == 0)
            return *format;
    return NULL;
}
