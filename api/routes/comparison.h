/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_COMPARISON_H
#define API_ROUTES_COMPARISON_H

/* POST /v1/comparison: comparison.c reads and runs it, comparison_report.c writes the report. */

#include "api/arguments/arguments.h"
#include "api/routes/engine_caches.h"
#include "api/routes/handler.h"
#include "posenc/comparison.h"

/* One of two operands: the table of an encoding, a posted tensor, a posted cache of an engine, or
 * an encoding's rotation of a posted tensor. */
struct comparison_operand {
    const char *key;                    /* "a" */
    const struct pe_encoding *encoding; /* NULL: tensors */
    struct api_config *config;          /* of the encoding, or NULL */
    const struct api_tensor *tensor;    /* posted, or the first of `parts`; NULL: a table */
    bool is_cache;                      /* of an engine */
    enum pe_rotary_cache cache;
    struct api_tensor parts[2]; /* cos and sin of a cache, or ggml's factors */
    struct pe_params params, view_params;
    struct pe_params layout; /* of pairs, in the object of an encoding */
    struct pe_scheme *scheme;
    struct pe_view *view;
    size_t tables, rows, columns;
    const char *names[PE_OUTPUTS_MAX]; /* of the tables */
    struct pe_tensor tensors[2];       /* the tables, of posted ones */
    struct pe_operand spec;
};

struct comparison_state {
    struct api_request *request;
    struct pe_params params, answer_params;
    struct comparison_operand operands[2];
    enum pe_dtype dtype;
    struct pe_kv_axes heads; /* of two KV caches; rank 0: tables */
    /* One operand is the rotation of this tensor by the encoding of the other; NULL: neither. */
    const struct api_tensor *source;
    size_t rotated; /* the operand of the encoding */
    struct pe_params places_params;
    struct api_token_positions places;
    struct pe_rotation_spec rotation;
    struct pe_differences *differences;
};

/* The report of a finished comparison, owned by the caller; NULL: out of memory. */
json_t *comparison_report(const struct comparison_state *state);

#endif
