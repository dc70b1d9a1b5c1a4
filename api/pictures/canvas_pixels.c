/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api/pictures/canvas.h"
#include "api/pictures/font.h"
#include "api/pictures/mask.h"
#include "api/pictures/png.h"
#include "posenc/work.h"

/* Pictures as pixels: each mark is rendered as a mask, and its colour is blended over the sheet
 * through the mask. */

struct api_sheet {
    int width, height;
    unsigned char *rgb; /* row by row */
    struct api_mask mask;
    bool drawn; /* without images */
};

/* ---- images of another size ----------------------------------------------------------------- */

/* An image of colour indices and the rectangle that it is scaled to. */
struct resample {
    struct api_colours colours;
    const unsigned char *pixels; /* row by row */
    size_t wide, high;
    unsigned char *to;            /* the first pixel of the rectangle, three bytes a pixel */
    size_t stride, width, height; /* stride: bytes from one row to the next */
};

/* A length of `cells` cells and `pixels` pixels is divided into cells x pixels parts: a cell has
 * `pixels` of them, and a pixel `cells`. */

enum {
    FINE = 256,     /* the unit of indices between the two passes */
    CLEAR = 0xffff, /* a transparent one of these */
    SHARP = 3,      /* pixels a cell from which on no means are taken */
};

/* The cells of a pixel, and its parts. */
struct span {
    size_t first, last, begin, end;
};

static struct span span_of(size_t pixel, size_t cells, size_t pixels)
{
    const size_t begin = pixel * cells, end = begin + cells, middle = begin + cells / 2;

    if (pixels >= SHARP * cells)
        return (struct span){middle / pixels, middle / pixels, begin, end};
    return (struct span){begin / pixels, (end - 1) / pixels, begin, end};
}

static uint32_t span_weight(const struct span *span, size_t cell, size_t pixels)
{
    const size_t begin = cell * pixels, end = begin + pixels;

    if (span->first == span->last)
        return (uint32_t)(span->end - span->begin);
    return (uint32_t)((end < span->end ? end : span->end) -
                      (begin > span->begin ? begin : span->begin));
}

/* The sums of a weighted mean. */
struct sum {
    uint64_t value, weight;
};

static uint16_t mean_across(const struct resample *image, const unsigned char *cells, size_t pixel)
{
    const struct span span = span_of(pixel, image->wide, image->width);
    struct sum sum = {0, 0};

    if (span.first == span.last)
        return cells[span.first] == API_COLOUR_CLEAR ? CLEAR : cells[span.first] * FINE;
    for (size_t cell = span.first; cell <= span.last; cell++) {
        const uint32_t weight =
            cells[cell] == API_COLOUR_CLEAR ? 0 : span_weight(&span, cell, image->width);
        sum.value += weight * cells[cell];
        sum.weight += weight;
    }
    return 2 * sum.weight < image->wide ? CLEAR : (uint16_t)(sum.value * FINE / sum.weight);
}

/* The last two rows of the image, scaled to the width of the rectangle. */
struct rows {
    uint16_t *row[2];
    size_t at[2];
};

static const uint16_t *row_of(const struct resample *image, struct rows *rows, size_t row)
{
    const size_t slot = row & 1;

    if (rows->at[slot] != row)
        for (size_t i = 0; i < image->width; i++)
            rows->row[slot][i] = mean_across(image, image->pixels + row * image->wide, i);
    rows->at[slot] = row;
    return rows->row[slot];
}

static void row_add(struct sum *sums, const uint16_t *row, uint32_t weight, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t some = row[i] == CLEAR ? 0 : weight;
        sums[i].value += some * row[i];
        sums[i].weight += some;
    }
}

static void row_write(const struct resample *image, unsigned char *to, const struct sum *sums)
{
    for (size_t i = 0; i < image->width; i++, to += 3) {
        const struct sum sum = sums[i];
        const uint64_t index = 2 * sum.weight < image->high
                                   ? API_COLOUR_CLEAR
                                   : (sum.value / sum.weight + FINE / 2) / FINE;
        memcpy(to, image->colours.rgb[index], 3);
    }
}

