/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ATTENTION_H
#define API_ROUTES_ATTENTION_H

/* POST /v1/attention: attention_spec.c reads parameters, tensors and config into a spec,
 * attention.c computes it. */

#include "api/arguments/arguments.h"
#include "api/routes/handler.h"
#include "posenc/attention.h"

/* Embeddings x to which positions p are added: q = (x + p) w_q and so on. */
struct attention_absolute {
    struct pe_tensor x, p, w_q, w_k, w_v; /* w_v.rank 0: absent */
    size_t heads;
    struct pe_tensor positions; /* p, once for each sequence of x */
};

/* The terms of (x + p) w_q · (x + p) w_k. */
enum { ATTENTION_COMPONENTS = 4 };

struct attention_args {
    struct api_request *request;
    const struct pe_encoding *encoding; /* NULL: none, or absolute */
    const char *other;                  /* "none" or "absolute"; NULL: an encoding */
    bool rotates;                       /* the encoding is rotary */
    bool is_absolute, splits;           /* splits: into components */
    struct attention_absolute absolute;
    struct pe_params encoding_params, params, answer_params;
    struct pe_attention_spec spec; /* without positions until the scheme is open */
    struct pe_tensor weights;      /* of buckets; rank 0: absent */
    struct api_numbers positions, key_positions, ends, key_ends;
};

enum pe_status attention_params_read(struct attention_args *args, struct pe_error *err);
enum pe_status attention_tensors_read(struct attention_args *args, struct pe_error *err);
/* axes_count: coordinates of a position, of the scheme. */
enum pe_status attention_positions_read(struct attention_args *args, size_t axes_count,
                                        struct pe_error *err);

/* Sets what the request leaves open to the traits of the config's model, and warns of traits that
 * are not applied. Without a config nothing. q's shape is set. */
enum pe_status attention_config_apply(struct attention_args *args, struct pe_error *err);

/* {"accumulation": "f32", "scale": 0.125, ...}: the options applied. NULL: no memory. */
json_t *attention_options_json(const struct attention_args *args);

#endif
