/* SPDX-License-Identifier: MIT */
#include "api/pictures/font.h"

#include <stdlib.h>
#include <string.h>

/* ---- the list ------------------------------------------------------------------------------- */

static const struct {
#define GLYPH(code, advance, outline) char at_##code[sizeof(outline)];
#include "api/pictures/glyphs.def"
#undef GLYPH
} outlines = {
#define GLYPH(code, advance, outline) outline,
#include "api/pictures/glyphs.def"
#undef GLYPH
};

/* Offsets, since pointers would have to be relocated in a shared library. */
struct glyph {
    uint32_t code;
    uint16_t advance, offset;
};

static const struct glyph glyphs[] = {
#define GLYPH(code, advance, outline) {code, advance, offsetof(__typeof__(outlines), at_##code)},
#include "api/pictures/glyphs.def"
#undef GLYPH
};

_Static_assert(sizeof(outlines) <= UINT16_MAX, "offsets have 16 bits");

/* Added to the code points of bold glyphs; codes from PARTS on are not characters. */
enum { BOLD = 0x60000, PARTS = 0x50000 };

static int glyph_compare(const void *key, const void *glyph)
{
    const uint32_t wanted = *(const uint32_t *)key, code = ((const struct glyph *)glyph)->code;

    return (wanted > code) - (wanted < code);
}

static const struct glyph *glyph_find(uint32_t code)
{
    return bsearch(&code, glyphs, sizeof(glyphs) / sizeof(glyphs[0]), sizeof(glyphs[0]),
                   glyph_compare);
}

static const struct glyph *glyph_of(uint32_t character, bool bold)
{
    const struct glyph *glyph = NULL;

    if (character < PARTS && bold)
        glyph = glyph_find(character + BOLD);
    return glyph || character >= PARTS ? glyph : glyph_find(character);
}

/* ---- text ----------------------------------------------------------------------------------- */

uint32_t api_character_next(const char **text)
{
    const unsigned char first = (unsigned char)**text;
    const unsigned more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    uint32_t character = more > 0 ? first & (0x3fU >> more) : first;

    *text += first != 0;
    for (unsigned i = 0; i < more && (**text & 0xc0) == 0x80; i++, ++*text)
        character = character << 6 | ((unsigned char)**text & 0x3f);
    return character;
}

/* East Asian characters, from U+2E80 on, are as wide as high. */
static int advance_of(uint32_t character, bool bold)
{
    const struct glyph *glyph = glyph_of(character, bold);

    return glyph ? glyph->advance : character >= 0x2e80 ? API_EM : API_EM * 58 / 100;
}

const char *api_font_lacks(const char *text)
{
    for (const char *at = text; *text; at = text)
        if (!glyph_of(api_character_next(&text), false))
            return at;
    return NULL;
}

double api_text_width(const char *text, bool bold)
{
    int width = 0;

    while (*text)
        width += advance_of(api_character_next(&text), bold);
    return (double)width / API_EM;
}

size_t api_text_fit(const char *text, bool bold, double most)
{
    const char *begin = text, *at = text;
    int width = 0;

    while (*text) {
        width += advance_of(api_character_next(&text), bold);
        if ((double)width / API_EM > most)
            break;
        at = text;
    }
    return (size_t)(at - begin);
}

/* ---- outlines, encoded by tools/font.py ------------------------------------------------------ */

enum {
    FIRST = 35,
    SYMBOLS = 92,
    NEAR = 40,
    CURVE_PIECES = 6,
    LAST = SYMBOLS - 1,
    POINTS_MAX = 2 * SYMBOLS
};

struct point {
    int x, y;
    bool on; /* the curve, not a control point */
};

static int symbol_read(const char **at)
{
    const char sign = *(*at)++;

    return (sign == '!' ? '?' : sign == ' ' ? '\\' : sign) - FIRST;
}

static int difference_read(const char **at)
{
    const int first = symbol_read(at);
    int far;

    if (first <= 2 * NEAR)
        return first - NEAR;
    far = (first - 2 * NEAR - 1) * SYMBOLS + symbol_read(at);
    return far & 1 ? -(far / 2) - NEAR - 1 : far / 2 + NEAR + 1;
}

/* A quadratic curve from a to c with control point b; letters are small, so few pieces suffice. */
static void curve_put(const struct api_outline *outline, struct point a, struct point b,
                      struct point c)
{
    enum { N = CURVE_PIECES };
    struct point from = a;

    for (int i = 1; i <= N; i++) {
        const int j = N - i;
        const struct point to = {
            (a.x * j * j + 2 * b.x * i * j + c.x * i * i) / (N * N),
            (a.y * j * j + 2 * b.y * i * j + c.y * i * i) / (N * N),
            true,
        };
        outline->edge(outline->to, from.x, from.y, to.x, to.y);
        from = to;
    }
}

static struct point middle(struct point a, struct point b)
{
    return (struct point){(a.x + b.x) / 2, (a.y + b.y) / 2, true};
}

/* Between two control points is a point on the curve. */
static void contour_put(const struct api_outline *outline, const struct point *points, int count)
{
    const struct point first = points[0], last = points[count - 1];
    const struct point begin = first.on ? first : last.on ? last : middle(first, last);
    struct point at = begin;

    for (int i = first.on; i < count; i++) {
        const struct point p = points[i], next = i + 1 < count ? points[i + 1] : begin;
        if (p.on) {
            outline->edge(outline->to, at.x, at.y, p.x, p.y);
            at = p;
        } else {
            const struct point end = next.on ? next : middle(p, next);
            curve_put(outline, at, p, end);
            at = end;
            i += next.on;
        }
    }
    outline->edge(outline->to, at.x, at.y, begin.x, begin.y);
}

static void contour_read(const struct api_outline *outline, const char **at, int count,
                         struct point *pen)
{
    struct point points[POINTS_MAX];
    int flags = 0;

    if (count < 1)
        return;
    for (int i = 0; i < count; i++) {
        flags = i % 6 == 0 ? symbol_read(at) : flags >> 1;
        points[i].on = flags & 1;
    }
    for (int i = 0; i < count; i++) {
        pen->x += API_FINE * difference_read(at);
        pen->y += API_FINE * difference_read(at);
        points[i].x = pen->x;
        points[i].y = pen->y;
    }
    contour_put(outline, points, count);
}

/* A part is another glyph, moved; parts do not nest. */
static const char *part_read(const char **at, struct point *pen)
{
    uint32_t code = 0;

    for (int i = 0; i < 3; i++)
        code = code * SYMBOLS + (uint32_t)symbol_read(at);
    pen->x = API_FINE * difference_read(at);
    pen->y = API_FINE * difference_read(at);
    return (const char *)&outlines + glyph_find(code)->offset;
}

static void contours_read(const struct api_outline *outline, const char *at, struct point pen)
{
    while (*at) {
        int count = symbol_read(&at);
        count += count == LAST ? symbol_read(&at) : 0;
        contour_read(outline, &at, count, &pen);
    }
}

bool api_glyph_is_bold(uint32_t character)
{
    return glyph_of(character, true) != glyph_of(character, false);
}

int api_glyph_draw(uint32_t character, bool bold, const struct api_outline *outline)
{
    const struct glyph *glyph = glyph_of(character, bold);
    const char *at = glyph ? (const char *)&outlines + glyph->offset : "";
    struct point pen = {0};

    while (*at == FIRST) {
        const char *part;
        at++;
        part = part_read(&at, &pen);
        contours_read(outline, part, pen);
    }
    contours_read(outline, at, (struct point){0});
    return advance_of(character, bold);
}
