/* SPDX-License-Identifier: MIT */
#ifndef API_DEFLATE_HUFFMAN_H
#define API_DEFLATE_HUFFMAN_H

#include <stdint.h>

/* Codes of Huffman, as RFC 1951 has them. */

enum { API_CODE_SYMBOLS = 286, API_CODE_BITS = 15 };

struct api_code {
    uint16_t bits[API_CODE_SYMBOLS];        /* of a symbol, the first to be sent lowest */
    unsigned char length[API_CODE_SYMBOLS]; /* 0: it does not occur */
    int symbols;
};

/* Lengths and bits from how often each of code->symbols occurs; none is longer than `longest`. One
 * symbol alone gets a code of one bit. */
void api_code_make(struct api_code *code, const uint32_t *counts, int longest);

#endif
