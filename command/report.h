/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_REPORT_H
#define COMMAND_REPORT_H

/* Answers as reports for people, on a terminal: the verdict first, then what it rests on. */

#include <jansson.h>

#include "command/command.h"

/* Is there a report of the answers of this target? */
bool cmd_report_is_for(const char *target);

/* Prints the report of an answer on the standard output: at most as many columns as the terminal
 * has, in colour unless NO_COLOR is set or the terminal has none. */
void cmd_report_print(const char *target, json_t *answer);

/* What the answer says of the thing that was asked about: CMD_DONE where it is right, or where the
 * answer judges nothing, else CMD_WRONG. */
enum cmd_exit cmd_report_verdict(const char *target, const json_t *answer);

#endif
