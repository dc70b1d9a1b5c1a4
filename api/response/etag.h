/* SPDX-License-Identifier: MIT */
#ifndef API_RESPONSE_ETAG_H
#define API_RESPONSE_ETAG_H

#include "api/codings/coding.h"
#include "api/memory/arena.h"
#include "posenc/posenc.h"

/* FNV-1a with 128 bits. Entity tags, the revision and the vectors of words are made of it, so it
 * never changes. It resists no attacker, and need not: a tag is compared with that of the same URL
 * only, and the cache has a keyed hash. */
struct api_hash {
    unsigned __int128 state;
};
void api_hash_start(struct api_hash *hash);
void api_hash_text(struct api_hash *hash, const char *text); /* NULL and "" differ */
void api_hash_bytes(struct api_hash *hash, const void *bytes, size_t size);
/* The coding of an answer and the version of its library; NULL: none. */
void api_hash_coding(struct api_hash *hash, const struct api_coding *coding);
void api_hash_params(struct api_hash *hash, const struct pe_params *params);
const char *api_hash_etag(const struct api_hash *hash, struct api_arena *arena); /* quoted; NULL */

/* Does an If-None-Match list contain the tag, or "*"? */
bool api_etag_listed(const char *list, const char *etag);

#endif
