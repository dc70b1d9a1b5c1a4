/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/handlers/handler.h"
#include "api/response/problem.h"

/* Where the `type` of a problem document leads. */
enum api_status api_handle_problem_page(struct api_request *request, struct api_response *response,
                                        struct api_result **result, struct api_error *err)
{
    (void)result;
    for (int status = API_OK + 1; status < API_STATUSES; status++) {
        if (strcmp(api_status_code(status), request->name) != 0)
            continue;
        api_response_header(response, "Cache-Control", "public, max-age=60");
        return api_respond_json(
            response,
            json_pack("{ss ss ss si ss}", "type",
                      api_link(request, "/problems/%s", api_status_code(status)), "code",
                      api_status_code(status), "title", api_status_title(status), "status",
                      api_problem_status(status), "description",
                      "The detail of a problem document says what was found and what to do; its "
                      "errors name the parameter, the place in the JSON body, the header or the "
                      "tensor."),
            err);
    }
    return api_fail(err, API_NOT_FOUND, "", "there is no problem '%.60s'", request->name);
}
