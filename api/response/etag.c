/* SPDX-License-Identifier: MIT */
#include "api/response/etag.h"
#include "api/base/wraps.h"

#include <string.h>

void api_hash_start(struct api_hash *hash)
{
    hash->state = (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
}

API_WRAPS("FNV multiplies modulo 2^128")
void api_hash_bytes(struct api_hash *hash, const void *bytes, size_t size)
{
    const unsigned __int128 prime = (unsigned __int128)1 << 88 | 0x13b;
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash->state = (hash->state ^ at[i]) * prime;
}

void api_hash_text(struct api_hash *hash, const char *text)
{
    if (text)
        api_hash_bytes(hash, text, strlen(text) + 1);
    else
        api_hash_bytes(hash, "\xff", 1);
}

/* Values as resolved, so that a default and the same value given are one representation. */
void api_hash_coding(struct api_hash *hash, const struct api_coding *coding)
{
    if (!coding)
        return;
    api_hash_text(hash, coding->name);
    api_hash_text(hash, coding->version());
}

void api_hash_params(struct api_hash *hash, const struct pe_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct pe_value *value = &params->values[i];
        const double number = value->number == 0 ? 0 : value->number; /* -0 is 0 */
        if (!value->present || params->list[i].type == PE_TEXT)
            continue;
        api_hash_text(hash, params->list[i].name);
        api_hash_bytes(hash, &number, sizeof(number));
        const uint64_t counts[] = {value->list_count, value->rows}; /* the same bytes everywhere */
        api_hash_bytes(hash, counts, value->rows > 0 ? sizeof(counts) : sizeof(counts[0]));
        if (value->list_count > 0)
            api_hash_bytes(hash, value->list, value->list_count * sizeof(double));
    }
}

const char *api_hash_etag(const struct api_hash *hash, struct api_arena *arena)
{
    return api_arena_print(arena, "\"%016llx%016llx\"", (unsigned long long)(hash->state >> 64),
                           (unsigned long long)hash->state);
}

bool api_etag_listed(const char *list, const char *etag)
{
    const size_t length = strlen(etag);

    while (list && *list) {
        list += strspn(list, " \t,");
        if (*list == '*' && strchr(" \t,", list[1]))
            return true;
        if (strncmp(list, "W/", 2) == 0)
            list += 2;
        if (strncmp(list, etag, length) == 0)
            return true;
        if (*list == '"')
            list += 1 + strcspn(list + 1, "\"");
        list += strcspn(list, ",");
    }
    return false;
}
