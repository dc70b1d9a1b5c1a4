/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"

/* posenc compare A B. Tensors of npy and safetensors files become members of the JSON body, in
 * base64. */

/* ---- base64 ---------------------------------------------------------------------------------- */

static json_t *base64_make(const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((size + 2) / 3 * 4 + 1), *at = text;
    json_t *string = NULL;

    for (size_t i = 0; text && i < size; i += 3) {
        const size_t left = size - i;
        const unsigned word = (unsigned)bytes[i] << 16 | (left > 1 ? bytes[i + 1] << 8 : 0) |
                              (left > 2 ? bytes[i + 2] : 0);
        *at++ = digits[word >> 18];
        *at++ = digits[word >> 12 & 63];
        *at++ = left > 1 ? digits[word >> 6 & 63] : '=';
        *at++ = left > 2 ? digits[word & 63] : '=';
    }
    if (text)
        string = json_stringn_nocheck(text, (size_t)(at - text));
    free(text);
    return string;
}

/* ---- files ----------------------------------------------------------------------------------- */

enum cmd_exit cmd_file_fail(const struct cmd_file *file, const char *why)
{
    cmd_say("%s: %s", file->path, why);
    return CMD_FILES;
}

enum cmd_exit cmd_file_read(struct cmd_file *file)
{
    FILE *stream = fopen(file->path, "re");
    struct stat there;
    enum cmd_exit code = CMD_DONE;

    if (!stream || fstat(fileno(stream), &there) != 0) {
        code = cmd_file_fail(file, strerror(errno));
    } else {
        file->size = (size_t)there.st_size;
        file->bytes = malloc(file->size + 1);
        if (!file->bytes || fread(file->bytes, 1, file->size, stream) != file->size)
            code = cmd_file_fail(file, "cannot be read whole");
    }
    if (stream)
        fclose(stream);
    if (!code)
        file->bytes[file->size] = '\0';
    return code;
}

static void tensor_put(json_t *tensors, const char *name, const char *dtype, json_t *shape,
                       const unsigned char *bytes, size_t size)
{
    json_object_set_new(tensors, name,
                        json_pack("{ss so so}", "dtype", dtype, "shape", shape, "base64",
                                  base64_make(bytes, size)));
}

/* ---- npy ------------------------------------------------------------------------------------- */

static const char *dtype_of_npy(const char *descr)
{
    for (int dtype = 0; dtype < PE_DTYPES; dtype++) {
        const struct pe_dtype_info *info = pe_dtype_info((enum pe_dtype)dtype);
        if (info->npy && strncmp(info->npy, descr, strlen(info->npy)) == 0)
            return info->name;
    }
    return NULL;
}

/* (2, 3) */
static json_t *npy_shape(const char *text)
{
    json_t *shape = json_array();

    text += strspn(text, " (");
    while (*text >= '0' && *text <= '9') {
        char *end;
        json_array_append_new(shape, json_integer(strtoll(text, &end, 10)));
        text = end + strspn(end, ", ");
    }
    return shape;
}

/* "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" after magic, version, length. */
static enum cmd_exit npy_read(const struct cmd_file *file, const char *name, json_t *tensors)
{
    const unsigned char *bytes = file->bytes;
    const size_t fixed = file->size > 8 && bytes[6] >= 2 ? 12 : 10;
    char *header, *descr, *shape;
    const char *dtype;
    size_t length;

