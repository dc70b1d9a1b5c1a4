/* SPDX-License-Identifier: MIT */
#ifndef API_FORMATS_FORMATS_H
#define API_FORMATS_FORMATS_H

/* The formats of answers and of request bodies, listed in formats.def. */

#include "api/response/result.h"

/* A format of request bodies. */
struct api_reader {
    const char *name; /* "safetensors": also the format of an answer of the same name */
    const char *media_type;
    bool (*sniff)(const unsigned char *bytes, size_t size); /* NULL: never recognised by bytes */
    /* The bytes of a body that are text, which takes a hundred times longer to read. NULL: few. */
    size_t (*text_size)(const unsigned char *bytes, size_t size);
    /* Sets request->json, metadata and tensors from the body, in the arena of the request. Tensors
     * point into the body where possible. */
    enum pe_status (*read)(struct api_request *request, struct pe_error *err);
};

#define FORMAT(media_type, name) extern const struct api_format api_format_##name;
#define READER(media_type, name) extern const struct api_reader api_reader_##name;
#include "api/formats/formats.def"
#undef FORMAT
#undef READER

extern const struct api_format *const api_formats[]; /* ends with NULL */
extern const struct api_reader *const api_readers[]; /* likewise */

const struct api_format *api_format_find(const char *name); /* NULL: unknown */

/* May an answer of tensors in the format of the request have so many elements? PE_TOO_LARGE. */
enum pe_status api_format_elements_check(const struct api_request *request, uint64_t elements,
                                         struct pe_error *err);

/* Finds the reader of a complete body. PE_UNKNOWN_FORMAT. */
enum pe_status api_reader_find(const struct api_request *request, const struct api_reader **reader,
                               struct pe_error *err);
/* Adds to the error of a reader which format the body seems to have instead. */
void api_reader_advise(const struct api_request *request, struct pe_error *err);

enum {
    API_NESTING_MAX = 64,   /* levels of JSON: far more than requests have, far fewer than fit a
                               stack */
    API_KEYS_MAX = 1 << 16, /* of JSON: enough for tensors_max tensors of four keys each */
    API_SAFETENSORS_HEADER_MAX = 1 << 20, /* bytes */
};

/* Files of this service name their encoding and its parameters in their metadata, which count as
 * parameters of the request. Routes that examine a table without regard to them call this. Names
 * that are not parameters of the encoding remain, and are refused by binding. */
void api_metadata_drop_encoding(struct api_request *request);

/* Is the encoding named by the metadata alone, and neither by the query nor the JSON body nor a
 * config? */
bool api_metadata_names_encoding(const struct api_request *request);

#endif
