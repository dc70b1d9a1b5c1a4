/* SPDX-License-Identifier: MIT */
#include "api/deflate/pieces.h"

#include "api/deflate/search.h"
#include "api/deflate/symbols.h"

/* Each section becomes a block with codes of its own, or stored ones where that is not longer. */

enum {
    LONGEST = 14,       /* bits of a code: four of them and seven more fit into a flush */
    STORED_MAX = 65535, /* bytes of a stored block */
    STORED_HEAD = 5,    /* bytes, and no more than seven bits before */
    SECTION_LEAST = API_MATCHES * 4, /* bytes of one that has as many matches as may be */
};

struct codes {
    struct api_code literals, distances;
    uint32_t counts[API_CODE_SYMBOLS], distance_counts[API_DISTANCES];
    uint32_t entries[API_CODE_SYMBOLS]; /* bits << 8 | length, of a literal or a length */
};

/* ---- counting ------------------------------------------------------------------------------- */

/* Four counters of each byte, for one that occurs twice in a row would wait for itself. */
static void literals_count(uint32_t *counts, const unsigned char *bytes, size_t size)
{
    uint32_t parts[4][256] = {{0}};
    size_t i = 0;

    for (; i + 4 <= size; i += 4) {
        parts[0][bytes[i]]++;
        parts[1][bytes[i + 1]]++;
        parts[2][bytes[i + 2]]++;
        parts[3][bytes[i + 3]]++;
    }
    for (; i < size; i++)
        parts[0][bytes[i]]++;
    for (size_t byte = 0; byte < 256; byte++)
        counts[byte] = parts[0][byte] + parts[1][byte] + parts[2][byte] + parts[3][byte];
}

static void codes_make(struct codes *codes, const struct api_section *section)
{
    *codes =
        (struct codes){.literals.symbols = API_CODE_SYMBOLS, .distances.symbols = API_DISTANCES};
    literals_count(codes->counts, section->literals, section->literals_count);
    codes->counts[API_END] = 1;
    for (size_t i = 0; i < section->matches_count; i++) {
        codes->counts[api_length_symbol(section->matches[i].length).symbol]++;
        codes->distance_counts[api_distance_symbol(section->matches[i].distance).symbol]++;
    }
    api_code_make(&codes->literals, codes->counts, LONGEST);
    api_code_make(&codes->distances, codes->distance_counts, LONGEST);
    for (size_t i = 0; i < API_CODE_SYMBOLS; i++)
        codes->entries[i] = (uint32_t)codes->literals.bits[i] << 8 | codes->literals.length[i];
}

/* Bits of all symbols, or more: bits behind them are told as the most of each. */
static uint64_t bits_most(const struct codes *codes)
{
    enum { LENGTH_EXTRA = 5 };
    uint64_t bits = 0;

    for (unsigned i = 0; i < API_CODE_SYMBOLS; i++)
        bits += (uint64_t)codes->counts[i] *
                (codes->literals.length[i] + (i > API_END ? LENGTH_EXTRA : 0U));
    for (unsigned i = 0; i < API_DISTANCES; i++)
        bits += (uint64_t)codes->distance_counts[i] * (codes->distances.length[i] + i / 2);
    return bits;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void entry_add(struct api_bits *bits, uint32_t entry)
{
    api_bits_add(bits, entry >> 8, entry & 255);
}

/* Four at a time; of the rest, whose number nobody foretells, each is looked up, and adds a code or
 * nothing: a branch would be taken wrong too often. */
static void literals_put(struct api_bits *bits, const uint32_t *entries, const unsigned char *at,
                         size_t count)
{
    struct api_bits now = *bits; /* which no byte that is written can be a part of */

    for (; count >= 4; count -= 4, at += 4) {
        entry_add(&now, entries[at[0]]);
        entry_add(&now, entries[at[1]]);
        entry_add(&now, entries[at[2]]);
        entry_add(&now, entries[at[3]]);
        api_bits_flush(&now);
    }
    for (size_t i = 0; i < 3; i++)
        entry_add(&now, entries[at[i]] & (i < count ? ~0U : 0));
    api_bits_flush(&now);
    *bits = now;
}

static void match_put(struct api_bits *bits, const struct codes *codes,
                      const struct api_match *match)
{
    const struct api_symbol length = api_length_symbol(match->length);
    const struct api_symbol distance = api_distance_symbol(match->distance);

    entry_add(bits, codes->entries[length.symbol]);
    api_bits_add(bits, length.extra, length.bits);
    api_bits_add(bits, codes->distances.bits[distance.symbol],
                 codes->distances.length[distance.symbol]);
    api_bits_add(bits, distance.extra, distance.bits);
    api_bits_flush(bits);
}

static void block_put(struct api_bits *bits, const struct codes *codes,
                      const struct api_section *section)
{
    const unsigned char *at = section->literals, *end = at + section->literals_count;

    api_codes_put(bits, false, &codes->literals, &codes->distances);
    for (size_t i = 0; i < section->matches_count; i++) {
        literals_put(bits, codes->entries, at, section->matches[i].literals);
        at += section->matches[i].literals;
        match_put(bits, codes, &section->matches[i]);
    }
    literals_put(bits, codes->entries, at, (size_t)(end - at));
    entry_add(bits, codes->entries[API_END]);
    api_bits_flush(bits);
}

/* No bytes make an empty block, which ends at a whole byte as every stored one does. */
static void stored_put(struct api_bits *bits, const unsigned char *bytes, size_t size)
{
    api_bits_put(bits, 0, 3);
    api_bits_put(bits, 0, (8 - bits->count) % 8);
    api_bits_put(bits, size | (~size & 0xffff) << 16, 32);
    memcpy(bits->at, bytes, size);
    bits->at += size;
}

/* A block that turns out longer than its text is taken back. */
static void section_put(struct api_bits *bits, const struct api_section *section,
                        const unsigned char *bytes, size_t size)
{
    const struct api_bits before = *bits;
    struct codes codes;

    codes_make(&codes, section);
    if (bits_most(&codes) / 8 < size) {
        block_put(bits, &codes, section);
        if ((size_t)(bits->at - before.at) <= size)
            return;
        *bits = before;
    }
    for (size_t part; size > 0; bytes += part, size -= part) {
        part = size < STORED_MAX ? size : STORED_MAX;
        stored_put(bits, bytes, part);
    }
}

/* ---- a piece -------------------------------------------------------------------------------- */

size_t api_piece_room(size_t size)
{
    const size_t sections = size / SECTION_LEAST + 1;

    return size + (sections + size / STORED_MAX + 1) * (STORED_HEAD + 1) + API_CODES_ROOM;
}

size_t api_piece_workspace(size_t size)
{
    (void)size;
    return sizeof(struct api_section);
}

size_t api_piece_make(const void *bytes, size_t size, unsigned char *out, size_t room,
                      unsigned char *workspace, size_t workspace_size)
{
    struct api_section *section = (void *)workspace;
    struct api_bits bits = {out, 0, 0};

    if (room < api_piece_room(size) || workspace_size < sizeof(*section))
        return SIZE_MAX;
    api_search_begin(section);
    for (size_t at = 0, end; at < size; at = end) {
        end = api_search(section, bytes, size, at);
        section_put(&bits, section, (const unsigned char *)bytes + at, end - at);
    }
    stored_put(&bits, out, 0);
    return (size_t)(bits.at - out);
}
