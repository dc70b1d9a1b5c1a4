/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_OUTPUT_H
#define COMMAND_OUTPUT_H

/* Where an answer goes: a file that is there whole or not at all, or the standard output. */

#include "command/indent.h"
#include "command/watch.h"

struct cmd_output {
    struct cmd_watch *watch;
    const char *path; /* NULL: the standard output */
    char *made;       /* the file beside it that is written; NULL: it is written itself */
    int file;
    int error; /* errno of what failed */
    bool indents;
    struct cmd_indent indent;
};

/* media_type: of the answer; JSON is indented on a terminal. CMD_DONE, CMD_FILES, or CMD_USAGE for
 * a binary answer to a terminal; a sentence was printed then. */
enum cmd_exit cmd_output_open(struct cmd_output *output, const char *path, const char *media_type,
                              struct cmd_watch *watch);

/* A sink of pe_request_drain; context: the output. */
bool cmd_output_put(void *context, const void *bytes, size_t size);

/* Puts a whole file in its place, and removes what is not. CMD_DONE or CMD_FILES. */
enum cmd_exit cmd_output_close(struct cmd_output *output, bool whole);

#endif
