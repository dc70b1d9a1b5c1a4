/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_FONT_H
#define API_PICTURES_FONT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The letters of glyphs.def: Latin, Greek, signs of mathematics, and the Chinese of our own labels.
 * Letters that are missing there have a width too, for text that a viewer's fonts will show. */

/* Units in the size of a font, and the parts of a unit that outlines are told in. y goes up from
 * the base line. */
enum { API_EM = 400, API_FINE = 8 };

/* The character where *text begins, which is moved behind it; 0 at the end. */
uint32_t api_character_next(const char **text);

/* The first character of a text for which there is no glyph; NULL: there is one for each. */
const char *api_font_lacks(const char *text);

/* How wide a text is, in units of its size. */
double api_text_width(const char *text, bool bold);

/* How many bytes of a text are no wider than `most`: whole characters. */
size_t api_text_fit(const char *text, bool bold, double most);

/* Straight pieces of outlines, API_EM x API_FINE to the size. Interiors lie on one side of them
 * all. */
struct api_outline {
    void (*edge)(void *to, int x0, int y0, int x1, int y1);
    void *to;
};

/* Has a character a glyph that is bold? */
bool api_glyph_is_bold(uint32_t character);

/* The units that a character is wide; its outline, if there is one, goes to `outline`. Characters
 * that have no bold glyph are drawn by their usual one. */
int api_glyph_draw(uint32_t character, bool bold, const struct api_outline *outline);

#endif
