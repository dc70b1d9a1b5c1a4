/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/server.h"

/* Request smuggling: a proxy that finds another end of a request lets one client send requests as
 * another. The HTTP library takes the first of two lengths, and waits forever on an unknown
 * transfer coding; both are refused here. */

/* The position up to which the head was accounted for; at NULL: a byte was not. */
struct head_text {
    const char *at, *end;
    bool checked;
};

struct field_visits {
    struct api_field *fields;
    size_t count, hosts, lengths, codings;
    const char *host, *coding, *length;
    bool bad_name, bad_value;
    struct head_text text;
};

/* ---- the head as it came --------------------------------------------------------------------- */

/* libmicrohttpd 0.9.75 parses heads differently from other servers: an empty name ends the head, a
 * NUL ends a value, a line feed alone ends a line, and a line that begins with a blank continues
 * the one before. It splits the head in place, with zeros for the separators, and joins lines
 * elsewhere. So each byte of the head has to be accounted for: one field after the other, CR LF
 * after each, an empty line at the end. */
static struct head_text text_begin(struct MHD_Connection *connection, const char *method,
                                   const char *version)
{
    const union MHD_ConnectionInfo *info;
    struct head_text text = {0};

    if (strcmp(MHD_get_version(), "0.9.75") != 0)
        return text;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    text.checked = true;
    if (!info || version < method || version >= method + info->header_size)
        return text;
    text.end = method + info->header_size;
    text.at = version + strlen(version);
    return text;
}

/* Skips two zeros, in place of CR and LF; else sets `at` to NULL. */
static void line_end(struct head_text *text)
{
    if (text->at && text->end - text->at >= 2 && text->at[0] == '\0' && text->at[1] == '\0')
        text->at += 2;
    else
        text->at = NULL;
}

static void text_field(struct head_text *text, const char *name, size_t name_size,
                       const char *value, size_t value_size)
{
    line_end(text);
    if (text->at != name || name_size + 1 + value_size > (size_t)(text->end - name))
        text->at = NULL;
    if (!text->at)
        return;
    text->at += name_size + 1;
    text->at += strspn(text->at, " \t");
    text->at = text->at == value ? value + value_size : NULL;
}

static bool text_is_complete(struct head_text *text)
{
    line_end(text);
    line_end(text);
    return !text->checked || (text->at && text->at == text->end);
}

/* ---- its size -------------------------------------------------------------------------------- */

size_t srv_head_bytes(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    return info ? info->header_size : 0;
}

size_t srv_head_size(struct MHD_Connection *connection, size_t bytes)
{
    const int fields = MHD_get_connection_values(
        connection, (enum MHD_ValueKind)(MHD_HEADER_KIND | MHD_COOKIE_KIND), NULL, NULL);
    const char *cookie =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_COOKIE);

    return bytes + (fields > 0 ? (size_t)fields * SRV_FIELD_SIZE : 0) +
           (cookie ? strlen(cookie) : 0);
}

struct longest {
    const char *name;
    size_t size;
    size_t all; /* the size of all fields, as srv_head_size counts them */
};

static enum MHD_Result longest_find(void *cls, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct longest *longest = cls;
    const size_t size = strlen(name) + (value ? strlen(value) : 0);

    (void)kind;
    longest->all += size + sizeof(": \r\n") - 1 + SRV_FIELD_SIZE;
    if (strcasecmp(name, MHD_HTTP_HEADER_COOKIE) == 0)
        longest->all += strlen(value ? value : "");
    if (size > longest->size) {
        longest->name = name;
        longest->size = size;
    }
    return MHD_YES;
}

static enum pe_status fields_count_check(size_t count, struct pe_error *err)
{
    return count <= SRV_FIELDS_MAX
               ? PE_OK
               : pe_fail(err, PE_TOO_MANY_FIELDS, "", "a request has at most %d header fields here",
                         SRV_FIELDS_MAX);
}

