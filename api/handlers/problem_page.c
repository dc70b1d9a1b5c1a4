/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/handlers/handler.h"
#include "api/response/problem.h"

/* The page that the `type` of a problem document links to. */
static enum api_status page_open(struct api_request *request, struct api_result *result,
                                 struct api_error *err)
{
    static const char description[] =
        "The detail of a problem document says what was found and what to do; its errors name the "
        "parameter, the place in the JSON body, the header or the tensor.";
    int status = API_OK + 1;

    while (status < API_STATUSES && strcmp(api_status_code(status), request->name) != 0)
        status++;
    if (status == API_STATUSES)
        return api_fail(err, API_NOT_FOUND, "", "there is no problem '%.60s'", request->name);
    result->kind = API_REPORT;
    result->cache_control = "public, max-age=60";
    result->report = json_pack("{ss ss ss si ss}", "type",
                               api_link(request, "/problems/%s", api_status_code(status)), "code",
                               api_status_code(status), "title", api_status_title(status), "status",
                               api_problem_status(status), "description", description);
    return API_OK;
}

const struct api_handler api_handler_problem_page = {page_open, NULL};
