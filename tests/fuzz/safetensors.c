/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

/* A body of application/x-safetensors. */
void fuzz_safetensors(const uint8_t *data, size_t size)
{
    struct fuzz_request made;

    fuzz_request_open(&made);
    fuzz_read(&api_reader_safetensors, &made.request, data, size);
    fuzz_request_close(&made);
}
