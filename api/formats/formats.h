/* SPDX-License-Identifier: MIT */
#ifndef API_FORMATS_FORMATS_H
#define API_FORMATS_FORMATS_H

/* The formats of formats.def. */

#include "api/response/result.h"

#define FORMAT(media_type, name) extern const struct api_format api_format_##name;
#include "api/formats/formats.def"
#undef FORMAT

extern const struct api_format *const api_formats[];        /* ends with NULL */
const struct api_format *api_format_find(const char *name); /* NULL: there is none */

#endif
