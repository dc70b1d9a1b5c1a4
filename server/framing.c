/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/server.h"

/* The end of a request must be beyond doubt: a proxy in front that read it otherwise
 * would let one client speak for another. The HTTP library takes the first of two lengths and waits
 * for ever on a transfer coding that it does not know; here both are refused. */

struct walk {
    struct api_field *fields;
    size_t count, hosts, lengths, codings;
    const char *coding, *length;
    bool bad_name, bad_value;
};

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
    walk->bad_name |= !is_token(name, name_size);
    walk->bad_value |= !is_clean(value, value_size);
    if (walk->count < SRV_FIELDS_MAX)
        walk->fields[walk->count] = (struct api_field){name, value};
    walk->count++;
    if (strcasecmp(name, "Host") == 0)
        walk->hosts++;
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

static enum api_status length_read(const struct walk *walk, uint64_t *length, struct api_error *err)
{
    const size_t digits = strspn(walk->length, "0123456789");

    if (digits == 0 || walk->length[digits] != '\0' || digits > 19)
        return api_fail(err, API_MALFORMED, "header:Content-Length",
                        "Content-Length must be a whole number of bytes");
    *length = strtoull(walk->length, NULL, 10);
    return API_OK;
}

enum api_status srv_framing_read(struct MHD_Connection *connection, const char *version,
                                 struct api_field *fields, size_t *count, uint64_t *content_length,
                                 struct api_error *err)
{
    struct walk walk = {.fields = fields};

    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, field_visit, &walk);
    *count = walk.count < SRV_FIELDS_MAX ? walk.count : SRV_FIELDS_MAX;
    *content_length = 0;
    if (walk.bad_name || walk.bad_value)
        return api_fail(err, API_MALFORMED, "",
                        "a header field has a character that must not stand there");
    if (walk.count > SRV_FIELDS_MAX)
        return api_fail(err, API_TOO_MANY_FIELDS, "", "a request has at most %d header fields here",
                        SRV_FIELDS_MAX);
    if (walk.hosts > 1 || (walk.hosts == 0 && strcmp(version, "HTTP/1.1") == 0))
        return api_fail(err, API_MALFORMED, "header:Host", "there must be one Host field, got %zu",
                        walk.hosts);
    if (walk.lengths > 1 || walk.codings > 1 || (walk.lengths && walk.codings))
        return api_fail(err, API_MALFORMED,
                        walk.codings ? "header:Transfer-Encoding" : "header:Content-Length",
                        "the length of the body is given more than once");
    if (walk.codings && strcmp(version, "HTTP/1.1") != 0)
        return api_fail(err, API_MALFORMED, "header:Transfer-Encoding",
                        "%s has no transfer codings", version);
    if (walk.codings && strcasecmp(walk.coding, "chunked") != 0)
        return api_fail(err, API_NOT_IMPLEMENTED, "header:Transfer-Encoding",
                        "the only transfer coding here is chunked, got '%.60s'", walk.coding);
    if (walk.codings)
        *content_length = API_LENGTH_UNKNOWN;
    return walk.lengths ? length_read(&walk, content_length, err) : API_OK;
}
