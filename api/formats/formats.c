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

enum pe_status api_format_elements_check(const struct api_request *request, uint64_t elements,
                                         struct pe_error *err)
{
    const uint64_t most = request->settings->limits.json_elements_max;
    const struct api_format *format = request->format;

    if (elements <= most || format->binary)
        return PE_OK;
    return pe_fail(err, PE_TOO_LARGE, "",
                   "a %s answer has at most %llu elements, the value of "
                   "--json-elements-max; ask for format=npy, safetensors or raw",
                   format == &api_format_json ? "JSON" : format->name, (unsigned long long)most);
}
