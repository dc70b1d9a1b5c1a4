/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

/* posenc, the command: a request of the service from the command line, in this process. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "posenc/posenc.h"
#include "posenc/service.h"

enum cmd_exit {
#define EXIT(name, code, doc) CMD_##name = code,
#include "command/exits.def"
#undef EXIT
};

/* ---- the command line ------------------------------------------------------------------------ */

enum cmd_takes { CMD_ENCODING, CMD_BODY, CMD_MAYBE, CMD_TARGET, CMD_SIDES, CMD_NOTHING };

struct cmd_word {
    const char *name, *method, *target;
    enum cmd_takes takes;
    const char *arguments, *doc;
};

/* NULL: there is no such word. */
const struct cmd_word *cmd_word_find(const char *name);
/* Words one after the other, NULL past the end. */
const struct cmd_word *cmd_word_at(size_t index);
/* The word, or the view in an encoding's `operations` (NULL: none), that a typed one is nearly;
 * NULL: none is. */
const char *cmd_word_near(const char *typed, const json_t *operations);

enum { CMD_FIELDS_MAX = 32 };

/* What was typed. Texts are argv's. */
struct cmd_line {
    const char *word;
    const char **names;      /* behind the word: an encoding, a target, sides, files */
    struct pe_field *params; /* name=value */
    struct pe_setting *settings;
    size_t names_count, params_count, settings_count;
    struct pe_field fields[CMD_FIELDS_MAX]; /* of -H */
    size_t fields_count;
    const char *output; /* NULL: the standard output */
    const char *config; /* a file; NULL: none */
    bool quiet, json, help, version;
};

/* false: a sentence was printed. The line is freed all the same. */
bool cmd_line_read(struct cmd_line *line, int argc, char **argv);
void cmd_line_free(struct cmd_line *line);

/* ---- a request ------------------------------------------------------------------------------- */

/* A text that grows. What does not fit in memory ends the program. */
struct cmd_text {
    char *bytes;
    size_t size, room;
};

void cmd_text_add(struct cmd_text *text, const void *bytes, size_t size);
void cmd_text_put(struct cmd_text *text, const char *string);
/* Percent-encoded, as a name or a value of a query. */
void cmd_text_escape(struct cmd_text *text, const char *string);
void cmd_text_free(struct cmd_text *text);

struct cmd_ask {
    const char *method;
    struct cmd_text target;
    struct pe_field fields[CMD_FIELDS_MAX + 2];
    size_t fields_count;
    const char *body_path; /* "-": the standard input; NULL: there is none */
    struct cmd_text body;  /* where there is no path */
    char *type, *accept;   /* media types by the names of the files; NULL: not known */
    bool is_for_people;    /* the answer is printed as a report or as short tables, not as JSON */
};

/* name=value behind what is there of a target. */
void cmd_ask_param(struct cmd_ask *ask, const char *name, const char *value);

/* A service, and what came of a request. */
struct cmd {
    const struct cmd_line *line;
    struct pe_service *service;
    struct cmd_watch *watch;
    char *encoding; /* of the line's config, where no name stands behind the word; else NULL */
};

/* Asks, and writes the answer where the line says, or the refusal to stderr. */
enum cmd_exit cmd_ask_run(struct cmd *cmd, const struct cmd_ask *ask);

/* A document of the service itself, with nothing posted. NULL: a sentence was printed, and *code
 * set. */
json_t *cmd_document(struct cmd *cmd, const char *method, const char *target, enum cmd_exit *code);

/* The same of /v1/encodings/NAME; *code says what went wrong. */
json_t *cmd_encoding(struct cmd *cmd, const char *name, enum cmd_exit *code);

/* The media type of a file by the end of its name, as the service names its formats; the caller
 * frees it. NULL: the name is of none of them. */
char *cmd_media_type(struct cmd *cmd, const char *path);

/* ---- telling --------------------------------------------------------------------------------- */

/* "posenc: sentence" on stderr. */
void cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A problem document in words, on stderr; and the exit code of its status. */
void cmd_problem_tell(const char *bytes, size_t size);
enum cmd_exit cmd_exit_of(int status);

/* The encoding of an answer in a line, and its warnings in a line each. */
void cmd_encoding_print(const json_t *answer);
void cmd_warnings_print(const json_t *answer);

/* The tensors of an answer as short tables, on the standard output. false: it has none, or none
 * with numbers, and nothing was printed. */
bool cmd_tables_print(json_t *answer);

void cmd_usage_print(FILE *out);
/* A word, an encoding, a view or a parameter. */
enum cmd_exit cmd_help(struct cmd *cmd, const char *name);
enum cmd_exit cmd_encodings(struct cmd *cmd);

/* Makes the request of a comparison from two sides. */
enum cmd_exit cmd_compare(struct cmd *cmd, const struct cmd_word *word, struct cmd_ask *ask);

/* The manual page or the completion of bash, on the standard output. */
enum cmd_exit cmd_generate(struct cmd *cmd, const char *what);

#endif
