/* SPDX-License-Identifier: MIT */
#include "api/request/query.h"

#include <string.h>

#include "api/numbers/text.h"

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return -1;
}

enum api_status api_percent_decode(char *text, bool plus, const char *where, struct api_error *err)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at == '%') {
            const int high = hex_digit(at[1]), low = high < 0 ? -1 : hex_digit(at[2]);
            if (low < 0)
                return api_fail(
                    err, API_MALFORMED, where,
                    "a %% must be followed by two hexadecimal digits; write %%25 for the "
                    "sign itself");
            if (high == 0 && low == 0)
                return api_fail(err, API_MALFORMED, where, "%%00 is not allowed");
            *to++ = (char)(high << 4 | low);
            at += 2;
        } else {
            *to++ = plus && *at == '+' ? ' ' : *at;
        }
    }
    *to = '\0';
    return API_OK;
}

enum api_status api_query_parse(struct api_request *request, char *text, struct api_error *err)
{
    size_t pairs = 1;
    char *rest = text;

    for (const char *at = text; *at; at++)
        pairs += *at == '&';
    request->query = api_arena_take(request->arena, pairs * sizeof(*request->query));
    if (!request->query)
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the query");

    for (char *name; (name = strsep(&rest, "&"));) {
        char *value = strchr(name, '=');
        if (*name == '\0')
            continue;
        if (value)
            *value++ = '\0';
        else
            value = name + strlen(name);
        if (api_percent_decode(name, true, "", err) || api_percent_decode(value, true, "", err))
            return api_failed(err);
        request->query[request->query_count++] = (struct api_pair){
            api_text_mend(request->arena, name), api_text_mend(request->arena, value)};
        if (!request->query[request->query_count - 1].name ||
            !request->query[request->query_count - 1].value)
            return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the query");
    }
    return API_OK;
}
