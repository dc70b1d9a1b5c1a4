/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/server.h"

/* The end of a request must be beyond doubt: a proxy in front that read it otherwise
 * would let one client speak for another. The HTTP library takes the first of two lengths and waits
 * for ever on a transfer coding that it does not know; here both are refused. */

/* Where the head has been accounted for; at NULL: something in it was not. */
struct head_text {
    const char *at, *end;
    bool checked;
};

struct walk {
    struct api_field *fields;
    size_t count, size, hosts, lengths, codings;
    const char *host, *coding, *length;
    bool bad_name, bad_value;
    struct head_text text;
};

/* ---- the head as it came ----------------------------------------------------------------------
 */

/* libmicrohttpd 0.9.75 reads on where others stop, and stops where others read on: a name of no
 * characters ends the head, a NUL ends a value, a line feed alone ends a line, a line that begins
 * with a blank belongs to the one above. It cuts the head up where it lies, with zeros for what
 * ends a word, and joins lines elsewhere. So each byte of the head must be accounted for: one field
 * behind the other, CR and LF behind each, an empty line at the end. */
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

/* Is there a zero each for CR and LF? Then at is behind them; else it is NULL. */
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

static bool text_is_whole(struct head_text *text)
{
    line_end(text);
    line_end(text);
    return !text->checked || (text->at && text->at == text->end);
}

/* ---- the fields -------------------------------------------------------------------------------
 */

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
    struct walk *walk = cls;

    (void)kind;
    value = value ? value : "";
    text_field(&walk->text, name, name_size, value, value_size);
    walk->bad_name |= !is_token(name, name_size);
    walk->bad_value |= !is_clean(value, value_size);
    if (walk->count < SRV_FIELDS_MAX)
        walk->fields[walk->count] = (struct api_field){name, value};
    walk->count++;
    walk->size += name_size + value_size + SRV_FIELD_SIZE;
    if (strcasecmp(name, "Host") == 0) {
        walk->hosts++;
        walk->host = value;
    }
    if (strcasecmp(name, "Content-Length") == 0) {
        walk->lengths++;
        walk->length = value;
    }
    if (strcasecmp(name, "Transfer-Encoding") == 0) {
        walk->codings++;
        walk->coding = value;
    }
    return MHD_YES;
}

static enum pe_status length_read(const struct walk *walk, uint64_t *length, struct pe_error *err)
{
    const size_t digits = strspn(walk->length, "0123456789");

    if (digits == 0 || walk->length[digits] != '\0' || digits > 19)
        return pe_fail(err, PE_MALFORMED, "header:Content-Length",
                       "Content-Length must be a whole number of bytes");
    *length = strtoull(walk->length, NULL, 10);
    return PE_OK;
}

/* A name or an address, and perhaps a port (RFC 3986, section 3.2.2): no user in front of an @, and
 * nothing behind that could be taken for another name. */
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

static enum pe_status fields_judge(struct walk *walk, const struct api_head *head,
                                   struct pe_error *err)
{
    const size_t uri = strlen(head->path) + (head->query ? strlen(head->query) : 0);

    if (walk->bad_name || walk->bad_value)
        return pe_fail(err, PE_MALFORMED, "",
                       "a header field has a character that must not stand there");
    if (!text_is_whole(&walk->text))
        return pe_fail(err, PE_MALFORMED, "",
                       "a line of the head is no name, colon and value, or does not end in CR LF");
    if (walk->count > SRV_FIELDS_MAX)
        return pe_fail(err, PE_TOO_MANY_FIELDS, "", "a request has at most %d header fields here",
                       SRV_FIELDS_MAX);
    if (uri + walk->size > SRV_HEAD_MAX)
        return pe_fail(err, PE_TOO_MANY_FIELDS, "",
                       "the URI and the header fields have at most %d bytes together, each field "
                       "counted as %d more than its text",
                       SRV_HEAD_MAX, SRV_FIELD_SIZE);
    return PE_OK;
}

/* The Host field of a request must be right even where the target has the host (RFC 9112, 3.2.2),
 * which is used instead. */
static enum pe_status host_judge(const struct walk *walk, const char *version, const char *target,
                                 struct pe_error *err)
{
    if (walk->hosts > 1 || (walk->hosts == 0 && strcmp(version, "HTTP/1.1") == 0))
        return pe_fail(err, PE_MALFORMED, "header:Host", "there must be one Host field, got %zu",
                       walk->hosts);
    if (walk->hosts == 1 && !is_host(walk->host))
        return pe_fail(err, PE_MALFORMED, "header:Host",
                       "a Host is a name or an address and perhaps a port, got '%.80s'",
                       walk->host);
    if (target && (!*target || *target == ':' || !is_host(target)))
        return pe_fail(err, PE_MALFORMED, "",
                       "an absolute target has a name or an address and perhaps a port, got "
                       "'%.80s'",
                       target);
    return PE_OK;
}

/* There is room for one field more than a head may have. */
static void host_set(struct api_head *head, struct api_field *fields, const char *host)
{
    for (size_t i = 0; i < head->fields_count; i++)
        if (strcasecmp(fields[i].name, "Host") == 0) {
            fields[i].value = host;
            return;
        }
    fields[head->fields_count++] = (struct api_field){"Host", host};
}

enum pe_status srv_framing_read(struct MHD_Connection *connection, const char *method,
                                const char *version, const char *host, struct api_field *fields,
                                struct api_head *head, struct pe_error *err)
{
    struct walk walk = {.fields = fields, .text = text_begin(connection, method, version)};

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, field_visit, &walk);
    head->fields = fields;
    head->fields_count = walk.count < SRV_FIELDS_MAX ? walk.count : SRV_FIELDS_MAX;
    head->content_length = 0;
    if (fields_judge(&walk, head, err) || host_judge(&walk, version, host, err))
        return err->status;
    if (host)
        host_set(head, fields, host);
    if (walk.lengths > 1 || walk.codings > 1 || (walk.lengths && walk.codings))
        return pe_fail(err, PE_MALFORMED,
                       walk.codings ? "header:Transfer-Encoding" : "header:Content-Length",
                       "the length of the body is given more than once");
    if (walk.codings && strcmp(version, "HTTP/1.1") != 0)
        return pe_fail(err, PE_MALFORMED, "header:Transfer-Encoding", "%s has no transfer codings",
                       version);
    if (walk.codings && strcasecmp(walk.coding, "chunked") != 0)
        return pe_fail(err, PE_NOT_IMPLEMENTED, "header:Transfer-Encoding",
                       "the only transfer coding here is chunked, got '%.60s'", walk.coding);
    if (walk.codings)
        head->content_length = API_LENGTH_UNKNOWN;
    return walk.lengths ? length_read(&walk, &head->content_length, err) : PE_OK;
}
