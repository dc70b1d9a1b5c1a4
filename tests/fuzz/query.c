/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/pipeline/pipeline.h"
#include "api/request/head.h"
#include "tests/fuzz/fuzz.h"

static bool is_utf8(const char *text)
{
    json_t *json = json_string(text);
    const bool valid = json != NULL;

    json_decref(json);
    return valid;
}

/* A path and a query, percent-encoded, with '?' between them. */
void fuzz_query(const uint8_t *data, size_t size)
{
    char *path = fuzz_line(&data, &size), *query = strchr(path, '?');
    struct pe_error err = {0}, path_err = {0};
    const char *allow = NULL;
    struct fuzz_request made;
    size_t length;

    if (query)
        *query++ = '\0';
    length = query ? strlen(query) : 0;
    fuzz_request_open(&made);
    if (api_query_parse(&made.request, query ? query : strchr(path, '\0'), &err) == PE_OK)
        for (size_t i = 0; i < made.request.query_count; i++) {
            const struct api_pair *pair = &made.request.query[i];
            FUZZ_CHECK(is_utf8(pair->name) && is_utf8(pair->value));
            FUZZ_CHECK(strlen(pair->name) + strlen(pair->value) <= 3 * length);
        }
    made.request.settings = &(struct api_settings){.base_path = ""};
    if (api_route_find(&made.request, path, &allow, &path_err) == PE_OK)
        FUZZ_CHECK(made.request.route && (!made.request.name || is_utf8(made.request.name)));
    fuzz_request_close(&made);
    free(path);
}