    if (file->size < fixed)
        return cmd_file_fail(file, "is cut off");
    length = bytes[8] | (size_t)bytes[9] << 8;
    if (fixed == 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (file->size - fixed < length)
        return cmd_file_fail(file, "is cut off");
    header = strndup((const char *)bytes + fixed, length);
    descr = header ? strstr(header, "'descr': '") : NULL;
    shape = header ? strstr(header, "'shape':") : NULL;
    dtype = descr ? dtype_of_npy(descr + strlen("'descr': '")) : NULL;
    if (dtype && shape && strstr(header, "'fortran_order': False"))
        tensor_put(tensors, name, dtype, npy_shape(shape + strlen("'shape':")),
                   bytes + fixed + length, file->size - fixed - length);
    free(header);
    return json_object_get(tensors, name)
               ? CMD_DONE
               : cmd_file_fail(file, "has a dtype or an order of its "
                                     "own; save it as float32 in C order");
}

/* ---- safetensors ----------------------------------------------------------------------------- */

static const char *dtype_of_safetensors(const char *dtype)
{
    for (int i = 0; dtype && i < PE_DTYPES; i++) {
        const struct pe_dtype_info *info = pe_dtype_info((enum pe_dtype)i);
        if (strcmp(info->safetensors, dtype) == 0)
            return info->name;
    }
    return NULL;
}

/* The entry named `which`, or the only one; NULL: there is none, or more than one. */
static json_t *entry_find(json_t *header, const char *which)
{
    json_t *entry, *found = NULL;
    const char *name;

    json_object_del(header, "__metadata__");
    if (which)
        return json_object_get(header, which);
    json_object_foreach(header, name, entry) found = entry;
    return json_object_size(header) == 1 ? found : NULL;
}

static enum cmd_exit safetensors_read(const struct cmd_file *file, const char *which,
                                      const char *name, json_t *tensors)
{
    uint64_t length = 0;
    json_t *header, *entry, *shape;
    json_int_t begin = -1, end = -1;
    const char *dtype = NULL;

    for (int i = 7; i >= 0; i--)
        length = length << 8 | file->bytes[i];
    if (length > file->size - 8)
        return cmd_file_fail(file, "is cut off");
    header = json_loadb((const char *)file->bytes + 8, (size_t)length, 0, NULL);
    entry = entry_find(header, which);
    json_unpack(entry, "{s:s, s:[I,I]}", "dtype", &dtype, "data_offsets", &begin, &end);
    shape = json_object_get(entry, "shape");
    if (dtype_of_safetensors(dtype) && begin >= 0 && begin <= end &&
        (uint64_t)end <= file->size - 8 - length)
        tensor_put(tensors, name, dtype_of_safetensors(dtype), json_incref(shape),
                   file->bytes + 8 + length + begin, (size_t)(end - begin));
    json_decref(header);
    if (json_object_get(tensors, name))
        return CMD_DONE;
    return cmd_file_fail(file, which ? "has no such tensor"
                                     : "has several tensors, or none: say which as FILE:NAME");
}

/* Reads the only tensor of a file, or its tensor `which` (not NULL), into tensors[name]. CMD_DONE,
 * or a message was printed. */
static enum cmd_exit tensor_read(const char *path, const char *which, const char *name,
                                 json_t *tensors)
{
    struct cmd_file file = {.path = path};
    enum cmd_exit code = cmd_file_read(&file);

    if (!code && file.size > 6 && memcmp(file.bytes, "\x93NUMPY", 6) == 0)
        code = npy_read(&file, name, tensors);
    else if (!code && file.size > 8)
        code = safetensors_read(&file, which, name, tensors);
    else if (!code)
        code = cmd_file_fail(&file, "is no npy and no safetensors file");
    free(file.bytes);
    return code;
}

/* ---- the body of a comparison ---------------------------------------------------------------- */

/* An operand is an encoding, perhaps with parameters ('rope dim=4 base=500000'), or a tensor of a
 * file (mine.npy, both.safetensors:cos). */

/* JSON if it parses as such; a list if it has commas; else a text. */
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
    json_t *operand = json_object();

    while ((at = strsep(&next, " \t"))) {
        char *equals = strchr(at, '=');
        if (*at == '\0')
            continue;
        if (equals)
            *equals = '\0';
        json_object_set_new(operand, equals ? at : "name",
                            equals ? value_make(equals + 1) : json_string(at));
    }
    free(copy);
    return operand;
}

/* Is it an existing file, or named like one? No encoding's name ends like a format's. */
static bool is_file_name(struct cmd *cmd, const char *path)
{
    const bool there = access(path, F_OK) == 0;
    char *type = there ? NULL : cmd_media_type(cmd, path);
    const bool named = type;

    free(type);
    return there || named;
}

/* Adds an operand, and its tensor if it is a file. "a:b" is the tensor b of a file a. */
static enum cmd_exit operand_add(struct cmd *cmd, json_t *body, json_t *tensors, const char *key,
                                 const char *text)
{
    char *path = strdup(text), *colon = path ? strrchr(path, ':') : NULL;
    char reference[16];
    enum cmd_exit code = CMD_DONE;
    bool is_file = path && is_file_name(cmd, path);

    if (!is_file && colon) {
        *colon = '\0';
        is_file = is_file_name(cmd, path);
    } else {
        colon = NULL;
    }
    if (is_file) {
        code = tensor_read(path, colon ? colon + 1 : NULL, key, tensors);
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

enum cmd_exit cmd_compare(struct cmd *cmd, const struct cmd_word *word, struct cmd_request *request)
{
    const struct cmd_line *line = cmd->line;
    json_t *body = json_object(), *tensors = json_object();
    enum cmd_exit code = CMD_DONE;

    if (line->names_count != 2 || line->config) {
        cmd_say("%s takes two sides, and no --config: %s", word->name, word->arguments);
        code = CMD_USAGE;
    }
    for (size_t i = 0; !code && i < 2; i++)
        code = operand_add(cmd, body, tensors, i == 0 ? "a" : "b", line->names[i]);
    for (size_t i = 0; i < line->params_count; i++)
        json_object_set_new(body, line->params[i].name, value_make(line->params[i].value));
    if (json_object_size(tensors) > 0)
        json_object_set(body, "tensors", tensors);
    request->method = word->method;
    cmd_text_put(&request->target, word->target);
    request->fields[request->fields_count++] =
        (struct pe_field){"Content-Type", "application/json"};
    json_dump_callback(body, body_put, &request->body, JSON_COMPACT);
    json_decref(body);
    json_decref(tensors);
    return code;
}
