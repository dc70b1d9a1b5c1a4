/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_ENCODING_H
#define CORE_SCHEME_ENCODING_H

/* What an encoding is made of: a constant struct with its parameters as data and the capabilities
 * it has; absent ones are NULL. The catalogue, the parsers and the docs read the same struct. */

#include <stdatomic.h>

#include "core/base/fail.h"
#include "core/exact/exact.h"
#include "posenc/schemes.h"
#include "posenc/views.h"

struct pe_scale;
struct pe_scale_at;

struct pe_view_type {
    struct pe_view_info info;
    enum pe_status (*open)(struct pe_view *view, const struct pe_params *params,
                           struct pe_error *err);
    void (*fill)(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                 void *out);
    /* The scalar of an index, false past the last one; NULL: there are none. */
    bool (*scalar)(const struct pe_view *view, size_t index, struct pe_scalar *scalar);
};

enum { PE_GRID_AXES_MAX = 3, PE_ROTARY_AXES_MAX = 4 };

struct pe_view {
    const struct pe_scheme *scheme;
    const struct pe_view_type *type;
    enum pe_dtype dtype;
    struct pe_positions positions; /* values owned by the view */
    size_t outputs_count;
    struct pe_output outputs[PE_OUTPUTS_MAX];
    size_t grid[PE_GRID_AXES_MAX]; /* sizes of the axes of a table over a grid */
    size_t queries, keys;          /* of a bias */
    double query_start;
    char *_Atomic *vectors; /* of a bias by distance: one a head, made when first needed */
    bool causal, duplicate;
    bool of_keys; /* a rotary table, where that makes a difference */
    enum { PE_PART_BOTH, PE_PART_COS, PE_PART_SIN, PE_PART_COMPLEX } part;
    struct pe_analysis *analysis; /* of an analysis: what it keeps; see analysis.h */
};

struct pe_encoding {
    struct pe_encoding_info info;
    const struct pe_view_type *const *views; /* ends with NULL */

    /* Checks what no single parameter can, and resolves the cheap part: widths, heads. */
    enum pe_status (*check)(struct pe_scheme *scheme, struct pe_error *err);

    /* Computes what takes time: frequencies, slopes. NULL: nothing does. */
    enum pe_status (*prepare)(struct pe_scheme *scheme, struct pe_error *err);

    /* absolute: how wide a row is (NULL: rows do not stand at positions that can be chosen);
     * whether they can stand at these positions (NULL: at any); one row of the table, or many at
     * once */
    size_t (*row_width)(const struct pe_scheme *scheme);
    enum pe_status (*positions_check)(const struct pe_scheme *scheme,
                                      const struct pe_positions *positions, struct pe_error *err);
    void (*row)(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t index,
                enum pe_dtype dtype, void *out);
    void (*rows)(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t begin,
                 size_t end, enum pe_dtype dtype, void *out);
    /* which pair a column turns with; NULL: columns are no sines and cosines */
    size_t (*column_pair)(const struct pe_scheme *scheme, size_t column);

    /* Does every column belong to a whole pair of sine and cosine? Products and distances of rows
     * then depend on how far their positions are apart alone. NULL: no */
    bool (*turns)(const struct pe_scheme *scheme);

    bool learned; /* rows are those of a table, which is given to the scheme: scheme->table */

    /* rotary: frequencies and A are in scheme->frequencies; what the logits' scale is multiplied by
     * besides (NAN: the parameters do not ask for it) */
    bool rotates;
    pe_real *freq_factor; /* w / w' of a pair: unscaled over scaled */
    double (*softmax_scale_multiplier)(const struct pe_scheme *scheme);
    /* How long a sequence the frequencies are meant for, where they depend on it; NULL: on none. */
    double (*length)(const struct pe_scheme *scheme);
    /* Which of a position's scheme->axes_count coordinates a pair turns with; NULL: a position is
     * one number. And what the coordinates are called: "t,h,w". */
    size_t (*pair_axis)(const struct pe_scheme *scheme, size_t pair);
    const char *axes_names;
    bool axes_alike; /* one number may stand for all coordinates of a position */
    /* What cos and sin of a pair are multiplied by at a position, queries and keys differently:
     * sets a struct pe_scale of core/tables/frequencies.h, whose context `at` becomes; and the
     * largest |ln| of it over all pairs. NULL: nothing but A. */
    void (*scale)(struct pe_scale *scale, const struct pe_scale_at *at);
    double (*scale_reach)(const struct pe_scheme *scheme, double position, bool is_delta);

    /* bias: the slope of a head, where there is one (context: the scheme); and what is added to the
     * logits of one head and one query, for keys begin .. begin + count */
    pe_real *slope;
    void (*bias_row)(const struct pe_scheme *scheme, size_t head, double query, size_t key_begin,
                     size_t key_count, enum pe_dtype dtype, void *out);
    bool bias_by_distance; /* bias_row depends on key - query alone: one row serves many queries */

    /* Which row of a learned table a query and a key have, by distance: key - query. And how many
     * rows a table of biases has, [buckets, heads], where bias_row reads one. */
    int64_t (*bucket)(const struct pe_scheme *scheme, int64_t distance);
    size_t (*buckets)(const struct pe_scheme *scheme);

    /* relative: rel_k and rel_v have 2 * clip + 1 rows; the row of a query and a key is
     * clip(sign * (key - query)) + clip */
    size_t (*clip)(const struct pe_scheme *scheme);
    int (*sign)(const struct pe_scheme *scheme);
    /* ... and where the scheme makes these rows itself, they are `rows` at 0 .. 2 * clip. */
    bool (*makes_vectors)(const struct pe_scheme *scheme);

    /* relative: a query meets `rows` at the distance query - key, which may have to be at least 0
     */
    bool rows_by_distance;
    bool (*past_only)(const struct pe_scheme *scheme);
};

/* The pairs that turn with one coordinate of a position. */
struct pe_rotary_axis {
    size_t count;
    size_t *pairs;                      /* of the scheme's, ascending */
    struct pe_frequencies *frequencies; /* of these alone */
};

struct pe_scheme {
    const struct pe_encoding *encoding;
    struct pe_params params;                   /* a copy with everything resolved */
    struct pe_frequencies *frequencies;        /* absolute and rotary; see frequencies.h */
    struct pe_frequencies *frequencies_across; /* a grid's second axis, where it has its own */
    size_t pairs;                              /* frequencies: half of the width that they turn */
    size_t head_dim, rotary_dim;               /* rotary */
    size_t axes_count;        /* rotary: coordinates of a position; 0: it is one number */
    double coordinate_offset; /* which is added to each of them */
    struct pe_rotary_axis axes[PE_ROTARY_AXES_MAX];
    size_t heads;            /* bias; 0 where any number will do */
    struct pe_exact *slopes; /* bias: one a head, where there are some */
    struct pe_exact *decays; /* rotary: ln of what a pair is scaled by, for one position further */
    int64_t *bounds;         /* buckets: the distances at which they begin */
    size_t bounds_count;
    struct pe_sums *_Atomic sums[2]; /* sandwich: in doubles and in double-doubles; see there */
    double *weights;                 /* buckets: [heads][buckets], learned; NULL: there are none */
    struct pe_tensor table;          /* learned: [rows, width], not owned; rank 0: not given yet */
    bool prepared;
    _Atomic size_t references;
    size_t warnings_count;
    char warnings[4][160]; /* sentences for the answer */
};

/* Every encoding, ending with NULL, in the order of encodings.def. */
extern const struct pe_encoding *const pe_encodings[];

#endif
