/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/names.h"
#include "api/formats/formats.h"
#include "api/formats/reader.h"
#include "api/response/blocks.h"
#include "api/response/response.h"

/* Elements without a header, little-endian: the fields Tensor-Dtype and Tensor-Shape describe them.
 */

/* Several tensors have their dtypes and shapes separated by ';'. */
static enum pe_status render(struct api_request *request, struct api_result *result,
                             struct api_response *response, struct pe_error *err)
{
    const char *dtypes = "", *shapes = "";

    for (size_t i = 0; i < result->outputs_count && dtypes && shapes; i++) {
        const struct pe_output *output = &result->outputs[i];
        const char *between = i > 0 ? ";" : "";
        size_t shape[PE_RANK_MAX + 1];
        const unsigned rank = api_output_shape(output, shape);

        dtypes = api_arena_print(request->arena, "%s%s%s", dtypes, between,
                                 pe_dtype_info(output->dtype)->name);
        shapes = api_arena_print(request->arena, "%s%s", shapes, between);
        for (unsigned axis = 0; axis < rank && shapes; axis++)
            shapes = api_arena_print(request->arena, "%s%s%zu", shapes, axis > 0 ? "," : "",
                                     shape[axis]);
    }
    if (!dtypes || !shapes)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the answer");
    api_response_header(response, "Tensor-Dtype", dtypes);
    api_response_header(response, "Tensor-Shape", shapes);
    return api_blocks_render(request, result, NULL, 0, response, err);
}

const struct api_format api_format_raw = {
    .name = "raw",
    .media_type = "application/octet-stream",
    .extension = "bin",
    .binary = true,
    .is_file = true,
    .render = render,
};

/* ---- reading -------------------------------------------------------------------------------- */

/* The header field, or the parameter of the query, which spares pages a preflight. */
static const char *description(const struct api_request *request, const char *field,
                               const char *name)
{
    for (size_t i = 0; !field && i < request->query_count; i++)
        if (api_names_alike(request->query[i].name, name))
            return request->query[i].value;
    return field;
}

static const char *dtype_described(const struct api_request *request)
{
    return description(request, request->tensor_dtype, "tensor_dtype");
}

static const char *shape_described(const struct api_request *request)
{
    return description(request, request->tensor_shape, "tensor_shape");
}

int api_raw_described(const struct api_request *request)
{
    return (dtype_described(request) != NULL) + (shape_described(request) != NULL);
}

/* Removes the parameters that describe the tensor from the query. */
static void query_clean(struct api_request *request)
{
    size_t kept = 0;

    for (size_t i = 0; i < request->query_count; i++)
        if (!api_names_alike(request->query[i].name, "tensor_dtype") &&
            !api_names_alike(request->query[i].name, "tensor_shape"))
            request->query[kept++] = request->query[i];
    request->query_count = kept;
}

static enum pe_status shape_read(const char *text, struct pe_tensor *tensor, struct pe_error *err)
{
    char *end;

    for (const char *at = text;; at = end + 1) {
        at += strspn(at, " \t");
        errno = 0;
        if (tensor->rank == PE_RANK_MAX || *at < '0' || *at > '9')
            break;
        tensor->shape[tensor->rank++] = strtoul(at, &end, 10);
        end += strspn(end, " \t");
        if (errno || (*end && *end != ','))
            break;
        if (!*end)
            return PE_OK;
    }
    return pe_fail(err, PE_INVALID, "header:Tensor-Shape",
                   "Tensor-Shape must be 1 to 8 lengths separated by commas, got '%.60s'", text);
}

static enum pe_status raw_read(struct api_request *request, struct pe_error *err)
{
    struct api_tensor *tensor;
    const char *dtype = dtype_described(request), *shape = shape_described(request);
    size_t elements, size;

    query_clean(request);
    if (!dtype || !shape)
        return pe_fail(err, PE_MISSING, dtype ? "header:Tensor-Shape" : "header:Tensor-Dtype",
                       "raw bytes need the headers Tensor-Dtype (f32) and Tensor-Shape "
                       "(1,12,8,64), or tensor_dtype and tensor_shape in the query; npy, "
                       "safetensors and JSON say both themselves");
    if (api_reader_tensors(request, 1, err))
        return err->status;
    tensor = &request->tensors[0];
    tensor->name = api_reader_tensor_name(request);
    if (!pe_dtype_find(dtype, &tensor->tensor.dtype))
        return pe_fail(err, PE_INVALID, "header:Tensor-Dtype",
                       "Tensor-Dtype must be one of %s, got '%.40s'", api_reader_dtypes(), dtype);
    if (shape_read(shape, &tensor->tensor, err) ||
        api_reader_size(tensor->name, &tensor->tensor, &elements, &size, err))
        return err->status;
    if (size != request->body_size)
        return pe_fail(err, PE_SHAPE_MISMATCH, "header:Tensor-Shape",
                       "the body has %zu bytes, Tensor-Shape and Tensor-Dtype need %zu",
                       request->body_size, size);
    tensor->tensor.data = request->body;
    request->tensors_count = 1;
    return PE_OK;
}

const struct api_reader api_reader_raw = {
    .name = "raw",
    .media_type = "application/octet-stream",
    .read = raw_read,
};
