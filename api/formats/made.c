/* SPDX-License-Identifier: MIT */
#include "api/formats/made.h"

#include <string.h>

#include "posenc/posenc.h"

static const char *value_of(const struct api_pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

/* Is this what the encoding was made with? A rotation's layout stands beside its parameters. */
static bool is_of(const struct pe_encoding *encoding, const char *name)
{
    const struct pe_encoding_info *info = pe_encoding_info(encoding);

    for (size_t i = 0; i < info->params_count; i++)
        if (strcmp(info->params[i].name, name) == 0)
            return true;
    return strcmp(name, "encoding") == 0 || strcmp(name, "layout") == 0;
}

void api_made_forget(struct api_request *request)
{
    const char *name = value_of(request->metadata, request->metadata_count, "encoding");
    const struct pe_encoding *encoding = name ? pe_encoding_find(name) : NULL;
    size_t kept = 0;

    for (size_t i = 0; encoding && i < request->metadata_count; i++)
        if (!is_of(encoding, request->metadata[i].name))
            request->metadata[kept++] = request->metadata[i];
    if (encoding)
        request->metadata_count = kept;
}

bool api_made_tells(const struct api_request *request)
{
    return value_of(request->metadata, request->metadata_count, "encoding") &&
           !value_of(request->query, request->query_count, "encoding") &&
           !json_object_get(request->json, "encoding") && !request->config;
}
