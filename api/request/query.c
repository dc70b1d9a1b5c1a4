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

enum pe_status api_percent_decode(char *text, bool plus, const char *where, struct pe_error *err)
{
    char *to = text;

    for (const char *at = text; *at; at++) {
        if (*at == '%') {
            const int high = hex_digit(at[1]), low = high < 0 ? -1 : hex_digit(at[2]);
            if (low < 0)
                return pe_fail(
                    err, PE_MALFORMED, where,
                    "a %% must be followed by two hexadecimal digits; write %%25 for the "
                    "sign itself");
            if (high == 0 && low == 0)
                return pe_fail(err, PE_MALFORMED, where, "%%00 is not allowed");
            *to++ = (char)(high << 4 | low);
            at += 2;
        } else {
            *to++ = plus && *at == '+' ? ' ' : *at;
        }
    }
    *to = '\0';
    return PE_OK;
}

/* Of pairs that are not empty: "a=1&&b=2" has two. */
static size_t pairs_count(const char *text)
{
    size_t count = 0;

    for (const char *at = text; *at; at += strcspn(at, "&")) {
        at += strspn(at, "&");
        count += *at != '\0';
    }
    return count;
}

static enum pe_status pair_read(struct api_pair *pair, char *text, struct pe_error *err)
{
    char *value = strchr(text, '=');

    if (value)
        *value++ = '\0';
    else
        value = text + strlen(text);
    if (api_percent_decode(text, true, "", err) || api_percent_decode(value, true, "", err))
        return err->status;
    api_text_mend_here(text);
    api_text_mend_here(value);
    *pair = (struct api_pair){text, value};
    return PE_OK;
}

enum pe_status api_query_parse(struct api_request *request, char *text, struct pe_error *err)
{
    const size_t count = pairs_count(text);
    char *rest = text;

    if (count > API_QUERY_MAX)
        return pe_fail(err, PE_URI_TOO_LONG, "",
                       "a query has at most %d parameters here, got %zu; a POST takes parameters "
                       "in its body",
                       API_QUERY_MAX, count);
    request->query = api_arena_take(request->arena, (count + 1) * sizeof(*request->query));
    if (!request->query)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the query");
    for (char *pair; (pair = strsep(&rest, "&"));) {
        if (*pair == '\0')
            continue;
        if (pair_read(&request->query[request->query_count], pair, err))
            return err->status;
        request->query_count++;
    }
    return PE_OK;
}
