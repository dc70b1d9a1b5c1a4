/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_FONT_H
#define API_PICTURES_FONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The letters of glyphs.def: Latin, Greek, signs of mathematics, and the Chinese of labels.def.
 * Other letters have a width too, for SVG that is shown with the viewer's fonts. */

/* Units of the font size, and the parts of a unit in outlines. y goes up from the base line. */
enum { API_EM = 400, API_FINE = 8 };

/* The first character of *text, which is moved after it; 0 at the end. */
uint32_t api_character_next(const char **text);

/* The first character of a text without a glyph; NULL: none. */
const char *api_font_lacks(const char *text);

/* The width of a text at a font size of 1. */
double api_text_width(const char *text, bool bold);

/* The bytes of a text, in complete characters, that are not wider than `most`. */
size_t api_text_fit(const char *text, bool bold, double most);

/* Receives the straight edges of outlines, API_EM x API_FINE to the font size. The interior is on
 * the same side of all edges. */
struct api_outline {
    void (*edge)(void *to, int x0, int y0, int x1, int y1);
    void *to;
};

/* Does a character have a bold glyph? */
bool api_glyph_is_bold(uint32_t character);

/* Passes the outline of a character to `outline`, and returns its advance in units. Characters
 * without a bold glyph have the regular one. */
int api_glyph_draw(uint32_t character, bool bold, const struct api_outline *outline);

#endif
