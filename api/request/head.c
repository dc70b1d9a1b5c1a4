/* SPDX-License-Identifier: MIT */
#include "api/request/head.h"

#include <string.h>
#include <strings.h>

#include "api/base/names.h"

const char *api_head_field(const struct api_head *head, const char *name)
{
    for (size_t i = 0; i < head->fields_count; i++) {
        const char *at = head->fields[i].name;
        /* Most names differ in their first letter, which bit 5 makes large or small. */
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

/* The first of these characters outside of quoted strings (RFC 9110, 5.6.4), or the end. */
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

/* Digit by digit: no locale, no rounding. */
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

/* Pages, curl and libraries put these in of themselves. */
bool api_type_is_open(const char *type)
{
    static const char open[] = "application/octet-stream,application/x-www-form-urlencoded,"
                               "text/plain,multipart/form-data,binary/octet-stream";

    return !*type || api_names_have(open, ",", type, strlen(type));
}
