/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/command.h"

/* ---- the body -------------------------------------------------------------------------------- */

enum { PIECE = 256 << 10 };

struct body {
    int file; /* -1: there is none */
    uint64_t length;
};

static enum cmd_exit body_open(const struct cmd_request *request, struct body *body)
{
    struct stat there;

    *body = (struct body){.file = -1, .length = request->body.size};
    if (!request->body_path)
        return CMD_DONE;
    body->file = strcmp(request->body_path, "-") == 0
                     ? dup(STDIN_FILENO)
                     : open(request->body_path, O_RDONLY | O_CLOEXEC);
    if (body->file < 0 || fstat(body->file, &there) != 0) {
        cmd_say("%s: %s", request->body_path, strerror(errno));
        return CMD_FILES;
    }
    if (S_ISDIR(there.st_mode)) {
        cmd_say("%s: %s", request->body_path, strerror(EISDIR));
        return CMD_FILES;
    }
    const off_t at = S_ISREG(there.st_mode) ? lseek(body->file, 0, SEEK_CUR) : -1;
    body->length =
        at >= 0 && at <= there.st_size ? (uint64_t)(there.st_size - at) : PE_LENGTH_UNKNOWN;
    return CMD_DONE;
}

/* Feeds until the end, or until the request is refused. */
static enum cmd_exit body_feed(const struct cmd_request *request, const struct body *body,
                               struct pe_request *handle)
{
    unsigned char *piece;
    ssize_t size;

    if (request->body.size > 0)
        pe_request_feed(handle, request->body.bytes, request->body.size);
    if (body->file < 0)
        return CMD_DONE;
    piece = malloc(PIECE);
    if (!piece) {
        cmd_say("memory is short");
        return CMD_TOO_LARGE;
    }
    do
        size = read(body->file, piece, PIECE);
    while ((size < 0 && errno == EINTR) ||
           (size > 0 && pe_request_feed(handle, piece, (size_t)size)));
    free(piece);
    if (size >= 0)
        return CMD_DONE;
    cmd_say("%s: %s", request->body_path, strerror(errno));
    return CMD_FILES;
}

/* ---- refusals -------------------------------------------------------------------------------- */

static enum cmd_exit exit_of(int status)
{
    switch (status) {
    case 404:
        return CMD_NOT_FOUND;
    case 413:
    case 414:
    case 503:
    case 507:
        return CMD_TOO_LARGE;
    default:
        return status < 400 ? CMD_DONE : status < 500 ? CMD_REFUSED : CMD_INTERNAL;
    }
}

/* "  parameter dim: detail". Other members are for programs. */
static void item_print(const json_t *item)
{
    static const char *const places[] = {"parameter", "tensor", "pointer", "header"};
    const char *detail = json_string_value(json_object_get(item, "detail"));

    fprintf(stderr, "  ");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *name = json_string_value(json_object_get(item, places[i]));
        if (name)
            fprintf(stderr, "%s %s: ", places[i], name);
    }
    fprintf(stderr, "%s\n", detail ? detail : "");
}

static bool item_says(const json_t *errors, const char *detail)
{
    size_t index;
    json_t *item;

    json_array_foreach(errors, index, item)
    {
        const char *text = json_string_value(json_object_get(item, "detail"));
        if (text && strcmp(text, detail) == 0)
            return true;
    }
    return false;
}

