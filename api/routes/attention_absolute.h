/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ATTENTION_ABSOLUTE_H
#define API_ROUTES_ATTENTION_ABSOLUTE_H

/* Attention of embeddings x to which positions p are added: q = (x + p) w_q and so on, and the four
 * terms that (x + p) w_q · (x + p) w_k falls into. */

#include "api/arguments/function.h"
#include "api/routes/handler.h"

struct attention_absolute {
    struct pe_tensor x, p, w_q, w_k, w_v; /* w_v.rank 0: absent */
    size_t heads;
    struct pe_tensor positions; /* p for every sequence of x */
};

enum { ATTENTION_COMPONENTS = 4 };
extern const char *const attention_components[ATTENTION_COMPONENTS];

/* Do the shapes fit? Then *work is how many nanoseconds the
 * projections take. Errors name "tensor:NAME". */
enum pe_status attention_absolute_check(const struct attention_absolute *absolute,
                                        bool needs_values, double *work, struct pe_error *err);

/* spec->q, k and, where values are needed, v: projections of x + p, [b, heads, s, d]. */
enum pe_status attention_absolute_project(struct api_request *request,
                                          struct attention_absolute *absolute,
                                          struct pe_attention_spec *spec, struct pe_error *err);

/* One spec for each of attention_components: x or p as queries with x or p as keys. */
enum pe_status attention_absolute_split(struct api_request *request,
                                        struct attention_absolute *absolute,
                                        struct pe_attention_spec specs[ATTENTION_COMPONENTS],
                                        struct pe_error *err);

#endif
