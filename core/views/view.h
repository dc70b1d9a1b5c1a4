/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_VIEW_H
#define CORE_VIEWS_VIEW_H

/* Views: tensors that a scheme is asked for. A view is a file here or in core/views/ and a line
 * in core/encodings/views.def; which encodings have it follows from their kinds. */

#include "core/scheme/scheme.h"
#include "core/tables/frequencies.h"
#include "core/views/picture.h"
#include "posenc/views.h"

/* Positions and sizes of a bias. */
struct pe_queries {
    size_t queries, keys;
    double start; /* position of the first query, a whole number */
};

struct pe_view_type {
    struct pe_view_info info;

    /* The type that serves an encoding under this name: itself, or a variant whose words and
     * parameters fit the encoding better, and whose `of` is this one. NULL: the encoding has no
     * such view. Required. */
    const struct pe_view_type *(*of)(const struct pe_encoding *encoding);

    size_t state_size; /* of view->state, all zeros before `open` */

    /* Reads parameters into positions and state and adds the outputs. If it fails, `close` frees
     * what it left. Required. */
    enum pe_status (*open)(struct pe_view *view, const struct pe_params *params,
                           struct pe_error *err);

    /* Writes rows; see pe_view_fill, which has checked them. Looks at the work every few
     * milliseconds. Required. */
    enum pe_status (*fill)(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err);

    /* Frees what the state points to. NULL: nothing. */
    void (*close)(struct pe_view *view);

    /* The scalar of an index; false past the last one, or where the view's work has ended. NULL:
     * there are none. */
    bool (*scalar)(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

    /* Of a view with queries and keys. NULL: it has none. */
    const struct pe_queries *(*queries)(const struct pe_view *view);

    /* Bytes that it holds once it is filled. NULL: none to speak of. */
    size_t (*memory)(const struct pe_view *view);
};

struct pe_view {
    const struct pe_scheme *scheme;
    const struct pe_view_type *type;
    enum pe_dtype dtype;
    struct pe_work *work; /* that it was made with */
    struct pe_positions positions;
    double *values; /* of the positions, where they are listed; the view's */
    size_t outputs_count;
    struct pe_output outputs[PE_OUTPUTS_MAX];
    void *state;                /* of the type */
    struct pe_picture *picture; /* that it is made into; NULL: it is as its type has it */
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
     .doc = "How many queries."},                                                                  \
        {.name = "key_length",                                                                     \
         .type = PE_INTEGER,                                                                       \
         .min = 0,                                                                                 \
         .max = 0x1p53 - 1,                                                                        \
         .unit = "positions",                                                                      \
         .doc = "How many keys; as many as queries if absent."},                                   \
    {                                                                                              \
        .name = "query_start", .type = PE_INTEGER, .min = -0x1p53 + 1, .max = 0x1p53 - 1,          \
        .unit = "positions",                                                                       \
        .doc = "Position of the first query; key_length - query_length if absent, so that the "    \
               "queries are the last ones."                                                        \
    }

/* Resolves PE_PARAMS_POSITIONS into view->positions. */
enum pe_status pe_view_positions_read(struct pe_view *view, const struct pe_params *params,
                                      struct pe_error *err);
/* The list of positions itself, copied into view->positions. */
enum pe_status pe_view_positions_list(struct pe_view *view, const struct pe_value *list,
                                      struct pe_error *err);
/* A parameter of positions, which may be rows of coordinates. */
enum pe_status pe_view_positions_rows(struct pe_view *view, const struct pe_value *list,
                                      struct pe_error *err);
/* Resolves PE_PARAMS_BIAS. */
enum pe_status pe_queries_read(struct pe_queries *queries, const struct pe_params *params,
                               struct pe_error *err);

/* Adds an output; PE_TOO_LARGE where its size does not fit. */
enum pe_status pe_view_add(struct pe_view *view, const char *name, enum pe_dtype dtype,
                           unsigned rank, const size_t *shape, struct pe_error *err);

#endif
