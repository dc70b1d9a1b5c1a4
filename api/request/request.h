/* SPDX-License-Identifier: MIT */
#ifndef API_REQUEST_REQUEST_H
#define API_REQUEST_REQUEST_H

/* A request with its memory and its work, and the service that it is made to. The body is parsed by
 * api/formats. */

#include <jansson.h>
#include <stdatomic.h>

#include "api/api.h"
#include "api/memory/arena.h"
#include "posenc/posenc.h"

struct api_coding;
struct api_config;
struct api_format;
struct api_parameter_errors;
struct api_reader;
struct api_route;

/* ---- the service, which all requests share --------------------------------------------------- */

enum { API_REVISION_SIZE = 17, API_CONTRACTS = 2 };

struct api {
    struct api_settings settings; /* with copies of its strings */
    bool origins_given;           /* cors_origin was set: it applies to stored tables too */
    _Atomic(struct pe_pool *) pool;
    struct api_memory *memory;
    struct api_cache *cache; /* of responses, rotations and schemes */
    struct api_store *store;
    struct api_access *access;
    char revision[API_REVISION_SIZE];
    char contract_tags[API_CONTRACTS][17]; /* of openapi.yaml and openapi.json, for ETags */
    char file_tags[API_FILES_MAX + 1][17]; /* of the settings' files, likewise */
    uint64_t id_seed;
    _Atomic uint64_t ids;
    _Atomic uint64_t problems[PE_STATUSES]; /* by status */
    _Atomic uint64_t not_modified;
};

/* The pool of the service; NULL: only the calling thread. */
static inline struct pe_pool *api_pool(const struct api *api)
{
    return atomic_load_explicit(&api->pool, memory_order_acquire);
}

/* ---- a request ------------------------------------------------------------------------------- */

struct api_tensor {
    const char *name;
    struct pe_tensor tensor; /* data is in the request's body or arena, aligned to its element */
};

struct api_pair {
    const char *name, *value; /* percent-decoded */
};

struct api_request {
    struct api *api;
    const struct api_settings *settings;
    struct api_arena *arena; /* passes to the response */
    struct pe_work *work;
    const struct api_route *route;
    const struct api_file *file; /* of the explorer; NULL: the path is a route of the contract */
    const char *method;
    const char *name; /* {name} of the path, decoded; NULL: the route has none */
    const char *view; /* {view} likewise */
    struct api_pair *query;
    size_t query_count;
    const char *content_type; /* media type without parameters, lower case; "" none */
    const char *if_match, *if_none_match, *if_range, *range; /* NULL: absent */
    const char *host, *forwarded_proto; /* Host, X-Forwarded-Proto; NULL: absent */
    const char *tensor_dtype,
        *tensor_shape;               /* Tensor-Dtype: f32, Tensor-Shape: 1,12,8,64; or NULL */
    const struct api_format *format; /* negotiated for the answer */
    const struct api_coding *response_coding; /* likewise; NULL: none */
    bool plain_refused;                       /* by Accept-Encoding */
    bool takes_gzip;                          /* by Accept-Encoding, with any preference */
    bool head_only;                           /* HEAD */
    bool page;                                /* Accept prefers HTML, and the route has it */
    bool reads_store; /* the answer depends on stored tables, or on their names */

    unsigned char *body; /* complete, 64-byte aligned, writable */
    size_t body_size;
    const struct api_reader *reader; /* that recognised the body; NULL: no body */
    struct api_config *config;       /* opened by api_config_open; NULL: no config.json */
    json_t *json;                    /* the JSON object of the body without bulk data; or NULL */
    struct api_tensor *lists;        /* its long lists of numbers, f64, rank 1 or 2; [] in json */
    size_t lists_count;
    struct api_pair *metadata; /* safetensors' "posenc." keys, without the prefix */
    size_t metadata_count;
    struct api_pair *passed_metadata; /* its other keys, copied to the answer */
    size_t passed_metadata_count;
    struct api_tensor *tensors;
    size_t tensors_count;
    struct api_parameter_errors *parameter_errors; /* NULL: none so far */
};

#endif
