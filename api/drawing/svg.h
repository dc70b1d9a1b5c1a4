/* SPDX-License-Identifier: MIT */
#ifndef API_DRAWING_SVG_H
#define API_DRAWING_SVG_H

#include "api/numbers/text.h"

/* Adds markup in which each $ stands for a coordinate (a double: two digits behind the point) and
 * each @ for text (escaped). Nothing else of the format is special, and only text of our own is a
 * format. */
void api_svg_put(struct api_text *text, const char *format, ...);

/* Adds foreign text so that no part of it can be markup. */
void api_svg_escape(struct api_text *text, const char *foreign);

/* About how wide text is, in units of its size: fonts are the viewer's. */
double api_svg_width(const char *text);

/* How many bytes of text are no wider than `most`: whole characters. */
size_t api_svg_fit(const char *text, double most);

#endif