/* rest: the bytes of the field that was being received when the head grew too large; 0 for a head
 * that is complete. If that field is already longer than the others, it has no name yet. */
static enum pe_status field_too_long(const struct longest *longest, size_t rest, bool is_complete,
                                     struct pe_error *err)
{
    const bool is_received = is_complete || longest->size >= rest;

    return pe_fail(err, PE_TOO_MANY_FIELDS, "",
                   "a head with its path, query and fields has at most %d bytes here, each field "
                   "and cookie counted as %d more; the longest field %s is %.40s",
                   SRV_HEAD_MAX, SRV_FIELD_SIZE,
                   is_complete   ? "of this one"
                   : is_received ? "that was received completely"
                                 : "so far",
                   is_received ? longest->name : "not complete");
}

enum pe_status srv_head_size_check(struct MHD_Connection *connection, const struct api_head *head,
                                   size_t size, bool is_complete, struct pe_error *err)
{
    const size_t query = head->query ? strlen(head->query) : 0;
    const size_t uri = *head->path ? strlen(head->path) + query : size;
    struct longest longest = {.name = ""};

    if (size <= SRV_HEAD_MAX)
        return PE_OK;
    if (uri >= size - uri)
        return pe_fail(err, PE_URI_TOO_LONG, "",
                       "a head with its path, query and fields has at most %d bytes here, and path "
                       "and query alone have %s%zu",
                       SRV_HEAD_MAX, *head->path ? "" : "over ", *head->path ? uri : SRV_HEAD_MAX);
    const int count =
        MHD_get_connection_values(connection, MHD_HEADER_KIND, longest_find, &longest);
    if (fields_count_check(count > 0 ? (size_t)count : 0, err))
        return err->status;
    const size_t received = uri + longest.all;
    return field_too_long(&longest, size > received ? size - received : 0, is_complete, err);
}

/* ---- the fields ------------------------------------------------------------------------------ */

/* RFC 9110, section 5.6.2 */
static bool is_token(const char *text, size_t size)
{
    static const bool allowed[256] = {
        ['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1,         ['&'] = 1,         ['\''] = 1,
        ['*'] = 1, ['+'] = 1, ['-'] = 1, ['.'] = 1,         ['^'] = 1,         ['_'] = 1,
        ['`'] = 1, ['|'] = 1, ['~'] = 1, ['0' ... '9'] = 1, ['a' ... 'z'] = 1, ['A' ... 'Z'] = 1,
    };
    size_t length = 0;

    while (length < size && allowed[(unsigned char)text[length]])
        length++;
    return size > 0 && length == size;
}

static bool is_clean(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (((unsigned char)text[i] < ' ' && text[i] != '\t') || text[i] == 127)
            return false;
    return true;
}

static enum MHD_Result field_visit(void *cls, enum MHD_ValueKind kind, const char *name,
                                   size_t name_size, const char *value, size_t value_size)
{
    struct field_visits *visits = cls;

    (void)kind;
    value = value ? value : "";
    text_field(&visits->text, name, name_size, value, value_size);
    visits->bad_name |= !is_token(name, name_size);
    visits->bad_value |= !is_clean(value, value_size);
    if (visits->count < SRV_FIELDS_MAX)
        visits->fields[visits->count] = (struct api_field){name, value};
    visits->count++;
    if (strcasecmp(name, "Host") == 0) {
        visits->hosts++;
        visits->host = value;
    }
    if (strcasecmp(name, "Content-Length") == 0) {
        visits->lengths++;
        visits->length = value;
    }
    if (strcasecmp(name, "Transfer-Encoding") == 0) {
        visits->codings++;
        visits->coding = value;
    }
    return MHD_YES;
}

static enum pe_status length_read(const struct field_visits *visits, uint64_t *length,
                                  struct pe_error *err)
{
    const size_t digits = strspn(visits->length, "0123456789");

