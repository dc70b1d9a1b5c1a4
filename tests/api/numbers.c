/* SPDX-License-Identifier: MIT */
#include "tests/api/numbers.h"

const char padding[] = ",          ,          ,          ,          ,          ,          "
                       "          ,          ,          ,          ]";

uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

float f32_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

enum pe_status element_read(const char *text, const char *behind, enum pe_dtype dtype,
                            uint64_t *bits)
{
    const size_t length = strlen(text), size = length + strlen(behind);
    unsigned char *copy = malloc(size + 1);
    struct api_json_run run = {
        .at = copy, .end = copy + size, .out = (unsigned char *)bits, .capacity = 1};
    enum pe_status status;

    memcpy(copy, text, length);
    memcpy(copy + length, behind, size - length);
    copy = realloc(copy, size);
    run.at = copy;
    run.end = copy + size;
    *bits = 0;
    status = api_json_run_read(&run, dtype);
    if (status == PE_OK && run.at != copy + length)
        status = PE_INTERNAL; /* read too far, or not far enough */
    free(copy);
    return status;
}
