/* SPDX-License-Identifier: MIT */
#include "api/routes/page.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/codings/coding.h"
#include "api/formats/formats.h"
#include "api/request/head.h"
#include "api/routes/handler.h"
#include "posenc/encodings.h"

/* Nothing from other origins, and no script or style inside of the HTML. */
static const char policy[] = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/* After an update of the server a page gets the new files at once; unchanged ones are 304. */
static const char cache_control[] = "no-cache";

void api_explorer_tag(struct api *api)
{
    const struct api_file *file = api->settings.files;
    struct api_hash hash;

    for (size_t i = 0; file && file[i].path; i++) {
        api_hash_start(&hash);
        api_hash_bytes(&hash, file[i].bytes, (size_t)(file[i].bytes_end - file[i].bytes));
        snprintf(api->file_tags[i], sizeof(api->file_tags[i]), "%016llx",
                 (unsigned long long)(hash.state >> 64));
    }
}

const struct api_file *api_explorer_find(const struct api_settings *settings, const char *path)
{
    const struct api_file *file = settings->files;

    if (!file)
        return NULL;
    while ((++file)->path) /* the first one is shown at / */
        if (strcmp(file->path, path) == 0 && file->bytes < file->bytes_end)
            return file;
    return NULL;
}

bool api_explorer_is_here(const struct api_settings *settings)
{
    return settings->files && settings->files->bytes < settings->files->bytes_end;
}

/* ---- files ----------------------------------------------------------------------------------- */

static enum pe_status no_memory(struct pe_error *err)
{
    return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the page");
}

/* The bytes, or the gzip that the build made of them. */
static enum pe_status file_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    const struct api_file *file = request->file;
    const char *tag = request->api->file_tags[file - request->settings->files], *coding = NULL;

    if (request->takes_gzip) {
        coding = result->coding = "gzip";
        request->response_coding = NULL;
        request->plain_refused = false;
    } else if (request->response_coding) {
        coding = request->response_coding->name;
    }
    result->kind = API_MEDIA;
    result->media_type = file->media_type;
    result->bytes = result->coding ? file->gzip : file->bytes;
    result->size =
        (size_t)(result->coding ? file->gzip_end - file->gzip : file->bytes_end - file->bytes);
    result->policy = policy;
    result->cache_control = cache_control;
    result->etag =
        api_arena_print(request->arena, "\"%s%s%s\"", tag, coding ? "-" : "", coding ? coding : "");
    return result->etag ? PE_OK : no_memory(err);
}

const struct api_handler api_handler_explorer_file = {file_open, NULL};

/* ---- link previews --------------------------------------------------------------------------- */

static const struct preview {
    const char *view, *encoding, *analysis, *parameters;
    bool append_params;
    const char *title, *title_chinese;
} previews[] = {
#define PREVIEW(view, encoding, analysis, parameters, append_params, title, title_chinese)         \
    {view, encoding, analysis, parameters, append_params, title, title_chinese},
#include "api/routes/previews.def"
#undef PREVIEW
};

enum { PREVIEWS = sizeof(previews) / sizeof(previews[0]) };

/* Link previews are about twice as wide as high. */
static const char preview_size[] = "&plot_width=1200&plot_height=630";

/* The value of a query parameter; "": none. */
static const char *query_value(const struct api_request *request, const char *name)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, name) == 0)
            return request->query[i].value;
    return "";
}

static const struct preview *preview_of(const struct api_request *request)
{
    const char *view = query_value(request, "view");

    for (size_t i = 0; i < PREVIEWS; i++)
        if (strcmp(previews[i].view, view) == 0)
            return &previews[i];
    return &previews[0];
}

/* ---- link previews: the URL of a plot -------------------------------------------------------- */

/* The URL of a plot in the making, and the parameters that it may have. */
struct plot {
    struct api_text target;
    const struct pe_encoding_info *encoding;
    const struct pe_view_info *view;
};

static bool is_listed(const struct pe_param *params, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(params[i].name) == length && memcmp(params[i].name, name, length) == 0)
            return true;
    return false;
}

/* True for a parameter of the plot that the URL does not have yet. */
static bool is_open(const struct plot *plot, const char *name, size_t length)
{
    const char *query = plot->target.bytes ? strchr(plot->target.bytes, '?') : NULL;

    while (query) {
        if (strncmp(query + 1, name, length) == 0 && query[1 + length] == '=')
            return false;
        query = strchr(query + 1, '&');
    }
    return is_listed(plot->encoding->params, plot->encoding->params_count, name, length) ||
           is_listed(plot->view->params, plot->view->params_count, name, length);
}

static void pair_put(struct plot *plot, const char *name, size_t length, const char *value)
{
    const bool first = !strchr(plot->target.bytes ? plot->target.bytes : "", '?');

    api_text_print(&plot->target, "%s%.*s=", first ? "?" : "&", (int)length, name);
    for (const unsigned char *at = (const unsigned char *)value; *at && *at != '&'; at++)
        api_text_print(&plot->target, isalnum(*at) || strchr("-._~,", *at) ? "%c" : "%%%02X", *at);
}

/* Adds those of "name=value&name=value" that is_open accepts. */
static void pairs_put(struct plot *plot, const char *pairs)
{
    for (const char *at = pairs; at && *at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
        const size_t length = strcspn(at, "=");
        if (is_open(plot, at, length))
            pair_put(plot, at, length, at + length + (at[length] == '='));
    }
}

