/* SPDX-License-Identifier: MIT */
#include "api/routes/explorer.h"

#include <stdio.h>
#include <string.h>

#include "api/codings/coding.h"
#include "api/routes/handler.h"
#include "api/routes/page.h"
#include "api/routes/preview.h"

/* Nothing of another origin, and no script or style inside of the HTML. */
static const char policy[] = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/* A page that a server was updated under asks for the new files at once; what it has is 304. */
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

/* The bytes as they are, or as gzip where that may be: encoded once, when the project was built. */
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

/* ---- the HTML -------------------------------------------------------------------------------- */

/* A place of the HTML that is filled in, and the text that marks it. */
struct place {
    const char *mark;
    void (*put)(struct api_text *page, struct api_request *request);
};

/* Relative URLs begin with ./ there. A base path without its slash would lead them astray. */
static void base_put(struct api_text *page, struct api_request *request)
{
    api_page_put(page, "=\"%s/", request->settings->base_path);
}

/* Copies the HTML, each place filled. */
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
        {"<!--preview-->", api_preview_put}, {"=\"./", base_put}, {"<!--lists-->", lists_put}};
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
