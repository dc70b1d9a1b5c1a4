/* SPDX-License-Identifier: MIT */
/* The service as a WebAssembly module for client.js: posenc/service.h by functions of numbers and
 * bytes. They are called in this order, from posenc_begin on for each request:
 *
 *   posenc_start(settings)
 *   posenc_begin(text), posenc_feed(bytes)..., posenc_finish, posenc_next..., posenc_end
 *
 * The text of posenc_begin is "METHOD target\nName: value\n...". The text of posenc_finish has the
 * status instead of the first line: "200\nName: value\n...". */
#include <posenc/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(type, name, ...)                                                                    \
    __attribute__((export_name(#name))) type name(__VA_ARGS__);                                    \
    type name(__VA_ARGS__)

static struct pe_service *service;
static size_t piece_size; /* of the last result of posenc_next, for posenc_size */

/* The memory is zeroed, so that a text shorter than `size` is terminated. */
EXPORT(void *, posenc_alloc, size_t size)
{
    return calloc(1, size);
}

EXPORT(void, posenc_free, void *bytes)
{
    free(bytes);
}

/* Removes the line "Name: value\n" from the start of a zero-terminated text. False: the text starts
 * with no such line. */
static bool field_cut(char **text, struct pe_field *field)
{
    char *line = strsep(text, "\n"), *value = line ? strstr(line, ": ") : NULL;

    if (!value)
        return false;
    *value = '\0';
    *field = (struct pe_field){line, value + 2};
    return true;
}

/* Splits a text into fields, which point into it; the caller frees the array. NULL: no memory. */
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

/* Starts the service with settings, "name: value\n...", a text that is overwritten. Returns NULL,
 * or the error as a text. The caller frees both texts. */
EXPORT(char *, posenc_start, char *text)
{
    struct pe_service_options options = {.size = sizeof(options)};
    struct pe_field *fields = fields_cut(text, &options.settings_count);
    struct pe_setting *settings = calloc(options.settings_count + 1, sizeof(*settings));
    struct pe_error err = {.detail = "no memory"};
    const size_t size = sizeof(err.where) + sizeof(err.detail) + 2;
    char *failure = malloc(size);
    bool failed = true;

    if (!failure)
        __builtin_trap(); /* NULL would be a success */
    if (fields && settings) {
        for (size_t i = 0; i < options.settings_count; i++)
            settings[i] = (struct pe_setting){fields[i].name, fields[i].value};
        options.settings = settings;
        failed = pe_service_new(&service, &options, &err);
    }
    free(settings);
    free(fields);
    if (failed) {
        /* "dim-max: a whole number is expected" */
        snprintf(failure, size, "%s%s%s", err.where, err.where[0] ? ": " : "", err.detail);
        return failure;
    }
    free(failure);
    return NULL;
}

/* Begins a request. The text is overwritten; `length` is that of the body. NULL: no memory. */
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

/* 0: the request is refused, and the rest of its body need not be fed. */
EXPORT(int, posenc_feed, struct pe_request *request, const void *bytes, size_t size)
{
    return pe_request_feed(request, bytes, size);
}

/* Returns the status and the fields as a text, which the caller frees; NULL: no memory. */
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

/* Returns the next posenc_size() bytes of the body, valid until the next call with this request.
 * NULL: the body has ended, if posenc_size() is 0; else it is incomplete because of an error. */
EXPORT(const void *, posenc_next, struct pe_request *request)
{
    const void *bytes = NULL;

    if (pe_request_next(request, &bytes, &piece_size)) {
        bytes = NULL;
        piece_size = 1;
    }
    return piece_size > 0 ? bytes : NULL;
}

EXPORT(size_t, posenc_size, void)
{
    return piece_size;
}

EXPORT(void, posenc_end, struct pe_request *request)
{
    pe_request_free(request);
}
