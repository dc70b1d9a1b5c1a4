/* SPDX-License-Identifier: MIT */
#include "command/indent.h"

#include <string.h>

enum { DEPTH_MAX = 64, SPACES = 2 };

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

/* The bracket before: an object is in lines, and a list of lists or objects. */
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

size_t cmd_indent_next(struct cmd_indent *indent, char byte, char *out)
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
