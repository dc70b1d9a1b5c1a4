/* SPDX-License-Identifier: MIT */
#include "api/request/head.h"

#include <string.h>
#include <strings.h>

#include "api/base/names.h"
#include "api/numbers/text.h"

const char *api_head_field(const struct api_head *head, const char *name)
{
    for (size_t i = 0; i < head->fields_count; i++) {
        const char *at = head->fields[i].name;
        /* Most names differ in their first letter; bit 5 is its case. */
        if (((*at ^ *name) & ~0x20) == 0 && strcasecmp(at, name) == 0)
            return head->fields[i].value;
    }
    return NULL;
}

bool api_head_repeats(const struct api_head *head, const char *name)
{
    size_t count = 0;

    for (size_t i = 0; i < head->fields_count; i++)
        count += strcasecmp(head->fields[i].name, name) == 0;
    return count > 1;
}

/* Finds the first of these characters outside of quoted strings (RFC 9110, 5.6.4), or the end. */
static const char *unquoted_find(const char *at, const char *characters)
{
    bool quoted = false;

    for (; *at && (quoted || !strchr(characters, *at)); at++) {
        if (*at == '"')
            quoted = !quoted;
        else if (quoted && *at == '\\' && at[1])
            at++;
    }
    return at;
}

bool api_list_next(const char **list, struct api_element *element)
{
    element->begin = *list + strspn(*list, " \t,");
    element->end = *list = unquoted_find(element->begin, ",");
    element->name_size = strcspn(element->begin, " \t;,");
    return *element->begin != '\0';
}

/* Reads digit by digit, independent of the locale. */
int api_quality_of(const struct api_element *element)
{
    const char *at = element->begin + element->name_size, *end = element->end;
    int quality = 0, unit = 1000;

    for (; at < end; at = unquoted_find(at, ";,")) {
        at += strspn(at, " \t;");
        if (at + 1 < end && (*at == 'q' || *at == 'Q') && at[1] == '=')
            break;
    }
    if (at >= end)
        return 1000;
    for (at += 2; at < end && ((*at >= '0' && *at <= '9') || *at == '.'); at++)
        if (*at != '.' && unit > 0) {
            quality += (*at - '0') * unit;
            unit /= 10;
        }
    return quality < 1000 ? quality : 1000;
}

bool api_type_is_json(const char *media_type)
{
    const size_t length = strlen(media_type);

    return strcmp(media_type, "application/json") == 0 || strcmp(media_type, "text/json") == 0 ||
           (length > 5 && strcmp(media_type + length - 5, "+json") == 0);
}

/* Browsers, curl and libraries set these by default. */
bool api_type_is_open(const char *type)
{
    static const char open[] = "application/octet-stream,application/x-www-form-urlencoded,"
                               "text/plain,multipart/form-data,binary/octet-stream";

    return !*type || api_names_have(open, ",", type, strlen(type));
}

/* ---- the query ------------------------------------------------------------------------------- */

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

/* Counts the pairs that are not empty: "a=1&&b=2" has two. */
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
    api_text_sanitize_in_place(text);
    api_text_sanitize_in_place(value);
    *pair = (struct api_pair){text, value};
    return PE_OK;
}

enum pe_status api_query_parse(struct api_request *request, char *text, struct pe_error *err)
{
    const size_t count = pairs_count(text);
    char *rest = text;

    if (count > API_QUERY_MAX)
        return pe_fail(err, PE_URI_TOO_LONG, "", "a query has at most %d parameters here, got %zu",
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
