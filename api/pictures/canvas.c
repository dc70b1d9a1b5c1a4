/* SPDX-License-Identifier: MIT */
#include "api/pictures/canvas.h"

#include <math.h>

/* Paper, ink, words beside it, grid, axis; then curves, in an order in which neighbours differ for
 * eyes that tell few colours too. */
static const uint32_t colours[][API_INKS] = {
    [API_LIGHT] = {0xffffff, 0x1d2433, 0x566073, 0xe6e9f0, 0xa3abba, 0x0b67b2, 0xd2570b, 0x0d8a66,
                   0xb5478f, 0x8a6d0b, 0x3aa5d9, 0x6a4bb0, 0x6b6f78},
    [API_DARK] = {0x12161f, 0xe9ecf3, 0x9fa9bb, 0x262d3a, 0x596375, 0x59aef2, 0xff9248, 0x35cba0,
                  0xec8fce, 0xdfb63f, 0x8ed6ff, 0xb398ee, 0xb7bcc6},
};

uint32_t api_ink_colour(enum api_theme theme, enum api_ink ink)
{
    return colours[theme][ink];
}

/* Far outside of any picture is far enough. */
long long api_hundredths(double value)
{
    return (long long)floor(fmin(fmax(value, -1e6), 1e6) * 100 + 0.5);
}

void api_line_draw(struct api_canvas *canvas, enum api_ink ink, struct api_point from,
                   struct api_point to)
{
    const struct api_point points[] = {from, to};

    canvas->type->path(canvas, ink, false, points, 2);
}

void api_box_draw(struct api_canvas *canvas, enum api_ink ink, const struct api_box *box)
{
    const double right = box->x + box->width, bottom = box->y + box->height;
    const struct api_point points[] = {
        {box->x, box->y}, {right, box->y}, {right, bottom}, {box->x, bottom}, {box->x, box->y}};

    canvas->type->path(canvas, ink, false, points, sizeof(points) / sizeof(points[0]));
}
