/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/fuzz.h"

/* The head of a GGUF file as a config, with and without `strict`, for both types of layers. */
void fuzz_gguf(const uint8_t *data, size_t size)
{
    static const char *const queries[] = {"", "strict=true", "layer_type=full_attention",
                                          "layer_type=sliding_attention&strict=true"};
    static const struct api_field fields[] = {{"Content-Type", "application/x-gguf"}};
    struct api *api = fuzz_service(false);
    struct api_head head = {.method = "POST",
                            .path = "/v1/config",
                            .query = queries[size & 3],
                            .fields = fields,
                            .fields_count = 1,
                            .content_length = size};

    fuzz_answer_take(api_handle(api, &head, data, size));
    FUZZ_CHECK(api_state_read(api).memory_held == 0);
}