static void rows_down(const struct resample *image, struct rows *rows, struct sum *sums,
                      const struct pe_work *work)
{
    size_t only = SIZE_MAX; /* the row of the image that the last row copied */

    for (size_t y = 0; y < image->height && !pe_work_ended(work); y++) {
        const struct span span = span_of(y, image->high, image->height);
        unsigned char *to = image->to + y * image->stride;
        if (span.first == span.last && only == span.first) {
            memcpy(to, to - image->stride, image->width * 3);
            continue;
        }
        memset(sums, 0, image->width * sizeof(*sums));
        for (size_t row = span.first; row <= span.last; row++)
            row_add(sums, row_of(image, rows, row), span_weight(&span, row, image->height),
                    image->width);
        row_write(image, to, sums);
        only = span.first == span.last ? span.first : SIZE_MAX;
    }
}

/* Gives each pixel the colour of the mean index of the cells that it covers, so that no cell is
 * lost and each colour is of the scale; or of the cell at its centre, where cells are SHARP pixels
 * large. API_COLOUR_CLEAR has no value: a pixel is clear if most of it is. In integers. False:
 * out of memory, or the request was ended. */
static bool resample(struct api_arena *arena, const struct resample *image)
{
    unsigned char *buffer =
        api_arena_buffer(arena, image->width * (sizeof(struct sum) + 2 * sizeof(uint16_t)));
    struct sum *sums = (struct sum *)(void *)buffer;
    struct rows rows = {.at = {SIZE_MAX, SIZE_MAX}};

    if (!buffer)
        return false;
    rows.row[0] = (uint16_t *)(void *)(sums + image->width);
    rows.row[1] = rows.row[0] + image->width;
    rows_down(image, &rows, sums, api_arena_work(arena));
    api_arena_buffer_drop(arena, buffer);
    return !pe_work_ended(api_arena_work(arena));
}

/* ---- the sheet ------------------------------------------------------------------------------ */

static void colour_split(uint32_t colour, unsigned char rgb[3])
{
    for (int part = 0; part < 3; part++)
        rgb[part] = (unsigned char)(colour >> (16 - 8 * part));
}

static bool sheet_make(struct api_canvas *canvas, int width, int height)
{
    const size_t pixels = (size_t)width * (size_t)height;
    struct api_sheet *sheet = api_arena_take(canvas->arena, sizeof(*sheet));
    const size_t deltas = API_LETTER_SIDE * sizeof(*sheet->mask.deltas);

    if (!sheet)
        return false;
    *sheet = (struct api_sheet){
        .width = width,
        .height = height,
        .drawn = true,
        .rgb = api_arena_buffer(canvas->arena, pixels * 3),
        .mask = {.cover = api_arena_buffer(canvas->arena, pixels),
                 .width = width,
                 .height = height,
                 .left = width,
                 .top = height,
                 .deltas = (void *)api_arena_buffer(canvas->arena, deltas)},
    };
    if (!sheet->rgb || !sheet->mask.cover || !sheet->mask.deltas)
        return false;
    memset(sheet->mask.cover, 0, pixels);
    memset(sheet->mask.deltas, 0, deltas);
    canvas->sheet = sheet;
    return true;
}

static uint32_t ink_of(const struct api_canvas *canvas, enum api_ink ink)
{
    return api_ink_colour(canvas->page.theme, ink);
}

/* Blends a colour over the pixels that the mask covers, and clears the mask. opacity: of 255. */
static void mask_blend(struct api_canvas *canvas, enum api_ink ink, int opacity)
{
    struct api_sheet *sheet = canvas->sheet;
    struct api_mask *mask = &sheet->mask;
    unsigned char rgb[3];

    colour_split(ink_of(canvas, ink), rgb);
    for (int y = mask->top; y < mask->bottom; y++)
        for (int x = mask->left; x < mask->right; x++) {
            const size_t at = (size_t)y * (size_t)sheet->width + (size_t)x;
            const int alpha = ((mask->cover[at] + 8) / 17 * 17 * opacity + 127) / 255;
            for (int part = 0; alpha > 0 && part < 3; part++) {
                unsigned char *to = &sheet->rgb[at * 3 + (size_t)part];
                *to = (unsigned char)((*to * (255 - alpha) + rgb[part] * alpha + 127) / 255);
            }
        }
    api_mask_clear(mask);
}

