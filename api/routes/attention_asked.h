/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ATTENTION_ASKED_H
#define API_ROUTES_ATTENTION_ASKED_H

/* The parameters and tensors of an attention, before any is computed with. */

#include "api/arguments/function.h"
#include "api/routes/attention_absolute.h"
#include "api/routes/handler.h"
#include "posenc/attention.h"

struct attention_asked {
    struct api_request *request;
    const struct pe_encoding *encoding; /* NULL: none, or absolute */
    const char *other;                  /* which of them; NULL: an encoding */
    bool rotates;                       /* the encoding is rotary */
    bool is_absolute, splits;           /* into components */
    struct attention_absolute absolute;
    struct pe_params encoding_params, params, answer_params;
    struct pe_attention_spec spec; /* positions come last, when the scheme is there */
    struct pe_tensor weights;      /* of buckets; rank 0: absent */
    struct api_numbers positions, key_positions, ends, key_ends;
};

/* The value of a parameter, or another where it is absent. */
static inline double attention_number(const struct attention_asked *asked, const char *name,
                                      double absent)
{
    return pe_param_value(&asked->params, name)->present ? pe_param_number(&asked->params, name)
                                                         : absent;
}

/* The parameters. */
enum pe_status attention_asked_read(struct attention_asked *asked, struct pe_error *err);
/* The tensors. */
enum pe_status attention_tensors_read(struct attention_asked *asked, struct pe_error *err);
/* Positions, once it is known how many coordinates they have. */
enum pe_status attention_positions_read(struct attention_asked *asked, size_t axes_count,
                                        struct pe_error *err);

/* Fills what the request leaves open from what the config says of the model's attention, and warns
 * of what is not applied; no config: nothing. q's shape is known. */
enum pe_status attention_config_apply(struct attention_asked *asked, struct pe_error *err);

/* {"accumulation": "f32", "scale": 0.125, ...}: what was done beside the encoding. NULL: no memory.
 */
json_t *attention_asked_json(const struct attention_asked *asked);

#endif
