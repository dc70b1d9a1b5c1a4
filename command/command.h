/* SPDX-License-Identifier: MIT */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

/* posenc, the command: makes a request of the service from the command line, in this process. */

#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
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

/* ---- arguments.c ----------------------------------------------------------------------------- */

/* What follows a command word (commands.def). */
enum cmd_takes {
    CMD_ENCODING,
    CMD_BODY,
    CMD_MAYBE,
    CMD_TARGET,
    CMD_OPERANDS,
    CMD_TWO_FILES,
    CMD_CONFIGS,
    CMD_EXTENSION,
    CMD_NOTHING
};

struct cmd_word {
    const char *name, *method, *target;
    enum cmd_takes takes;
    const char *arguments, *doc;
};

/* NULL: there is no such word. */
const struct cmd_word *cmd_word_find(const char *name);
/* The words in order; NULL after the last. */
const struct cmd_word *cmd_word_at(size_t index);
/* The word, or the view in an encoding's `operations` (NULL: none), nearest to a misspelt one;
 * NULL: none is near. */
const char *cmd_word_near(const char *typed, const json_t *operations);

/* A flag, without its hyphens. letter: of the short form, or ""; value: what follows, or "". */
struct cmd_flag {
    const char *name, *letter, *value, *doc;
};

/* The flags in order; NULL after the last. */
const struct cmd_flag *cmd_flag_at(size_t index);

enum { CMD_FIELDS_MAX = 32 };

/* The parsed command line. Texts are argv's. */
struct cmd_line {
    const char *word;
    const char **names;      /* after the word: an encoding, a target, operands, files */
    struct pe_field *params; /* name=value */
    struct pe_setting *settings;
    size_t names_count, params_count, settings_count;
    struct pe_field fields[CMD_FIELDS_MAX]; /* of -H */
    size_t fields_count;
    const char *output;                     /* NULL: the standard output */
    const char *config;                     /* a file; NULL: none */
    const char *engines, *against, *format; /* --for, --against and --format of lint; or NULL */
    const char *to, *type;                  /* --to and --type of extend; or NULL */
    bool quiet, json, help, version;
};

/* false: a message was printed. The line has to be freed in any case. */
bool cmd_line_read(struct cmd_line *line, int argc, char **argv);
void cmd_line_free(struct cmd_line *line);

/* ---- monitor.c ------------------------------------------------------------------------------- */

/* A thread beside the request: cancels it on SIGINT, SIGTERM and SIGHUP, and shows the progress of
 * a long answer on a terminal. */
struct cmd_monitor {
    pthread_t thread;
    bool runs;
    sigset_t signals;
    pthread_mutex_t lock; /* of the next four */
    bool shows, shown;
    struct pe_request *request;
    const char *unfinished; /* a file to remove when interrupted; NULL: none */
    atomic_bool ended;
    atomic_int caught; /* the signal; 0: none */
    _Atomic uint64_t done, total;
};

/* Blocks the signals in this thread and all that it starts from here on. */
void cmd_monitor_start(struct cmd_monitor *monitor, bool quiet);
/* Clears the progress line, and shows no more. */
void cmd_monitor_hide(struct cmd_monitor *monitor);
/* Ends the thread. */
void cmd_monitor_end(struct cmd_monitor *monitor);

/* The request that a signal cancels, and the file that it removes; NULL: none. */
void cmd_monitor_request(struct cmd_monitor *monitor, struct pe_request *request);
void cmd_monitor_file(struct cmd_monitor *monitor, const char *path);

/* ---- output.c -------------------------------------------------------------------------------- */

/* Prints "posenc: sentence" on stderr. */
void cmd_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A growing text. The program ends when memory is out. */
struct cmd_text {
    char *bytes;
    size_t size, capacity;
};

void cmd_text_add(struct cmd_text *text, const void *bytes, size_t size);
void cmd_text_put(struct cmd_text *text, const char *string);
/* Adds a name or a value of a query, percent-encoded. */
void cmd_text_escape(struct cmd_text *text, const char *string);
void cmd_text_free(struct cmd_text *text);

/* The state of a JSON text that is being broken into lines. */
struct cmd_indent {
    uint64_t broken; /* one bit a level, innermost last: its members have lines of their own */
    unsigned depth;
    bool in_text, escaped;
    char opened; /* a bracket whose first member decides `broken`; 0: none */
};

/* An answer's destination: a file, which appears complete or not at all, or the standard output. */
struct cmd_output {
    struct cmd_monitor *monitor;
    const char *path; /* NULL: the standard output */
    char *temporary;  /* the file beside `path` that is written; NULL: `path` itself is */
    int file;
    int error; /* errno of a failure */
    bool indents;
    struct cmd_indent indent;
};

/* media_type: of the answer; JSON is indented on a terminal. CMD_FILES, and CMD_USAGE for a binary
 * answer to a terminal: a message was printed. */
enum cmd_exit cmd_output_open(struct cmd_output *output, const char *path, const char *media_type,
                              struct cmd_monitor *monitor);
/* A sink of pe_request_drain; context: the output. */
bool cmd_output_put(void *context, const void *bytes, size_t size);
/* Renames a complete file to its path, and removes an incomplete one. CMD_DONE or CMD_FILES. */
enum cmd_exit cmd_output_close(struct cmd_output *output, bool complete);

/* ---- request.c ------------------------------------------------------------------------------- */

