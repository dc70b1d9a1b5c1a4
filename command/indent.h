/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_INDENT_H
#define COMMAND_INDENT_H

/* JSON in lines for a person, byte by byte: every name of an object, and every object or list in a
 * list, has a line; lists of numbers stay in one. Tokens are untouched. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cmd_indent {
    uint64_t broken; /* a bit each for the levels that are in lines, innermost last */
    unsigned depth;
    bool in_text, escaped;
    char opened; /* a bracket whose first member decides; 0: none */
};

/* The most bytes that one byte becomes. */
enum { CMD_INDENT_MAX = 256 };

/* What a byte becomes, at `out`; returns its size. */
size_t cmd_indent_next(struct cmd_indent *indent, char byte, char *out);

#endif
