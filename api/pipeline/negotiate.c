/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/base/names.h"
#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/pipeline/pipeline.h"
#include "api/request/head.h"
#include "api/routes/handler.h"

static bool offered(const char *formats, const struct api_format *format)
{
    const bool any = strcmp(formats, "any") == 0 || strcmp(formats, "same") == 0;

    if (format->picture != API_NO_PICTURE)
        return strcmp(formats, "view") == 0;
    return any || strcmp(formats, "view") == 0 ||
           api_names_have(formats, " ", format->name, strlen(format->name));
}

static enum pe_status nothing_fits(const char *formats, const char *where, const char *got,
                                   struct pe_error *err)
{
    const struct api_format *requested = api_format_find(got);
    const bool picture = requested && requested->picture != API_NO_PICTURE;
    char types[320];
    size_t used = 0;

    for (const struct api_format *const *format = api_formats; *format; format++)
        if (offered(formats, *format) && used < sizeof(types))
            used += (size_t)snprintf(types + used, sizeof(types) - used, "%s%s (format=%s)",
                                     used > 0 ? ", " : "", (*format)->media_type, (*format)->name);
    return pe_fail(err, PE_NOT_ACCEPTABLE, where, "%sthe answer can be %s; got %.60s",
                   picture ? "pictures are of views of encodings; " : "", types, got);
}

/* ---- Accept --------------------------------------------------------------------------------- */

/* How exactly a media range of `length` bytes matches a type: 3 type/subtype, 2 type/x, 1 any, 0
 * not. */
static int specificity(const char *range, size_t length, const char *type)
{
    const size_t slash = strcspn(type, "/");

    if (length == 3 && strncmp(range, "*/*", 3) == 0)
        return 1;
    if (length == slash + 2 && strncasecmp(range, type, slash + 1) == 0 && range[slash + 1] == '*')
        return 2;
    return length == strlen(type) && strncasecmp(range, type, length) == 0 ? 3 : 0;
}

/* The quality that an Accept field gives a type: that of the most specific range. */
static int quality(const char *accept, const char *type)
{
    struct api_element range;
    int best = 0, result = 0;

    while (api_list_next(&accept, &range)) {
        const int exact = specificity(range.begin, range.name_size, type);
        if (exact > best) {
            best = exact;
            result = api_quality_of(&range);
        }
    }
    return result;
}

static enum pe_status negotiate(const char *formats, const struct api_format *preferred,
                                const char *wanted, const char *accept,
                                const struct api_format **out, struct pe_error *err)
{
    const struct api_format *best = NULL;
    int most = 0;

    if (wanted) {
        best = api_format_find(wanted);
        *out = best && offered(formats, best) ? best : NULL;
        return *out ? PE_OK : nothing_fits(formats, "parameter:format", wanted, err);
    }
    if (!accept || !accept[strspn(accept, " \t")])
        accept = "*/*";
    if (preferred && offered(formats, preferred)) {
        most = quality(accept, preferred->media_type);
        best = most > 0 ? preferred : NULL;
    }
    for (const struct api_format *const *format = api_formats; *format; format++) {
        const int q = offered(formats, *format) ? quality(accept, (*format)->media_type) : 0;
        if (q > most) {
            most = q;
            best = *format;
        }
    }
    *out = best;
    return best ? PE_OK : nothing_fits(formats, "header:Accept", accept, err);
}

/* ---- the format of a request ---------------------------------------------------------------- */

static const struct api_format *format_named(const char *name)
{
    const struct api_format *format = api_format_find(name);

    return format ? format : &api_format_json; /* gguf is read and never written */
}

/* JSON, or for routes with "same" the format of the request's media type. */
static const struct api_format *format_default(const struct api_request *request)
{
    if (strcmp(request->route->formats, "same") != 0)
        return &api_format_json;
    if (request->reader)
        return format_named(request->reader->name);
    for (const struct api_reader *const *reader = api_readers; *reader; reader++)
        if (strcmp((*reader)->media_type, request->content_type) == 0)
            return format_named((*reader)->name);
    return &api_format_json;
}

enum pe_status api_format_choose(struct api_intake *intake, struct pe_error *err)
{
    struct api_request *request = &intake->request;

    api_coding_choose(intake->accept_encoding, &request->response_coding, &request->plain_refused);
    request->takes_gzip = api_coding_is_accepted(intake->accept_encoding, "gzip");
    request->page =
        request->route->has_page && intake->accept &&
        quality(intake->accept, "text/html") > quality(intake->accept, api_format_json.media_type);
    if (!*request->route->formats)
        return PE_OK;
    if (negotiate(request->route->formats, format_default(request), intake->format_wanted,
                  intake->accept, &request->format, err))
        return err->status;
    if (request->format->binary || request->format->packed)
        request->response_coding = NULL;
    return PE_OK;
}

bool api_format_of_body(struct api_intake *intake, struct pe_error *err)
{
    const struct api_request *request = &intake->request;
    const char *name = NULL;

    if (!request->json && request->metadata_count == 0)
        return false;
    name = json_string_value(json_object_get(request->json, "format"));
    if (!name && json_object_get(request->json, "format"))
        pe_fail(err, PE_INVALID, "pointer:/format", "format must be the name of one");
    for (size_t i = 0; !name && i < request->metadata_count; i++)
        if (strcmp(request->metadata[i].name, "format") == 0)
            name = request->metadata[i].value;
    if (name && intake->format_wanted && strcmp(name, intake->format_wanted) != 0)
        pe_fail(err, PE_CONFLICT, "parameter:format", "format is given twice: %.20s and %.20s",
                intake->format_wanted, name);
    else if (name)
        intake->format_wanted = name;
    return name != NULL;
}
