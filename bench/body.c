/* SPDX-License-Identifier: MIT */
/* body BYTES: writes that many bytes of N(0,1) float32 to its output, always the same ones. */
#include "bench/normal.h"

#include <stdio.h>
#include <stdlib.h>

enum { SEED = 20170612 };

int main(int argc, char **argv)
{
    const size_t count = argc == 2 ? strtoull(argv[1], NULL, 10) / sizeof(float) : 0;
    float *values = count ? malloc(count * sizeof(*values)) : NULL;
    int failed;

    if (!values) {
        fprintf(stderr, "usage: body BYTES >file\n");
        return 2;
    }
    normal_fill(values, count, SEED);
    failed = fwrite(values, sizeof(*values), count, stdout) != count || fflush(stdout) != 0;
    free(values);
    return failed;
}
