/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/readers/reader.h"

/* The little-endian elements of one tensor and nothing else; Tensor-Dtype and Tensor-Shape say what
 * they are. */

static enum api_status shape_read(const char *text, struct pe_tensor *tensor, struct api_error *err)
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
            return API_OK;
    }
    return api_fail(err, API_INVALID, "header:Tensor-Shape",
                    "Tensor-Shape must be 1 to 8 lengths separated by commas, got '%.60s'", text);
}

static enum api_status raw_read(struct api_request *request, struct api_error *err)
{
    struct api_tensor *tensor;
    size_t elements, size;

    if (!request->tensor_dtype || !request->tensor_shape)
        return api_fail(
            err, API_MISSING, request->tensor_dtype ? "header:Tensor-Shape" : "header:Tensor-Dtype",
            "raw bytes need the headers Tensor-Dtype (f32) and Tensor-Shape (1,12,8,64); "
            "npy, safetensors and JSON say both themselves");
    if (api_reader_tensors(request, 1, err))
        return api_failed(err);
    tensor = &request->tensors[0];
    tensor->name = api_reader_tensor_name(request);
    if (!pe_dtype_find(request->tensor_dtype, &tensor->tensor.dtype))
        return api_fail(err, API_INVALID, "header:Tensor-Dtype",
                        "Tensor-Dtype must be one of f64, f32, f16, bf16, i64, i32, u32, bool, "
                        "got '%.40s'",
                        request->tensor_dtype);
    if (shape_read(request->tensor_shape, &tensor->tensor, err) ||
        api_reader_size(tensor->name, &tensor->tensor, &elements, &size, err))
        return api_failed(err);
    if (size != request->body_size)
        return api_fail(err, API_SHAPE_MISMATCH, "header:Tensor-Shape",
                        "the body has %zu bytes, Tensor-Shape and Tensor-Dtype need %zu",
                        request->body_size, size);
    tensor->tensor.data = request->body;
    request->tensors_count = 1;
    return API_OK;
}

const struct api_reader api_reader_raw = {
    .name = "raw",
    .media_type = "application/octet-stream",
    .read = raw_read,
};
