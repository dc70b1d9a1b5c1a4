/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_ROTARY_H
#define CORE_SCHEME_ROTARY_H

#include "core/scheme/waves.h"
#include "core/tables/bulk.h"

/* Kind rotary: frequencies that turn pairs of queries and keys. */

/* ---- the state of its schemes --------------------------------------------------------------- */

enum { PE_ROTARY_AXES_MAX = 4 };

/* The pairs that turn with one coordinate of a position. */
struct pe_rotary_axis {
    size_t count;
    size_t *pairs;                      /* of the scheme's, ascending */
    struct pe_frequencies *frequencies; /* of these alone */
};

/* The state of a rotary scheme begins with it. `check` sets all members but those
 * that are said to be prepared. */
struct pe_rotary {
    struct pe_waves waves; /* frequencies and A are prepared */
    size_t head_dim, rotary_dim;
    bool in_float32;          /* cosines and sines are made in that arithmetic */
    size_t axes_count;        /* coordinates of a position; 0: it is one number */
    double coordinate_offset; /* which is added to each of them */
    struct pe_rotary_axis axes[PE_ROTARY_AXES_MAX]; /* prepared */
};

/* ---- the kind ------------------------------------------------------------------------------- */

/* Positions of several coordinates, each of which some pairs turn with. */
struct pe_rotary_axes_kind {
    const char *names; /* "t, h, w". Required */
    bool alike;        /* one number may stand for all coordinates of a position */
    /* The coordinate, below axes_count, that a pair turns with. Required. */
    size_t (*pair_axis)(const struct pe_scheme *scheme, size_t pair);
};

/* Where a scale is asked for. */
struct pe_scale_at {
    const struct pe_scheme *scheme;
    size_t pair;
    struct pe_position position;
    bool is_delta; /* the position is a distance */
    int sign;      /* 1, or -1 for its inverse: of keys, or to undo that of queries */
};

/* A factor of cos and sin that depends on the position, instead of A; of keys its inverse. */
struct pe_rotary_scale_kind {
    /* The factor at a place, whose address becomes the context of *scale. Required. */
    void (*at)(struct pe_scale *scale, const struct pe_scale_at *at);
    /* Nanoseconds that a cosine and its scale take at the positions, about. Required. */
    double (*work)(const struct pe_scheme *scheme, const struct pe_positions *positions);
    /* The same for all places, for the kernels: `write` and its context are the caller's, is_delta
     * says whether positions are distances. Required. */
    void (*all)(struct pe_table_scales *scales, const struct pe_scheme *scheme, bool is_delta);
    /* The largest |ln| of it over all pairs. Required. */
    double (*reach)(const struct pe_scheme *scheme, double position, bool is_delta);
};

struct pe_rotary_kind {
    /* Optional, since few encodings have them: */
    pe_real *freq_factor; /* w / w' of a scheme and a pair, unscaled over scaled */
    /* A further factor for the softmax scale (YaRN); NAN: none. */
    double (*softmax_scale_multiplier)(const struct pe_scheme *scheme);
    /* How long a sequence the frequencies are meant for. NULL: they do not depend on it. */
    double (*length)(const struct pe_scheme *scheme);
    const struct pe_rotary_axes_kind *axes;   /* NULL: a position is one number */
    const struct pe_rotary_scale_kind *scale; /* NULL: nothing but A */

    /* The view `table` of positions that are given in a way of their own. Its `of` is
     * pe_view_rotary_table_of. NULL: by length, start and step, or listed. */
    const struct pe_view_type *table;

    /* Sets the parameters that the width of a head tells, unless they are given. Required. */
    enum pe_status (*infer)(struct pe_params *params, const struct pe_attention_spec *spec,
                            struct pe_error *err);
};

/* The `infer` of an encoding whose parameter dim is the width of a head. */
enum pe_status pe_rotary_infer_dim(struct pe_params *params, const struct pe_attention_spec *spec,
                                   struct pe_error *err);

/* Does a row of cos and sin depend on one number alone, A being the same for all? */
bool pe_rotary_is_plain(const struct pe_encoding *encoding);

/* ---- schemes of it -------------------------------------------------------------------------- */

static inline const struct pe_rotary *pe_rotary_of(const struct pe_scheme *scheme)
{
    return scheme->state;
}

/* Sorts the pairs by the coordinate that they turn with, once the frequencies are there. */
enum pe_status pe_rotary_axes_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                      struct pe_error *err);
/* The `close` of a state that is struct pe_rotary, or begins with it and owns nothing more. */
void pe_rotary_close(void *state);

/* Have these positions as many coordinates as the scheme's? `where` is for the error. */
enum pe_status pe_rotary_positions_check(const struct pe_scheme *scheme,
                                         const struct pe_positions *positions, const char *where,
                                         struct pe_error *err);

/* Do the scales of all positions lie within e^+-most? */
enum pe_status pe_rotary_reach_check(const struct pe_scheme *scheme,
                                     const struct pe_positions *positions, bool is_delta,
                                     double most, const char *where, struct pe_error *err);

/* Nanoseconds that a cosine or a sine takes, about: where both of a pair are made together, and
 * where one is made alone. */
double pe_rotary_work(const struct pe_scheme *scheme, const struct pe_positions *positions,
                      enum pe_dtype dtype, bool both);

/* The rows that pe_rotary_fill makes. */
struct pe_rotary_rows {
    const struct pe_scheme *scheme;
    const struct pe_positions *positions;
    enum pe_amplitude amplitude;
    enum pe_dtype dtype;
    bool is_delta;      /* positions are distances */
    bool inverse_scale; /* of keys, or to undo that of queries */
};

/* pe_table_fill of a prepared scheme: each pair at the coordinate that it turns with. */
enum pe_status pe_rotary_fill(const struct pe_table *table, const struct pe_rotary_rows *rows,
                              size_t begin, size_t end, struct pe_work *work, struct pe_error *err);

#endif
