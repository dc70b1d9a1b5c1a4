/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_CATALOGUE_H
#define COMMAND_CATALOGUE_H

/* Parameters as the service tells them: of encodings and their views in /v1/encodings, of functions
 * in /openapi.json. */

#include "command/command.h"

/* Told of each parameter, with its JSON schema. */
struct cmd_visitor {
    void (*visit)(void *context, const char *name, const json_t *schema, bool required);
    void *context;
};

/* Those of an object schema. */
void cmd_schema_walk(const json_t *object, const struct cmd_visitor *visitor);

/* An operation of the contract, {"summary": ...}; NULL: it has none. */
const json_t *cmd_operation(const json_t *contract, const struct cmd_word *word);
/* The parameters of its query. */
void cmd_operation_walk(const json_t *contract, const json_t *operation,
                        const struct cmd_visitor *visitor);

/* The text of a member, "" where there is none. */
const char *cmd_member(const json_t *object, const char *key);

/* "a whole number from 2, 10000 where absent: What it is." */
void cmd_schema_print(const json_t *schema, bool required, FILE *out);

#endif
