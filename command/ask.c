/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/output.h"
#include "command/report.h"

/* ---- the body -------------------------------------------------------------------------------- */

enum { PIECE = 256 << 10 };

struct body {
    int file; /* -1: there is none */
    uint64_t length;
};

static enum cmd_exit body_open(const struct cmd_ask *ask, struct body *body)
{
    struct stat there;

    *body = (struct body){.file = -1, .length = ask->body.size};
    if (!ask->body_path)
        return CMD_DONE;
    body->file = strcmp(ask->body_path, "-") == 0 ? dup(STDIN_FILENO)
                                                  : open(ask->body_path, O_RDONLY | O_CLOEXEC);
    if (body->file < 0 || fstat(body->file, &there) != 0) {
        cmd_say("%s: %s", ask->body_path, strerror(errno));
        return CMD_FILES;
    }
    if (S_ISDIR(there.st_mode)) {
        cmd_say("%s: %s", ask->body_path, strerror(EISDIR));
        return CMD_FILES;
    }
    const off_t at = S_ISREG(there.st_mode) ? lseek(body->file, 0, SEEK_CUR) : -1;
    body->length =
        at >= 0 && at <= there.st_size ? (uint64_t)(there.st_size - at) : PE_LENGTH_UNKNOWN;
    return CMD_DONE;
}

/* Until its end, or until the request needs no more. */
static enum cmd_exit body_feed(const struct cmd_ask *ask, const struct body *body,
                               struct pe_request *request)
{
    unsigned char *piece;
    ssize_t size;

    if (ask->body.size > 0)
        pe_request_feed(request, ask->body.bytes, ask->body.size);
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
           (size > 0 && pe_request_feed(request, piece, (size_t)size)));
    free(piece);
    if (size >= 0)
        return CMD_DONE;
    cmd_say("%s: %s", ask->body_path, strerror(errno));
    return CMD_FILES;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static bool text_sink(void *context, const void *bytes, size_t size)
{
    cmd_text_add(context, bytes, size);
    return true;
}

/* Those of JSON stand in it; the header has them beside other formats. */
static void warnings_tell(const struct cmd *cmd, const struct pe_response *response)
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
    const int signal = atomic_load(&cmd->watch->caught);

    return signal ? (enum cmd_exit)(128 + signal) : CMD_DONE;
}

static enum cmd_exit refusal_tell(struct cmd *cmd, struct pe_request *request,
                                  const struct pe_response *response)
{
    struct cmd_text text = {0};

    pe_request_drain(request, text_sink, &text);
    cmd_watch_hide(cmd->watch);
    cmd_problem_tell(text.bytes ? text.bytes : "", text.size);
    cmd_text_free(&text);
    return cmd_exit_of(response->status);
}

/* A name that promises one format does not get another. */
static enum cmd_exit media_check(const struct cmd *cmd, const struct cmd_ask *ask, const char *type)
{
    const size_t length = ask->accept ? strlen(ask->accept) : 0;

    if (length == 0 || strncmp(type, ask->accept, length) == 0)
        return CMD_DONE;
    cmd_say("the answer is %s, which %s does not say; choose another name", type,
            cmd->line->output);
    return CMD_USAGE;
}

/* A text of up to so many bytes is printed as it is; one of more than the latter is not kept. */
enum { SHORT_MAX = 2 << 10, TEXT_MAX = 64 << 20 };

static bool limited_sink(void *context, const void *bytes, size_t size)
{
    struct cmd_text *text = context;

    cmd_text_add(text, bytes, size);
    return text->size <= TEXT_MAX;
}

/* JSON for a person: a report where there is one; small as it is, with lines; large tensors as
 * short tables. */
static enum cmd_exit json_show(struct cmd *cmd, const struct cmd_ask *ask,
                               struct pe_request *request, const char *type)
{
    const bool is_report = cmd_report_is_for(ask->target.bytes);
    struct cmd_text text = {0};
    const enum pe_status status = pe_request_drain(request, limited_sink, &text);
    json_t *answer = is_report || text.size > SHORT_MAX
                         ? json_loadb(text.bytes ? text.bytes : "", text.size, 0, NULL)
                         : NULL;
    struct cmd_output output;
    enum cmd_exit code = CMD_DONE;

    cmd_watch_hide(cmd->watch);
    if (text.size > TEXT_MAX) {
        cmd_say("the answer is larger than %d MiB, which is not for a terminal; -o FILE writes it "
                "to a file",
                TEXT_MAX >> 20);
        code = CMD_USAGE;
    } else if (status) {
        cmd_say("%s: the answer broke off", pe_status_title(status));
        code = CMD_TOO_LARGE;
    } else if (answer && is_report) {
        cmd_report_print(ask->target.bytes, answer);
        code = cmd_report_verdict(ask->target.bytes, answer);
    } else if (!answer || !cmd_tables_print(answer)) {
        code = cmd_output_open(&output, NULL, type, cmd->watch);
        cmd_output_put(&output, text.bytes, text.size);
        code = code ?: cmd_output_close(&output, true);
    }
    json_decref(answer);
    cmd_text_free(&text);
    return code;
}