    if (digits == 0 || visits->length[digits] != '\0' || digits > 19)
        return pe_fail(err, PE_MALFORMED, "header:Content-Length",
                       "Content-Length must be a whole number of bytes");
    *length = strtoull(visits->length, NULL, 10);
    return PE_OK;
}

/* A name or an address, and perhaps a port (RFC 3986, section 3.2.2), without a user before an @ or
 * anything else that could be taken for another name. */
static bool is_host(const char *text)
{
    static const bool name[256] = {
        ['0' ... '9'] = 1, ['a' ... 'z'] = 1, ['A' ... 'Z'] = 1, ['-'] = 1, ['.'] = 1,
        ['_'] = 1,         ['~'] = 1,         ['%'] = 1,         ['!'] = 1, ['$'] = 1,
        ['&'] = 1,         ['\''] = 1,        ['('] = 1,         [')'] = 1, ['*'] = 1,
        ['+'] = 1,         [','] = 1,         [';'] = 1,         ['='] = 1,
    };
    static const char address[] = "0123456789abcdefABCDEF:.%";

    if (*text == '[') {
        text += 1 + strspn(text + 1, address);
        if (*text++ != ']')
            return false;
    } else {
        while (name[(unsigned char)*text])
            text++;
    }
    if (*text == ':')
        text += 1 + strspn(text + 1, "0123456789");
    return *text == '\0';
}

static enum pe_status fields_check(struct field_visits *visits, struct pe_error *err)
{
    if (visits->bad_name || visits->bad_value)
        return pe_fail(err, PE_MALFORMED, "",
                       "a header field has a character that must not stand there");
    if (!text_is_complete(&visits->text))
        return pe_fail(err, PE_MALFORMED, "",
                       "a line of the head is no name, colon and value, or does not end in CR LF");
    return fields_count_check(visits->count, err);
}

/* The Host field must be valid even if the target has a host (RFC 9112, 3.2.2), which is used
 * instead. */
static enum pe_status host_check(const struct field_visits *visits, const char *version,
                                 const char *target, struct pe_error *err)
{
    if (visits->hosts > 1 || (visits->hosts == 0 && strcmp(version, "HTTP/1.1") == 0))
        return pe_fail(err, PE_MALFORMED, "header:Host", "there must be one Host field, got %zu",
                       visits->hosts);
    if (visits->hosts == 1 && !is_host(visits->host))
        return pe_fail(err, PE_MALFORMED, "header:Host",
                       "a Host is a name or an address and perhaps a port, got '%.80s'",
                       visits->host);
    if (target && (!*target || *target == ':' || !is_host(target)))
        return pe_fail(err, PE_MALFORMED, "",
                       "an absolute target has a name or an address and perhaps a port, got "
                       "'%.80s'",
                       target);
    return PE_OK;
}

/* `fields` has space for one more than a head may have. */
static void host_set(struct api_head *head, struct api_field *fields, const char *host)
{
    for (size_t i = 0; i < head->fields_count; i++)
        if (strcasecmp(fields[i].name, "Host") == 0) {
            fields[i].value = host;
            return;
        }
    fields[head->fields_count++] = (struct api_field){"Host", host};
}

