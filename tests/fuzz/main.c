/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

/* What libFuzzer calls, one program for each target: -DFUZZ_TARGET=fuzz_json. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_run(FUZZ_TARGET, data, size);
    return 0;
}
