/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_TABLE_H
#define CORE_VIEWS_TABLE_H

#include "core/scheme/rows.h"
#include "core/views/view.h"

/* Pieces of the view `table`, for encodings that have a table of their own. */

/* ---- tables of kind rows --------------------------------------------------------------------- */

/* `of` */
const struct pe_view_type *pe_view_table_of(const struct pe_encoding *encoding);

/* Adds the output `table`. */
enum pe_status pe_view_table_add(struct pe_view *view, size_t rows, size_t width,
                                 struct pe_error *err);

/* `fill`: rows of the kind at view->positions. */
enum pe_status pe_view_table_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                  size_t row_end, void *out, struct pe_work *work,
                                  struct pe_error *err);

/* ---- tables of points ------------------------------------------------------------------------ */

#define PE_PARAMS_POINTS                                                                           \
    {.name = "shape",                                                                              \
     .type = PE_NUMBERS,                                                                           \
     .max = 0x1p53 - 1,                                                                            \
     .unit = "positions",                                                                          \
     .doc = "The number of coordinates on each axis. The table has one row for each point of "     \
            "this grid, the last axis running fastest."},                                          \
    {                                                                                              \
        .name = "coordinates", .aliases = "positions", .type = PE_NUMBERS, .nested = true,         \
        .min = -0x1p53 + 1, .max = 0x1p53 - 1, .unit = "positions",                                \
        .doc = "The points of the table, instead of a shape: ndim numbers for each point, as one " \
               "list per point or all in one list."                                                \
    }

/* Listed points are in view->positions, axis by axis in `values`; of a grid its number of points
 * is. */
struct pe_points_view {
    size_t sizes[PE_GRID_ROWS_AXES_MAX]; /* of the axes of a grid */
};

/* Reads PE_PARAMS_POINTS and adds the output. */
enum pe_status pe_view_points_open(struct pe_view *view, const struct pe_params *params,
                                   struct pe_error *err);
enum pe_status pe_view_points_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                   size_t row_end, void *out, struct pe_work *work,
                                   struct pe_error *err);

/* Members of the type of an encoding whose rows have a grid, but for the example. `list` has
 * PE_PARAMS_POINTS. */
#define PE_VIEW_POINTS_TABLE(list)                                                                 \
    .info.name = "table", .info.title = "Table of a grid or of listed points",                     \
    .info.doc = "`table` [points, width]: one row for each listed point, or for each point of "    \
                "the grid, whose numbers on each axis are 0, 1, 2, ..., the last axis running "    \
                "fastest.",                                                                        \
    PE_INFO_PARAMS(list), .of = pe_view_table_of, .state_size = sizeof(struct pe_points_view),     \
    .open = pe_view_points_open, .fill = pe_view_points_fill

/* ---- tables of kind rotary: cos and sin ------------------------------------------------------ */

/* Positions that may have several coordinates. */
#define PE_PARAM_COORDINATES(example)                                                              \
    {                                                                                              \
        .name = "positions", .type = PE_RANGES, .nested = true, .min = -0x1p53 + 1,                \
        .max = 0x1p53 - 1, .unit = "positions",                                                    \
        .doc = "The positions, as numbers and ranges: 0,5,7..9,-3..-1. Positions of several "      \
               "coordinates are one list for each coordinate: " example "."                        \
    }

/* The choices of the parameter `cache`, in the order of enum pe_cache. */
#define PE_CACHES "hf=transformers,vllm=flashinfer,meta=llama,onnx=onnxruntime,ggml=llama.cpp"
enum pe_cache { PE_CACHE_HF, PE_CACHE_VLLM, PE_CACHE_META, PE_CACHE_ONNX, PE_CACHE_GGML };

/* Which of cos and sin, and their layout. */
#define PE_PARAMS_PART                                                                             \
    {.name = "part",                                                                               \
     .type = PE_CHOICE,                                                                            \
     .choices = "both,cos,sin,complex",                                                            \
     .fallback = "both",                                                                           \
     .doc = "The tensors of the result: both, cos or sin alone, or complex: cos + i sin as one "   \
            "tensor."},                                                                            \
        {.name = "duplicate",                                                                      \
         .type = PE_BOOLEAN,                                                                       \
         .fallback = "false",                                                                      \
         .doc = "Whether each row is repeated side by side, so that it has rotary_dim elements, "  \
                "as in Hugging Face transformers."},                                               \
    {                                                                                              \
        .name = "cache", .type = PE_CHOICE, .choices = PE_CACHES,                                  \
        .doc = "The form of an engine's cache, for n positions and d = rotary_dim. hf: cos and "   \
               "sin [n, d], each row repeated side by side. vllm: cos_sin_cache [n, d], cosines "  \
               "before sines. meta: freqs_cis [n, d / 2], complex. onnx: cos_cache and sin_cache " \
               "[n, d / 2]. ggml: rope_freqs.weight [d / 2], the divisors of the frequencies."     \
    }

/* The state of such a view begins with it. */
struct pe_rotary_view {
    enum pe_rotary_part {
        PE_PART_BOTH,
        PE_PART_COS,
        PE_PART_SIN,
        PE_PART_COMPLEX,
        PE_PART_JOINED,  /* cos beside sin in one row */
        PE_PART_FACTORS, /* unscaled over scaled frequencies; no rows at positions */
    } part;
    bool duplicate;
    bool of_keys; /* where queries and keys differ */
};

/* `of` */
const struct pe_view_type *pe_view_rotary_table_of(const struct pe_encoding *encoding);

/* Reads PE_PARAMS_PART and adds the outputs, of view->positions.count rows. */
enum pe_status pe_view_rotary_add(struct pe_view *view, const struct pe_params *params,
                                  struct pe_error *err);

/* The columns of an output in rows that begin at `out`. */
struct pe_table pe_view_rotary_columns(const struct pe_view *view, size_t output, void *out);
/* Repeats the first half of each row, where duplicate=true. */
void pe_view_rotary_duplicate(const struct pe_view *view, size_t output, size_t rows, void *out);

/* Writes rows of an output at the positions [begin, end). */
enum pe_status pe_view_rotary_rows(const struct pe_view *view, const struct pe_positions *positions,
                                   size_t output, size_t begin, size_t end, void *out,
                                   struct pe_work *work, struct pe_error *err);

/* `fill`, at view->positions */
enum pe_status pe_view_rotary_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                   size_t row_end, void *out, struct pe_work *work,
                                   struct pe_error *err);

/* `scalar`: the attention factor, and the multiplier of the softmax scale. */
bool pe_view_rotary_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

/* ---- scales that depend on the position ------------------------------------------------------ */

#define PE_PARAM_SIDE                                                                              \
    {                                                                                              \
        .name = "side", .type = PE_CHOICE, .choices = "query,key=downscale", .fallback = "query",  \
        .doc = "The side of the attention product. query: values are multiplied by the scale. "    \
               "key: they are divided by it."                                                      \
    }

/* Reads PE_PARAMS_POSITIONS and PE_PARAM_SIDE into a state that begins with struct pe_rotary_view;
 * refuses positions whose scale a double does not hold. */
enum pe_status pe_view_scaled_positions(struct pe_view *view, const struct pe_params *params,
                                        struct pe_error *err);

#endif
