/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <zlib.h>

#include "api/codings/coding.h"
#include "api/codings/zlib_compress.h"

/* gzip (RFC 1952) and "deflate", which is zlib's format (RFC 1950); some clients send the raw data
 * of RFC 1951 under that name, so that is read too. */

enum { WINDOW_BITS = 15, GZIP = 16 };

enum { ENCODE_COST = 11, DECODE_COST = 2 };

struct decoder {
    z_stream stream;
    struct pe_work *work;
    bool is_gzip, begun, ended;
    unsigned char first; /* of "deflate": kept until the second byte decides the format */
    bool has_first;
};

/* ---- decoding ------------------------------------------------------------------------------- */

static void *take(void *work, uInt count, uInt size)
{
    return api_decoder_take(work, count, size);
}

static void give(void *work, void *piece)
{
    api_decoder_give(work, piece);
}

static struct decoder *decoder_new(struct pe_work *work, bool is_gzip)
{
    struct decoder *decoder = api_decoder_take(work, 1, sizeof(*decoder));

    if (!decoder)
        return NULL;
    *decoder = (struct decoder){.work = work, .is_gzip = is_gzip};
    decoder->stream.zalloc = take;
    decoder->stream.zfree = give;
    decoder->stream.opaque = work;
    if (inflateInit2(&decoder->stream, WINDOW_BITS + (is_gzip ? GZIP : 0)) != Z_OK) {
        api_decoder_give(work, decoder);
        return NULL;
    }
    return decoder;
}

static void *gzip_open(struct pe_work *work)
{
    return decoder_new(work, true);
}

static void *deflate_open(struct pe_work *work)
{
    return decoder_new(work, false);
}

static void decode_close(void *handle)
{
    struct decoder *decoder = handle;

    inflateEnd(&decoder->stream);
    api_decoder_give(decoder->work, decoder);
}

static enum pe_status corrupt(const struct decoder *decoder, const char *why, struct pe_error *err)
{
    return pe_fail(err, PE_MALFORMED, "header:Content-Encoding", "the body is no valid %s: %s",
                   decoder->is_gzip ? "gzip" : "deflate", why ? why : "it is corrupt");
}

/* One call of inflate; its counters have 32 bits, so a call takes 1 GiB at most. */
static enum pe_status inflate_step(struct decoder *decoder, struct api_flow *flow,
                                   struct pe_error *err)
{
    enum { STEP_MAX = 1 << 30 };
    z_stream *stream = &decoder->stream;
    const uInt in = flow->in_size < STEP_MAX ? (uInt)flow->in_size : STEP_MAX;
    const uInt out = flow->out_size < STEP_MAX ? (uInt)flow->out_size : STEP_MAX;
    int result;

    stream->next_in = (unsigned char *)flow->in;
    stream->avail_in = in;
    stream->next_out = flow->out;
    stream->avail_out = out;
    result = inflate(stream, Z_NO_FLUSH);
    flow->in += in - stream->avail_in;
    flow->in_size -= in - stream->avail_in;
    flow->out += out - stream->avail_out;
    flow->out_size -= out - stream->avail_out;
    decoder->ended = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory to decode the body");
    if (result == Z_NEED_DICT)
        return corrupt(decoder, "it needs a dictionary", err);
    /* Z_BUF_ERROR only means that input or output was empty. */
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR
               ? PE_OK
               : corrupt(decoder, stream->msg, err);
}

static enum pe_status decode(void *handle, struct api_flow *flow, struct pe_error *err)
{
    struct decoder *decoder = handle;
    size_t before;

    do {
        /* A gzip file may have several members (RFC 1952, 2.2). */
        if (decoder->ended && flow->in_size > 0) {
            if (!decoder->is_gzip)
                return corrupt(decoder, "something follows its end", err);
            inflateReset(&decoder->stream);
            decoder->ended = false;
        }
        if (decoder->ended)
            return PE_OK;
        before = flow->in_size + flow->out_size;
        if (inflate_step(decoder, flow, err))
            return err->status;
    } while (flow->in_size > 0 && flow->out_size > 0 && flow->in_size + flow->out_size < before);
    return PE_OK;
}

/* Do these two bytes begin zlib's format: method 8, a window of at most 32 KiB, together a multiple
 * of 31? Raw data cannot begin so: it would be a stored block whose padding is not zero. */
