/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_ENCODING_H
#define CORE_SCHEME_ENCODING_H

/* What an encoding is made of: a constant struct with its parameters as data and the capabilities
 * it has; absent ones are NULL. The catalogue, the parsers and the docs read the same struct. */

#include <stdatomic.h>

#include "core/exact/exact.h"
#include "posenc/posenc.h"

enum pe_param_type {
    PE_NUMBER,
    PE_INTEGER,
    PE_BOOLEAN,
    PE_CHOICE,  /* one of `choices`; the value is its index */
    PE_NUMBERS, /* a list: 1,2.5,3 */
    PE_RANGES,  /* a list with inclusive ranges: 0,5,7..9,-3..-1 */
    PE_TEXT,    /* free text, for the layer that looks it up: the name of a table */
};

struct pe_param {
    const char *name;
    const char *aliases; /* "rope_theta,theta"; the name is what is echoed */
    enum pe_param_type type;
    double min, max; /* inclusive; of each element of a list; both 0: any finite number */
    bool above_min;  /* min itself is outside */
    bool required;
    bool nested;          /* a list may be one of lists of one length: 0,1;2..3 */
    const char *fallback; /* default, as text; NULL: none */
    const char
        *choices;     /* "interleaved,concatenated", aliases behind '=': "half=neox=rotate_half" */
    const char *unit; /* "positions", "elements"; NULL: a plain number */
    const char *doc;  /* one sentence */
};

/* Sets no value: everything absent. `list` is kept. */
void pe_params_init(struct pe_params *params, const struct pe_param *list, size_t count);

/* The index of a name or alias, or -1. */
int pe_params_find(const struct pe_params *params, const char *name);

/* Parses and checks one value. A list given twice is joined; anything else given twice with
 * another value is PE_CONFLICT. `where` of an error is "parameter:NAME". */
enum pe_status pe_params_set_text(struct pe_params *params, size_t index, const char *text,
                                  struct pe_error *err);
enum pe_status pe_params_set_number(struct pe_params *params, size_t index, double number,
                                    struct pe_error *err);
enum pe_status pe_params_set_list(struct pe_params *params, size_t index, const double *list,
                                  size_t count, struct pe_error *err);
/* A list of lists: `rows` times `columns`. */
enum pe_status pe_params_set_rows(struct pe_params *params, size_t index, const double *list,
                                  size_t rows, size_t columns, struct pe_error *err);

/* Sets "name=value" pairs separated by white space or '&'. */
enum pe_status pe_params_set_pairs(struct pe_params *params, const char *text,
                                   struct pe_error *err);
/* Sets what another set has under a parameter of the same type. */
enum pe_status pe_params_set_value(struct pe_params *params, size_t index,
                                   const struct pe_param *param, const struct pe_value *value,
                                   struct pe_error *err);

/* Fills in defaults and asks for what is required. */
enum pe_status pe_params_finish(struct pe_params *params, struct pe_error *err);

/* Values by name, for code that knows its own parameters; the name must exist. */
const struct pe_value *pe_param_value(const struct pe_params *params, const char *name);
double pe_param_number(const struct pe_params *params, const char *name);    /* NAN where absent */
const char *pe_param_text(const struct pe_params *params, const char *name); /* NULL likewise */
bool pe_param_given(const struct pe_params *params, const char *name);
/* The main spelling of a choice ("half" for neox). `index` is the value. */
size_t pe_choice_name(const struct pe_param *param, size_t index, char *out, size_t size);

struct pe_scale;
struct pe_scale_at;

struct pe_view_type {
    const char *name;  /* "table" */
    const char *group; /* what its path begins with, "analysis"; NULL: nothing */
    const char *title; /* "The table" */
    const char *doc;   /* its tensors and their shapes, in sentences */
    const char *note;  /* a sentence that every answer says; NULL: there is none */
    const char
        *example;       /* a query that works after the encoding's: "length=3"; NULL: none needed */
    const char *tensor; /* that can be posted: "weights"; NULL: none */
    const struct pe_param *params;
    size_t params_count;
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
    const char *name;    /* "rope" */
    const char *family;  /* "absolute", "rotary", "bias", "relative" */
    const char *title;   /* one line */
    const char *formula; /* plain text */
    const char *source;  /* where it was published */
    const struct pe_param *params;
    size_t params_count;
    const struct pe_view_type *const *views; /* ends with NULL */
    const char
        *example; /* its own parameters, small and such as work: "dim=8"; NULL: none needed */

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

/* pe_scheme_new in its two halves. The first is cheap: enough for a view's shape and a cache's
 * validator. The second must come before anything is filled; calling it again does nothing. */
enum pe_status pe_scheme_check(struct pe_scheme **scheme, const struct pe_encoding *encoding,
                               const struct pe_params *params, struct pe_error *err);
enum pe_status pe_scheme_prepare(struct pe_scheme *scheme, struct pe_error *err);

/* The pairs that turn with one coordinate of a position. */
struct pe_rotary_axis {
    size_t count;
    size_t *pairs;                      /* of the scheme's, ascending */
    struct pe_frequencies *frequencies; /* of these alone */
};

/* Do positions lie beyond the length that a scheme's frequencies are meant for? *farthest is the
 * largest position then. */
bool pe_scheme_beyond(const struct pe_scheme *scheme, const struct pe_positions *positions,
                      double *farthest);

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
    size_t warnings_count;
    char warnings[4][160]; /* sentences for the answer */
};

/* Bytes that a view keeps when it is filled, besides its outputs. */
size_t pe_view_kept(const struct pe_view *view);

/* Every encoding, ending with NULL, in the order of encodings.def. */
extern const struct pe_encoding *const pe_encodings[];
const struct pe_encoding *pe_encoding_find(const char *name); /* NULL: there is none */
const struct pe_view_type *pe_encoding_view(const struct pe_encoding *encoding, const char *view);

#endif
