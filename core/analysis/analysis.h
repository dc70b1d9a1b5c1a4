/* SPDX-License-Identifier: MIT */
#ifndef CORE_ANALYSIS_ANALYSIS_H
#define CORE_ANALYSIS_ANALYSIS_H

#include <pthread.h>

#include "core/analysis/rows.h"
#include "core/tables/frequencies.h"
#include "core/views/views.h"

/* What a view that is an analysis keeps besides its outputs. */
struct pe_analysis {
    bool normalize;
    bool rounded;                /* uniqueness: rows as the dtype holds them */
    struct pe_positions alone;   /* similarity, decay: where the anchor stands */
    int64_t first;               /* decay: the first offset */
    double context;              /* wavelengths */
    bool through_angle;          /* error: the angle is rounded ... */
    enum pe_dtype angle;         /* ... to this */
    struct pe_frequencies *one;  /* error: of w = 1, so that a position is an angle */
    double position, delta;      /* shift */
    struct pe_rows *rows, *only; /* those compared; the one of the anchor */

    /* uniqueness: found by whoever asks first */
    pthread_mutex_t mutex;
    bool found;
    double nearest[2];                      /* the positions */
    unsigned char distance[sizeof(double)]; /* of the dtype */
};

/* Sets view->analysis, with everything 0. */
enum pe_status pe_analysis_new(struct pe_view *view, struct pe_error *err);
void pe_analysis_free(struct pe_analysis *analysis); /* NULL: nothing */

/* Positions of the table that the encoding's rows can stand at. */
enum pe_status pe_analysis_positions(struct pe_view *view, const struct pe_params *params,
                                     struct pe_error *err);

#define PE_PARAMS_OFFSETS                                                                          \
    {.name = "max_offset",                                                                         \
     .type = PE_INTEGER,                                                                           \
     .min = -0x1p53 + 1,                                                                           \
     .max = 0x1p53 - 1,                                                                            \
     .required = true,                                                                             \
     .unit = "positions",                                                                          \
     .doc = "The last offset, key minus query."},                                                  \
    {                                                                                              \
        .name = "min_offset", .type = PE_INTEGER, .min = -0x1p53 + 1, .max = 0x1p53 - 1,           \
        .fallback = "0", .unit = "positions",                                                      \
        .doc = "The first offset; negative ones lie before the anchor."                            \
    }

/* Can rows stand there? If not, `where` is what says so. */
enum pe_status pe_analysis_stand(const struct pe_scheme *scheme,
                                 const struct pe_positions *positions, const char *where,
                                 struct pe_error *err);

/* Sets the first offset; *count: how many there are. */
enum pe_status pe_analysis_offsets(struct pe_view *view, const struct pe_params *params,
                                   size_t *count, struct pe_error *err);
/* The offsets themselves, `count` of them. */
void pe_analysis_offsets_write(const struct pe_view *view, size_t count, int64_t *out);

/* a * b, or the most that there is. */
size_t pe_work_multiply(size_t a, size_t b);

/* Operations, of about half a nanosecond: of cosines of all pairs to a hundred bits, of making a
 * row in doubles, of one product or distance of two. */
size_t pe_work_pairs(const struct pe_scheme *scheme);
size_t pe_work_row(const struct pe_scheme *scheme);
size_t pe_work_product(const struct pe_scheme *scheme);

#endif
