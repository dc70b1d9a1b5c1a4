/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"

/* posenc check MINE GOLDEN. The tensors of both files become one safetensors body, those of the
 * golden file under "golden.NAME", with its description as metadata. */

enum { LENGTH_SIZE = 8 };

struct part {
    struct cmd_file file;
    json_t *header;   /* without __metadata__ */
    json_t *metadata; /* NULL: none */
    size_t data;      /* where the elements begin */
};

static enum cmd_exit part_read(struct part *part)
{
    const struct cmd_file *file = &part->file;
    enum cmd_exit code = cmd_file_read(&part->file);
    uint64_t length = 0;

    if (code)
        return code;
    for (int i = LENGTH_SIZE - 1; file->size >= LENGTH_SIZE && i >= 0; i--)
        length = length << 8 | file->bytes[i];
    if (file->size < LENGTH_SIZE || length > file->size - LENGTH_SIZE)
        return cmd_file_fail(file, "is no safetensors file, or is cut off");
    part->header = json_loadb((const char *)file->bytes + LENGTH_SIZE, (size_t)length, 0, NULL);
    if (!json_is_object(part->header))
        return cmd_file_fail(file, "is no safetensors file");
    part->data = LENGTH_SIZE + (size_t)length;
    part->metadata = json_incref(json_object_get(part->header, "__metadata__"));
    json_object_del(part->header, "__metadata__");
    return CMD_DONE;
}

static void part_free(struct part *part)
{
    json_decref(part->header);
    json_decref(part->metadata);
    free(part->file.bytes);
}

/* Adds the entries of a part, whose elements begin at `base` of the body's. The service checks what
 * stands in them. */
static enum cmd_exit part_add(const struct part *part, const char *prefix, json_int_t base,
                              json_t *header)
{
    const char *name;
    json_t *entry;

    json_object_foreach(part->header, name, entry)
    {
        json_int_t begin, end;
        json_t *full = json_sprintf("%s%s", prefix, name);
        if (!full || json_unpack(entry, "{s:[I,I]}", "data_offsets", &begin, &end)) {
            json_decref(full);
            return cmd_file_fail(&part->file, "has a tensor without data_offsets");
        }
        json_object_set_new(entry, "data_offsets", json_pack("[II]", base + begin, base + end));
        json_object_set(header, json_string_value(full), entry);
        json_decref(full);
    }
    return CMD_DONE;
}

static int text_put(const char *bytes, size_t size, void *text)
{
    cmd_text_add(text, bytes, size);
    return 0;
}

static void body_make(const struct part *parts, json_t *header, struct cmd_text *body)
{
    unsigned char length[LENGTH_SIZE];
    struct cmd_text text = {0};

    json_dump_callback(header, text_put, &text, JSON_COMPACT);
    for (size_t i = 0; i < LENGTH_SIZE; i++)
        length[i] = (unsigned char)((uint64_t)text.size >> (8 * i));
    cmd_text_add(body, length, LENGTH_SIZE);
    cmd_text_add(body, text.bytes, text.size);
    for (size_t i = 0; i < 2; i++)
        cmd_text_add(body, parts[i].file.bytes + parts[i].data, parts[i].file.size - parts[i].data);
    cmd_text_free(&text);
}

static enum cmd_exit parts_join(struct part parts[2], struct cmd_request *request)
{
    json_t *header = json_object(), *golden;
    enum cmd_exit code = part_read(&parts[0]) ?: part_read(&parts[1]);

    golden = json_object_get(parts[1].metadata, "golden");
    if (!code && !golden)
        code = cmd_file_fail(&parts[1].file, "is no golden file: its metadata have no description");
    if (!code)
        code = part_add(&parts[0], "", 0, header)
                   ?: part_add(&parts[1], "golden.",
                               (json_int_t)(parts[0].file.size - parts[0].data), header);
    if (!code) {
        json_object_set_new(header, "__metadata__", json_pack("{sO}", "golden", golden));
        body_make(parts, header, &request->body);
    }
    json_decref(header);
    return code;
}

enum cmd_exit cmd_check(struct cmd *cmd, const struct cmd_word *word, struct cmd_request *request)
{
    const struct cmd_line *line = cmd->line;
    struct part parts[2] = {{.header = NULL}, {.header = NULL}};
    enum cmd_exit code;

    if (line->names_count != 2 || line->config) {
        cmd_say("%s takes two files, and no --config: %s", word->name, word->arguments);
        return CMD_USAGE;
    }
    for (size_t i = 0; i < 2; i++)
        parts[i].file.path = line->names[i];
    code = parts_join(parts, request);
    for (size_t i = 0; i < 2; i++)
        part_free(&parts[i]);
    request->method = word->method;
    cmd_text_put(&request->target, word->target);
    request->fields[request->fields_count++] =
        (struct pe_field){"Content-Type", "application/x-safetensors"};
    return code;
}
