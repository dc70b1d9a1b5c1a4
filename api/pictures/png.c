/* SPDX-License-Identifier: MIT */
#include "api/pictures/png.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/compiler.h"
#include "api/codings/zlib_compress.h"
#include "posenc/work.h"

/* PNG: https://www.w3.org/TR/png-3/. */

/* ---- chunks --------------------------------------------------------------------------------- */

static void word_put(struct api_text *text, uint32_t word)
{
    const unsigned char bytes[] = {(unsigned char)(word >> 24), (unsigned char)(word >> 16),
                                   (unsigned char)(word >> 8), (unsigned char)word};

    api_text_add(text, bytes, sizeof(bytes));
}

static size_t chunk_begin(struct api_text *png, const char *name)
{
    const size_t begin = png->size;

    word_put(png, 0);
    api_text_put(png, name);
    return begin;
}

static void chunk_end(struct api_text *png, size_t begin)
{
    const size_t size = png->size - begin - 8;

    if (png->failed)
        return;
    for (int i = 0; i < 4; i++)
        png->bytes[begin + (size_t)i] = (char)(unsigned char)(size >> (24 - 8 * i));
    word_put(png, (uint32_t)api_deflate_crc(png->bytes + begin + 4, size + 4));
}

static void head_put(struct api_text *png, const struct api_image *image)
{
    const unsigned char traits[] = {8, image->colours ? 3 : 2, 0, 0, 0}; /* eight bits */
    const size_t begin = chunk_begin(png, "IHDR");

    word_put(png, (uint32_t)image->width);
    word_put(png, (uint32_t)image->height);
    api_text_add(png, traits, sizeof(traits));
    chunk_end(png, begin);
}

static void colours_put(struct api_text *png, const struct api_colours *colours)
{
    size_t begin = chunk_begin(png, "PLTE");

    api_text_add(png, colours->rgb, sizeof(colours->rgb));
    chunk_end(png, begin);
    if (!colours->last_is_clear)
        return;
    begin = chunk_begin(png, "tRNS");
    for (int i = 0; i < 256; i++)
        api_text_add(png, i < 255 ? "\xff" : "\0", 1);
    chunk_end(png, begin);
}

/* Pixels a metre, of 96 an inch of 2.54 cm. */
static void size_put(struct api_text *png, int scale)
{
    const uint32_t pixels = (uint32_t)((scale * 960000 + 127) / 254);
    const size_t begin = chunk_begin(png, "pHYs");

    word_put(png, pixels);
    word_put(png, pixels);
    api_text_add(png, "\1", 1);
    chunk_end(png, begin);
}

