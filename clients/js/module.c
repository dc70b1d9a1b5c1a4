/* SPDX-License-Identifier: MIT */
/* The service as a module of WebAssembly: posenc/service.h in numbers and bytes, for client.js. A
 * request is
 *
 *   posenc_start(settings) once; posenc_begin(text) -> posenc_feed(bytes), ... -> posenc_finish ->
 * posenc_next, ... -> posenc_end
 *
 * where the text is "METHOD target\nName: value\n...", and what posenc_finish returns is the same
 * with a status in front: "200\nName: value\n...". */
#include <posenc/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(type, name, ...)                                                                    \
    __attribute__((export_name(#name))) type name(__VA_ARGS__);                                    \
    type name(__VA_ARGS__)

static struct pe_service *service;
static size_t size_next; /* of what posenc_next returned last */

/* Zeros, so that a text which is shorter than its room has an end. */
EXPORT(void *, posenc_alloc, size_t size)
{
    return calloc(1, size);
}

EXPORT(void, posenc_free, void *bytes)
{
    free(bytes);
}

/* Cuts "Name: value\n" off a text that ends with a zero; false: there is no line left. */
static bool field_cut(char **text, struct pe_field *field)
{
    char *line = strsep(text, "\n"), *value = line ? strstr(line, ": ") : NULL;

    if (!value)
        return false;
    *value = '\0';
    *field = (struct pe_field){line, value + 2};
    return true;
}

/* All fields of a text, which is written to; the caller frees them. NULL: memory is short. */
static struct pe_field *fields_cut(char *text, size_t *count)
{
    size_t lines = 1;
    struct pe_field *fields;

    for (const char *at = text; at && *at; at++)
        lines += *at == '\n';
    fields = calloc(lines, sizeof(*fields));
    *count = 0;
    while (fields && field_cut(&text, &fields[*count]))
        ++*count;
    return fields;
}

/* "dim-max: a whole number is expected"; NULL: memory is short. */
static char *sentence_of(const struct pe_error *err)
{
    size_t size = sizeof(err->where) + sizeof(err->detail) + 2;
    char *text = malloc(size);

    if (text)
        snprintf(text, size, "%s%s%s", err->where, err->where[0] ? ": " : "", err->detail);
    return text;
}

/* Starts the service with settings, "name: value\n..."; NULL, or a text that says what is wrong
 * with them. Both are the caller's to free. */
EXPORT(char *, posenc_start, char *text)
{
    struct pe_service_options options = {.size = sizeof(options)};
    struct pe_field *fields = fields_cut(text, &options.settings_count);
    struct pe_setting *settings = calloc(options.settings_count + 1, sizeof(*settings));
    struct pe_error err = {.detail = "no memory"};
    bool failed = true;

    if (fields && settings) {
        for (size_t i = 0; i < options.settings_count; i++)
            settings[i] = (struct pe_setting){fields[i].name, fields[i].value};
        options.settings = settings;
        failed = pe_service_new(&service, &options, &err);
    }
    free(settings);
    free(fields);
    return failed ? sentence_of(&err) : NULL;
}

/* NULL: memory is short. `length` of the body. The text is written to. */
EXPORT(struct pe_request *, posenc_begin, char *text, double length)
{
    struct pe_request_head head = {.size = sizeof(head), .body_length = (uint64_t)length};
    struct pe_request *request = NULL;
    struct pe_field *fields;
    struct pe_error err = {0};
    char *rest = text;

    head.method = strsep(&rest, " ");
    head.target = strsep(&rest, "\n");
    fields = fields_cut(rest, &head.fields_count);
    head.fields = fields;
    if (fields)
        pe_request_new(&request, service, &head, &err);
    free(fields);
    return request;
}

/* 0: the request is refused, and needs no more of its body. */
EXPORT(int, posenc_feed, struct pe_request *request, const void *bytes, size_t size)
{
    return pe_request_feed(request, bytes, size);
}

/* A text to be freed; NULL: memory is short. */
EXPORT(char *, posenc_finish, struct pe_request *request)
{
    const struct pe_response *response = pe_request_finish(request);
    size_t size = 16, used;
    char *text;

    for (size_t i = 0; i < response->fields_count; i++)
        size += strlen(response->fields[i].name) + strlen(response->fields[i].value) + 3;
    text = malloc(size);
    used = text ? (size_t)sprintf(text, "%d\n", response->status) : 0;
    for (size_t i = 0; text && i < response->fields_count; i++)
        used += (size_t)sprintf(text + used, "%s: %s\n", response->fields[i].name,
                                response->fields[i].value);
    return text;
}

/* The next bytes of the body, posenc_size() of them, which stay where they are until the next call
 * with this request. NULL: the end, or, where posenc_size() is not 0, the body broke off. */
EXPORT(const void *, posenc_next, struct pe_request *request)
{
    const void *bytes = NULL;

    if (pe_request_next(request, &bytes, &size_next)) {
        bytes = NULL;
        size_next = 1;
    }
    return size_next > 0 ? bytes : NULL;
}

EXPORT(size_t, posenc_size, void)
{
    return size_next;
}

EXPORT(void, posenc_end, struct pe_request *request)
{
    pe_request_free(request);
}
