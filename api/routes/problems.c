/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/response/problem.h"
#include "api/routes/handler.h"
#include "api/routes/page.h"

/* The page that the `type` of a problem document links to. */

struct explanation {
    const char *about, *mistake, *corrected; /* "": there is none */
};

static const struct explanation explanations[API_PROBLEMS] = {
#define PROBLEM(name, about, mistake, corrected) [PE_##name] = {about, mistake, corrected},
#include "api/routes/problems.def"
#undef PROBLEM
};

static void example_put(struct api_text *page, const char *heading, const char *request)
{
    if (!*request)
        return;
    api_page_put(page, "<h2>%s</h2>\n", heading);
    api_page_put(page, "<pre>%s</pre>\n", request);
}

static enum pe_status page_make(struct api_request *request, enum pe_status code,
                                struct api_result *result, struct pe_error *err)
{
    const struct explanation *found = &explanations[code];
    struct api_text page = {0};

    api_page_begin(&page, pe_status_title(code));
    api_text_print(&page, "<p><code>%s</code>, status %d</p>\n", pe_status_code(code),
                   api_problem_status(code));
    api_page_put(&page, "<p>%s</p>\n", found->about);
    api_page_put(&page, "<p>%s</p>\n",
                 "The detail of a problem document says what was found and what to do; its errors "
                 "name the parameter, the place in the JSON body, the header or the tensor.");
    example_put(&page, "A request with this mistake", found->mistake);
    example_put(&page, "The same, mended", found->corrected);
    return api_page_end(&page, request, result, err);
}

/* The head of every page of a problem. */
static json_t *summary_make(struct api_request *request, enum pe_status code)
{
    return json_pack(
        "{ss ss ss si}", "type", api_link(request, "/problems/%s", pe_status_code(code)), "code",
        pe_status_code(code), "title", pe_status_title(code), "status", api_problem_status(code));
}

static json_t *report_make(struct api_request *request, enum pe_status code)
{
    const struct explanation *found = &explanations[code];
    json_t *report = summary_make(request, code);

    json_object_set_new(report, "description", json_string(found->about));
    if (*found->mistake)
        json_object_set_new(report, "example",
                            json_pack("{ss ss*}", "mistake", found->mistake, "mended",
                                      *found->corrected ? found->corrected : NULL));
    return report;
}

/* The code that the path names; API_PROBLEMS: there is none. */
static enum pe_status code_of(const struct api_request *request)
{
    enum pe_status code = PE_OK + 1;

    while (code < API_PROBLEMS && strcmp(pe_status_code(code), request->name) != 0)
        code++;
    return code;
}

static enum pe_status page_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    result->kind = API_REPORT;
    result->cache_control = "public, max-age=60";
    return code_of(request) == API_PROBLEMS
               ? pe_fail(err, PE_NOT_FOUND, "", "there is no problem '%.60s'", request->name)
           : request->page ? page_make(request, code_of(request), result, err)
                           : PE_OK;
}

static enum pe_status report_prepare(struct api_request *request, struct api_result *result,
                                     struct pe_error *err)
{
    if (!request->page)
        result->report = report_make(request, code_of(request));
    return err->status;
}

const struct api_handler api_handler_problem_page = {page_open, report_prepare};

/* ---- the list of them ------------------------------------------------------------------------ */

static enum pe_status list_page(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    struct api_text page = {0};

    api_page_begin(&page, "Problems");
    api_page_put(&page, "<p>%s</p>\n<ul>\n",
                 "Every way to fail: the type of a problem document leads to one of these pages.");
    for (enum pe_status code = PE_OK + 1; code < API_PROBLEMS; code++) {
        api_page_put(&page, "<li><a href=\"%s\">",
                     api_link(request, "/problems/%s", pe_status_code(code)));
        api_page_put(&page, "<code>%s</code></a>", pe_status_code(code));
        api_text_print(&page, ", status %d: ", api_problem_status(code));
        api_page_put(&page, "%s</li>\n", pe_status_title(code));
    }
    api_text_put(&page, "</ul>\n");
    return api_page_end(&page, request, result, err);
}

static enum pe_status list_open(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    result->kind = API_REPORT;
    result->cache_control = "public, max-age=60";
    if (api_bind(request, NULL, 0, "", err))
        return err->status;
    return request->page ? list_page(request, result, err) : PE_OK;
}

static enum pe_status list_prepare(struct api_request *request, struct api_result *result,
                                   struct pe_error *err)
{
    json_t *list = request->page ? NULL : json_array();

    for (enum pe_status code = PE_OK + 1; list && code < API_PROBLEMS; code++)
        json_array_append_new(list, summary_make(request, code));
    if (list)
        result->report = json_pack("{so}", "problems", list);
    return err->status;
}

const struct api_handler api_handler_problem_list = {list_open, list_prepare};
