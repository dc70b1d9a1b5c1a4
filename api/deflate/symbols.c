/* SPDX-License-Identifier: MIT */
#include "api/deflate/symbols.h"

enum { LENGTHS = 19 }; /* symbols that lengths of codes are told in */

/* Lengths of both codes, and runs of zeros among them by 17 and 18 (3.2.7). */
struct told {
    unsigned char symbols[API_CODE_SYMBOLS + API_DISTANCES];
    unsigned char extra[API_CODE_SYMBOLS + API_DISTANCES];
    size_t count;
};

static void lengths_tell(struct told *told, const struct api_code *code)
{
    for (int i = 0, run; i < code->symbols; i += run) {
        for (run = 0; run < 138 && i + run < code->symbols && code->length[i + run] == 0;)
            run++;
        told->extra[told->count] = (unsigned char)(run < 11 ? run - 3 : run - 11);
        told->symbols[told->count++] = run < 3 ? code->length[i] : run < 11 ? 17 : 18;
        run = run < 3 ? 1 : run;
    }
}

void api_codes_put(struct api_bits *bits, bool last, const struct api_code *literals,
                   const struct api_code *distances)
{
    static const unsigned char order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
    struct api_code code = {.symbols = LENGTHS};
    struct told told = {.count = 0};
    uint32_t counts[LENGTHS] = {0};

    lengths_tell(&told, literals);
    lengths_tell(&told, distances);
    for (size_t i = 0; i < told.count; i++)
        counts[told.symbols[i]]++;
    api_code_make(&code, counts, 7);
    api_bits_put(bits, last ? 5 : 4, 3); /* codes of its own */
    api_bits_put(bits, API_CODE_SYMBOLS - 257, 5);
    api_bits_put(bits, API_DISTANCES - 1, 5);
    api_bits_put(bits, LENGTHS - 4, 4);
    for (size_t i = 0; i < LENGTHS; i++)
        api_bits_put(bits, code.length[order[i]], 3);
    for (size_t i = 0; i < told.count; i++) {
        api_bits_put(bits, code.bits[told.symbols[i]], code.length[told.symbols[i]]);
        if (told.symbols[i] > 16)
            api_bits_put(bits, told.extra[i], told.symbols[i] == 17 ? 3 : 7);
    }
}
