/* SPDX-License-Identifier: MIT */
#include "api/response/etag.h"
#include "api/base/compiler.h"

#include <string.h>

#define PRIME ((unsigned __int128)1 << 88 | 0x13b)

void api_hash_start(struct api_hash *hash)
{
    hash->state = (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
}

API_WRAPS("FNV multiplies modulo 2^128")
void api_hash_bytes(struct api_hash *hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash->state = (hash->state ^ at[i]) * PRIME;
}

void api_hash_text(struct api_hash *hash, const char *text)
{
    if (text)
        api_hash_bytes(hash, text, strlen(text) + 1);
    else
        api_hash_bytes(hash, "\xff", 1);
}

/* Lists of up to so many elements are hashed byte by byte, whether they are a range or not; longer
 * lists number by number, and longer ranges by their ends. */
enum { BYTES_HASHED = 4096 };

API_WRAPS("FNV multiplies modulo 2^128")
static void numbers_hash(struct api_hash *hash, const double *numbers, size_t count)
{
    uint64_t bits;

    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &numbers[i], sizeof(bits));
        hash->state = (hash->state ^ bits) * PRIME;
    }
}

static void list_hash(struct api_hash *hash, const struct pe_value *value)
{
    const double ends[] = {value->number, value->number + (double)value->list_count - 1};

    if (value->segments && value->list_count > BYTES_HASHED) {
        for (size_t i = 0; i < value->segments_count; i++)
            numbers_hash(hash,
                         (const double[]){value->segments[i].first, (double)value->segments[i].end},
                         2);
        return;
    }
    if (value->list_count > BYTES_HASHED) {
        numbers_hash(hash, value->range ? ends : value->list, value->range ? 2 : value->list_count);
        return;
    }
    for (size_t i = 0; i < value->list_count; i++) {
        const double element = pe_value_at(value, i);
        api_hash_bytes(hash, &element, sizeof(element));
    }
}

void api_hash_coding(struct api_hash *hash, const struct api_coding *coding)
{
    if (!coding)
        return;
    api_hash_text(hash, coding->name);
    api_hash_text(hash, coding->version());
}

/* Hashes resolved values, so that a default and the same value given explicitly are equal. */
void api_hash_params(struct api_hash *hash, const struct pe_params *params)
{
    for (size_t i = 0; i < params->count; i++) {
        const struct pe_value *value = &params->values[i];
        const double number = value->number == 0 || value->range ? 0 : value->number; /* no -0 */
        if (!value->present || params->list[i].type == PE_TEXT)
            continue;
        api_hash_text(hash, params->list[i].name);
        api_hash_bytes(hash, &number, sizeof(number));
        const uint64_t counts[] = {value->list_count, value->rows}; /* 64 bits on every system */
        api_hash_bytes(hash, counts, value->rows > 0 ? sizeof(counts) : sizeof(counts[0]));
        list_hash(hash, value);
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
