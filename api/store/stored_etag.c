/* SPDX-License-Identifier: MIT */
#include "api/request/service.h"
#include "api/response/etag.h"
#include "api/store/store.h"

void api_hash_stored_table(struct api_hash *hash, const struct api_stored_table *table)
{
    api_hash_text(hash, table->name);
    api_hash_bytes(hash, &table->version, sizeof(table->version));
    api_hash_bytes(hash, &table->tensor.dtype, sizeof(table->tensor.dtype));
    api_hash_bytes(hash, table->tensor.shape, 2 * sizeof(table->tensor.shape[0]));
    api_hash_text(hash, table->sha256);
}

const char *api_stored_table_etag(struct api_request *request, const struct api_stored_table *table)
{
    struct api_hash hash;

    api_hash_start(&hash);
    api_hash_text(&hash, request->api->revision);
    api_hash_stored_table(&hash, table);
    return api_hash_etag(&hash, request->arena);
}
