/* SPDX-License-Identifier: MIT */
#ifndef CORE_VIEWS_ANALYSIS_H
#define CORE_VIEWS_ANALYSIS_H

#include "core/views/rows.h"
#include "core/views/view.h"

/* Analyses: views with a group, of rows, frequencies and biases. Pieces of them. */

/* Members that the types of all analyses share; each file has parts of these names. */
#define PE_ANALYSIS_MEMBERS                                                                        \
    .info.group = "analysis", .info.params = params,                                               \
    .info.params_count = sizeof(params) / sizeof(params[0]), .of = of,                             \
    .state_size = sizeof(struct state), .open = open, .fill = fill

/* ---- who has them --------------------------------------------------------------------------- */

/* Are there rows to compare: at positions that are chosen freely, and not out of a table? */
bool pe_analysis_has_rows(const struct pe_encoding *encoding);

/* Are rows sines of one coordinate alone, or cos and sin of it? */
bool pe_analysis_has_sines(const struct pe_encoding *encoding);

/* Has each frequency a cosine and a sine? For encodings that have sines. */
bool pe_analysis_has_pairs(const struct pe_encoding *encoding);

/* Are all columns whole pairs, so that products of rows depend on distances alone? */
bool pe_analysis_turns(const struct pe_scheme *scheme);

/* ---- positions ------------------------------------------------------------------------------ */

/* Positions of the table that the encoding's rows can stand at. */
enum pe_status pe_analysis_positions(struct pe_view *view, const struct pe_params *params,
                                     struct pe_error *err);

/* Can rows stand there? If not, the error names `where`. */
enum pe_status pe_analysis_stand(const struct pe_scheme *scheme,
                                 const struct pe_positions *positions, const char *where,
                                 struct pe_error *err);

#define PE_PARAMS_OFFSETS                                                                          \
    {.name = "max_offset",                                                                         \
     .type = PE_INTEGER,                                                                           \
     .min = -0x1p53 + 1,                                                                           \
     .max = 0x1p53 - 1,                                                                            \
     .required = true,                                                                             \
     .unit = "positions",                                                                          \
     .doc = "The last offset, key minus query."},                                                  \
        {.name = "min_offset",                                                                     \
         .type = PE_INTEGER,                                                                       \
         .min = -0x1p53 + 1,                                                                       \
         .max = 0x1p53 - 1,                                                                        \
         .fallback = "0",                                                                          \
         .unit = "positions",                                                                      \
         .doc = "The first offset; negative ones lie before the anchor."},                         \
        {.name = "samples",                                                                        \
         .type = PE_INTEGER,                                                                       \
         .min = 2,                                                                                 \
         .max = PE_SAMPLES_MAX,                                                                    \
         .doc = "So many of the offsets at most, both ends among them, instead of all."},          \
    {                                                                                              \
        .name = "sample_spacing", .type = PE_CHOICE, .choices = "linear,log",                      \
        .doc = "How samples are spread: evenly (the default), or dense around offset 0."           \
    }

enum { PE_SAMPLES_MAX = 1 << 16 };

/* Whole distances that rise: one after the other, or some of them. */
struct pe_offsets {
    int64_t first, last;
    size_t count;
    int64_t *samples; /* the offsets; NULL: all from first to last */
};

/* To be closed, also where it failed. */
enum pe_status pe_offsets_read(struct pe_offsets *offsets, const struct pe_params *params,
                               struct pe_error *err);
void pe_offsets_close(struct pe_offsets *offsets);
static inline int64_t pe_offset_at(const struct pe_offsets *offsets, size_t index)
{
    return offsets->samples ? offsets->samples[index] : offsets->first + (int64_t)index;
}
/* The first of them that is not below 0; as many as there are where all are. */
size_t pe_offsets_zero(const struct pe_offsets *offsets);
void pe_offsets_write(const struct pe_offsets *offsets, int64_t *out);

/* ---- cost ----------------------------------------------------------------------------------- */

/* Nanoseconds, about: of a sum of the cosines of all pairs that is rounded to a dtype, of one
 * product or distance of two rows. */
double pe_cosines_cost(const struct pe_scheme *scheme, enum pe_dtype dtype);
double pe_product_cost(const struct pe_scheme *scheme);

#endif
