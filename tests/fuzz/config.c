/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

/* A byte that makes the query, and a config.json. */
void fuzz_config(const uint8_t *data, size_t size)
{
    static const char *const layers[] = {"", "&layer_type=full_attention",
                                         "&layer_type=sliding_attention", "&layer_type=x"};
    static const struct api_field fields[] = {{"Content-Type", "application/json"}};
    const uint8_t asked = fuzz_byte(&data, &size);
    char query[80];
    const struct api_head head = {.method = "POST",
                                  .path = "/v1/config",
                                  .query = query,
                                  .fields = fields,
                                  .fields_count = 1,
                                  .content_length = size};

    snprintf(query, sizeof(query), "strict=%s%s", asked & 4 ? "true" : "false", layers[asked & 3]);
    struct api *api = fuzz_service(false);
    fuzz_answer_take(api_handle(api, &head, data, size));
    FUZZ_CHECK(api_state_read(api).memory_held == 0);
}
