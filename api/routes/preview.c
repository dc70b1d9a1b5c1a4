/* SPDX-License-Identifier: MIT */
#include "api/routes/preview.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "api/formats/formats.h"
#include "api/request/head.h"
#include "api/routes/page.h"
#include "posenc/encodings.h"

static const struct preview {
    const char *view, *encoding, *analysis, *parameters;
    bool told;
    const char *title, *title_chinese;
} previews[] = {
#define PREVIEW(view, encoding, analysis, parameters, told, title, title_chinese)                  \
    {view, encoding, analysis, parameters, told, title, title_chinese},
#include "api/routes/previews.def"
#undef PREVIEW
};

enum { PREVIEWS = sizeof(previews) / sizeof(previews[0]) };

/* Sites show a link preview about twice as wide as high. */
static const char size[] = "&plot_width=1200&plot_height=630";

static const char *asked(const struct api_request *request, const char *name)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, name) == 0)
            return request->query[i].value;
    return "";
}

static const struct preview *preview_of(const struct api_request *request)
{
    const char *view = asked(request, "view");

    for (size_t i = 0; i < PREVIEWS; i++)
        if (strcmp(previews[i].view, view) == 0)
            return &previews[i];
    return &previews[0];
}

/* ---- the URL of a plot ----------------------------------------------------------------------- */

/* A plot that is put together, and what it can be asked for. */
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

/* Is there such a parameter, and is it not there yet? */
static bool is_wanted(const struct plot *plot, const char *name, size_t length)
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

/* "name=value&name=value", of which what is wanted is added. */
static void pairs_put(struct plot *plot, const char *pairs)
{
    for (const char *at = pairs; at && *at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
        const size_t length = strcspn(at, "=");
        if (is_wanted(plot, at, length))
            pair_put(plot, at, length, at + length + (at[length] == '='));
    }
}

static void plot_put(struct plot *plot, const struct api_request *request,
                     const struct preview *preview)
{
    const struct pe_encoding *encoding =
        pe_encoding_find(preview->told ? asked(request, "encoding") : "");
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
    for (size_t i = 0; preview->told && i < request->query_count; i++)
        if (is_wanted(plot, request->query[i].name, strlen(request->query[i].name)))
            pair_put(plot, request->query[i].name, strlen(request->query[i].name),
                     request->query[i].value);
    pairs_put(plot, preview->parameters);
    pairs_put(plot, plot->encoding->example);
    pairs_put(plot, plot->view->example);
    pair_put(plot, "format", strlen("format"), api_format_find("png") ? "png" : "svg");
    if (strcmp(asked(request, "theme"), "dark") == 0)
        pair_put(plot, "theme", strlen("theme"), "dark");
    if (*asked(request, "lang"))
        pair_put(plot, "lang", strlen("lang"), asked(request, "lang"));
    api_text_put(&plot->target, size);
}

/* ---- into the page --------------------------------------------------------------------------- */

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

/* The scheme between the client and the first of the proxies, which stands first. */
static bool is_secure(const struct api_request *request)
{
    static const char https[] = "https";
    const char *list = request->forwarded_proto;
    struct api_element first;

    return list && api_list_next(&list, &first) && first.name_size == strlen(https) &&
           strncasecmp(first.begin, https, first.name_size) == 0;
}

void api_preview_put(struct api_text *page, struct api_request *request)
{
    const struct preview *preview = preview_of(request);
    const bool secure = is_secure(request);
    struct plot plot = {0};

    api_page_put(page, "<meta property=\"og:title\" content=\"%s\">\n",
                 strncmp(asked(request, "lang"), "zh", 2) == 0 ? preview->title_chinese
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
