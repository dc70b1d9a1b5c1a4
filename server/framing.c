/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/http.h"

/* Fields that say where a request ends, and how often each was given. */
struct walk {
    size_t hosts, lengths, codings;
    const char *host, *coding, *length;
    bool close, keep_alive;
};

/* Is a word among those of a list with commas, in any case? */
static bool list_has(const char *list, const char *word)
{
    const size_t length = strlen(word);

    while (*list) {
        const size_t part = strcspn(list += strspn(list, ", \t"), ", \t");
        if (part == length && strncasecmp(list, word, length) == 0)
            return true;
        list += part;
    }
    return false;
}

static void field_visit(struct walk *walk, struct srv_head *head, const struct api_field *field)
{
    const char *name = field->name;

    switch (*name | ' ') {
    case 'h':
        if (strcasecmp(name, "Host") == 0) {
            walk->hosts++;
            walk->host = field->value;
        }
        break;
    case 'c':
        if (strcasecmp(name, "Content-Length") == 0) {
            walk->lengths++;
            walk->length = field->value;
        } else if (strcasecmp(name, "Connection") == 0) {
            walk->close |= list_has(field->value, "close");
            walk->keep_alive |= list_has(field->value, "keep-alive");
        }
        break;
    case 't':
        if (strcasecmp(name, "Transfer-Encoding") == 0) {
            walk->codings++;
            walk->coding = field->value;
        }
        break;
    case 'e':
        head->expects |= strcasecmp(name, "Expect") == 0;
        break;
    default:
        break;
    }
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

/* A name or an address, and perhaps a port (RFC 3986, section 3.2.2): no user in front of an @, and
 * nothing behind that could be taken for another name. */
static bool is_host(const char *text)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-._~%!$&'()*+,;=",
                      address[] = "0123456789abcdefABCDEF:.%";

    if (*text == '[') {
        text += 1 + strspn(text + 1, address);
        if (*text++ != ']')
            return false;
    } else {
        text += strspn(text, name);
    }
    if (*text == ':')
        text += 1 + strspn(text + 1, "0123456789");
    return *text == '\0';
}

enum api_status srv_framing_read(struct srv_head *head, struct api_error *err)
{
    struct walk walk = {0};

    for (size_t i = 0; i < head->fields_count; i++)
        field_visit(&walk, head, &head->fields[i]);
    head->keeps = !walk.close && (head->minor == 1 || walk.keep_alive);
    if (walk.hosts > 1 || (walk.hosts == 0 && head->minor == 1))
        return api_fail(err, API_MALFORMED, "header:Host", "there must be one Host field, got %zu",
                        walk.hosts);
    if (walk.hosts == 1 && !is_host(walk.host))
        return api_fail(err, API_MALFORMED, "header:Host",
                        "a Host is a name or an address and perhaps a port, got '%.80s'",
                        walk.host);
    if (walk.lengths > 1 || walk.codings > 1 || (walk.lengths && walk.codings))
        return api_fail(err, API_MALFORMED,
                        walk.codings ? "header:Transfer-Encoding" : "header:Content-Length",
                        "the length of the body is given more than once");
    if (walk.codings && head->minor == 0)
        return api_fail(err, API_MALFORMED, "header:Transfer-Encoding",
                        "HTTP/1.0 has no transfer codings");
    if (walk.codings && strcasecmp(walk.coding, "chunked") != 0)
        return api_fail(err, API_NOT_IMPLEMENTED, "header:Transfer-Encoding",
                        "the only transfer coding here is chunked, got '%.60s'", walk.coding);
    if (walk.codings)
        head->content_length = API_LENGTH_UNKNOWN;
    return walk.lengths ? length_read(&walk, &head->content_length, err) : API_OK;
}
