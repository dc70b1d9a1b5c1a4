/* SPDX-License-Identifier: MIT */
#ifndef API_FORMATS_READER_H
#define API_FORMATS_READER_H

/* Readers of request bodies, and helpers of theirs. All that they make lies in the request's arena.
 */

#include "api/formats/json_array.h"
#include "api/request/request.h"

/* A format of the request's body. api/formats/NAME.c, a line in readers.def. */
struct api_reader {
    const char *name; /* "safetensors": also the format of an answer of the same name */
    const char *media_type;
    bool (*sniff)(const unsigned char *bytes, size_t size); /* NULL: never guessed */
    /* Bytes of text in a body, which take a hundred times longer to read than others. NULL: few. */
    size_t (*text_size)(const unsigned char *bytes, size_t size);
    /* Fills request->json, metadata and tensors from body. Tensors alias the body where they can.
     */
    enum pe_status (*read)(struct api_request *request, struct pe_error *err);
};

/* Every reader of readers.def. */
#define READER(name) extern const struct api_reader api_reader_##name;
#include "api/formats/readers.def"
#undef READER

extern const struct api_reader *const api_readers[]; /* ends with NULL; in the order of sniffing */

/* Finds what the whole body is to be read by. PE_UNKNOWN_FORMAT. */
enum pe_status api_reader_find(const struct api_request *request, const struct api_reader **reader,
                               struct pe_error *err);
/* Adds to the failure of a reader what the bytes are instead. */
void api_reader_advise(const struct api_request *request, struct pe_error *err);
/* How many of dtype and shape of raw bytes the fields or the query tell: 0 to 2. */
int api_raw_told(const struct api_request *request);

enum {
    API_NESTING_MAX = 64,   /* of JSON: far above any real request, far below any stack */
    API_KEYS_MAX = 1 << 16, /* of JSON: tensors_max tensors of four keys each, and plenty of room */
    API_SAFETENSORS_HEADER_MAX = 1 << 20, /* bytes */
};

/* Room for a request's tensors, zeroed; PE_TOO_LARGE over tensors_max. */
enum pe_status api_reader_tensors(struct api_request *request, size_t count, struct pe_error *err);

/* The bytes that a shape and dtype take, and its elements. PE_SHAPE_MISMATCH where they wrap. */
enum pe_status api_reader_size(const char *name, const struct pe_tensor *tensor, size_t *elements,
                               size_t *size, struct pe_error *err);

/* "tensor:NAME" for an error. */
const char *api_tensor_where(const char *name, char *out, size_t size);

/* The name of a body's only tensor: ?tensor=, else "x". */
const char *api_reader_tensor_name(const struct api_request *request);

/* ---- JSON ------------------------------------------------------------------------------------ */

/* An array or a string of base64 that is kept from the JSON library, brackets or quotes included.
 */
struct api_json_span {
    size_t begin, end;
    bool base64;
    const char *list;            /* the member of the body that it is; NULL: data of a tensor */
    struct api_json_array array; /* without data: not read, because it cannot be */
};

struct api_json_spans {
    struct api_json_span *list; /* a room of the arena, to be dropped after use */
    size_t count, tensors;
};

/* Finds the arrays that hold elements and reads them at once: the value of "data" in each member of
 * the top-level "tensors", in order, in the dtype that is named before it; and long lists of
 * numbers at the top level, as f64. Strings called "base64" in a tensor are only found. Text that
 * is not JSON yields what was found up to there. PE_MALFORMED for nesting over API_NESTING_MAX,
 * PE_TOO_LARGE for more tensors than tensors_max or for more keys than any request has. */
enum pe_status api_json_spans_find(struct api_json_spans *spans, const unsigned char *text,
                                   size_t size, size_t tensors_max,
                                   struct api_json_scratch *scratch, struct pe_error *err);

/* Parses a JSON object, duplicate keys refused; *json is freed by the arena. `what` names the text
 * in an error ("the body"). [] or "" is read in the place of each span, and positions in errors are
 * of the text with the spans; NULL: there are none. */
enum pe_status api_json_object_read(struct api_request *request, const char *what, const char *text,
                                    size_t size, const struct api_json_spans *removed,
                                    json_t **json, struct pe_error *err);

/* Makes a tensor of its array, read again where that was in another dtype or in vain. `shaped`: the
 * shape is known and checked, and the array may be flat; else it is taken from the nesting. */
enum pe_status api_json_data_read(struct api_request *request, const char *name,
                                  struct api_json_span *span, bool shaped,
                                  struct api_json_scratch *scratch, struct pe_tensor *tensor,
                                  struct pe_error *err);

/* ---- base64 ---------------------------------------------------------------------------------- */

/* Decodes exactly `size` bytes of padded standard base64. False: the text is not that. */
bool api_base64_decode(const char *text, size_t length, unsigned char *out, size_t size);

/* Does the text have digits of base64 and '=' alone? */
bool api_base64_only(const unsigned char *at, const unsigned char *end);

#endif
