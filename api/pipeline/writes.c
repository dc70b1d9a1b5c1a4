/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/request/service.h"
#include "api/store/access.h"

bool api_is_write(const struct api_request *request)
{
    return strcmp(request->method, "PUT") == 0 || strcmp(request->method, "DELETE") == 0;
}

enum api_status api_write_check(struct api_intake *intake, const struct api_head *head,
                                struct api_error *err)
{
    const struct api *api = intake->request.api;

    if (!api_store_has_folder(api->store))
        return api_fail(err, API_WRITES_DISABLED, "",
                        "this server stores nothing; --tables names a folder to store in");
    if (!api->settings.token_file && !api->settings.anonymous_writes)
        return api_fail(err, API_WRITES_DISABLED, "",
                        "nobody may store here; --token-file lists the tokens of those who may");
    if (api->settings.token_file &&
        !api_access_allows(api->access, api_head_field(head, "Authorization"))) {
        api_response_header(intake->response, "WWW-Authenticate", "Bearer realm=\"posenc\"");
        intake->common_headers = intake->response->headers_count;
        return api_fail(err, API_UNAUTHORIZED, "header:Authorization",
                        "to store or delete, show a token: Authorization: Bearer TOKEN");
    }
    if (!api_store_is_writable(api->store)) {
        api_response_header(intake->response, "Allow", "GET, HEAD, OPTIONS");
        intake->common_headers = intake->response->headers_count;
        return api_fail(err, API_WRONG_METHOD, "", "this server only reads the tables");
    }
    return API_OK;
}
