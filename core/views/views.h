/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_VIEWS_H
#define CORE_VIEWS_VIEWS_H

/* The views that encodings share. An encoding lists those it has. */

#include "core/scheme/encoding.h"

extern const struct pe_view_type pe_view_absolute_table;     /* needs row_width and row */
extern const struct pe_view_type pe_view_learned_table;      /* the same, of a table given */
extern const struct pe_view_type pe_view_rotary_table;       /* needs frequencies */
extern const struct pe_view_type pe_view_frequencies;        /* needs frequencies */
extern const struct pe_view_type pe_view_rotary_frequencies; /* and A */
extern const struct pe_view_type pe_view_bias;    /* needs bias_row; slopes where there are some */
extern const struct pe_view_type pe_view_buckets; /* needs bucket */
/* With weights their bias, without them the buckets; needs bucket, buckets and bias_row. */
extern const struct pe_view_type pe_view_learned_bias;

/* Analyses. Those of rows need row_width or `rotates`; those of frequencies need them. */
extern const struct pe_view_type pe_view_similarity;    /* of rows */
extern const struct pe_view_type pe_view_decay;         /* of rows */
extern const struct pe_view_type pe_view_bias_decay;    /* needs bias_row */
extern const struct pe_view_type pe_view_learned_decay; /* and bucket, weights */
extern const struct pe_view_type pe_view_uniqueness;    /* of rows */
extern const struct pe_view_type pe_view_wavelengths;   /* of frequencies */
extern const struct pe_view_type pe_view_error;         /* of frequencies */
extern const struct pe_view_type pe_view_shift;         /* of frequencies, sines and cosines */

/* ---- pieces of them ------------------------------------------------------------------------- */

/* Positions that may have several coordinates. */
#define PE_PARAM_COORDINATES(example)                                                              \
    {                                                                                              \
        .name = "positions", .type = PE_RANGES, .nested = true, .min = -0x1p53 + 1,                \
        .max = 0x1p53 - 1, .unit = "positions",                                                    \
        .doc = "The positions themselves: 0,5,7..9,-3..-1; of several coordinates a row "          \
               "each: " example "."                                                                \
    }

/* Which of cos and sin, and how. */
#define PE_PARAMS_PART                                                                             \
    {.name = "part",                                                                               \
     .type = PE_CHOICE,                                                                            \
     .choices = "both,cos,sin,complex",                                                            \
     .fallback = "both",                                                                           \
     .doc = "Which of cos and sin; complex: cos + i sin in one tensor."},                          \
    {                                                                                              \
        .name = "duplicate", .type = PE_BOOLEAN, .fallback = "false",                              \
        .doc = "Each row twice side by side, rotary_dim wide, as Hugging Face keeps it."           \
    }

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
/* Resolves PE_PARAMS_BIAS into view->queries, keys and query_start. */
enum pe_status pe_view_queries_read(struct pe_view *view, const struct pe_params *params,
                                    struct pe_error *err);

/* The list of positions itself, copied into view->positions. */
enum pe_status pe_view_positions_list(struct pe_view *view, const double *list, size_t count,
                                      struct pe_error *err);
/* A parameter of positions, which may be rows of coordinates. */
enum pe_status pe_view_positions_rows(struct pe_view *view, const struct pe_value *list,
                                      struct pe_error *err);
/* The one output of an absolute table, and what fills it from the encoding's row or rows. */
enum pe_status pe_view_table_add(struct pe_view *view, size_t rows, size_t width,
                                 struct pe_error *err);
void pe_view_table_fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                        void *out);

/* The outputs of a rotary table with PE_PARAMS_PART, for view->positions.count rows; what fills
 * them; and its scalars. */
enum pe_status pe_view_rotary_add(struct pe_view *view, const struct pe_params *params,
                                  struct pe_error *err);
void pe_view_rotary_rows(const struct pe_view *view, const struct pe_positions *positions,
                         size_t output, size_t row_begin, size_t row_end, void *out);
bool pe_view_rotary_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

/* What a bias view has besides. */
void pe_view_bias_free(struct pe_view *view);

/* Adds an output; PE_TOO_LARGE where its size does not fit. */
enum pe_status pe_view_add(struct pe_view *view, const char *name, enum pe_dtype dtype,
                           unsigned rank, const size_t *shape, struct pe_error *err);

#endif
