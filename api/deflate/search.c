/* SPDX-License-Identifier: MIT */
#include "api/deflate/search.h"

#include <stdbool.h>
#include <string.h>

#include "api/base/wraps.h"
#include "api/deflate/symbols.h"

/* One place is known for each hash of a few bytes, the last, and the first match that is worth its
 * bits is taken. How many bytes that is follows from the text: digits take so few bits that four
 * of them are shorter than a distance, though any four stand somewhere in the window. All numbers
 * are whole, so that every machine finds the same. */

enum {
    PLACES_BITS = 13,
    EIGHT = 8,
    TAIL = 2 * EIGHT, /* bytes at the end of a section where no match begins */
    SAMPLE = 4 << 10,
    SAMPLE_STEP = 13,
    BIT = 16,            /* prices are told in sixteenths of a bit */
    MATCH_PRICE = 10,    /* bits of a length and a distance, without the distance's extra ones */
    LITERALS_PRICE = 20, /* bits of the literals that the shortest match replaces */
    GAIN_MIN = 5,        /* a fifth of the text, or matches are looked for in few places */
};

_Static_assert(API_PLACES == 1 << PLACES_BITS, "a hash is a place");

/* How far on after a place without a match: `least`, and 1 more with each 1 << patience of them,
 * `most` at most. */
struct pace {
    unsigned least, most, patience;
};

static const struct pace careful = {1, 4, 5}, hasty = {8, 12, 0};

struct search {
    struct api_section *section;
    const unsigned char *bytes;
    size_t end;
    size_t literal; /* the first that no match has taken */
    unsigned char *literals;
    unsigned price; /* of a literal */
    unsigned shift; /* of eight bytes, that leaves those that a match has at least */
    uint64_t gain;
};

static uint64_t eight_at(const unsigned char *at)
{
    uint64_t eight;

    memcpy(&eight, at, sizeof(eight));
    return eight;
}

/* ---- prices --------------------------------------------------------------------------------- */

/* The logarithm to base 2, a broken line between its whole values. */
static unsigned logarithm(uint32_t number)
{
    const unsigned whole = 31U - (unsigned)__builtin_clz(number);
    const uint32_t rest = number - (1U << whole);

    return whole * BIT + (uint32_t)((uint64_t)rest * BIT >> whole);
}

/* The mean of a literal by how often each byte occurs, a bit at least. */
static unsigned literal_price(const unsigned char *bytes, size_t size)
{
    uint32_t counts[256] = {0}, all = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < size; i += SAMPLE_STEP, all++)
        counts[bytes[i]]++;
    for (int i = 0; i < 256; i++)
        if (counts[i] > 0)
            sum += (uint64_t)counts[i] * (logarithm(all) - logarithm(counts[i]));
    return all == 0 || sum < (uint64_t)all * BIT ? BIT : (unsigned)(sum / all);
}

static unsigned distance_price(size_t distance)
{
    const unsigned wide = 31U - (unsigned)__builtin_clz((unsigned)distance);

    return (MATCH_PRICE + (wide > 1 ? wide - 1 : 0)) * BIT;
}

/* ---- matches -------------------------------------------------------------------------------- */

API_WRAPS("a hash")
static uint16_t *place_of(const struct search *search, uint64_t eight)
{
    return &search->section
                ->places[(eight << search->shift) * 0x9e3779b185ebca87U >> (64 - PLACES_BITS)];
}

/* How many bytes from here on stand `distance` before too; the first that differ among eight are
 * `other`. */
static size_t length_of(const struct search *search, size_t at, size_t distance, uint64_t other)
{
    const unsigned char *here = search->bytes + at, *before = here - distance;
    const size_t most = search->end - at < API_MATCH_MAX ? search->end - at : API_MATCH_MAX;
    size_t length = 0;

    while (other == 0 && length + 2 * EIGHT <= most) {
        length += EIGHT;
        other = eight_at(here + length) ^ eight_at(before + length);
    }
    if (other != 0)
        return length + (size_t)__builtin_ctzll(other) / 8;
    while (length < most && here[length] == before[length])
        length++;
    return length;
}

