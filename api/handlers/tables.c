/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "api/handlers/handler.h"
#include "api/readers/reader.h"
#include "api/store/store.h"

/* PUT and DELETE of a name: a learned table that everyone can look up. Who may is decided before
 * the upload (intake.c), and how it is done in api/store/change.c. */

static enum api_status name_check(const struct api_request *request, struct api_error *err)
{
    if (!api_stored_name_is_good(request->name))
        return api_fail(err, API_INVALID, "parameter:name",
                        "a name has up to 64 small letters, digits and . _ -, and begins with a "
                        "letter or digit; got '%.70s'",
                        request->name);
    if (pe_encoding_find(request->name))
        return api_fail(err, API_NAME_TAKEN, "parameter:name",
                        "%s is built in; store the table under another name", request->name);
    return API_OK;
}

/* The tensor of ?tensor=, or the only one. */
static enum api_status tensor_find(struct api_request *request, const struct api_tensor **tensor,
                                   struct api_error *err)
{
    const char *name = api_request_text(request, "tensor");

    if (request->body_size == 0)
        return api_fail(err, API_MALFORMED, "",
                        "the body is empty; send an npy or safetensors file");
    if (request->reader != &api_reader_npy && request->reader != &api_reader_safetensors)
        return api_fail(err, API_UNKNOWN_FORMAT, "header:Content-Type",
                        "a table is stored from npy or safetensors (curl --data-binary @file)");
    *tensor = name                          ? api_request_tensor(request, name)
              : request->tensors_count == 1 ? &request->tensors[0]
                                            : NULL;
    if (*tensor)
        return API_OK;
    if (name)
        return api_fail(err, API_MISSING, "parameter:tensor", "the file has no tensor '%.60s'",
                        name);
    return api_fail(err, API_MISSING, "parameter:tensor",
                    "the file has %zu tensors; tensor=NAME says which one to store",
                    request->tensors_count);
}

static enum api_status tensor_check(const struct api_request *request,
                                    const struct api_tensor *tensor, struct api_error *err)
{
    const uint64_t most = request->settings->limits.dim_max;
    char where[sizeof(err->where)];

    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    if (tensor->tensor.rank == 2 && tensor->tensor.shape[1] > most)
        return api_fail(err, API_TOO_LARGE, where,
                        "rows are at most %llu wide, the value of --dim-max",
                        (unsigned long long)most);
    return api_core(err, pe_table_check(&tensor->tensor, where, request->work, &err->core));
}

enum api_status api_handle_put_table(struct api_request *request, struct api_response *response,
                                     struct api_result **result, struct api_error *err)
{
    const struct api_tensor *tensor = NULL;
    const struct api_stored_table *table;
    uint64_t before;
    const char *etag;
    json_t *entry;

    (void)result;
    if (name_check(request, err) || api_bind(request, NULL, 0, "tensor", err) ||
        tensor_find(request, &tensor, err) || tensor_check(request, tensor, err) ||
        api_store_put(request->api->store, request, &tensor->tensor, &table, &before, err))
        return api_failed(err);
    etag = api_stored_table_etag(request, table);
    entry = api_store_entry_json(request->api->store, request->name);
    api_stored_table_drop(table);
    response->status = before == 0 ? 201 : 200;
    api_response_header(response, "Location", api_link(request, "/v1/encodings/%s", request->name));
    api_response_header(response, "ETag", etag);
    api_response_header(response, "Cache-Control", "no-store");
    return api_respond_json(response, entry, err);
}

enum api_status api_handle_delete_table(struct api_request *request, struct api_response *response,
                                        struct api_result **result, struct api_error *err)
{
    (void)result;
    if (name_check(request, err) || api_bind(request, NULL, 0, "", err) ||
        api_store_delete(request->api->store, request, err))
        return api_failed(err);
    response->status = 204;
    api_response_header(response, "Cache-Control", "no-store");
    return API_OK;
}
