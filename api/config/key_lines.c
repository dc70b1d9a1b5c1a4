/* SPDX-License-Identifier: MIT */
#include "api/config/key_lines.h"

#include <stdbool.h>
#include <string.h>

/* Reads a JSON text that a parser has accepted: jansson gives no positions of keys. */

struct scan {
    const char *at, *end;
};

static void space_skip(struct scan *scan)
{
    while (scan->at < scan->end && strchr(" \t\r\n", *scan->at))
        scan->at++;
}

static char next_of(struct scan *scan)
{
    space_skip(scan);
    return scan->at < scan->end ? *scan->at : '\0';
}

/* Moves after a text in quotes; returns its length without them. */
static size_t text_skip(struct scan *scan)
{
    const char *begin = ++scan->at;

    while (scan->at < scan->end && *scan->at != '"')
        scan->at += *scan->at == '\\' ? 2 : 1;
    if (scan->at >= scan->end) {
        scan->at = scan->end;
        return 0;
    }
    return (size_t)(scan->at++ - begin);
}

/* Moves after a value of any kind; brackets are counted, so that no depth is too much. */
static void value_skip(struct scan *scan)
{
    size_t depth = 0;

    space_skip(scan);
    while (scan->at < scan->end) {
        const char c = *scan->at;
        if (c == '"') {
            text_skip(scan);
        } else if (strchr("[{", c)) {
            depth++;
            scan->at++;
        } else if (depth == 0 && strchr(",]}", c)) {
            return;
        } else {
            depth -= strchr("]}", c) != NULL;
            scan->at++;
        }
        if (depth == 0 && strchr("\"]}", c))
            return;
    }
}

/* Moves to the value of a key of the object at which the scan is; `key` is set to its quote. False:
 * there is no such key. The path's first keys, as many as match, are taken off it. */
static bool member_enter(struct scan *scan, const char **path, const char **key)
{
    if (next_of(scan) != '{')
        return false;
    scan->at++;
    while (next_of(scan) == '"') {
        const char *name = scan->at + 1;
        const size_t size = text_skip(scan);
        *key = name - 1;
        if (next_of(scan) == ':')
            scan->at++;
        if (strncmp(*path, name, size) == 0 && ((*path)[size] == '.' || (*path)[size] == '\0')) {
            *path += size + ((*path)[size] == '.');
            return true;
        }
        value_skip(scan);
        if (next_of(scan) == ',')
            scan->at++;
    }
    return false;
}

size_t api_key_line(const char *text, size_t size, const char *member, const char *path)
{
    struct scan scan = {text, text + size};
    const char *begin = text, *key = NULL;
    size_t line = 1;

    if (member && !member_enter(&scan, &member, &key))
        return 0;
    if (member)
        begin = scan.at;
    key = NULL;
    while (*path)
        if (!member_enter(&scan, &path, &key))
            return 0;
    for (const char *at = begin; key && at < key; at++)
        line += *at == '\n';
    return key ? line : 0;
}