enum pe_status srv_framing_read(struct MHD_Connection *connection, size_t size, const char *method,
                                const char *version, const char *host, struct api_field *fields,
                                struct api_head *head, struct pe_error *err)
{
    struct field_visits visits = {.fields = fields,
                                  .text = text_begin(connection, method, version)};

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, field_visit, &visits);
    head->fields = fields;
    head->fields_count = visits.count < SRV_FIELDS_MAX ? visits.count : SRV_FIELDS_MAX;
    head->content_length = 0;
    if (fields_check(&visits, err) || srv_head_size_check(connection, head, size, true, err) ||
        host_check(&visits, version, host, err))
        return err->status;
    if (host)
        host_set(head, fields, host);
    if (visits.lengths > 1 || visits.codings > 1 || (visits.lengths && visits.codings))
        return pe_fail(err, PE_MALFORMED,
                       visits.codings ? "header:Transfer-Encoding" : "header:Content-Length",
                       "the length of the body is given more than once");
    if (visits.codings && strcmp(version, "HTTP/1.1") != 0)
        return pe_fail(err, PE_MALFORMED, "header:Transfer-Encoding", "%s has no transfer codings",
                       version);
    if (visits.codings && strcasecmp(visits.coding, "chunked") != 0)
        return pe_fail(err, PE_NOT_IMPLEMENTED, "header:Transfer-Encoding",
                       "the only transfer coding here is chunked, got '%.60s'", visits.coding);
    if (visits.codings)
        head->content_length = API_LENGTH_UNKNOWN;
    return visits.lengths ? length_read(&visits, &head->content_length, err) : PE_OK;
}

/* ---- the target and other fields ------------------------------------------------------------- */

/* The library takes 64 bytes of the connection's memory for each argument of a query, and closes a
 * connection whose memory is full without an answer. So the query, which only api/ parses, is
 * removed from the library's buffer, which it parses right after this call. */
char *srv_uri_take(const char *uri)
{
    char *copy = strdup(uri ? uri : "");
    char *query = uri ? strchr((char *)uri, '?') : NULL;

    if (copy && query && query[1])
        query[1] = '\0';
    return copy;
}

/* The host of an absolute target, moved left over a slash so that a zero can end it before the
 * path; *target becomes the rest. NULL: the target is not absolute. */
static char *host_cut(char **target)
{
    static const char *const schemes[] = {"http://", "https://"};

    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        const size_t scheme = strlen(schemes[i]);
        if (strncasecmp(*target, schemes[i], scheme) != 0)
            continue;
        char *host = *target + scheme;
        const size_t length = strcspn(host, "/?#");
        *target = host + length;
        memmove(host - 1, host, length);
        host[length - 1] = '\0';
        return host - 1;
    }
    return NULL;
}

const char *srv_target_split(struct srv_request *request)
{
    char *path = request->uri;
    const char *host = host_cut(&path);
    char *query = strchr(path, '?');

    request->query = query ? query + 1 : NULL;
    if (query)
        *query = '\0';
    request->path = host && !*path ? "/" : path;
    return host;
}

enum { TRACE_AT = 3, TRACE_SIZE = 32 };

/* Of W3C Trace Context: version-trace-parent-flags, in lower case; later versions may add fields.
 */
static bool is_traceparent(const char *value)
{
    static const char form[] = "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";

    for (size_t i = 0; form[i]; i++)
        if (form[i] == 'h' ? !value[i] || !strchr("0123456789abcdef", value[i]) : value[i] != '-')
            return false;
    return strspn(value + TRACE_AT, "0") < TRACE_SIZE; /* an id of zeros is invalid */
}

void srv_trace_copy(struct srv_request *request, const struct api_head *head)
{
    for (size_t i = 0; i < head->fields_count; i++)
        if (strcasecmp(head->fields[i].name, "traceparent") == 0 &&
            is_traceparent(head->fields[i].value))
            memcpy(request->trace_id, head->fields[i].value + TRACE_AT, TRACE_SIZE);
}

static const char *expectation(const struct api_head *head)
{
    for (size_t i = 0; i < head->fields_count; i++)
        if (strcasecmp(head->fields[i].name, "Expect") == 0)
            return head->fields[i].value;
    return NULL;
}

bool srv_expects_continue(const struct api_head *head)
{
    return expectation(head);
}

/* Without a body the library would take the next request for one after its interim response. So the
 * value is overwritten in the library's buffer, where it looks for it. */
void srv_expectation_hide(const struct api_head *head)
{
    char *value = (char *)expectation(head);

    if (value && *value)
        *value = '-';
}
