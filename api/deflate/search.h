/* SPDX-License-Identifier: MIT */
#ifndef API_DEFLATE_SEARCH_H
#define API_DEFLATE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* Text as literals and matches: what stands before in the same piece is named by its distance. */

enum {
    API_SECTION = 128 << 10, /* bytes of text that one pair of codes is made for */
    API_MATCHES = 8192,      /* of a section at most; it ends before where there are more */
    API_PLACES = 1 << 13,
    API_COPY = 16, /* literals are copied in runs of so many bytes */
};

struct api_match {
    uint32_t literals; /* before it, since the last one */
    uint16_t length, distance;
};

struct api_section {
    struct api_match matches[API_MATCHES];
    unsigned char literals[API_SECTION + API_COPY]; /* of the whole section in a row */
    size_t matches_count, literals_count;
    uint16_t places[API_PLACES]; /* where some bytes were seen last, modulo 65536 */
};

/* Forgets what was seen: a piece refers to nothing before it. */
void api_search_begin(struct api_section *section);

/* Finds the matches of a section that begins at a place of the piece, and returns its end. */
size_t api_search(struct api_section *section, const unsigned char *bytes, size_t size,
                  size_t begin);

#endif
