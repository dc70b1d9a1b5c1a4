/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/formats/formats.h"

/* A GGUF file is a model's config, read by api/config: it has no tensors for a request. */

static bool gguf_sniff(const unsigned char *bytes, size_t size)
{
    return size >= 4 && memcmp(bytes, "GGUF", 4) == 0;
}

static enum pe_status gguf_read(struct api_request *request, struct pe_error *err)
{
    if (!gguf_sniff(request->body, request->body_size))
        return pe_fail(err, PE_MALFORMED, "", "a GGUF file begins with the bytes GGUF");
    return PE_OK;
}

const struct api_reader api_reader_gguf = {
    .name = "gguf",
    .media_type = "application/x-gguf",
    .sniff = gguf_sniff,
    .read = gguf_read,
};
