/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/handlers/handler.h"
#include "api/handlers/page.h"
#include "api/response/problem.h"

/* The page that the `type` of a problem document links to. */

struct explanation {
    const char *about, *mistake, *mended; /* "": there is none */
};

static const struct explanation explanations[API_STATUSES] = {
#define PROBLEM(name, about, mistake, mended) [API_##name] = {about, mistake, mended},
#include "api/handlers/problems.def"
#undef PROBLEM
};

static void example_put(struct api_text *page, const char *heading, const char *request)
{
    if (!*request)
        return;
    api_page_put(page, "<h2>%s</h2>\n", heading);
    api_page_put(page, "<pre>%s</pre>\n", request);
}

static enum api_status page_make(struct api_request *request, enum api_status code,
                                 struct api_result *result, struct api_error *err)
{
    const struct explanation *found = &explanations[code];
    struct api_text page = {0};

    api_page_begin(&page, api_status_title(code));
    api_text_print(&page, "<p><code>%s</code>, status %d</p>\n", api_status_code(code),
                   api_problem_status(code));
    api_page_put(&page, "<p>%s</p>\n", found->about);
    api_page_put(&page, "<p>%s</p>\n",
                 "The detail of a problem document says what was found and what to do; its errors "
                 "name the parameter, the place in the JSON body, the header or the tensor.");
    example_put(&page, "A request with this mistake", found->mistake);
    example_put(&page, "The same, mended", found->mended);
    return api_page_end(&page, request, result, err);
}

/* The head of every page of a problem. */
static json_t *summary_make(struct api_request *request, enum api_status code)
{
    return json_pack(
        "{ss ss ss si}", "type", api_link(request, "/problems/%s", api_status_code(code)), "code",
        api_status_code(code), "title", api_status_title(code), "status", api_problem_status(code));
}

static json_t *report_make(struct api_request *request, enum api_status code)
{
    const struct explanation *found = &explanations[code];
    json_t *report = summary_make(request, code);

    json_object_set_new(report, "description", json_string(found->about));
    if (*found->mistake)
        json_object_set_new(report, "example",
                            json_pack("{ss ss*}", "mistake", found->mistake, "mended",
                                      *found->mended ? found->mended : NULL));
    return report;
}

/* The code that the path names; API_STATUSES: there is none. */
static enum api_status code_of(const struct api_request *request)
{
    enum api_status code = API_OK + 1;

    while (code < API_STATUSES && strcmp(api_status_code(code), request->name) != 0)
        code++;
    return code;
}

static enum api_status page_open(struct api_request *request, struct api_result *result,
                                 struct api_error *err)
{
    result->kind = API_REPORT;
    result->cache_control = "public, max-age=60";
    return code_of(request) == API_STATUSES
               ? api_fail(err, API_NOT_FOUND, "", "there is no problem '%.60s'", request->name)
           : request->page ? page_make(request, code_of(request), result, err)
                           : API_OK;
}

static enum api_status report_prepare(struct api_request *request, struct api_result *result,
                                      struct api_error *err)
{
    if (!request->page)
        result->report = report_make(request, code_of(request));
    return api_failed(err);
}

const struct api_handler api_handler_problem_page = {page_open, report_prepare};

/* ---- the list of them ------------------------------------------------------------------------ */

static enum api_status list_page(struct api_request *request, struct api_result *result,
                                 struct api_error *err)
{
    struct api_text page = {0};

    api_page_begin(&page, "Problems");
    api_page_put(&page, "<p>%s</p>\n<ul>\n",
                 "Every way to fail: the type of a problem document leads to one of these pages.");
    for (enum api_status code = API_OK + 1; code < API_STATUSES; code++) {
        api_page_put(&page, "<li><a href=\"%s\">",
                     api_link(request, "/problems/%s", api_status_code(code)));
        api_page_put(&page, "<code>%s</code></a>", api_status_code(code));
        api_text_print(&page, ", status %d: ", api_problem_status(code));
        api_page_put(&page, "%s</li>\n", api_status_title(code));
    }
    api_text_put(&page, "</ul>\n");
    return api_page_end(&page, request, result, err);
}

static enum api_status list_open(struct api_request *request, struct api_result *result,
                                 struct api_error *err)
{
    result->kind = API_REPORT;
    result->cache_control = "public, max-age=60";
    if (api_bind(request, NULL, 0, "", err))
        return api_failed(err);
    return request->page ? list_page(request, result, err) : API_OK;
}

static enum api_status list_prepare(struct api_request *request, struct api_result *result,
                                    struct api_error *err)
{
    json_t *list = request->page ? NULL : json_array();

    for (enum api_status code = API_OK + 1; list && code < API_STATUSES; code++)
        json_array_append_new(list, summary_make(request, code));
    if (list)
        result->report = json_pack("{so}", "problems", list);
    return api_failed(err);
}

const struct api_handler api_handler_problem_list = {list_open, list_prepare};
