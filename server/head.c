/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <strings.h>

#include "server/http.h"

/* RFC 9110, section 5.6.2 */
static const bool token[256] = {
    ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1,         ['&'] = 1,         ['\''] = 1,
    ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,         ['^'] = 1,         ['_'] = 1,
    ['`'] = 1, ['|'] = 1, ['~'] = 1, ['0' ... '9'] = 1, ['a' ... 'z'] = 1, ['A' ... 'Z'] = 1,
};

static char *token_skip(char *at)
{
    while (token[(unsigned char)*at])
        at++;
    return at;
}

/* ---- its end ----------------------------------------------------------------------------------
 */

/* Is it too long for what may still come? */
static enum srv_scanned more(const struct srv_scan *scan, size_t size)
{
    if (scan->lines == 0 && size > SRV_URI_MAX + SRV_FIELD_SIZE)
        return SRV_SCAN_URI;
    return size >= SRV_HEAD_ROOM ? SRV_SCAN_LONG : SRV_SCAN_MORE;
}

enum srv_scanned srv_head_scan(struct srv_scan *scan, const char *text, size_t size)
{
    if (size > 0 && !token[(unsigned char)text[0]])
        return SRV_SCAN_BAD;
    while (scan->at < size) {
        const char *found = memchr(text + scan->at, '\n', size - scan->at);
        const size_t end = found ? (size_t)(found - text) : size;
        if (!found)
            break;
        if (end == scan->line || text[end - 1] != '\r')
            return SRV_SCAN_BAD;
        scan->at = end + 1;
        if (end == scan->line + 1)
            return SRV_SCAN_WHOLE;
        scan->line = end + 1;
        scan->lines++;
    }
    scan->at = size;
    return more(scan, size);
}

/* ---- its lines --------------------------------------------------------------------------------
 */

static enum api_status line_bad(struct api_error *err)
{
    return api_fail(err, API_MALFORMED, "",
                    "the first line is no method, target and version, such as GET /v1 HTTP/1.1");
}

/* Cuts "GET /v1?a=b HTTP/1.1" up; the CR is a zero already. Any byte but blanks and control
 * characters may stand in a target: api/ says more of it. */
static enum api_status request_line_read(struct srv_head *head, char *line, struct api_error *err)
{
    char *method_end = token_skip(line), *target = method_end + 1, *at = target, *version;

    if (method_end == line || *method_end != ' ')
        return line_bad(err);
    *method_end = '\0';
    head->method = line;
    while ((unsigned char)*at > ' ' && *at != 127)
        at++;
    if (at == target || *at != ' ')
        return line_bad(err);
    *at = '\0';
    head->target = target;
    version = at + 1;
    if (strlen(version) != 8 || strncmp(version, "HTTP/", 5) != 0 || version[6] != '.')
        return line_bad(err);
    if (version[5] != '1' || (version[7] != '0' && version[7] != '1'))
        return api_fail(err, API_MALFORMED, "", "HTTP/1.1 and HTTP/1.0 are spoken here, not '%s'",
                        version);
    head->minor = version[7] == '1';
    return API_OK;
}

/* Blanks around a value are none of it. NULL: a control character stands in it. */
static char *value_trim(char *value, char *end)
{
    value += strspn(value, " \t");
    for (char *at = value; at < end; at++)
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 127)
            return NULL;
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
    return value;
}

static enum api_status field_read(struct srv_head *head, char *line, char *end,
                                  struct api_error *err)
{
    char *colon = token_skip(line), *value;

    if (colon == line || *colon != ':')
        return api_fail(err, API_MALFORMED, "",
                        "a line of the head is no name, colon and value, or its name has a "
                        "character that must not stand there");
    *colon = '\0';
    value = value_trim(colon + 1, end);
    if (!value)
        return api_fail(err, API_MALFORMED, "",
                        "a header field has a character that must not stand there");
    head->size += strlen(line) + strlen(value) + SRV_FIELD_SIZE;
    if (head->fields_all++ < SRV_FIELDS_MAX)
        head->fields[head->fields_count++] = (struct api_field){line, value};
    return API_OK;
}

static enum api_status sizes_judge(const struct srv_head *head, struct api_error *err)
{
    const size_t target = strlen(head->target);

    if (target > SRV_URI_MAX)
        return api_fail(err, API_URI_TOO_LONG, "",
                        "a path and its query have at most %d bytes here, got %zu; a POST takes "
                        "parameters in its body",
                        SRV_URI_MAX, target);
    if (head->fields_all > SRV_FIELDS_MAX)
        return api_fail(err, API_TOO_MANY_FIELDS, "", "a request has at most %d header fields here",
                        SRV_FIELDS_MAX);
    if (target + head->size > SRV_HEAD_MAX)
        return api_fail(err, API_TOO_MANY_FIELDS, "",
                        "the URI and the header fields have at most %d bytes together, each field "
                        "counted as %d more than its text",
                        SRV_HEAD_MAX, SRV_FIELD_SIZE);
    return API_OK;
}

/* Lines were found to end in CR LF; a CR or a zero in their middle is a control character. */
enum api_status srv_head_read(struct srv_head *head, char *text, size_t size, struct api_error *err)
{
    char *line = text, *const last = text + size - 2;

    *head = (struct srv_head){.method = "", .target = "", .keeps = false};
    while (line < last) {
        char *const end = (char *)memchr(line, '\n', (size_t)(last - line)) - 1;
        enum api_status status;
        *end = '\0';
        status =
            line == text ? request_line_read(head, line, err) : field_read(head, line, end, err);
        if (status)
            return status;
        line = end + 2;
    }
    return sizes_judge(head, err) ? api_failed(err) : srv_framing_read(head, err);
}

const char *srv_head_field(const struct srv_head *head, const char *name)
{
    for (size_t i = 0; i < head->fields_count; i++)
        if (strcasecmp(head->fields[i].name, name) == 0)
            return head->fields[i].value;
    return NULL;
}