static void plot_put(struct plot *plot, const struct api_request *request,
                     const struct preview *preview)
{
    const struct pe_encoding *encoding =
        pe_encoding_find(preview->append_params ? query_value(request, "encoding") : "");
    const struct pe_view_type *view =
        encoding ? pe_encoding_view(encoding, preview->analysis) : NULL;

    if (!view) {
        encoding = pe_encoding_find(preview->encoding);
        view = pe_encoding_view(encoding, preview->analysis);
    }
    plot->encoding = pe_encoding_info(encoding);
    plot->view = pe_view_info(view);
    api_text_print(&plot->target, "%s/v1/encodings/%s/%s%s%s", request->settings->base_path,
                   plot->encoding->name, plot->view->group ? plot->view->group : "",
                   plot->view->group ? "/" : "", plot->view->name);
    for (size_t i = 0; preview->append_params && i < request->query_count; i++)
        if (is_open(plot, request->query[i].name, strlen(request->query[i].name)))
            pair_put(plot, request->query[i].name, strlen(request->query[i].name),
                     request->query[i].value);
    pairs_put(plot, preview->parameters);
    pairs_put(plot, plot->encoding->example);
    pairs_put(plot, plot->view->example);
    pair_put(plot, "format", strlen("format"), api_format_find("png") ? "png" : "svg");
    if (strcmp(query_value(request, "theme"), "dark") == 0)
        pair_put(plot, "theme", strlen("theme"), "dark");
    if (*query_value(request, "lang"))
        pair_put(plot, "lang", strlen("lang"), query_value(request, "lang"));
    api_text_put(&plot->target, preview_size);
}

/* ---- link previews: the tags ----------------------------------------------------------------- */

/* A name or an address, perhaps with a port. */
static bool is_host(const char *host)
{
    if (!host || !*host)
        return false;
    for (const unsigned char *at = (const unsigned char *)host; *at; at++)
        if (!isalnum(*at) && !strchr("-._:[]", *at))
            return false;
    return true;
}

/* Is the first of the forwarded schemes, the client's, https? */
static bool is_secure(const struct api_request *request)
{
    static const char https[] = "https";
    const char *list = request->forwarded_proto;
    struct api_element first;

    return list && api_list_next(&list, &first) && first.name_size == strlen(https) &&
           strncasecmp(first.begin, https, first.name_size) == 0;
}

/* Adds the title that programs show for a link, and the absolute URL of a plot of its view, if the
 * Host of the request is a name. */
static void preview_put(struct api_text *page, struct api_request *request)
{
    const struct preview *preview = preview_of(request);
    const bool secure = is_secure(request);
    struct plot plot = {0};

    api_page_put(page, "<meta property=\"og:title\" content=\"%s\">\n",
                 strncmp(query_value(request, "lang"), "zh", 2) == 0 ? preview->title_chinese
                                                                     : preview->title);
    if (!is_host(request->host))
        return;
    plot_put(&plot, request, preview);
    api_text_print(page, "<meta property=\"og:image\" content=\"http%s://%s", secure ? "s" : "",
                   request->host);
    api_page_text(page, plot.target.bytes ? plot.target.bytes : "");
    api_text_put(page, "\">\n<meta name=\"twitter:card\" content=\"summary_large_image\">");
    page->failed |= plot.target.failed;
    api_text_free(&plot.target);
}

/* ---- the HTML -------------------------------------------------------------------------------- */

/* A mark in the HTML, and the function that replaces it. */
struct place {
    const char *mark;
    void (*put)(struct api_text *page, struct api_request *request);
};

/* Replaces the ./ of relative URLs, which would be wrong for a base path without its slash. */
static void base_put(struct api_text *page, struct api_request *request)
{
    api_page_put(page, "=\"%s/", request->settings->base_path);
}

/* Copies the HTML with every mark replaced. */
static void places_put(struct api_text *page, const struct place *places, size_t count,
                       struct api_request *request)
{
    const char *at = request->settings->files->bytes;

    for (;;) {
        const struct place *next = NULL;
        const char *found = NULL;
        for (size_t i = 0; i < count; i++) {
            const char *here = strstr(at, places[i].mark);
            if (here && (!found || here < found)) {
                found = here;
                next = &places[i];
            }
        }
        if (!found)
            break;
        api_text_add(page, at, (size_t)(found - at));
        next->put(page, request);
        at = found + strlen(next->mark);
    }
    api_text_put(page, at);
}

enum pe_status api_explorer_page(struct api_request *request,
                                 void (*lists_put)(struct api_text *, struct api_request *),
                                 struct api_result *result, struct pe_error *err)
{
    const struct place places[] = {
        {"<!--preview-->", preview_put}, {"=\"./", base_put}, {"<!--lists-->", lists_put}};
    struct api_text page = {0};
    struct api_hash hash;

    places_put(&page, places, sizeof(places) / sizeof(places[0]), request);
    result->size = page.size;
    result->bytes = api_text_take(&page, request->arena);
    if (!result->bytes)
        return no_memory(err);
    api_hash_start(&hash);
    if (request->response_coding)
        api_hash_coding(&hash, request->response_coding);
    else
        api_hash_text(&hash, NULL);
    api_hash_bytes(&hash, result->bytes, result->size);
    result->kind = API_MEDIA;
    result->media_type = "text/html; charset=utf-8";
    result->policy = policy;
    result->cache_control = cache_control;
    result->etag = api_hash_etag(&hash, request->arena);
    return result->etag ? PE_OK : no_memory(err);
}