static bool is_zlib(unsigned char first, unsigned char second)
{
    return (first & 15) == 8 && first >> 4 <= 7 && (first << 8 | second) % 31 == 0;
}

static enum pe_status deflate_decode(void *handle, struct api_flow *flow, struct pe_error *err)
{
    struct decoder *decoder = handle;
    struct api_flow first = {&decoder->first, 1, flow->out, flow->out_size};

    if (decoder->begun || flow->in_size == 0)
        return decode(decoder, flow, err);
    if (!decoder->has_first) {
        decoder->first = *flow->in++;
        flow->in_size--;
        decoder->has_first = true;
    }
    if (flow->in_size == 0)
        return PE_OK;
    decoder->begun = true;
    if (!is_zlib(decoder->first, *flow->in))
        inflateReset2(&decoder->stream, -WINDOW_BITS);
    /* The first byte alone yields no output in either format. */
    if (decode(decoder, &first, err))
        return err->status;
    return decode(decoder, flow, err);
}

static bool decode_ended(const void *decoder)
{
    return ((const struct decoder *)decoder)->ended;
}

/* ---- encoding ------------------------------------------------------------------------------- */

static size_t piece_make(const void *bytes, size_t size, unsigned char *out, size_t out_size,
                         unsigned char *workspace, size_t workspace_size)
{
    return api_deflate(API_DEFLATE_PIECE, bytes, size, out, out_size, workspace, workspace_size,
                       NULL);
}

/* The last block of the stream: empty, with fixed codes. */
static size_t end_put(unsigned char *out)
{
    out[0] = 3;
    out[1] = 0;
    return 2;
}

static uint32_t crc(const void *bytes, size_t size)
{
    return (uint32_t)crc32_z(0, bytes, size);
}

static uint32_t crc_combine(uint32_t first, uint32_t second, uint64_t second_size)
{
    return (uint32_t)crc32_combine(first, second, (z_off_t)second_size);
}

/* Without file name, time and system, so that the bytes are equal everywhere. */
static size_t gzip_head(unsigned char *out)
{
    static const unsigned char head[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};

    memcpy(out, head, sizeof(head));
    return sizeof(head);
}

static size_t gzip_tail(unsigned char *out, uint32_t sum, uint64_t size)
{
    size_t at = end_put(out);

    for (unsigned bit = 0; bit < 32; bit += 8)
        out[at++] = (unsigned char)(sum >> bit);
    for (unsigned bit = 0; bit < 32; bit += 8)
        out[at++] = (unsigned char)(size >> bit);
    return at;
}

static uint32_t adler(const void *bytes, size_t size)
{
    return (uint32_t)adler32_z(1, bytes, size);
}

static uint32_t adler_combine(uint32_t first, uint32_t second, uint64_t second_size)
{
    return (uint32_t)adler32_combine(first, second, (z_off_t)second_size);
}

static size_t deflate_head(unsigned char *out)
{
    out[0] = 0x78;
    out[1] = 0x01; /* the fastest level */
    return 2;
}

static size_t deflate_tail(unsigned char *out, uint32_t sum, uint64_t size)
{
    size_t at = end_put(out);

    (void)size;
    for (int bit = 24; bit >= 0; bit -= 8)
        out[at++] = (unsigned char)(sum >> bit);
    return at;
}

const struct api_coding api_coding_gzip = {
    .name = "gzip",
    .alias = "x-gzip",
    .version = api_deflate_version,
    .encode_cost = ENCODE_COST,
    .decode_cost = DECODE_COST,
    .decode_open = gzip_open,
    .decode = decode,
    .decode_ended = decode_ended,
    .decode_close = decode_close,
    .piece_max = api_deflate_max,
    .workspace = api_deflate_workspace,
    .piece = piece_make,
    .sum = crc,
    .sum_combine = crc_combine,
    .head = gzip_head,
    .tail = gzip_tail,
};

const struct api_coding api_coding_deflate = {
    .name = "deflate",
    .version = api_deflate_version,
    .encode_cost = ENCODE_COST,
    .decode_cost = DECODE_COST,
    .decode_open = deflate_open,
    .decode = deflate_decode,
    .decode_ended = decode_ended,
    .decode_close = decode_close,
    .piece_max = api_deflate_max,
    .workspace = api_deflate_workspace,
    .piece = piece_make,
    .sum = adler,
    .sum_combine = adler_combine,
    .head = deflate_head,
    .tail = deflate_tail,
};
