/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_SIDES_H
#define API_ROUTES_SIDES_H

/* One of two tables that are compared: an encoding's, or a posted tensor. */

#include "api/arguments/function.h"
#include "api/routes/engine_caches.h"
#include "api/routes/handler.h"

struct api_side {
    const char *key;                    /* "a" */
    const struct pe_encoding *encoding; /* NULL: a tensor */
    struct api_config *config;          /* that tells it, or NULL */
    const struct api_tensor *tensor;    /* NULL: an encoding; of a cache the first of its parts */
    bool is_cache;                      /* as an engine keeps it */
    bool is_rotation;                   /* or of tokens, rotated: of rank 2 and up, and no table */
    enum pe_rotary_cache cache;
    struct api_tensor parts[2]; /* cos and sin of a cache, or factors */
    struct pe_params params, view_params;
    struct pe_params layout; /* of pairs, where the encoding's object told it */
    struct pe_scheme *scheme;
    struct pe_view *view;
    struct pe_output tables[2]; /* of a tensor */
    const struct pe_output *outputs;
    size_t outputs_count;
};

/* Reads the member `key`: "tensor:NAME", "cache:ENGINE", or an encoding as api_function_encoding_at
 * does. */
enum pe_status api_side_read(struct api_request *request, const char *key, struct api_side *side,
                             struct pe_error *err);

/* Is it this tensor, or made of it? */
bool api_side_holds(const struct api_side *side, const struct api_tensor *tensor);

/* Resolves its shape. `common` holds the parameters of a table (length, part ...); `other` is the
 * side that it is compared with, from whose tensor width and length are read where neither is
 * given. A tensor needs neither of them, nor the dtype. */
enum pe_status api_side_open(struct api_request *request, struct api_side *side,
                             const struct api_side *other, const struct pe_params *common,
                             enum pe_dtype dtype, struct pe_error *err);

/* Rows of a table in a dtype: an encoding's are made in it, a tensor's rounded to it. The scheme is
 * prepared by then. */
enum pe_status api_side_rows(const struct api_side *side, size_t output, size_t row_begin,
                             size_t row_end, enum pe_dtype dtype, void *out, struct pe_work *work,
                             struct pe_error *err);

/* A side for a report: the resolved encoding, or the tensor's name, dtype and shape. */
json_t *api_side_json(const struct api_side *side);
/* Nanoseconds of one core that its tables take, its scheme included, about. */
double api_side_work(const struct api_side *side);

const char *api_side_name(const struct api_side *side); /* of the encoding; "none" of a tensor */

void api_side_free(struct api_side *side);

#endif
