/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_COMPARISON_REPORT_H
#define API_ROUTES_COMPARISON_REPORT_H

#include "api/arguments/places.h"
#include "api/routes/engine_caches.h"
#include "api/routes/sides.h"
#include "posenc/comparison.h"
#include "posenc/layouts.h"
#include "posenc/pool.h"
#include "posenc/tolerance.h"

/* Rows are compared in so many stripes, whatever the threads, so that sums are the same. */
enum { COMPARISON_STRIPES = 16 };

/* Values outside of the interval that a way of computing leaves them. */
struct comparison_outside {
    uint64_t count;
    double used;                /* the largest part of float32's error that a value makes use of */
    size_t output, row, column; /* of the first one */
    double value;
    struct pe_interval interval;
};

struct comparison_stripe {
    struct comparison_outside outside;
    struct pe_comparison sum;
    struct pe_maxima by_column;
    unsigned char *rows[2]; /* a chunk of a, one of b */
    struct pe_error err;
};

/* One side is the rotation of a posted tensor by the encoding of the other. */
struct comparison_rotated {
    const struct api_tensor *source; /* NULL: it is not */
    size_t side;                     /* of the encoding */
    enum pe_layout layout;
    struct api_tensor made; /* the source as the service rotates it */
    struct pe_params places_params;
    struct api_places places;
    size_t slabs; /* one behind the other, such as layers, each of: */
    struct pe_axes axes;
    struct pe_positions positions; /* of its tokens */
    bool is_key;                   /* which some schemes rotate in a way of their own */
    size_t pairs;
};

struct comparison_state {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    struct api_request *request;
    struct pe_params params, answer_params;
    struct api_side sides[2];
    enum pe_dtype dtype;
    size_t output; /* being compared */
    size_t chunk_rows;
    struct comparison_stripe stripes[COMPARISON_STRIPES];
    struct pe_maxima by_row, by_pair;
    struct pe_comparison sum;
    struct pe_tolerance *tolerance; /* NULL: none is asked for */
    size_t judged;                  /* the side whose values should lie within it */
    struct comparison_outside outside;
    struct pe_interval *intervals; /* [outputs][rows][columns]; NULL: they are not asked for */
    size_t first_output;           /* the one of the first divergence */
    struct pe_kv_axes heads; /* of two caches of keys and values; rank 0: the sides are tables */
    struct comparison_rotated rotated;
};

/* Reads the axes, where both sides are tensors of rank 4 or more. */
enum pe_status comparison_heads_read(struct comparison_state *state, struct pe_error *err);
/* {"axes": "lkh", "shape": [...], "max_abs": [...], "max_ulp": [...]}: the largest differences of
 * each layer, of keys and of values, and of each head; the caller's. */
json_t *comparison_heads_json(const struct comparison_state *state);

/* The pair that a column belongs to, by the encoding of a side; the column itself where none knows.
 */
size_t comparison_pair(const struct comparison_state *state, size_t column);

/* ---- tolerances (comparison_tolerance.c) ---------------------------------------------------- */

/* Which side is judged by the other, if a tolerance is asked for. */
enum pe_status comparison_tolerance_open(struct comparison_state *state, struct pe_error *err);
/* Once the schemes are prepared. */
enum pe_status comparison_tolerance_prepare(struct comparison_state *state, struct pe_error *err);
/* Nanoseconds of an element. */
double comparison_tolerance_work(const struct comparison_state *state);
/* Rows [begin, begin + rows) of a stripe. */
void comparison_tolerance_judge(const struct comparison_state *state,
                                struct comparison_stripe *stripe, size_t begin, size_t rows);
/* One value of the side that is judged, in the row `row` of the table, element `at` of the stripe's
 * rows; its interval is kept where those are asked for. */
void comparison_value_judge(const struct comparison_state *state, struct comparison_stripe *stripe,
                            size_t row, size_t at, const struct pe_interval *interval);
void comparison_tolerance_join(struct comparison_state *state,
                               const struct comparison_stripe *stripe);
json_t *comparison_tolerance_json(const struct comparison_state *state);
/* The intervals of all elements; NULL: they are not asked for. */
json_t *comparison_intervals_json(const struct comparison_state *state);

/* ---- rotations (comparison_rotated.c) ------------------------------------------------------- */

/* Finds the tensor that the other side is the rotation of, by its name; else nothing is set. */
void comparison_rotated_find(struct comparison_state *state);
/* Opens the encoding's side, once the other is open and the dtype is known. */
enum pe_status comparison_rotated_open(struct comparison_state *state, struct pe_error *err);
/* Where the tokens stand, once the axes are read. */
enum pe_status comparison_rotated_places(struct comparison_state *state, struct pe_error *err);
/* Rotates the source, once the scheme is prepared. */
enum pe_status comparison_rotated_prepare(struct comparison_state *state, struct pe_error *err);
void comparison_rotated_judge(const struct comparison_state *state,
                              struct comparison_stripe *stripe, size_t begin, size_t rows);
double comparison_rotated_position(const struct comparison_state *state, size_t row);
size_t comparison_rotated_pair(const struct comparison_state *state, size_t column);

/* The position of a row, where one is known: of an encoding's own, else of what was said. */
double comparison_position(const struct comparison_state *state, size_t row);

/* The report of a comparison that is done, the caller's; NULL: memory is short. */
json_t *comparison_report(const struct comparison_state *state);

#endif
