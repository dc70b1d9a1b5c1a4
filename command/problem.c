/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "command/command.h"

enum cmd_exit cmd_exit_of(int status)
{
    switch (status) {
    case 404:
        return CMD_NOT_FOUND;
    case 413:
    case 414:
    case 503:
    case 507:
        return CMD_TOO_LARGE;
    default:
        return status < 400 ? CMD_DONE : status < 500 ? CMD_REFUSED : CMD_INTERNAL;
    }
}

/* "  parameter dim: detail": what is at fault, and its name. Further members are for programs. */
static void item_tell(const json_t *item)
{
    static const char *const places[] = {"parameter", "tensor", "pointer", "header"};
    const char *detail = json_string_value(json_object_get(item, "detail"));

    fprintf(stderr, "  ");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *name = json_string_value(json_object_get(item, places[i]));
        if (name)
            fprintf(stderr, "%s %s: ", places[i], name);
    }
    fprintf(stderr, "%s\n", detail ? detail : "");
}

static bool item_says(const json_t *errors, const char *detail)
{
    size_t index;
    json_t *item;

    json_array_foreach(errors, index, item)
    {
        const char *text = json_string_value(json_object_get(item, "detail"));
        if (text && strcmp(text, detail) == 0)
            return true;
    }
    return false;
}

void cmd_problem_tell(const char *bytes, size_t size)
{
    json_t *problem = json_loadb(bytes, size, 0, NULL);
    const json_t *errors = json_object_get(problem, "errors");
    const char *title = json_string_value(json_object_get(problem, "title"));
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    size_t index;
    json_t *item;

    cmd_say("%s", title ? title : "the request is refused");
    if (detail && !item_says(errors, detail))
        fprintf(stderr, "  %s\n", detail);
    json_array_foreach(errors, index, item) item_tell(item);
    json_decref(problem);
}
