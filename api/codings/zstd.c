/* SPDX-License-Identifier: MIT */
#define ZSTD_STATIC_LINKING_ONLY /* for contexts in memory of the caller */
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "api/codings/coding.h"

/* zstd (RFC 8878), with a window of at most 8 MiB (RFC 9659). A body has one or more frames, so
 * each piece of an answer is a frame. */

enum {
    LEVEL = 1,
    HEAD_SIZE = 5, /* bytes of a frame up to the descriptor of its header */
};

struct decoder {
    ZSTD_DStream *stream;
    struct pe_work *work;
    unsigned begun; /* bytes read of this frame, up to HEAD_SIZE */
    unsigned char head[HEAD_SIZE];
    bool ended;
};

/* ---- decoding ------------------------------------------------------------------------------- */

static void decode_close(void *handle)
{
    struct decoder *decoder = handle;

    ZSTD_freeDStream(decoder->stream);
    api_decoder_give(decoder->work, decoder);
}

static void *take(void *work, size_t size)
{
    return api_decoder_take(work, 1, size);
}

static void give(void *work, void *piece)
{
    api_decoder_give(work, piece);
}

static void *decode_open(struct pe_work *work)
{
    struct decoder *decoder = api_decoder_take(work, 1, sizeof(*decoder));

    if (!decoder)
        return NULL;
    *decoder = (struct decoder){.work = work};
    decoder->stream = ZSTD_createDStream_advanced((ZSTD_customMem){take, give, work});
    if (!decoder->stream || ZSTD_isError(ZSTD_DCtx_setParameter(
                                decoder->stream, ZSTD_d_windowLogMax, API_ZSTD_WINDOW_LOG_MAX))) {
        decode_close(decoder);
        return NULL;
    }
    return decoder;
}

static enum pe_status refuse(size_t result, struct pe_error *err)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to decode the body");
    case ZSTD_error_frameParameter_windowTooLarge:
        return pe_fail(err, PE_MALFORMED, "header:Content-Encoding",
                       "the window of a body in zstd has at most 8 MiB; compress it without --long "
                       "and --ultra");
    default:
        return pe_fail(err, PE_MALFORMED, "header:Content-Encoding",
                       "the body is no valid zstd: %s", ZSTD_getErrorName(result));
    }
}

/* The first bytes of a frame are passed one by one, and their reserved bit is checked here: whether
 * libzstd 1.5.4 checks it depends on how the header is cut. */
static bool head_is_complete(const struct decoder *decoder)
{
    return decoder->begun >= HEAD_SIZE;
}

/* Adds a byte of a frame's head. False: a reserved bit is set (RFC 8878). */
static bool head_add(struct decoder *decoder, unsigned char byte)
{
    static const unsigned char magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    enum { RESERVED = 0x08 };

    decoder->head[decoder->begun] = byte;
    return decoder->begun != sizeof(magic) || memcmp(decoder->head, magic, sizeof(magic)) != 0 ||
           !(byte & RESERVED);
}

static enum pe_status decode(void *handle, struct api_flow *flow, struct pe_error *err)
{
    struct decoder *decoder = handle;
    ZSTD_inBuffer in = {flow->in, flow->in_size, 0};
    ZSTD_outBuffer out = {flow->out, flow->out_size, 0};
    size_t before, result;

    /* Between two frames, a call without input would begin the next frame. */
    if (decoder->ended && in.size == 0)
        return PE_OK;
    do {
        const size_t read = in.pos;
        before = in.pos + out.pos;
        in.size = head_is_complete(decoder) || read == flow->in_size ? flow->in_size : read + 1;
        if (!head_is_complete(decoder) && read < flow->in_size &&
            !head_add(decoder, flow->in[read]))
            return pe_fail(err, PE_MALFORMED, "header:Content-Encoding",
                           "the body is no valid zstd: its header has a reserved bit");
        result = ZSTD_decompressStream(decoder->stream, &out, &in);
        if (ZSTD_isError(result))
            return refuse(result, err);
        decoder->ended = result == 0;
        decoder->begun = decoder->ended              ? 0
                         : head_is_complete(decoder) ? HEAD_SIZE
                                                     : decoder->begun + (in.pos > read);
    } while (in.pos < flow->in_size && out.pos < out.size && in.pos + out.pos > before);
    flow->in += in.pos;
    flow->in_size -= in.pos;
    flow->out += out.pos;
    flow->out_size -= out.pos;
    return PE_OK;
}

static bool decode_ended(const void *decoder)
{
    return ((const struct decoder *)decoder)->ended;
}

/* ---- encoding ------------------------------------------------------------------------------- */

/* The maximum over all sizes up to this one: a shorter piece may need more than a longer one. */
static size_t workspace(size_t size)
{
    static const size_t steps[] = {16 << 10, 128 << 10, 256 << 10};
    size_t most = ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(LEVEL, size, 0));

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && steps[i] < size; i++) {
        const size_t other =
            ZSTD_estimateCCtxSize_usingCParams(ZSTD_getCParams(LEVEL, steps[i], 0));
        most = other > most ? other : most;
    }
    return most;
}

static size_t piece(const void *bytes, size_t size, unsigned char *out, size_t out_size,
                    unsigned char *space, size_t space_size)
{
    ZSTD_CCtx *context = ZSTD_initStaticCCtx(space, space_size);
    const size_t made =
        context ? ZSTD_compressCCtx(context, out, out_size, bytes, size, LEVEL) : SIZE_MAX;

    return !context || ZSTD_isError(made) ? SIZE_MAX : made;
}

const struct api_coding api_coding_zstd = {
    .name = "zstd",
    .version = ZSTD_versionString,
    .encode_cost = 5,
    .decode_cost = 0.2,
    .decode_open = decode_open,
    .decode = decode,
    .decode_ended = decode_ended,
    .decode_close = decode_close,
    .piece_max = ZSTD_compressBound,
    .workspace = workspace,
    .piece = piece,
};
