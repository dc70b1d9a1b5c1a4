/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "tests/fuzz/fuzz.h"

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