/* ---- coordinates ---------------------------------------------------------------------------- */

static int32_t length_of(const struct api_canvas *canvas, double value)
{
    return (int32_t)(api_hundredths(value) * canvas->scale * API_PIXEL / 100);
}

static struct api_spot spot_of(const struct api_canvas *canvas, struct api_point point)
{
    return (struct api_spot){length_of(canvas, point.x), length_of(canvas, point.y)};
}

static int pixel_near(int32_t length)
{
    return (length + API_PIXEL / 2) >> 8;
}

/* ---- marks ---------------------------------------------------------------------------------- */

static void pixels_begin(struct api_canvas *canvas, const struct api_page *page)
{
    const int width = (int)page->width * canvas->scale, height = (int)page->height * canvas->scale;
    unsigned char paper[3];

    canvas->page = *page;
    if (!sheet_make(canvas, width, height)) {
        canvas->failed = true;
        return;
    }
    colour_split(ink_of(canvas, API_PAPER), paper);
    for (size_t i = 0; i < (size_t)width * (size_t)height; i++)
        memcpy(canvas->sheet->rgb + i * 3, paper, 3);
}

/* Dashes of 5 and gaps of 4, with the remainder of the current one. */
struct dashes {
    int32_t dash, gap, left;
    bool on;
};

static struct api_spot spot_between(struct api_spot a, struct api_spot b, int64_t along,
                                    int64_t length)
{
    return (struct api_spot){(int32_t)(a.x + (b.x - a.x) * along / length),
                             (int32_t)(a.y + (b.y - a.y) * along / length)};
}

static void dashes_put(struct api_mask *mask, const struct api_stroke *stroke,
                       struct dashes *dashes)
{
    const int64_t dx = stroke->to.x - stroke->from.x, dy = stroke->to.y - stroke->from.y;
    const int64_t length = api_root((uint64_t)(dx * dx + dy * dy));

    for (int64_t at = 0; at < length;) {
        const int64_t end = at + dashes->left < length ? at + dashes->left : length;
        struct api_stroke piece = *stroke;
        piece.from = spot_between(stroke->from, stroke->to, at, length);
        piece.to = spot_between(stroke->from, stroke->to, end, length);
        piece.round_from &= at == 0;
        piece.round_to &= end == length;
        if (dashes->on)
            api_mask_stroke(mask, &piece);
        dashes->left -= (int32_t)(end - at);
        if (dashes->left <= 0) {
            dashes->on = !dashes->on;
            dashes->left = dashes->on ? dashes->dash : dashes->gap;
        }
        at = end;
    }
}

enum { CHECK = 512 }; /* lines between two checks for cancellation */

static void pixels_path(struct api_canvas *canvas, enum api_ink ink, bool dashed,
                        const struct api_point *points, size_t count)
{
    struct dashes dashes = {length_of(canvas, 5), length_of(canvas, 4), length_of(canvas, 5), true};
    struct api_stroke stroke = {.wide = length_of(canvas, ink >= API_CURVE ? 1.75 : 1)};

    for (size_t i = 1; !canvas->failed && i < count; i++) {
        canvas->failed = i % CHECK == 0 && pe_work_ended(api_arena_work(canvas->arena));
        if (!isfinite(points[i - 1].x) || !isfinite(points[i].x))
            continue;
        stroke.from = spot_of(canvas, points[i - 1]);
        stroke.to = spot_of(canvas, points[i]);
        stroke.round_from = i > 1 && isfinite(points[i - 2].x);
        stroke.round_to = i + 1 < count && isfinite(points[i + 1].x);
        if (dashed)
            dashes_put(&canvas->sheet->mask, &stroke, &dashes);
        else
            api_mask_stroke(&canvas->sheet->mask, &stroke);
    }
    if (!canvas->failed)
        mask_blend(canvas, ink, 255);
}

static void pixels_disc(struct api_canvas *canvas, enum api_ink ink, struct api_point centre,
                        double radius, double opacity)
{
    if (canvas->failed)
        return;
    api_mask_circle(&canvas->sheet->mask, spot_of(canvas, centre), length_of(canvas, radius), 0);
    mask_blend(canvas, ink, (int)(api_hundredths(opacity) * 255 / 100));
}

