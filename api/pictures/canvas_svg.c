/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/pictures/canvas.h"
#include "api/pictures/png.h"

/* Pictures as SVG, shown with the viewer's fonts and theme. */

/* ---- markup --------------------------------------------------------------------------------- */

/* Adds foreign text, in which nothing is markup. */
static void escaped_put(struct api_text *text, const char *foreign)
{
    static const struct {
        char sign;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};

    while (*foreign) {
        const size_t plain = strcspn(foreign, "&<>\"'");
        api_text_add(text, foreign, plain);
        foreign += plain;
        for (size_t i = 0; *foreign && i < sizeof(entities) / sizeof(entities[0]); i++)
            if (*foreign == entities[i].sign)
                api_text_put(text, entities[i].entity);
        foreign += *foreign != '\0';
    }
}

/* Adds hundredths, without trailing zeros. */
static void coordinate_put(struct api_text *text, double value)
{
    const long long hundredths = api_hundredths(value), size = llabs(hundredths);

    api_text_print(text, "%s%lld", hundredths < 0 ? "-" : "", size / 100);
    if (size % 100 > 0)
        api_text_print(text, size % 10 > 0 ? ".%02lld" : ".%lld",
                       size % 10 > 0 ? size % 100 : size % 100 / 10);
}

/* Adds markup, in which each $ is a coordinate and each @ a text to be escaped. */
static void markup_put(struct api_text *text, const char *markup, ...)
{
    va_list args;

    va_start(args, markup);
    while (*markup) {
        const size_t plain = strcspn(markup, "$@");
        api_text_add(text, markup, plain);
        markup += plain;
        if (*markup == '$')
            coordinate_put(text, va_arg(args, double));
        else if (*markup == '@')
            escaped_put(text, va_arg(args, const char *));
        markup += *markup != '\0';
    }
    va_end(args);
}

static void base64_put(struct api_text *text, const unsigned char *bytes, size_t size)
{
    enum { PIECE = 3 << 10 }; /* a multiple of 3, so that the texts can be joined */
    char piece[PIECE / 3 * 4];

    for (size_t i = 0; i < size; i += PIECE) {
        const size_t now = size - i < PIECE ? size - i : PIECE;
        api_text_add(text, piece, (size_t)(api_base64_encode(piece, bytes + i, now) - piece));
    }
}

/* ---- style ---------------------------------------------------------------------------------- */

static void theme_put(struct api_text *svg, enum api_theme theme)
{
    static const struct {
        const char *rule;
        enum api_ink ink;
    } rules[] = {
        {".paper{fill", API_PAPER}, {"text{fill", API_TEXT},    {".m{fill", API_MUTED},
        {".grid{stroke", API_GRID}, {".axis{stroke", API_AXIS},
    };

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        api_text_print(svg, "%s:#%06x}", rules[i].rule, api_ink_colour(theme, rules[i].ink));
    for (int i = 0; i < API_CURVES_MAX; i++) {
        const uint32_t colour = api_ink_colour(theme, (enum api_ink)(API_CURVE + i));
        api_text_print(svg, ".c%d{stroke:#%06x}.f%d{fill:#%06x}", i, colour, i, colour);
    }
}

static void style_put(struct api_text *svg, enum api_theme theme)
{
    api_text_put(svg, "<style>text{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,"
                      "\"Noto Sans\",\"PingFang SC\",\"Microsoft YaHei\",\"Noto Sans CJK SC\","
                      "sans-serif;font-variant-numeric:tabular-nums}"
                      ".t{font-size:16px;font-weight:600}.e{text-anchor:end}.mid{text-anchor:"
                      "middle}.grid,.axis{stroke-width:1;fill:none}.curve{fill:none;"
                      "stroke-width:1.75;stroke-linejoin:round}.dash{stroke-dasharray:5 4}"
                      "image{image-rendering:pixelated}");
    theme_put(svg, theme == API_DARK ? API_DARK : API_LIGHT);
    if (theme == API_AUTO) {
        api_text_put(svg, "@media(prefers-color-scheme:dark){");
        theme_put(svg, API_DARK);
        api_text_put(svg, "}");
    }
    api_text_put(svg, "</style>\n");
}

/* ---- the canvas ----------------------------------------------------------------------------- */

