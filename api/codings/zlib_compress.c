/* SPDX-License-Identifier: MIT */
#include "api/codings/zlib_compress.h"

#include <stdint.h>
#include <zlib.h>

enum { LEVEL = Z_BEST_SPEED, MEMORY_LEVEL = 8, WINDOW_BITS = MAX_WBITS };

/* zlib takes 268 KiB (zconf.h), and its replacements up to twice as much. */
enum { WORKSPACE = 640 << 10, ALIGNMENT = 64 };

/* Bytes between two checks for cancellation, some milliseconds. zlib's counters have 32 bits. */
enum { STEP = 256 << 10 };

struct workspace {
    unsigned char *at;
    size_t left;
};

static void *take(void *handle, uInt count, uInt size)
{
    struct workspace *workspace = handle;
    const size_t wanted = ((size_t)count * size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    unsigned char *taken = workspace->at;

    if (wanted > workspace->left)
        return NULL;
    workspace->at += wanted;
    workspace->left -= wanted;
    return taken;
}

/* The caller frees the workspace. */
static void give(void *handle, void *bytes)
{
    (void)handle;
    (void)bytes;
}

/* compressBound is that of zlib's format at any level; flushing a piece adds an empty block. */
size_t api_deflate_max(size_t size)
{
    enum { FLUSH = 16 };

    return compressBound(size) + FLUSH;
}

size_t api_deflate_workspace(size_t size)
{
    (void)size;
    return WORKSPACE;
}

/* Compresses up to STEP bytes, and ends the stream in its form with the last of them. */
static int step(z_stream *stream, enum api_deflate_form form, const unsigned char *bytes,
                size_t size, size_t out_size)
{
    const bool is_last = size <= STEP;

    stream->next_in = (unsigned char *)bytes;
    stream->avail_in = (uInt)(is_last ? size : STEP);
    stream->avail_out = (uInt)(out_size < UINT32_MAX ? out_size : UINT32_MAX);
    return deflate(stream, !is_last                     ? Z_NO_FLUSH
                           : form == API_DEFLATE_STREAM ? Z_FINISH
                                                        : Z_SYNC_FLUSH);
}

size_t api_deflate(enum api_deflate_form form, const void *bytes, size_t size, unsigned char *out,
                   size_t out_size, unsigned char *workspace, size_t workspace_size,
                   struct pe_work *work)
{
    struct workspace memory = {workspace, workspace_size};
    z_stream stream = {.zalloc = take, .zfree = give, .opaque = &memory, .next_out = out};
    const unsigned char *at = bytes;
    const int expected = form == API_DEFLATE_STREAM ? Z_STREAM_END : Z_OK;
    size_t made;
    int result;

    if (deflateInit2(&stream, LEVEL, Z_DEFLATED,
                     form == API_DEFLATE_STREAM ? WINDOW_BITS : -WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return SIZE_MAX;
    for (;;) {
        made = (size_t)(stream.next_out - out);
        result = step(&stream, form, at, size, out_size - made);
        if (size <= STEP || result != Z_OK || stream.avail_in > 0)
            break;
        if (work && pe_work_ended(work))
            return SIZE_MAX;
        at += STEP;
        size -= STEP;
    }
    if (result != expected || stream.avail_in > 0 || stream.avail_out == 0)
        return SIZE_MAX;
    return (size_t)(stream.next_out - out);
}

unsigned long api_deflate_crc(const void *bytes, size_t size)
{
    return crc32_z(0, bytes, size);
}

const char *api_deflate_version(void)
{
    return zlibVersion();
}
