/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

/* A byte for the query, and a config.json. */
void fuzz_config(const uint8_t *data, size_t size)
{
    static const char *const layers[] = {"", "&layer_type=full_attention",
                                         "&layer_type=sliding_attention", "&layer_type=x"};
    static const struct api_field fields[] = {{"Content-Type", "application/json"}};
    const uint8_t choice = fuzz_byte(&data, &size);
    char query[80];
    const struct api_head head = {.method = "POST",
                                  .path = "/v1/config",
                                  .query = query,
                                  .fields = fields,
                                  .fields_count = 1,
                                  .content_length = size};

    snprintf(query, sizeof(query), "strict=%s%s", choice & 4 ? "true" : "false",
             layers[choice & 3]);
    struct api *api = fuzz_service(false);
    fuzz_answer_take(api_handle(api, &head, data, size));
    FUZZ_CHECK(api_state_read(api).memory_held == 0);
}

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