static void svg_begin(struct api_canvas *canvas, const struct api_page *page)
{
    struct api_text *svg = &canvas->out;

    markup_put(svg,
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"$\" height=\"$\" "
               "viewBox=\"0 0 $ $\" role=\"img\" xml:lang=\"@\">\n<title>@</title>\n",
               page->width, page->height, page->width, page->height,
               page->language == API_CHINESE ? "zh-CN" : "en", page->title);
    if (page->url)
        markup_put(svg, "<desc>@</desc>\n", page->url);
    if (page->encoding)
        markup_put(svg, "<metadata>@</metadata>\n", page->encoding);
    style_put(svg, page->theme);
    api_text_put(svg, "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
}

static void svg_end(struct api_canvas *canvas)
{
    api_text_put(&canvas->out, "</svg>\n");
    canvas->failed |= canvas->out.failed;
}

/* Adds the class of a colour, of lines or with `fill` of surfaces. */
static void class_put(struct api_text *svg, enum api_ink ink, bool fill)
{
    static const char *const lines[] = {[API_GRID] = "grid", [API_AXIS] = "axis"};

    if (ink < API_CURVE)
        api_text_put(svg, fill ? "m" : lines[ink]);
    else
        api_text_print(svg, fill ? "f%d" : "curve c%d", (int)(ink - API_CURVE));
}

static void svg_path(struct api_canvas *canvas, enum api_ink ink, bool dashed,
                     const struct api_point *points, size_t count)
{
    struct api_text *svg = &canvas->out;
    bool begun = false;

    api_text_put(svg, "<path class=\"");
    class_put(svg, ink, false);
    api_text_put(svg, dashed ? " dash\" d=\"" : "\" d=\"");
    for (size_t i = 0; i < count; i++) {
        if (isfinite(points[i].x))
            markup_put(svg, begun ? "L$ $" : "M$ $", points[i].x, points[i].y);
        begun = isfinite(points[i].x);
    }
    api_text_put(svg, "\"/>\n");
}

static void svg_disc(struct api_canvas *canvas, enum api_ink ink, struct api_point centre,
                     double radius, double opacity)
{
    struct api_text *svg = &canvas->out;

    api_text_put(svg, "<circle class=\"");
    class_put(svg, ink, true);
    markup_put(svg, "\" cx=\"$\" cy=\"$\" r=\"$", centre.x, centre.y, radius);
    if (opacity < 1)
        markup_put(svg, "\" opacity=\"$", opacity);
    api_text_put(svg, "\"/>\n");
}

static void svg_ring(struct api_canvas *canvas, enum api_ink ink, struct api_point centre,
                     double radius)
{
    api_text_put(&canvas->out, "<circle class=\"");
    class_put(&canvas->out, ink, false);
    markup_put(&canvas->out, "\" cx=\"$\" cy=\"$\" r=\"$\"/>\n", centre.x, centre.y, radius);
}

static void svg_image(struct api_canvas *canvas, const struct api_box *box,
                      const struct api_colours *colours, const unsigned char *pixels, size_t wide,
                      size_t high)
{
    struct api_text *svg = &canvas->out, png = {.arena = canvas->arena};

    markup_put(svg,
               "<image x=\"$\" y=\"$\" width=\"$\" height=\"$\" preserveAspectRatio=\"none\" "
               "href=\"data:image/png;base64,",
               box->x, box->y, box->width, box->height);
    api_png_put(&png, canvas->arena, &(struct api_image){wide, high, pixels, colours, 0, false},
                NULL);
    base64_put(svg, (const unsigned char *)png.bytes, png.size);
    svg->failed |= png.failed;
    api_text_free(&png);
    api_text_put(svg, "\"/>\n");
}

static void svg_text(struct api_canvas *canvas, struct api_writing writing, struct api_point at,
                     const char *text)
{
    static const char *const anchors[] = {"", " mid", " e"};
    struct api_text *svg = &canvas->out;

    api_text_put(svg, "<text class=\"");
    if (writing.title)
        api_text_put(svg, "t");
    else if (writing.ink != API_TEXT)
        class_put(svg, writing.ink, true);
    api_text_put(svg, anchors[writing.anchor]);
    markup_put(svg,
               writing.upwards ? "\" transform=\"translate($ $) rotate(-90)\">@</text>\n"
                               : "\" x=\"$\" y=\"$\">@</text>\n",
               at.x, at.y, text);
}

static const struct api_canvas_type svg_type = {
    .begin = svg_begin,
    .end = svg_end,
    .path = svg_path,
    .disc = svg_disc,
    .ring = svg_ring,
    .image = svg_image,
    .text = svg_text,
};

struct api_canvas api_svg_canvas(struct api_arena *arena)
{
    return (struct api_canvas){.type = &svg_type, .arena = arena, .out = {.arena = arena}};
}