/* Text without compression and language. */
static void words_put(struct api_text *png, const struct api_png_words *words)
{
    for (; words && words->keyword; words++) {
        size_t begin;
        if (!words->text)
            continue;
        begin = chunk_begin(png, "iTXt");
        api_text_put(png, words->keyword);
        api_text_add(png, "\0\0\0\0\0", 5);
        api_text_put(png, words->text);
        chunk_end(png, begin);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The filter types in use: no difference, that to the pixel at the left, or that to the one above.
 */
enum { NONE, LEFT, ABOVE, FILTERS };

struct rows {
    const struct api_image *image;
    size_t pixel, row; /* bytes */
    const unsigned char *blank;
};

API_WRAPS("differences of bytes")
static unsigned filter_row(const unsigned char *row, const unsigned char *from, size_t lead,
                           size_t size, unsigned char *out)
{
    unsigned sum = 0;

    for (size_t i = 0; i < lead; i++)
        out[i] = row[i];
    for (size_t i = lead; i < size; i++)
        out[i] = (unsigned char)(row[i] - from[i - lead]);
    for (size_t i = 0; i < size; i++)
        sum += out[i] < 128 ? out[i] : 256U - out[i];
    return sum;
}

/* Chooses the filter with the least sum of differences, which usually compresses best. Palettes and
 * drawings, which have many equal pixels, are not filtered. */
static void row_put(const struct rows *rows, size_t number, unsigned char *out)
{
    const unsigned char *row = rows->image->pixels + number * rows->row;
    unsigned sums[FILTERS], best = NONE;

    if (rows->image->colours || rows->image->drawn) {
        *out = NONE;
        memcpy(out + 1, row, rows->row);
        return;
    }
    sums[NONE] = filter_row(row, rows->blank, 0, rows->row, out + 1);
    sums[LEFT] = filter_row(row, row, rows->pixel, rows->row, out + 1);
    sums[ABOVE] = number > 0 ? filter_row(row, row - rows->row, 0, rows->row, out + 1) : ~0U;
    for (unsigned i = LEFT; i < FILTERS; i++)
        best = sums[i] < sums[best] ? i : best;
    *out = (unsigned char)best;
    if (best == LEFT)
        filter_row(row, row, rows->pixel, rows->row, out + 1);
    else if (best == NONE)
        memcpy(out + 1, row, rows->row);
}

static void compressed_put(struct api_text *png, struct api_arena *arena,
                           const unsigned char *bytes, size_t size)
{
    const size_t most = api_deflate_max(size), workspace_size = api_deflate_workspace(size);
    unsigned char *workspace = api_arena_buffer(arena, workspace_size);
    unsigned char *out = api_arena_buffer(arena, most);
    const size_t made = workspace && out
                            ? api_deflate(API_DEFLATE_STREAM, bytes, size, out, most, workspace,
                                          workspace_size, api_arena_work(arena))
                            : SIZE_MAX;

    png->failed |= made == SIZE_MAX;
    if (made != SIZE_MAX)
        api_text_add(png, out, made);
    if (out)
        api_arena_buffer_drop(arena, out);
    if (workspace)
        api_arena_buffer_drop(arena, workspace);
}

static void pixels_put(struct api_text *png, struct api_arena *arena, const struct api_image *image)
{
    const size_t pixel = image->colours ? 1 : 3, row = image->width * pixel;
    const size_t size = (row + 1) * image->height, begin = chunk_begin(png, "IDAT");
    unsigned char *bytes = api_arena_buffer(arena, size + row);
    const struct rows rows = {image, pixel, row, bytes ? bytes + size : NULL};

    png->failed |= !bytes;
    if (bytes)
        memset(bytes + size, 0, row);
    for (size_t i = 0; bytes && i < image->height && !pe_work_ended(api_arena_work(arena)); i++)
        row_put(&rows, i, bytes + i * (row + 1));
    if (bytes) {
        compressed_put(png, arena, bytes, size);
        api_arena_buffer_drop(arena, bytes);
    }
    chunk_end(png, begin);
}

/* ---- colours -------------------------------------------------------------------------------- */

enum { TABLE = 1024 }; /* of a hash over 256 colours */

struct seen {
    uint32_t colour[TABLE]; /* rgb, and UNSEEN */
    unsigned char index[TABLE];
    unsigned count;
};

#define UNSEEN 0xffffffffU

/* The index of a colour; 256: there are more than 256 colours. */
API_WRAPS("a hash")
static unsigned colour_index(struct seen *seen, struct api_colours *colours, uint32_t colour)
{
    unsigned at = colour * 2654435761U >> 22;

    while (seen->colour[at] != colour && seen->colour[at] != UNSEEN)
        at = (at + 1) % TABLE;
    if (seen->colour[at] == colour)
        return seen->index[at];
    if (seen->count == 256)
        return 256;
    for (int part = 0; part < 3; part++)
        colours->rgb[seen->count][part] = (unsigned char)(colour >> (16 - 8 * part));
    seen->colour[at] = colour;
    return seen->index[at] = (unsigned char)seen->count++;
}

/* Makes a palette and indices. False: there are more than 256 colours. */
static bool colours_find(const struct api_image *image, struct api_colours *colours,
                         unsigned char *indices)
{
    const size_t pixels = image->width * image->height;
    uint32_t last = UNSEEN;
    unsigned index = 0;
    struct seen seen = {.count = 0};

    memset(colours, 0, sizeof(*colours));
    memset(seen.colour, 0xff, sizeof(seen.colour));
    for (size_t i = 0; i < pixels; i++) {
        const unsigned char *p = image->pixels + i * 3;
        const uint32_t colour = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        if (colour != last)
            index = colour_index(&seen, colours, colour);
        if (index == 256)
            return false;
        last = colour;
        indices[i] = (unsigned char)index;
    }
    return true;
}

/* ---- the file ------------------------------------------------------------------------------- */

void api_png_put(struct api_text *png, struct api_arena *arena, const struct api_image *image,
                 const struct api_png_words *words)
{
    unsigned char *indices =
        image->colours ? NULL : api_arena_buffer(arena, image->width * image->height);
    struct api_image written = *image;
    struct api_colours colours;

    png->failed |= !image->colours && !indices;
    if (indices && colours_find(image, &colours, indices)) {
        written.pixels = indices;
        written.colours = &colours;
    }
    api_text_add(png, "\x89PNG\r\n\x1a\n", 8);
    head_put(png, &written);
    if (image->scale > 0)
        size_put(png, image->scale);
    if (written.colours)
        colours_put(png, written.colours);
    words_put(png, words);
    pixels_put(png, arena, &written);
    chunk_end(png, chunk_begin(png, "IEND"));
    if (indices)
        api_arena_buffer_drop(arena, indices);
}
