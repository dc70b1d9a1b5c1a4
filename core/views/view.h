/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_VIEW_H
#define CORE_VIEWS_VIEW_H

/* A view is a set of tensors computed from a scheme: a table, a bias, frequencies or an analysis.
 * To add one, write core/views/NAME.c and a line in views.def; the encodings that have it follow
 * from their kinds. */

#include "core/scheme/scheme.h"
#include "core/tables/frequencies.h"
#include "core/views/pooling.h"
#include "posenc/views.h"

/* The queries and keys of a bias. */
struct pe_queries {
    size_t queries, keys;
    double start; /* position of the first query, an integer */
};

struct pe_view_type {
    struct pe_view_info info;

    /* The type that an encoding has under this name: this one, or a variant with other words and
     * parameters and the same `of`. NULL: the encoding has no such view. Required. */
    const struct pe_view_type *(*of)(const struct pe_encoding *encoding);

    size_t state_size; /* of view->state, zeroed before `open` */

    /* Reads parameters into positions and state, and adds the outputs. `close` is called also if it
     * fails. Required. */
    enum pe_status (*open)(struct pe_view *view, const struct pe_params *params,
                           struct pe_error *err);

    /* Writes rows; see pe_view_fill, which has checked the range. Checks the work every few
     * milliseconds. Required. */
    enum pe_status (*fill)(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err);

    /* Frees what the state points to. NULL: nothing. */
    void (*close)(struct pe_view *view);

    /* The scalar of an index; false past the last one, or once the view's work has ended. NULL:
     * there are none. */
    bool (*scalar)(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

    /* NULL: the view has no queries and keys. */
    const struct pe_queries *(*queries)(const struct pe_view *view);

    /* Bytes that it caches when it is filled. NULL: next to none. */
    size_t (*memory)(const struct pe_view *view);
};

struct pe_view {
    const struct pe_scheme *scheme;
    const struct pe_view_type *type;
    enum pe_dtype dtype;
    struct pe_work *work; /* of pe_view_new */
    struct pe_positions positions;
    double *values; /* listed positions, owned by the view */
    size_t outputs_count;
    struct pe_output outputs[PE_OUTPUTS_MAX];
    void *state;              /* of the type */
    struct pe_pooled *pooled; /* NULL: outputs are as the type fills them */
};

/* ---- pieces of views ------------------------------------------------------------------------ */

/* Queries and keys of a bias. */
#define PE_PARAMS_BIAS                                                                             \
    {.name = "query_length",                                                                       \
     .aliases = "length",                                                                          \
     .type = PE_INTEGER,                                                                           \
     .min = 0,                                                                                     \
     .max = 0x1p53 - 1,                                                                            \
     .required = true,                                                                             \
     .unit = "positions",                                                                          \
     .doc = "The number of queries."},                                                             \
        {.name = "key_length",                                                                     \
         .type = PE_INTEGER,                                                                       \
         .min = 0,                                                                                 \
         .max = 0x1p53 - 1,                                                                        \
         .unit = "positions",                                                                      \
         .doc = "The number of keys; that of the queries if absent."},                             \
    {                                                                                              \
        .name = "query_start", .type = PE_INTEGER, .min = -0x1p53 + 1, .max = 0x1p53 - 1,          \
        .unit = "positions",                                                                       \
        .doc = "The position of the first query; key_length - query_length if absent, so that "    \
               "the queries are at the last positions."                                            \
    }

/* Resolves PE_PARAMS_POSITIONS into view->positions. */
enum pe_status pe_view_positions_read(struct pe_view *view, const struct pe_params *params,
                                      struct pe_error *err);
/* Copies a list of positions into view->positions. */
enum pe_status pe_view_positions_list(struct pe_view *view, const struct pe_value *list,
                                      struct pe_error *err);
/* The same of a list that may have rows of coordinates. */
enum pe_status pe_view_positions_rows(struct pe_view *view, const struct pe_value *list,
                                      struct pe_error *err);
/* Resolves PE_PARAMS_BIAS. */
enum pe_status pe_queries_read(struct pe_queries *queries, const struct pe_params *params,
                               struct pe_error *err);

/* Adds an output; PE_TOO_LARGE where its size does not fit. */
enum pe_status pe_view_add(struct pe_view *view, const char *name, enum pe_dtype dtype,
                           unsigned rank, const size_t *shape, struct pe_error *err);

#endif
