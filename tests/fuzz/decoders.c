/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api/codings/coding.h"
#include "tests/fuzz/fuzz.h"

enum { OUT_MAX = 1 << 17 };

struct decoded {
    unsigned char *bytes;
    size_t size;
    bool failed, ended;
};

/* Decodes in pieces of input and output whose sizes follow from the seed. */
static struct decoded decode(const struct api_coding *coding, const uint8_t *data, size_t size,
                             uint32_t seed)
{
    struct decoded decoded = {.bytes = malloc(OUT_MAX)};
    void *decoder = coding->decode_open(NULL);
    struct pe_error err = {0};

    FUZZ_CHECK(decoder && decoded.bytes);
    while (size > 0 && !decoded.failed && decoded.size < OUT_MAX) {
        const size_t piece = fuzz_piece(&seed, size);
        struct api_flow flow = {.in = data, .in_size = piece};
        do {
            const size_t room = fuzz_piece(&seed, OUT_MAX - decoded.size);
            flow.out = decoded.bytes + decoded.size;
            flow.out_size = room;
            decoded.failed = coding->decode(decoder, &flow, &err) != PE_OK;
            FUZZ_CHECK(flow.out_size <= room && flow.in_size <= piece);
            decoded.size += room - flow.out_size;
        } while (!decoded.failed && decoded.size < OUT_MAX &&
                 (flow.in_size > 0 || flow.out_size == 0));
        data += piece;
        size -= piece;
    }
    FUZZ_CHECK(!decoded.failed || err.status == PE_MALFORMED);
    decoded.ended = !decoded.failed && coding->decode_ended(decoder);
    coding->decode_close(decoder);
    return decoded;
}

/* Encodes the data; *size becomes the size of the code. */
static unsigned char *encode(const struct api_coding *coding, const uint8_t *data, size_t *size)
{
    const size_t room = coding->piece_max(*size), space_size = coding->workspace(*size);
    unsigned char *code = malloc(room + 2 * API_CODING_ENDS_MAX), *space = malloc(space_size);
    size_t used = coding->head ? coding->head(code) : 0;
    const size_t piece = coding->piece(data, *size, code + used, room, space, space_size);

    free(space);
    FUZZ_CHECK(piece <= room);
    used += piece;
    if (coding->tail)
        used += coding->tail(code + used, coding->sum ? coding->sum(data, *size) : 0, *size);
    *size = used;
    return code;
}

/* A byte for the coding and the direction, a seed for the sizes of pieces, and either code, which
 * decodes equally however it is cut, or text, which is encoded and decoded. libzstd detects some
 * damage only in some cuts, so damaged code may be refused in one cut alone. */
void fuzz_decoders(const uint8_t *data, size_t size)
{
    const uint8_t choice = fuzz_byte(&data, &size), seed = fuzz_byte(&data, &size);
    const struct api_coding *coding;
    unsigned char *code = NULL;
    struct decoded whole, cut;
    size_t codings = 0, code_size = size;

    while (api_codings[codings])
        codings++;
    coding = api_codings[(choice & 127) % codings];
    if (choice & 128)
        code = encode(coding, data, &code_size);
    whole = decode(coding, code ? code : data, code_size, 0);
    cut = decode(coding, code ? code : data, code_size, seed);
    FUZZ_CHECK(!code || whole.ended == cut.ended);
    FUZZ_CHECK(!whole.ended || !cut.ended || whole.size == cut.size);
    FUZZ_CHECK(memcmp(whole.bytes, cut.bytes, whole.size < cut.size ? whole.size : cut.size) == 0);
    if (code && size < OUT_MAX)
        FUZZ_CHECK(whole.ended && whole.size == size && memcmp(whole.bytes, data, size) == 0);
    free(whole.bytes);
    free(cut.bytes);
    free(code);
}
