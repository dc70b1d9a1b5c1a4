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

/* May an answer of tensors in the format of the request have so many elements? PE_TOO_LARGE. */
enum pe_status api_format_elements_check(const struct api_request *request, uint64_t elements,
                                         struct pe_error *err);

#endif
