/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_REQUEST_H
#define API_REQUEST_REQUEST_H

/* The request as a handler sees it, and helpers that handlers share. */

#include <jansson.h>

#include "api/api.h"
#include "api/memory/arena.h"
#include "api/request/result.h"
#include "posenc/views.h"

struct api_tensor {
    const char *name;
    struct pe_tensor tensor; /* data lies in the request's body or arena, aligned to its element */
};

struct api_coding;
struct api_config;

struct api_pair {
    const char *name, *value; /* percent-decoded */
};

struct api_request {
    struct api *api;
    const struct api_settings *settings;
    struct api_arena *arena; /* passes to the response */
    struct pe_work *work;    /* of everything that is done for the request */
    const struct api_route *route;
    const char *method;
    const char *name; /* {name} of the path, decoded; NULL: the route has none */
    const char *view; /* {view} likewise */
    struct api_pair *query;
    size_t query_count;
    const char *content_type; /* media type without parameters, lower case; "" none */
    const char *if_match, *if_none_match, *if_range, *range; /* NULL: absent */
    const char *tensor_dtype,
        *tensor_shape;               /* Tensor-Dtype: f32, Tensor-Shape: 1,12,8,64; or NULL */
    const struct api_format *format; /* negotiated for the answer */
    const struct api_coding *coding; /* the same; NULL: none */
    bool plain_refused;              /* by Accept-Encoding */
    bool head_only;                  /* HEAD */

    unsigned char *body; /* whole, 64-byte aligned, writable */
    size_t body_size;
    const struct api_reader *reader; /* what recognised the body; NULL: no body */
    struct api_config *config;       /* what api_config_open found; NULL: no config.json */
    json_t *json;                    /* the JSON object of the body, less its bulk data; or NULL */
    struct api_tensor *lists;        /* its long lists of numbers, f64, rank 1 or 2; [] in json */
    size_t lists_count;
    struct api_pair *metadata; /* safetensors' "posenc." keys, without the prefix */
    size_t metadata_count;
    struct api_pair *passed_metadata; /* its other keys, carried through */
    size_t passed_metadata_count;
    struct api_tensor *tensors;
    size_t tensors_count;
};

/* A format of the request's body. api/readers/NAME.c, a line in readers.def. */
struct api_reader {
    const char *name; /* "safetensors": also the format of an answer of the same name */
    const char *media_type;
    bool (*sniff)(const unsigned char *bytes, size_t size); /* NULL: never guessed */
    /* Bytes of text in a body, which take a hundred times longer to read than others. NULL: few. */
    size_t (*text_size)(const unsigned char *bytes, size_t size);
    /* Fills request->json, metadata and tensors from body. Tensors alias the body where they can.
     */
    enum api_status (*read)(struct api_request *request, struct api_error *err);
};

#define READER(name) extern const struct api_reader api_reader_##name;
#include "api/readers/readers.def"
#undef READER

/* ---- helpers for handlers (bind.c, respond.c) --------------------------------------------------
 */

/* Parameters of every tensor answer: flat, data_format, download (and revision, which views read).
 * A handler gives a set of them to api_bind beside its own, and the result afterwards. The set is
 * freed with the arena. `format` is read before any handler and known to api_bind already. */
void api_answer_params(struct api_request *request, struct pe_params *params);
enum api_status api_answer_apply(struct api_request *request, struct pe_params *params,
                                 struct api_result *result, struct api_error *err);

/* The parameter "dtype" (the handler lists it in `own`), or the fallback where it is absent. */
enum api_status api_request_dtype(struct api_request *request, enum pe_dtype fallback,
                                  enum pe_dtype *dtype, struct api_error *err);

/* A width for the judge to hold against --dim-max. `where` and `noun` outlive the result. */
void api_result_width(struct api_result *result, const char *where, const char *noun, double width);
/* Those of the parameters dim and heads, where they are in the set. */
void api_result_widths(struct api_result *result, const struct pe_params *params);

/* Sets parameters from the query, the JSON body's top level and the metadata; each name goes to the
 * first set that knows it. `own` lists names, separated by spaces, that the handler reads by itself
 * from request->json. An unknown name is API_UNKNOWN_PARAMETER with the nearest known names. */
enum api_status api_bind(struct api_request *request, struct pe_params **sets, size_t sets_count,
                         const char *own, struct api_error *err);

/* The same for one JSON object, such as {"name": "rope", ...}; `at` is its JSON pointer. */
enum api_status api_bind_object(struct api_request *request, json_t *object, const char *at,
                                struct pe_params **sets, size_t sets_count, const char *own,
                                struct api_error *err);

/* A value that the handler reads by itself: query, else JSON (scalars as text), else metadata. */
const char *api_request_text(const struct api_request *request, const char *name);
/* The same; a list or an object is refused. *text is NULL where there is none. */
enum api_status api_request_scalar(const struct api_request *request, const char *name,
                                   const char **text, struct api_error *err);

/* The long list that a member of the JSON body is, or NULL: it is what json holds. */
const struct pe_tensor *api_request_list(const struct api_request *request, const char *name);

/* The posted tensor of a name, or NULL. */
struct api_tensor *api_request_tensor(struct api_request *request, const char *name);

/* {"name": ..., resolved parameters ...} of a scheme, for answers and the validator. */
json_t *api_scheme_json(const struct pe_scheme *scheme);
/* Appends the warnings of a scheme; NULL has none. */
void api_scheme_warnings(const struct pe_scheme *scheme, json_t *warnings);

/* Sets result->encoding and warnings from a scheme, freed with the arena. */
enum api_status api_result_describe(const struct api_request *request, struct api_result *result,
                                    const struct pe_scheme *scheme, struct api_error *err);

/* API_NOT_FOUND with the names that there are. */
enum api_status api_encoding_unknown(const char *name, struct api_error *err);

/* The body of a report: compact JSON with a newline; steals `json`. API_OUT_OF_MEMORY. */
enum api_status api_respond_json(struct api_response *response, json_t *json,
                                 struct api_error *err);
/* Bytes that outlive the response or lie in its arena. */
void api_respond_bytes(struct api_response *response, const char *media_type, const void *bytes,
                       size_t size);
void api_response_header(struct api_response *response, const char *name, const char *value);

#endif
