/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command/tensors.h"

/* posenc compare A B: each side is an encoding, with parameters behind its name where there are
 * any ('rope dim=4 base=500000'), or a file of a tensor (mine.npy, both.safetensors:cos). */

/* As JSON where it is JSON; a list where there are commas; else a text. */
static json_t *value_make(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    char *copy, *at, *next;

    if (value || !strchr(text, ','))
        return value ? value : json_string(text);
    value = json_array();
    copy = next = strdup(text);
    while ((at = strsep(&next, ",")))
        json_array_append_new(value, value_make(at));
    free(copy);
    return value;
}

/* "rope dim=4 base=100" */
static json_t *encoding_make(const char *text)
{
    char *copy = strdup(text), *next = copy, *at;
    json_t *side = json_object();

    while ((at = strsep(&next, " \t"))) {
        char *equals = strchr(at, '=');
        if (*at == '\0')
            continue;
        if (equals)
            *equals = '\0';
        json_object_set_new(side, equals ? at : "name",
                            equals ? value_make(equals + 1) : json_string(at));
    }
    free(copy);
    return side;
}

/* Is it a file, or one that is missing? No encoding is called like a format. */
static bool is_meant_as_file(struct cmd *cmd, const char *path)
{
    const bool there = access(path, F_OK) == 0;
    char *type = there ? NULL : cmd_media_type(cmd, path);
    const bool named = type;

    free(type);
    return there || named;
}

/* A side, and its tensor where it is a file. "a:b" is the tensor b of the file a, if that is one.
 */
static enum cmd_exit side_add(struct cmd *cmd, json_t *body, json_t *tensors, const char *key,
                              const char *text)
{
    char *path = strdup(text), *colon = path ? strrchr(path, ':') : NULL;
    char reference[16];
    enum cmd_exit code = CMD_DONE;
    bool is_file = path && is_meant_as_file(cmd, path);

    if (!is_file && colon) {
        *colon = '\0';
        is_file = is_meant_as_file(cmd, path);
    } else {
        colon = NULL;
    }
    if (is_file) {
        code = cmd_tensor_read(path, colon ? colon + 1 : NULL, key, tensors);
        snprintf(reference, sizeof(reference), "tensor:%s", key);
        json_object_set_new(body, key, json_string(reference));
    } else {
        json_object_set_new(body, key, encoding_make(text));
    }
    free(path);
    return code;
}

static int body_put(const char *bytes, size_t size, void *text)
{
    cmd_text_add(text, bytes, size);
    return 0;
}

enum cmd_exit cmd_compare(struct cmd *cmd, const struct cmd_word *word, struct cmd_ask *ask)
{
    const struct cmd_line *line = cmd->line;
    json_t *body = json_object(), *tensors = json_object();
    enum cmd_exit code = CMD_DONE;

    if (line->names_count != 2 || line->config) {
        cmd_say("%s takes two sides, and no --config: %s", word->name, word->arguments);
        code = CMD_USAGE;
    }
    for (size_t i = 0; !code && i < 2; i++)
        code = side_add(cmd, body, tensors, i == 0 ? "a" : "b", line->names[i]);
    for (size_t i = 0; i < line->params_count; i++)
        json_object_set_new(body, line->params[i].name, value_make(line->params[i].value));
    if (json_object_size(tensors) > 0)
        json_object_set(body, "tensors", tensors);
    ask->method = word->method;
    cmd_text_put(&ask->target, word->target);
    ask->fields[ask->fields_count++] = (struct pe_field){"Content-Type", "application/json"};
    json_dump_callback(body, body_put, &ask->body, JSON_COMPACT);
    json_decref(body);
    json_decref(tensors);
    return code;
}