/* Takes a match if it is worth its bits. Runs of literals are copied longer than they are: what is
 * too much is overwritten by the next. */
static bool match_take(struct search *search, size_t at, size_t length, size_t distance)
{
    struct api_section *section = search->section;
    const unsigned saved = (unsigned)length * search->price, price = distance_price(distance);
    const size_t literals = at - search->literal;

    if (saved <= price)
        return false;
    search->gain += saved - price;
    section->matches[section->matches_count++] =
        (struct api_match){(uint32_t)literals, (uint16_t)length, (uint16_t)distance};
    for (size_t i = 0; i < literals; i += API_COPY)
        memcpy(search->literals + i, search->bytes + search->literal + i, API_COPY);
    search->literals += literals;
    search->literal = at + length;
    return true;
}

/* The distance of the last place with the same hash, and this place noted. */
API_WRAPS("places are kept modulo 65536")
static size_t distance_note(const struct search *search, size_t at, uint64_t eight)
{
    uint16_t *place = place_of(search, eight);
    const size_t distance = (uint16_t)(at - *place);

    *place = (uint16_t)at;
    return distance;
}

/* A match at this place, or where it begins before. */
static bool match_find(struct search *search, size_t at, bool jumped)
{
    const uint64_t here = eight_at(search->bytes + at);
    const size_t distance = distance_note(search, at, here);
    size_t length;
    uint64_t other;

    if (distance == 0 || distance > API_WINDOW || distance > at)
        return false;
    other = eight_at(search->bytes + at - distance) ^ here;
    if (other << search->shift != 0)
        return false;
    length = length_of(search, at, distance, other);
    for (; jumped && at > search->literal && at > distance && length < API_MATCH_MAX;
         length++, at--)
        if (search->bytes[at - 1] != search->bytes[at - 1 - distance])
            break;
    return match_take(search, at, length, distance);
}

/* Looks for matches up to a place. */
static size_t look(struct search *search, size_t at, size_t stop, struct pace pace)
{
    unsigned missed = 0;

    while (at < stop && search->section->matches_count < API_MATCHES) {
        const unsigned step = pace.least + (missed++ >> pace.patience);
        if (!match_find(search, at, step > 1)) {
            at += step < pace.most ? step : pace.most;
            continue;
        }
        distance_note(search, at + 1, eight_at(search->bytes + at + 1));
        at = search->literal;
        if (at < stop)
            distance_note(search, at - 2, eight_at(search->bytes + at - 2));
        missed = 0;
    }
    return at;
}

/* ---- a section ------------------------------------------------------------------------------ */

void api_search_begin(struct api_section *section)
{
    memset(section->places, 0, sizeof(section->places));
}

size_t api_search(struct api_section *section, const unsigned char *bytes, size_t size,
                  size_t begin)
{
    const size_t end = size - begin < API_SECTION ? size : begin + API_SECTION;
    const unsigned price = literal_price(bytes + begin, end - begin);
    const unsigned least = (LITERALS_PRICE * BIT + price - 1) / price;
    const unsigned bytes_least = least < 4 ? 4 : least < EIGHT ? least : EIGHT;
    struct search search = {.section = section,
                            .bytes = bytes,
                            .end = end,
                            .literal = begin,
                            .literals = section->literals,
                            .price = price,
                            .shift = 64 - 8 * bytes_least};
    const size_t stop = end - begin > TAIL ? end - TAIL : begin;
    const size_t sampled = stop - begin < SAMPLE ? stop : begin + SAMPLE;
    size_t at, rest;

    section->matches_count = 0;
    at = look(&search, begin, sampled, careful);
    look(&search, at, stop,
         search.gain * GAIN_MIN < (uint64_t)(at - begin) * price ? hasty : careful);
    rest = section->matches_count < API_MATCHES ? end - search.literal : 0;
    memcpy(search.literals, bytes + search.literal, rest);
    memset(search.literals + rest, 0, API_COPY); /* looked at, though never sent */
    section->literals_count = (size_t)(search.literals - section->literals) + rest;
    return search.literal + rest;
}
