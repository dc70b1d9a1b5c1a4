/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The size of the lines up to the empty one, which counts with them. */
static size_t lines_size(const unsigned char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] == '\n' && (i + 1 == size || text[i + 1] == '\n'))
            return i + 1 < size ? i + 2 : size;
    return size;
}

void request_text_field(struct request_text *request, const char *name, const char *value)
{
    size_t at = 0;

    while (at < request->head.fields_count && strcasecmp(request->fields[at].name, name) != 0)
        at++;
    if (at == REQUEST_FIELDS_MAX)
        return;
    request->fields[at] = (struct api_field){name, value};
    if (at == request->head.fields_count)
        request->head.fields_count++;
}

static void target_read(struct request_text *request, char *line)
{
    char *target = strchr(line, ' '), *query;

    if (target)
        *target++ = '\0';
    query = target ? strchr(target, '?') : NULL;
    if (query)
        *query++ = '\0';
    request->head.method = line;
    request->head.path = target ? target : "/";
    request->head.query = query;
}

void request_text_read(struct request_text *request, const unsigned char *text, size_t size)
{
    const size_t head = lines_size(text, size);
    char *rest = malloc(head + 1);

    *request = (struct request_text){.lines = rest, .body_size = size - head};
    for (size_t i = 0; i < head; i++)
        rest[i] = text[i] && text[i] != '\r' ? (char)text[i] : '?';
    rest[head] = '\0';
    request->body = text + head;
    request->head.content_length = request->body_size;
    request->head.fields = request->fields;
    target_read(request, strsep(&rest, "\n"));
    for (char *line; request->head.fields_count < REQUEST_FIELDS_MAX - 2 && rest &&
                     (line = strsep(&rest, "\n"));) {
        char *value = strstr(line, ": ");
        if (!value)
            continue;
        *value = '\0';
        request->fields[request->head.fields_count++] = (struct api_field){line, value + 2};
    }
}

void request_text_free(struct request_text *request)
{
    free(request->lines);
}