/* A request to be made. */
struct cmd_request {
    const char *method;
    struct cmd_text target;
    struct pe_field fields[CMD_FIELDS_MAX + 2];
    size_t fields_count;
    const char *body_path; /* "-": the standard input; NULL: there is none */
    struct cmd_text body;  /* without a path */
    char *type, *accept;   /* media types by the names of the files; NULL: unknown */
    bool is_for_people;    /* print the answer as a report or short tables, not as JSON */
};

/* Adds name=value to the target's query. */
void cmd_request_param(struct cmd_request *request, const char *name, const char *value);

/* The program's state. */
struct cmd {
    const struct cmd_line *line;
    struct pe_service *service;
    struct cmd_monitor *monitor;
    char *encoding; /* of --config, if no encoding follows the word; else NULL */
};

/* Makes the request, and writes the answer to the line's output, or the refusal to stderr. */
enum cmd_exit cmd_request_run(struct cmd *cmd, const struct cmd_request *request);

/* A JSON document of the service, requested without a body. NULL: a message was printed, and *code
 * is set. */
json_t *cmd_document(struct cmd *cmd, const char *method, const char *target, enum cmd_exit *code);
/* That of /v1/encodings/NAME. */
json_t *cmd_encoding(struct cmd *cmd, const char *name, enum cmd_exit *code);

/* ---- main.c ---------------------------------------------------------------------------------- */

/* The media type of a file by its name's suffix, among the formats of the service; the caller frees
 * it. NULL: none of them. */
char *cmd_media_type(struct cmd *cmd, const char *path);

/* ---- compare.c ------------------------------------------------------------------------------- */

/* A file in memory, which the caller frees, followed by a zero byte. */
struct cmd_file {
    const char *path;
    unsigned char *bytes;
    size_t size;
};

/* Reads the file of a path. CMD_FILES: a message was printed. */
enum cmd_exit cmd_file_read(struct cmd_file *file);
enum cmd_exit cmd_file_fail(const struct cmd_file *file, const char *why);

/* Makes the request of a comparison from two operands. */
enum cmd_exit cmd_compare(struct cmd *cmd, const struct cmd_word *word,
                          struct cmd_request *request);

/* ---- check.c --------------------------------------------------------------------------------- */

/* Makes the request of a check from two safetensors files. */
enum cmd_exit cmd_check(struct cmd *cmd, const struct cmd_word *word, struct cmd_request *request);
/* ---- lint.c ---------------------------------------------------------------------------------- */

/* Appends the bytes of a file, or of the standard input, -. */
enum cmd_exit cmd_file_add(struct cmd_text *text, const char *path);
/* Makes the request of lint from its flags and files. */
enum cmd_exit cmd_lint(struct cmd *cmd, const struct cmd_word *word, struct cmd_request *request);
/* One line a finding, on the standard output. */
void cmd_lint_print(json_t *answer);
/* CMD_WRONG: something differs; CMD_REFUSED: something was not measured. Of JSON and SARIF. */
enum cmd_exit cmd_lint_verdict(const json_t *answer);

/* ---- extend.c -------------------------------------------------------------------------------- */

/* Makes the request of an extension from its flags and its file. */
enum cmd_exit cmd_extend(struct cmd *cmd, const struct cmd_word *word, struct cmd_request *request);
void cmd_extend_print(json_t *answer);
/* CMD_WRONG: an engine reads no form of the patched config as it is meant. */
enum cmd_exit cmd_extend_verdict(const json_t *answer);

/* ---- report.c -------------------------------------------------------------------------------- */

/* Answers for people on a terminal: the verdict first, then its reasons. Lines have at most the
 * terminal's width, and colours unless NO_COLOR is set or the terminal has none. */

/* Is there a report for answers of this target? */
bool cmd_report_is_for(const char *target);
void cmd_report_print(const char *target, json_t *answer);
/* CMD_WRONG if the answer finds an error in what was sent; else CMD_DONE. */
enum cmd_exit cmd_report_verdict(const char *target, const json_t *answer);

/* Prints the tensors of an answer as short tables on the standard output. false: it has none, or
 * none with numbers, and nothing was printed. */
bool cmd_tables_print(json_t *answer);

/* ---- help.c ---------------------------------------------------------------------------------- */

/* Parameters as the service describes them: of encodings and views in /v1/encodings, of functions
 * in /openapi.json. */

/* Called for each parameter, with its JSON schema. */
struct cmd_visitor {
    void (*visit)(void *context, const char *name, const json_t *schema, bool required);
    void *context;
};

/* Visits the properties of an object schema. */
void cmd_schema_visit(const json_t *object, const struct cmd_visitor *visitor);
/* The operation of a command in the contract, {"summary": ...}; NULL: none. */
const json_t *cmd_operation(const json_t *contract, const struct cmd_word *word);
/* Visits the query parameters of an operation. */
void cmd_operation_visit(const json_t *contract, const json_t *operation,
                         const struct cmd_visitor *visitor);

/* The text of a member, or "". */
const char *cmd_member(const json_t *object, const char *key);

/* Prints "an integer from 2, by default 10000: description". */
void cmd_schema_print(const json_t *schema, bool required, FILE *out);

void cmd_usage_print(FILE *out);
/* Help for a command, an encoding, a view or a parameter. */
enum cmd_exit cmd_help(struct cmd *cmd, const char *name);
enum cmd_exit cmd_encodings(struct cmd *cmd);

/* ---- generate.c ------------------------------------------------------------------------------ */

/* Prints the manual page ("man") or the completion for bash ("bash"). */
enum cmd_exit cmd_generate(struct cmd *cmd, const char *kind);

#endif