/* Prints a problem document on stderr. */
static void problem_print(const char *bytes, size_t size)
{
    json_t *problem = json_loadb(bytes, size, 0, NULL);
    const json_t *errors = json_object_get(problem, "errors");
    const char *title = json_string_value(json_object_get(problem, "title"));
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    size_t index;
    json_t *item;

    cmd_say("%s", title ? title : "the request is refused");
    if (detail && !item_says(errors, detail))
        fprintf(stderr, "  %s\n", detail);
    json_array_foreach(errors, index, item) item_print(item);
    json_decref(problem);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static bool text_sink(void *context, const void *bytes, size_t size)
{
    cmd_text_add(context, bytes, size);
    return true;
}

/* Prints the warnings of the header. A JSON answer has them in its body. */
static void warnings_print(const struct cmd *cmd, const struct pe_response *response)
{
    const char *header = pe_response_field(response, "Encoding-Warnings");
    json_t *warnings = header && !cmd->line->quiet ? json_loads(header, 0, NULL) : NULL, *warning;
    size_t index;

    json_array_foreach(warnings, index, warning)
    {
        const json_t *detail = json_object_get(warning, "detail");
        const char *text = json_string_value(detail ? detail : warning);
        if (text)
            cmd_say("warning: %s", text);
    }
    json_decref(warnings);
}

static enum cmd_exit caught(const struct cmd *cmd)
{
    const int signal = atomic_load(&cmd->monitor->caught);

    return signal ? (enum cmd_exit)(128 + signal) : CMD_DONE;
}

static enum cmd_exit refusal_print(struct cmd *cmd, struct pe_request *handle,
                                   const struct pe_response *response)
{
    struct cmd_text text = {0};

    pe_request_drain(handle, text_sink, &text);
    cmd_monitor_hide(cmd->monitor);
    problem_print(text.bytes ? text.bytes : "", text.size);
    cmd_text_free(&text);
    return exit_of(response->status);
}

/* The answer must have the format of the output's file name. */
static enum cmd_exit media_check(const struct cmd *cmd, const struct cmd_request *request,
                                 const char *type)
{
    const size_t length = request->accept ? strlen(request->accept) : 0;

    if (length == 0 || strncmp(type, request->accept, length) == 0)
        return CMD_DONE;
    cmd_say("the answer is %s, which %s does not say; choose another name", type,
            cmd->line->output);
    return CMD_USAGE;
}

/* Texts of up to SHORT_MAX bytes are printed as they are; longer than TEXT_MAX is refused. */
enum { SHORT_MAX = 2 << 10, TEXT_MAX = 64 << 20 };

static bool limited_sink(void *context, const void *bytes, size_t size)
{
    struct cmd_text *text = context;

    cmd_text_add(text, bytes, size);
    return text->size <= TEXT_MAX;
}

/* Shows JSON on a terminal: as a report if there is one, indented if it is small, and large tensors
 * as short tables. */
static enum cmd_exit json_show(struct cmd *cmd, const struct cmd_request *request,
                               struct pe_request *handle, const char *type)
{
    const bool is_report = cmd_report_is_for(request->target.bytes);
    struct cmd_text text = {0};
    const enum pe_status status = pe_request_drain(handle, limited_sink, &text);
    json_t *answer = is_report || text.size > SHORT_MAX
                         ? json_loadb(text.bytes ? text.bytes : "", text.size, 0, NULL)
                         : NULL;
    struct cmd_output output;
    enum cmd_exit code = CMD_DONE;

    cmd_monitor_hide(cmd->monitor);
    if (text.size > TEXT_MAX) {
        cmd_say("the answer is larger than %d MiB, which is not for a terminal; -o FILE writes it "
                "to a file",
                TEXT_MAX >> 20);
        code = CMD_USAGE;
    } else if (status) {
        cmd_say("%s: the answer broke off", pe_status_title(status));
        code = CMD_TOO_LARGE;
    } else if (answer && is_report) {
        cmd_report_print(request->target.bytes, answer);
        code = cmd_report_verdict(request->target.bytes, answer);
    } else if (!answer || !cmd_tables_print(answer)) {
        code = cmd_output_open(&output, NULL, type, cmd->monitor);
        cmd_output_put(&output, text.bytes, text.size);
        code = code ?: cmd_output_close(&output, true);
    }
    json_decref(answer);
    cmd_text_free(&text);
    return code;
}

/* Writes a report as JSON; its verdict is the exit code. */
static enum cmd_exit report_write(const struct cmd_request *request, struct pe_request *handle,
                                  struct cmd_output *output)
{
    struct cmd_text text = {0};
    const enum pe_status status = pe_request_drain(handle, text_sink, &text);
    json_t *answer = json_loadb(text.bytes ? text.bytes : "", text.size, 0, NULL);
    enum cmd_exit code;

    cmd_output_put(output, text.bytes, text.size);
    code = cmd_output_close(output, status == PE_OK);
    if (!code && status) {
        cmd_say("%s: the answer broke off", pe_status_title(status));
        code = CMD_TOO_LARGE;
    }
    if (!code && answer)
        code = cmd_report_verdict(request->target.bytes, answer);
    json_decref(answer);
    cmd_text_free(&text);
    return code;
}

static enum cmd_exit answer_write(struct cmd *cmd, const struct cmd_request *request,
                                  struct pe_request *handle, const struct pe_response *response)
{
    const char *type = pe_response_field(response, "Content-Type");
    struct cmd_output output;
    enum pe_status status;
    enum cmd_exit code;

    if (!response->has_body)
        return CMD_DONE;
    if (request->is_for_people && type && strcmp(type, "application/json") == 0)
        return json_show(cmd, request, handle, type);
    code = media_check(cmd, request, type ? type : "");
    if (!code)
        code = cmd_output_open(&output, cmd->line->output, type ? type : "", cmd->monitor);
    if (code)
        return code;
    if (type && strcmp(type, "application/json") == 0 && cmd_report_is_for(request->target.bytes))
        return report_write(request, handle, &output);
    atomic_store(&cmd->monitor->total, response->length);
    status = pe_request_drain(handle, cmd_output_put, &output);
    code = cmd_output_close(&output, status == PE_OK);
    if (code || status == PE_OK || caught(cmd))
        return code;
    cmd_say("%s: the answer broke off", pe_status_title(status));
    return CMD_TOO_LARGE;
}

static enum cmd_exit finish(struct cmd *cmd, const struct cmd_request *request,
                            struct pe_request *handle)
{
    const struct pe_response *response = pe_request_finish(handle);

    if (caught(cmd))
        return caught(cmd);
    if (response->status >= 400)
        return refusal_print(cmd, handle, response);
    warnings_print(cmd, response);
    return answer_write(cmd, request, handle, response);
}

enum cmd_exit cmd_request_run(struct cmd *cmd, const struct cmd_request *request)
{
    struct pe_request *handle = NULL;
    struct pe_error err = {0};
    struct body body;
    enum cmd_exit code = body_open(request, &body);
    const struct pe_request_head head = {
        .size = sizeof(head),
        .method = request->method,
        .target = request->target.bytes,
        .fields = request->fields,
        .fields_count = request->fields_count,
        .body_length = body.length,
    };

    if (!code && pe_request_new(&handle, cmd->service, &head, &err)) {
        cmd_say("%s", err.detail);
        code = CMD_TOO_LARGE;
    }
    cmd_monitor_request(cmd->monitor, handle);
    if (!code)
        code = body_feed(request, &body, handle);
    if (!code)
        code = finish(cmd, request, handle);
    cmd_monitor_request(cmd->monitor, NULL);
    pe_request_free(handle);
    if (body.file >= 0)
        close(body.file);
    return caught(cmd) ? caught(cmd) : code;
}

/* ---- the service's own documents ------------------------------------------------------------- */

json_t *cmd_document(struct cmd *cmd, const char *method, const char *target, enum cmd_exit *code)
{
    const struct pe_request_head head = {.size = sizeof(head), .method = method, .target = target};
    struct pe_request *handle;
    struct pe_error err = {0};
    struct cmd_text text = {0};
    json_t *document = NULL;

    *code = CMD_TOO_LARGE;
    if (pe_request_new(&handle, cmd->service, &head, &err)) {
        cmd_say("%s", err.detail);
        return NULL;
    }
    const struct pe_response *response = pe_request_finish(handle);
    pe_request_drain(handle, text_sink, &text);
    *code = exit_of(response->status);
    if (response->status == 200)
        document = json_loadb(text.bytes, text.size, 0, NULL);
    else
        problem_print(text.bytes ? text.bytes : "", text.size);
    pe_request_free(handle);
    cmd_text_free(&text);
    return document;
}

json_t *cmd_encoding(struct cmd *cmd, const char *name, enum cmd_exit *code)
{
    struct cmd_text path = {0};
    json_t *encoding;

    cmd_text_put(&path, "/v1/encodings/");
    cmd_text_escape(&path, name);
    encoding = cmd_document(cmd, "GET", path.bytes, code);
    cmd_text_free(&path);
    return encoding;
}
