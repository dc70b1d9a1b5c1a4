/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

/* A JSON body. Accepted bodies are JSON for jansson too, which reads integers of over 64 bits as
 * doubles only. */
void fuzz_json(const uint8_t *data, size_t size)
{
    struct fuzz_request made;
    json_error_t fault;
    json_t *json;

    fuzz_request_open(&made);
    if (fuzz_read(&api_reader_json, &made.request, data, size)) {
        json = json_loadb((const char *)data, size,
                          JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &fault);
        FUZZ_CHECK(json_is_object(json));
        json_decref(json);
    }
    fuzz_request_close(&made);
}

/* A body of application/x-npy. */
void fuzz_npy(const uint8_t *data, size_t size)
{
    struct fuzz_request made;

    fuzz_request_open(&made);
    fuzz_read(&api_reader_npy, &made.request, data, size);
    fuzz_request_close(&made);
}

/* A body of application/x-safetensors. */
void fuzz_safetensors(const uint8_t *data, size_t size)
{
    struct fuzz_request made;

    fuzz_request_open(&made);
    fuzz_read(&api_reader_safetensors, &made.request, data, size);
    fuzz_request_close(&made);
}

/* A line with the dtype, one with the shape, and the bytes. */
void fuzz_raw(const uint8_t *data, size_t size)
{
    char *dtype = fuzz_line(&data, &size), *shape = fuzz_line(&data, &size);
    struct fuzz_request made;

    fuzz_request_open(&made);
    made.request.tensor_dtype = dtype;
    made.request.tensor_shape = shape;
    fuzz_read(&api_reader_raw, &made.request, data, size);
    fuzz_request_close(&made);
    free(dtype);
    free(shape);
}
