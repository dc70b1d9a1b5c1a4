/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"

/* ---- messages and growing texts -------------------------------------------------------------- */

void cmd_say(const char *format, ...)
{
    va_list args;

    fputs("posenc: ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void cmd_text_add(struct cmd_text *text, const void *bytes, size_t size)
{
    if (text->capacity - text->size <= size) {
        text->capacity = 2 * (text->size + size) + 64;
        text->bytes = realloc(text->bytes, text->capacity);
        if (!text->bytes) {
            cmd_say("memory is short");
            exit(CMD_TOO_LARGE);
        }
    }
    if (size > 0)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
    text->bytes[text->size] = '\0';
}

void cmd_text_put(struct cmd_text *text, const char *string)
{
    cmd_text_add(text, string, strlen(string));
}

void cmd_text_escape(struct cmd_text *text, const char *string)
{
    for (const char *c = string; *c; c++) {
        char escaped[4];
        const bool plain = isalnum((unsigned char)*c) || strchr("-._~,:", *c);
        const int size = snprintf(escaped, sizeof(escaped), plain ? "%c" : "%%%02X",
                                  plain ? *c : (int)(unsigned char)*c);
        cmd_text_add(text, escaped, (size_t)size);
    }
}

void cmd_text_free(struct cmd_text *text)
{
    free(text->bytes);
    *text = (struct cmd_text){0};
}

void cmd_request_param(struct cmd_request *request, const char *name, const char *value)
{
    cmd_text_put(&request->target, strchr(request->target.bytes, '?') ? "&" : "?");
    cmd_text_escape(&request->target, name);
    cmd_text_put(&request->target, "=");
    cmd_text_escape(&request->target, value);
}

/* ---- JSON in lines --------------------------------------------------------------------------- */

/* JSON for a person, byte by byte: each member of an object, and each object or list in a list, has
 * a line; lists of numbers stay on one. Tokens are unchanged. */

/* INDENT_MAX: the most bytes that one byte becomes. */
enum { DEPTH_MAX = 64, SPACES = 2, INDENT_MAX = 256 };

static size_t line_put(const struct cmd_indent *indent, char *out)
{
    *out = '\n';
    memset(out + 1, ' ', indent->depth * SPACES);
    return 1 + indent->depth * SPACES;
}

static bool is_broken(const struct cmd_indent *indent)
{
    return indent->broken & 1;
}

/* Decides about the bracket before by its first byte: an object is broken into lines, and so is a
 * list of lists or objects. */
static size_t bracket_settle(struct cmd_indent *indent, char byte, char *out)
{
    const bool empty = byte == '}' || byte == ']';
    const bool lines = indent->opened == '{' || byte == '{' || byte == '[';

    indent->opened = 0;
    indent->broken |= !empty && lines && indent->depth < DEPTH_MAX;
    return is_broken(indent) ? line_put(indent, out) : 0;
}

static size_t text_byte(struct cmd_indent *indent, char byte, char *out)
{
    *out = byte;
    indent->in_text = indent->escaped || byte != '"';
    indent->escaped = !indent->escaped && byte == '\\';
    return 1;
}

static size_t close_bracket(struct cmd_indent *indent, char byte, char *out)
{
    const bool lines = is_broken(indent);
    size_t size = 0;

    indent->broken >>= 1;
    indent->depth -= indent->depth > 0;
    if (lines)
        size = line_put(indent, out);
    out[size] = byte;
    return size + 1;
}

/* Writes what a byte becomes to `out`, and returns its size. */
static size_t indent_next(struct cmd_indent *indent, char byte, char *out)
{
    size_t size = 0;

    if (indent->in_text)
        return text_byte(indent, byte, out);
    if (indent->opened)
        size = bracket_settle(indent, byte, out);
    if (byte == '}' || byte == ']')
        return size + close_bracket(indent, byte, out + size);
    out[size++] = byte;
    if (byte == '"')
        indent->in_text = true;
    if (byte == ':' || (byte == ',' && !is_broken(indent)))
        out[size++] = ' ';
    else if (byte == ',')
        size += line_put(indent, out + size);
    if (byte == '{' || byte == '[') {
        indent->opened = byte;
        indent->broken <<= 1;
        indent->depth++;
    }
    return size;
}

/* ---- the output ------------------------------------------------------------------------------ */

static bool is_json(const char *media_type)
{
    const size_t length = strcspn(media_type, ";");

    return length >= 4 && strncmp(media_type + length - 4, "json", 4) == 0;
}

static bool is_text(const char *media_type)
{
    return is_json(media_type) || strncmp(media_type, "text/", 5) == 0 ||
           strstr(media_type, "yaml");
}

static enum cmd_exit file_fail(const char *path, int error)
{
    cmd_say("%s: %s", path, strerror(error));
    return CMD_FILES;
}

/* Gives the file the mode of any new file. */
static void mode_set(int file)
{
    const mode_t mask = umask(0);

    umask(mask);
    fchmod(file, 0666 & ~mask);
}

/* Opens a temporary file beside the output; one that is not a regular file is written itself. */
static enum cmd_exit file_open(struct cmd_output *output)
{
    struct stat there;

    if (stat(output->path, &there) == 0 && !S_ISREG(there.st_mode)) {
        output->file = open(output->path, O_WRONLY | O_CLOEXEC);
        return output->file < 0 ? file_fail(output->path, errno) : CMD_DONE;
    }
    if (asprintf(&output->temporary, "%s.XXXXXX", output->path) < 0) {
        output->temporary = NULL;
        return file_fail(output->path, ENOMEM);
    }
    output->file = mkostemp(output->temporary, O_CLOEXEC);
    if (output->file < 0) {
        const int error = errno;
        free(output->temporary);
        output->temporary = NULL;
        return file_fail(output->path, error);
    }
    cmd_monitor_file(output->monitor, output->temporary);
    mode_set(output->file);
    return CMD_DONE;
}

enum cmd_exit cmd_output_open(struct cmd_output *output, const char *path, const char *media_type,
                              struct cmd_monitor *monitor)
{
    *output = (struct cmd_output){.monitor = monitor, .path = path, .file = STDOUT_FILENO};
    if (path)
        return file_open(output);
    if (!isatty(STDOUT_FILENO))
        return CMD_DONE;
    if (!is_text(media_type)) {
        cmd_say("the answer is %s, which is not for a terminal; -o FILE writes it to a file, "
                "format=json prints numbers",
                media_type);
        return CMD_USAGE;
    }
    output->indents = is_json(media_type);
    cmd_monitor_hide(monitor); /* the answer appears instead */
    return CMD_DONE;
}

/* Small enough for progress to show on a pipe that is read slowly. */
enum { WRITE_MAX = 64 << 10 };

static bool bytes_write(struct cmd_output *output, const char *bytes, size_t size)
{
    while (size > 0) {
        const ssize_t written = write(output->file, bytes, size < WRITE_MAX ? size : WRITE_MAX);
        if (written < 0 && errno != EINTR) {
            output->error = errno;
            return false;
        }
        if (written > 0) {
            bytes += written;
            size -= (size_t)written;
            atomic_fetch_add(&output->monitor->done, (uint64_t)written);
        }
    }
    return true;
}

static bool lines_write(struct cmd_output *output, const char *bytes, size_t size)
{
    char lines[4096];
    size_t used = 0;

    for (size_t i = 0; i < size; i++) {
        used += indent_next(&output->indent, bytes[i], lines + used);
        if (used <= sizeof(lines) - INDENT_MAX)
            continue;
        if (!bytes_write(output, lines, used))
            return false;
        used = 0;
    }
    return bytes_write(output, lines, used);
}

bool cmd_output_put(void *context, const void *bytes, size_t size)
{
    struct cmd_output *output = context;
    return output->indents ? lines_write(output, bytes, size) : bytes_write(output, bytes, size);
}

enum cmd_exit cmd_output_close(struct cmd_output *output, bool complete)
{
    const char *path = output->path ? output->path : "standard output";

    if (output->path && close(output->file) != 0 && !output->error)
        output->error = errno;
    if (output->temporary && (!complete || output->error || rename(output->temporary, path) != 0)) {
        if (complete && !output->error)
            output->error = errno;
        unlink(output->temporary);
    }
    if (output->path)
        cmd_monitor_file(output->monitor, NULL);
    free(output->temporary);
    return output->error ? file_fail(path, output->error) : CMD_DONE;
}
