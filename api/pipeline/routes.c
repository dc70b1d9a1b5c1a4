/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/numbers/text.h"
#include "api/pipeline/pipeline.h"
#include "api/request/head.h"
#include "api/routes/handler.h"

/* Traits of routes.def. */
enum { NONE = 0, BODY = 1, WRITES = 2, PAGE = 4, REPEATS = 8 };

static const struct api_route routes[] = {
#define ROUTE(method, pattern, handler, formats, traits, cost)                                     \
    {method,          pattern,           &api_handler_##handler, formats,                          \
     BODY & (traits), WRITES & (traits), PAGE & (traits),        REPEATS & (traits),               \
     API_COST_##cost},
#include "api/routes/routes.def"
#undef ROUTE
    {0},
};

/* The host's page files, which are not part of the contract. */
static const struct api_route file_route = {
    .method = "GET",
    .pattern = "/{file}",
    .handler = &api_handler_explorer_file,
    .formats = "",
    .cost = API_COST_QUICK_UNENCODED,
};

/* More than any pattern has. */
enum { SEGMENTS_MAX = 8 };

struct path {
    char *segments[SEGMENTS_MAX];
    size_t count;
};

/* The path below the base path; NULL: it is outside. */
static const char *below_base(const char *path, const char *base)
{
    const size_t length = strlen(base);

    if (strncmp(path, base, length) != 0)
        return NULL;
    if (path[length] == '\0')
        return length > 0 ? "/" : NULL;
    return path[length] == '/' ? path + length : NULL;
}

/* The nearest patterns are suggested, with the base path before them. */
static enum pe_status no_such_path(const struct api_request *request, const char *path,
                                   struct pe_error *err)
{
    const char *base = request->settings->base_path, *below = below_base(path, base);
    struct api_nearest nearest = {.word = below ? below : path};
    char text[160];

    for (const struct api_route *route = routes; route->method; route++)
        api_nearest_offer(&nearest, route->pattern, strlen(route->pattern));
    for (size_t i = 0; *base && i < nearest.count; i++) {
        const char *full_path = api_arena_print(request->arena, "%s%s", base, nearest.names[i]);
        nearest.lengths[i] = full_path ? strlen(full_path) : 0;
        nearest.names[i] = full_path;
    }
    return pe_fail(err, PE_NOT_FOUND, "",
                   "there is nothing at %.80s; GET %s/v1 lists what there is%s", path, base,
                   api_nearest_print(&nearest, text, sizeof(text)));
}

/* Splits before it decodes, so that %2F is a character of a name. Empty segments, '.' and '..'
 * match nothing; one slash at the end is accepted. */
static enum pe_status path_split(struct path *split, const struct api_request *request,
                                 const char *path, struct pe_error *err)
{
    struct api_arena *arena = request->arena;
    char *rest = api_arena_copy(arena, path);
    const char *shown = api_text_sanitize(arena, path);

    if (!rest || !shown)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the path");
    split->count = 0;
    if (*rest != '/')
        return no_such_path(request, shown, err);
    if (rest[1] == '\0')
        return PE_OK;
    rest++;
    for (char *segment; (segment = strsep(&rest, "/"));) {
        if (!*segment && !rest && split->count > 0)
            return PE_OK; /* a slash at the end */
        if (api_percent_decode(segment, false, "", err))
            return err->status;
        if (split->count == SEGMENTS_MAX || !*segment || strcmp(segment, ".") == 0 ||
            strcmp(segment, "..") == 0)
            return no_such_path(request, shown, err);
        split->segments[split->count] = api_text_sanitize(arena, segment);
        if (!split->segments[split->count++])
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the path");
    }
    return PE_OK;
}

static bool pattern_matches(const char *pattern, const struct path *path,
                            struct api_request *request)
{
    size_t i = 0;

    for (const char *at = pattern + 1; *at; i++) {
        const size_t length = strcspn(at, "/");
        if (i == path->count)
            return false;
        if (strncmp(at, "{name}", length) == 0)
            request->name = path->segments[i];
        else if (strncmp(at, "{view}", length) == 0)
            request->view = path->segments[i];
        else if (strlen(path->segments[i]) != length || memcmp(at, path->segments[i], length) != 0)
            return false;
        at += length + (at[length] == '/');
    }
    return i == path->count;
}

/* Methods of routes, and their text in Allow. */
static const struct {
    const char *name, *text;
} methods_list[] = {
    {"GET", "GET, HEAD, "}, {"POST", "POST, "}, {"PUT", "PUT, "}, {"DELETE", "DELETE, "}};

enum { METHODS = sizeof(methods_list) / sizeof(methods_list[0]) };

static const char *allow_print(const bool *methods, struct api_arena *arena)
{
    char text[64] = "";

    for (size_t i = 0; i < METHODS; i++)
        strcat(text, methods[i] ? methods_list[i].text : "");
    return api_arena_print(arena, "%sOPTIONS", text);
}

const struct api_route *api_route_literal(const struct api_settings *settings, const char *method,
                                          const char *path)
{
    const char *below = below_base(path, settings->base_path);

    for (const struct api_route *route = routes; below && route->method; route++)
        if (strcmp(route->pattern, below) == 0 && strcmp(route->method, method) == 0 &&
            !strchr(below, '{'))
            return route;
    return NULL;
}

bool api_route_is_posted(struct api_request *request, const char *path)
{
    const char *below = below_base(path, request->settings->base_path);
    struct path split = {0};
    const struct api_route *got = NULL, *posted = NULL;

    if (!below || path_split(&split, request, below, &(struct pe_error){0}))
        return false;
    for (const struct api_route *route = routes; route->method; route++) {
        if (!pattern_matches(route->pattern, &split, request))
            continue;
        if (!got && strcmp(route->method, "GET") == 0)
            got = route;
        if (!posted && strcmp(route->method, "POST") == 0)
            posted = route;
    }
    return got && posted && got->handler == posted->handler;
}

enum pe_status api_route_find(struct api_request *request, const char *path, const char **allow,
                              struct pe_error *err)
{
    const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
    const char *below = below_base(path, request->settings->base_path);
    const struct api_route *any = NULL;
    bool methods[METHODS] = {false};
    struct path split = {0};

    /* Most paths equal their pattern. */
    request->route = api_route_literal(request->settings, method, path);
    if (request->route)
        return PE_OK;
    if (path_split(&split, request, below ? below : path, err))
        return err->status;
    /* Methods of other routes are collected only if this path lacks the method. */
    for (const struct api_route *route = routes; below && route->method && !request->route;
         route++) {
        const char *name = request->name, *view = request->view;
        if (!pattern_matches(route->pattern, &split, request)) {
            request->name = name;
            request->view = view;
            continue;
        }
        any = any ? any : route;
        for (size_t i = 0; i < METHODS; i++)
            methods[i] |= strcmp(route->method, methods_list[i].name) == 0;
        if (strcmp(route->method, method) == 0)
            request->route = route;
    }
    if (!any && below && (request->file = api_explorer_find(request->settings, below))) {
        any = &file_route;
        methods[0] = true; /* GET */
        request->route = strcmp(method, "GET") == 0 ? any : NULL;
    }
    if (!any)
        return no_such_path(request, api_text_sanitize(request->arena, path) ?: "", err);
    if (request->route)
        return PE_OK;
    request->route = any;
    *allow = allow_print(methods, request->arena);
    if (!*allow)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the path");
    if (strcmp(method, "OPTIONS") == 0)
        return PE_OK;
    return pe_fail(err, PE_WRONG_METHOD, "", "%.80s allows %s, got %.20s", any->pattern, *allow,
                   request->method);
}
