/* SPDX-License-Identifier: MIT */
#ifndef API_FORMATS_READER_H
#define API_FORMATS_READER_H

/* Helpers of readers. */

#include "api/request/request.h"

/* Takes zeroed memory for the tensors of a request; PE_TOO_LARGE over tensors_max. */
enum pe_status api_reader_tensors(struct api_request *request, size_t count, struct pe_error *err);

/* The number of elements of a tensor and their bytes. PE_SHAPE_MISMATCH where they overflow. */
enum pe_status api_reader_size(const char *name, const struct pe_tensor *tensor, size_t *elements,
                               size_t *size, struct pe_error *err);

/* The names of all dtypes, "f64, f32, ...". */
const char *api_reader_dtypes(void);

/* "tensor:NAME" for an error. */
const char *api_tensor_where(const char *name, char *out, size_t size);

/* The name of the only tensor of a body: ?tensor=, else "x". */
const char *api_reader_tensor_name(const struct api_request *request);

/* How many of dtype and shape the header fields or the query give for raw bytes: 0 to 2. */
int api_raw_described(const struct api_request *request);

struct api_json_spans;

/* Parses a JSON object, which the arena frees; duplicate keys are refused. `name` names the text in
 * errors ("the body"). Spans are replaced by [] or "", and positions in errors are those of the
 * full text. removed NULL: no spans. */
enum pe_status api_json_object_read(struct api_request *request, const char *name, const char *text,
                                    size_t size, const struct api_json_spans *removed,
                                    json_t **json, struct pe_error *err);

#endif