static void pixels_ring(struct api_canvas *canvas, enum api_ink ink, struct api_point centre,
                        double radius)
{
    const double wide = ink >= API_CURVE ? 1.75 : 1;

    if (canvas->failed)
        return;
    api_mask_circle(&canvas->sheet->mask, spot_of(canvas, centre), length_of(canvas, radius),
                    length_of(canvas, wide));
    mask_blend(canvas, ink, 255);
}

/* The image is aligned to pixels. Transparent cells show the paper. */
static void pixels_image(struct api_canvas *canvas, const struct api_box *box,
                         const struct api_colours *colours, const unsigned char *pixels,
                         size_t wide, size_t high)
{
    struct resample image = {.colours = *colours, .pixels = pixels, .wide = wide, .high = high};
    const struct api_spot from = spot_of(canvas, (struct api_point){box->x, box->y});
    const struct api_spot to =
        spot_of(canvas, (struct api_point){box->x + box->width, box->y + box->height});
    const int left = pixel_near(from.x), top = pixel_near(from.y);
    const int right = pixel_near(to.x), bottom = pixel_near(to.y);

    if (canvas->failed || right <= left || bottom <= top)
        return;
    if (colours->last_is_clear)
        colour_split(ink_of(canvas, API_PAPER), image.colours.rgb[API_COLOUR_CLEAR]);
    canvas->sheet->drawn = false;
    image.to = canvas->sheet->rgb + ((size_t)top * (size_t)canvas->sheet->width + (size_t)left) * 3;
    image.stride = (size_t)canvas->sheet->width * 3;
    image.width = (size_t)(right - left);
    image.height = (size_t)(bottom - top);
    canvas->failed = !resample(canvas->arena, &image);
}

/* The base line is aligned to pixels, so that equal letters of a line have equal pixels. */
static void pixels_text(struct api_canvas *canvas, struct api_writing writing, struct api_point at,
                        const char *text)
{
    const int size = writing.title ? API_TITLE_SIZE : API_TEXT_SIZE;
    const double width = api_text_width(text, writing.title) * size;
    const double before = writing.anchor == API_START ? 0
                          : writing.anchor == API_END ? width
                                                      : width / 2;
    struct api_spot spot;
    int32_t *along = writing.upwards ? &spot.y : &spot.x;
    int32_t *line = writing.upwards ? &spot.x : &spot.y;

    if (canvas->failed)
        return;
    at = writing.upwards ? (struct api_point){at.x, at.y + before}
                         : (struct api_point){at.x - before, at.y};
    spot = spot_of(canvas, at);
    *line = pixel_near(*line) * API_PIXEL;
    while (*text) {
        const int32_t step =
            api_mask_letter(&canvas->sheet->mask, spot, api_character_next(&text), writing.title,
                            size * canvas->scale * API_PIXEL, writing.upwards);
        *along += writing.upwards ? -step : step;
    }
    mask_blend(canvas, writing.ink, 255);
}

static void pixels_end(struct api_canvas *canvas)
{
    const struct api_sheet *sheet = canvas->sheet;
    const struct api_page *page = &canvas->page;
    const struct api_png_words words[] = {{"Title", page->title},
                                          {"Source", page->url},
                                          {"Description", page->encoding},
                                          {NULL, NULL}};

    if (canvas->failed || !sheet)
        return;
    api_png_put(&canvas->out, canvas->arena,
                &(struct api_image){(size_t)sheet->width, (size_t)sheet->height, sheet->rgb, NULL,
                                    canvas->scale, sheet->drawn},
                words);
    canvas->failed |= canvas->out.failed;
}

static const struct api_canvas_type pixel_type = {
    .begin = pixels_begin,
    .end = pixels_end,
    .path = pixels_path,
    .disc = pixels_disc,
    .ring = pixels_ring,
    .image = pixels_image,
    .text = pixels_text,
};

struct api_canvas api_pixel_canvas(struct api_arena *arena, int scale)
{
    return (struct api_canvas){
        .type = &pixel_type, .arena = arena, .out = {.arena = arena}, .scale = scale};
}
