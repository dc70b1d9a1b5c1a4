/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_ROTARY_H
#define CORE_SCHEME_ROTARY_H

#include "core/scheme/scheme.h"
#include "core/tables/table_fill.h"

/* Kind rotary: frequencies at which pairs of elements of queries and keys rotate. */

/* ---- the state of its schemes --------------------------------------------------------------- */

enum { PE_ROTARY_AXES_MAX = 8 };

/* The pairs that rotate with one coordinate of a position. */
struct pe_rotary_axis {
    size_t count;
    size_t *pairs;                      /* indices into the scheme's pairs, ascending */
    struct pe_frequencies *frequencies; /* of these alone */
};

/* The state of a rotary scheme begins with it. `check` sets all members but those marked as
 * prepared. */
struct pe_rotary {
    struct pe_waves waves; /* frequencies and the attention factor A are prepared */
    size_t head_dim, rotary_dim;
    bool in_float32;                    /* cosines and sines are computed in float32 arithmetic */
    size_t axes_count;                  /* coordinates of a position; 0: a position is one number */
    double offsets[PE_ROTARY_AXES_MAX]; /* added to the coordinates, but not to their distances */
    struct pe_rotary_axis axes[PE_ROTARY_AXES_MAX]; /* prepared */
};

/* ---- the kind ------------------------------------------------------------------------------- */

/* Positions of several coordinates, each of which rotates some of the pairs. */
struct pe_rotary_axes_kind {
    const char *names; /* "t, h, w". Required */
    bool alike;        /* a position may be one number, used for all coordinates */
    /* The coordinate, below axes_count, that rotates a pair. Required. */
    size_t (*pair_axis)(const struct pe_scheme *scheme, size_t pair);
};

/* Where a scale is evaluated. */
struct pe_scale_at {
    const struct pe_scheme *scheme;
    size_t pair;
    struct pe_position position;
    bool is_delta; /* the position is a distance */
    int sign;      /* -1: the inverse scale, of keys or to undo that of queries; else 1 */
};

/* A factor of cos and sin that depends on the position and replaces A; keys have its inverse. */
struct pe_rotary_scale_kind {
    /* The factor at a place, whose address becomes the context of *scale. Required. */
    void (*at)(struct pe_scale *scale, const struct pe_scale_at *at);
    /* Estimated nanoseconds of a cosine with its scale, at the positions. Required. */
    double (*cost)(const struct pe_scheme *scheme, const struct pe_positions *positions);
    /* The scales of all places, for the kernels; the caller sets `write` and its context. is_delta:
     * positions are distances. Required. */
    void (*all)(struct pe_table_scales *scales, const struct pe_scheme *scheme, bool is_delta);
    /* The largest |ln scale| over all pairs. Required. */
    double (*reach)(const struct pe_scheme *scheme, double position, bool is_delta);
};

struct pe_rotary_kind {
    pe_real *freq_factor; /* unscaled over scaled frequency of a pair (context: the scheme) */
    /* A further factor of the softmax scale (YaRN); NAN: none. */
    double (*softmax_scale_multiplier)(const struct pe_scheme *scheme);
    /* The sequence length that the frequencies are intended for. NULL: any. */
    double (*length)(const struct pe_scheme *scheme);
    const struct pe_rotary_axes_kind *axes;   /* NULL: a position is one number */
    const struct pe_rotary_scale_kind *scale; /* NULL: only A */

    /* The view `table` where positions are given in another way than by length, start and step or
     * as a list. Its `of` is pe_view_rotary_table_of. NULL: they are not. */
    const struct pe_view_type *table;

    /* Derives parameters that are not given from the width of a head. Required. */
    enum pe_status (*infer)(struct pe_params *params, const struct pe_attention_spec *spec,
                            struct pe_error *err);
};

/* The `infer` of an encoding whose parameter dim is the width of a head. */
enum pe_status pe_rotary_infer_dim(struct pe_params *params, const struct pe_attention_spec *spec,
                                   struct pe_error *err);

/* True where a row of cos and sin depends on one number, and A is the same for all rows. */
bool pe_rotary_is_plain(const struct pe_encoding *encoding);

/* ---- schemes of it -------------------------------------------------------------------------- */

static inline const struct pe_rotary *pe_rotary_of(const struct pe_scheme *scheme)
{
    return scheme->state;
}

/* Groups the pairs by the coordinate that rotates them; the frequencies must be there. */
enum pe_status pe_rotary_axes_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                      struct pe_error *err);
/* The `close` of a state that is struct pe_rotary, or begins with it and owns nothing more. */
void pe_rotary_close(void *state);

/* Checks the number of coordinates, and that they may be offset. `where` is for the error. */
enum pe_status pe_rotary_positions_check(const struct pe_scheme *scheme,
                                         const struct pe_positions *positions, const char *where,
                                         struct pe_error *err);

/* Checks that the scales of all positions lie within e^+-most. */
enum pe_status pe_rotary_reach_check(const struct pe_scheme *scheme,
                                     const struct pe_positions *positions, bool is_delta,
                                     double most, const char *where, struct pe_error *err);

/* Estimated nanoseconds of a cosine or a sine. both: both of a pair are computed together. */
double pe_rotary_cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                      enum pe_dtype dtype, bool both);

/* The rows that pe_rotary_fill writes. */
struct pe_rotary_rows {
    const struct pe_scheme *scheme;
    const struct pe_positions *positions;
    enum pe_amplitude amplitude;
    enum pe_dtype dtype;
    bool is_delta;      /* positions are distances */
    bool inverse_scale; /* of keys, or to undo that of queries */
};

/* The pairs that rotate with one coordinate, at evenly spaced values of it: rows [begin, end) of
 * the positions, which are not listed and whose start has an exact sum with the offset. */
enum pe_status pe_rotary_axis_fill(const struct pe_table *table, const struct pe_scheme *scheme,
                                   size_t axis, const struct pe_positions *positions, size_t begin,
                                   size_t end, enum pe_dtype dtype, struct pe_work *work,
                                   struct pe_error *err);

/* pe_table_fill of a prepared scheme: each pair at the coordinate that rotates it. */
enum pe_status pe_rotary_fill(const struct pe_table *table, const struct pe_rotary_rows *rows,
                              size_t begin, size_t end, struct pe_work *work, struct pe_error *err);

#endif