/* A report as JSON. It is short, and its verdict is the exit code. */
static enum cmd_exit report_write(const struct cmd_ask *ask, struct pe_request *request,
                                  struct cmd_output *output)
{
    struct cmd_text text = {0};
    const enum pe_status status = pe_request_drain(request, text_sink, &text);
    json_t *answer = json_loadb(text.bytes ? text.bytes : "", text.size, 0, NULL);
    enum cmd_exit code;

    cmd_output_put(output, text.bytes, text.size);
    code = cmd_output_close(output, status == PE_OK);
    if (!code && status) {
        cmd_say("%s: the answer broke off", pe_status_title(status));
        code = CMD_TOO_LARGE;
    }
    if (!code && answer)
        code = cmd_report_verdict(ask->target.bytes, answer);
    json_decref(answer);
    cmd_text_free(&text);
    return code;
}

static enum cmd_exit answer_write(struct cmd *cmd, const struct cmd_ask *ask,
                                  struct pe_request *request, const struct pe_response *response)
{
    const char *type = pe_response_field(response, "Content-Type");
    struct cmd_output output;
    enum pe_status status;
    enum cmd_exit code;

    if (!response->has_body)
        return CMD_DONE;
    if (ask->is_for_people && type && strcmp(type, "application/json") == 0)
        return json_show(cmd, ask, request, type);
    code = media_check(cmd, ask, type ? type : "");
    if (!code)
        code = cmd_output_open(&output, cmd->line->output, type ? type : "", cmd->watch);
    if (code)
        return code;
    if (type && strcmp(type, "application/json") == 0 && cmd_report_is_for(ask->target.bytes))
        return report_write(ask, request, &output);
    atomic_store(&cmd->watch->whole, response->length);
    status = pe_request_drain(request, cmd_output_put, &output);
    code = cmd_output_close(&output, status == PE_OK);
    if (code || status == PE_OK || caught(cmd))
        return code;
    cmd_say("%s: the answer broke off", pe_status_title(status));
    return CMD_TOO_LARGE;
}

static enum cmd_exit finish(struct cmd *cmd, const struct cmd_ask *ask, struct pe_request *request)
{
    const struct pe_response *response = pe_request_finish(request);

    if (caught(cmd))
        return caught(cmd);
    if (response->status >= 400)
        return refusal_tell(cmd, request, response);
    warnings_tell(cmd, response);
    return answer_write(cmd, ask, request, response);
}

enum cmd_exit cmd_ask_run(struct cmd *cmd, const struct cmd_ask *ask)
{
    struct pe_request *request = NULL;
    struct pe_error err = {0};
    struct body body;
    enum cmd_exit code = body_open(ask, &body);
    const struct pe_request_head head = {
        .size = sizeof(head),
        .method = ask->method,
        .target = ask->target.bytes,
        .fields = ask->fields,
        .fields_count = ask->fields_count,
        .body_length = body.length,
    };

    if (!code && pe_request_new(&request, cmd->service, &head, &err)) {
        cmd_say("%s", err.detail);
        code = CMD_TOO_LARGE;
    }
    cmd_watch_request(cmd->watch, request);
    if (!code)
        code = body_feed(ask, &body, request);
    if (!code)
        code = finish(cmd, ask, request);
    cmd_watch_request(cmd->watch, NULL);
    pe_request_free(request);
    if (body.file >= 0)
        close(body.file);
    return caught(cmd) ? caught(cmd) : code;
}

/* ---- the service's own documents ------------------------------------------------------------- */

json_t *cmd_document(struct cmd *cmd, const char *method, const char *target, enum cmd_exit *code)
{
    const struct pe_request_head head = {.size = sizeof(head), .method = method, .target = target};
    struct pe_request *request;
    struct pe_error err = {0};
    struct cmd_text text = {0};
    json_t *document = NULL;

    *code = CMD_TOO_LARGE;
    if (pe_request_new(&request, cmd->service, &head, &err)) {
        cmd_say("%s", err.detail);
        return NULL;
    }
    const struct pe_response *response = pe_request_finish(request);
    pe_request_drain(request, text_sink, &text);
    *code = cmd_exit_of(response->status);
    if (response->status == 200)
        document = json_loadb(text.bytes, text.size, 0, NULL);
    else
        cmd_problem_tell(text.bytes ? text.bytes : "", text.size);
    pe_request_free(request);
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
