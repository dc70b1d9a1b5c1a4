/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/names.h"
#include "api/formats/reader.h"

/* The little-endian elements of one tensor and nothing else; Tensor-Dtype and Tensor-Shape say what
 * they are. */

/* From a field or, where a page would need a preflight for that, the query. */
static const char *told(const struct api_request *request, const char *field, const char *name)
{
    for (size_t i = 0; !field && i < request->query_count; i++)
        if (api_names_alike(request->query[i].name, name))
            return request->query[i].value;
    return field;
}

static const char *dtype_told(const struct api_request *request)
{
    return told(request, request->tensor_dtype, "tensor_dtype");
}

static const char *shape_told(const struct api_request *request)
{
    return told(request, request->tensor_shape, "tensor_shape");
}

int api_raw_told(const struct api_request *request)
{
    return (dtype_told(request) != NULL) + (shape_told(request) != NULL);
}

/* Takes the parameters that the tensor was described by out of the query: they are read. */
static void query_take(struct api_request *request)
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
    const char *dtype = dtype_told(request), *shape = shape_told(request);
    size_t elements, size;

    query_take(request);
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
                       "Tensor-Dtype must be one of f64, f32, f16, bf16, i64, i32, u32, bool, "
                       "got '%.40s'",
                       dtype);
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
