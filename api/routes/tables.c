/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/formats/formats.h"
#include "api/routes/handler.h"
#include "api/store/store.h"

/* PUT and DELETE of a learned table. Permissions are checked before the upload
 * (api/pipeline/begin.c); api/store has the storage. */

static enum pe_status name_check(const struct api_request *request, struct pe_error *err)
{
    if (!api_stored_name_is_good(request->name))
        return pe_fail(err, PE_INVALID, "parameter:name",
                       "a name has up to 64 small letters, digits and . _ -, and begins with a "
                       "letter or digit; got '%.70s'",
                       request->name);
    if (pe_encoding_find(request->name))
        return pe_fail(err, PE_NAME_TAKEN, "parameter:name",
                       "%s is built in; stored tables have other names", request->name);
    return PE_OK;
}

/* The tensor of ?tensor=, or the only one. */
static enum pe_status tensor_find(struct api_request *request, const struct api_tensor **tensor,
                                  struct pe_error *err)
{
    const char *name = api_request_text(request, "tensor");

    if (request->body_size == 0)
        return pe_fail(err, PE_MALFORMED, "", "the body is empty; send an npy or safetensors file");
    *tensor = name                          ? api_request_tensor(request, name)
              : request->tensors_count == 1 ? &request->tensors[0]
                                            : NULL;
    if (*tensor)
        return PE_OK;
    if (name)
        return pe_fail(err, PE_MISSING, "parameter:tensor", "the file has no tensor '%.60s'", name);
    return pe_fail(err, PE_MISSING, "parameter:tensor",
                   "the file has %zu tensors; tensor=NAME says which one to store",
                   request->tensors_count);
}

static enum pe_status put_open(struct api_request *request, struct api_result *result,
                               struct pe_error *err)
{
    const struct api_tensor *tensor = NULL;

    result->kind = API_MEDIA;
    result->media_type = "application/json";
    result->cache_control = "no-store";
    if (name_check(request, err) || api_bind(request, NULL, 0, "tensor", err) ||
        tensor_find(request, &tensor, err))
        return err->status;
    if (tensor->tensor.rank == 2)
        api_result_width(result, api_arena_print(request->arena, "tensor:%.80s", tensor->name),
                         "the width of a row", (double)tensor->tensor.shape[1]);
    result->state = (void *)tensor;
    return PE_OK;
}

static enum pe_status put_store(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    const struct api_tensor *tensor = result->state;
    struct api_store_answer answer;
    char where[sizeof(err->where)];

    result->location = api_link(request, "/v1/encodings/%s", request->name);
    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    if (pe_table_check(&tensor->tensor, where, request->work, err) ||
        api_store_put(api_store_of(request), request, &tensor->tensor, &answer, err))
        return err->status;
    result->status = answer.is_first ? 201 : 200;
    result->etag = answer.etag;
    result->bytes = answer.text;
    result->size = strlen(answer.text);
    return PE_OK;
}

const struct api_handler api_handler_put_table = {put_open, put_store};

static enum pe_status delete_open(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    result->kind = API_MEDIA;
    result->status = 204;
    result->cache_control = "no-store";
    return name_check(request, err) ? err->status : api_bind(request, NULL, 0, "", err);
}

static enum pe_status delete_do(struct api_request *request, struct api_result *result,
                                struct pe_error *err)
{
    (void)result;
    return api_store_delete(api_store_of(request), request, err);
}

const struct api_handler api_handler_delete_table = {delete_open, delete_do};
