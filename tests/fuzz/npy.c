/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

/* A body of application/x-npy. */
void fuzz_npy(const uint8_t *data, size_t size)
{
    struct fuzz_request made;

    fuzz_request_open(&made);
    fuzz_read(&api_reader_npy, &made.request, data, size);
    fuzz_request_close(&made);
}
