/* SPDX-License-Identifier: MIT */
/* Prints hashes of pictures drawn by the canvases, and of amplitudes of frequencies: two builds,
 * for whatever machines and C libraries, print the same lines. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/pictures/canvas.h"
#include "api/pictures/drawing.h"
#include "api/pictures/spectrum.h"
#include "tests/ports/hash.h"

enum { SIDE = 60, COUNT = 200 };

static void line_print(const char *name, const void *bytes, size_t size)
{
    printf("%s %zu %016llx\n", name, size, (unsigned long long)hash_of(bytes, size));
}

/* Numbers without order, from a sequence that needs no library. */
static double number_next(void)
{
    static uint64_t state = 1;

    state = state * 6364136223846793005 + 1442695040888963407;
    return (double)(state >> 11) * 0x1p-53;
}

static void image_draw(struct api_canvas *canvas)
{
    static unsigned char pixels[SIDE * SIDE];
    const struct api_scale scale = api_scale_of(-1, 1, -1);
    const struct api_box box = {50.13, 60.71, 300.3, 200.9};
    struct api_colours colours;

    for (size_t i = 0; i < sizeof(pixels); i++)
        pixels[i] = api_scale_index(&scale, i % 97 == 0 ? NAN : 2 * number_next() - 1);
    api_palette_make(scale.palette, &colours);
    canvas->type->image(canvas, &box, &colours, pixels, SIDE, SIDE);
    api_box_draw(canvas, API_AXIS, &box);
}

static void marks_draw(struct api_canvas *canvas)
{
    static struct api_point points[COUNT];
    struct api_ticks ticks;

    for (int i = 0; i < COUNT; i++)
        points[i] = (struct api_point){i % 50 == 49 ? NAN : 2 * i + 0.37, 300 * number_next()};
    canvas->type->path(canvas, API_CURVE, false, points, COUNT);
    canvas->type->path(canvas, API_CURVE + 1, true, points, 20);
    for (int i = 0; i < 20; i++) {
        canvas->type->disc(canvas, API_CURVE + 2, points[i], 0.5 + 9 * number_next(), 0.4);
        canvas->type->ring(canvas, API_CURVE + 3, points[i], 9 * number_next());
    }
    api_ticks_linear(&ticks, -1.23, 7.77, 9, false);
    for (size_t i = 0; i < ticks.count; i++)
        canvas->type->text(canvas, (struct api_writing){.ink = API_TEXT, .upwards = i % 2},
                           (struct api_point){30 * ticks.list[i].value + 60, 280},
                           ticks.list[i].label);
    api_ticks_decades(&ticks, -3.3, 4.1, 9);
    for (size_t i = 0; i < ticks.count; i++)
        canvas->type->text(canvas, (struct api_writing){.title = true, .anchor = API_END},
                           (struct api_point){60 * ticks.list[i].value + 200, 200},
                           ticks.list[i].label);
}

static void canvas_print(const char *name, struct api_canvas canvas, enum api_theme theme)
{
    const struct api_page page = {.width = 400,
                                  .height = 300,
                                  .theme = theme,
                                  .title = "位置 Ω ∑ é",
                                  .url = "/v1?a&b",
                                  .encoding = "{}"};

    canvas.type->begin(&canvas, &page);
    image_draw(&canvas);
    marks_draw(&canvas);
    canvas.type->end(&canvas);
    if (canvas.failed)
        exit(2);
    line_print(name, canvas.out.bytes, canvas.out.size);
    api_text_free(&canvas.out);
}

static void amplitudes_print(struct api_arena *arena, size_t count)
{
    static double values[1000], amplitudes[2048];
    struct api_fourier fourier;

    if (!api_fourier_begin(&fourier, arena, count))
        exit(2);
    for (size_t i = 0; i < count; i++)
        values[i] = number_next() - 0.5;
    api_fourier_amplitudes(&fourier, values, 1, amplitudes);
    line_print("amplitudes", amplitudes, (fourier.last - fourier.first + 1) * sizeof(*amplitudes));
}

int main(void)
{
    struct api_arena *arena = api_arena_new(NULL);

    if (!arena)
        return 2;
    canvas_print("svg", api_svg_canvas(arena), API_AUTO);
    for (int scale = 1; scale <= 3; scale++)
        canvas_print("png", api_pixel_canvas(arena, scale), scale == 2 ? API_DARK : API_LIGHT);
    for (size_t count = 8; count <= 1000; count = 2 * count + 1)
        amplitudes_print(arena, count);
    api_arena_free(arena);
    return 0;
}
