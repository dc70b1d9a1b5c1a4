/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_READINGS_H
#define API_ROUTES_READINGS_H

/* Reads the posted tensors as rows of cos and sin, in every layout they could have. Long tensors
 * are sampled, to bound the time. */

#include "api/arguments/function.h"
#include "api/arguments/places.h"
#include "api/routes/handler.h"
#include "posenc/diagnosis.h"

enum { API_READINGS_MAX = 4 };

/* The positions of the rows of a batch row: of all, and of those that are chosen, [axes, rows]. */
struct api_row_places {
    struct pe_positions all;
    const double *chosen;
};
struct api_batch_places {
    struct api_row_places *rows; /* one of each batch row, or one of all */
    size_t count;
};

/* The dtypes that hold every value that was read. */
struct api_grain {
    bool lost[PE_BF16 + 1];
    bool told; /* there were others than 0, 1 and -1 */
};

/* Rows of a tensor as one reading takes them; the context of their `read`. */
struct api_columns {
    size_t first, step; /* pair k is element first + k * step of a row */
    size_t count;       /* pairs beyond it have none: NaN */
    size_t copy;        /* elements from a pair to its copy; 0: there is none */
};
struct api_reading_rows {
    struct pe_sample_rows all;
    const struct api_tensor *cos, *sin; /* either may be NULL */
    struct api_columns columns[2];      /* of cos, of sin */
    size_t width, pairs;                /* elements of a row; of them */
};

/* Where the heads of tokens lie that are turned alike: element j of head [o][i] of a token is
 * first + o * outer_step + i * inner_step + token * token_step + j; tokens are counted over all
 * batch rows. */
struct api_heads {
    size_t first, outer, outer_step, inner, inner_step, token_step;
    size_t sequence,
        batch_step; /* tokens of a batch row, and from it to the next; 0: there is one */
};

/* The elements of a head behind those that turn. */
struct api_kept {
    size_t end;              /* elements of a head */
    double noise;            /* the rms of their changes in the tokens that are chosen */
    enum pe_dtype precision; /* that they have after */
};

/* q and q_rotated, in one layout of pairs. */
struct api_tokens {
    struct pe_sample_rows all;
    const struct pe_tensor *before, *after;
    struct api_heads heads;
    size_t pairs, second, step; /* pair k is the elements k * step and k * step + second */
    double weight;              /* what weights of a head are multiplied by */
    struct api_kept kept;
};

struct api_readings {
    struct api_request *request;
    const struct pe_scheme *expected; /* NULL: nothing is */
    const char *layout;               /* that is expected; NULL: any */
    const struct api_places *places;
    const char *axes; /* of q; NULL: not said */
    size_t rows_posted, rows_count;
    struct pe_positions all; /* of all rows */
    const double *positions; /* of the rows that are looked at closely, [axes, rows] */
    size_t *rows;            /* which they are */
    struct api_grain grain;
    size_t count;
    struct pe_sample list[API_READINGS_MAX];
    struct api_reading_rows rows_of[API_READINGS_MAX];
    struct api_tokens tokens_of[API_READINGS_MAX];
};

/* Is one thing posted, and no more? PE_MISSING, PE_CONFLICT. */
enum pe_status api_readings_check(struct api_request *request, struct pe_error *err);

/* Finds the tensors that it knows (cos, sin, freqs_cis, table, inv_freq, q and q_rotated) and reads
 * them; `expected` is not looked at any deeper than its widths. */
enum pe_status api_readings_make(struct api_readings *readings, struct pe_error *err);

/* The width of a head, or of a row, that is told by the tensors; 0: it is not. */
size_t api_readings_dim(struct api_request *request);

/* How many of `total` rows of so many pairs, one at least, are looked at. */
size_t api_readings_rows_of(size_t total, size_t pairs);

/* ---- among the files of readings ------------------------------------------------------------ */

/* "tensor:NAME must be ...". */
enum pe_status api_readings_refuse(const char *name, const char *expected, struct pe_error *err);
enum pe_status api_readings_no_memory(struct pe_error *err);

double *api_readings_room(const struct api_readings *readings, size_t count);

/* How many rows are posted: those of all batch rows, one behind the other. */
struct api_sheet {
    size_t batch, sequence;
    size_t width; /* elements of a row */
};

/* Chooses the rows to look at, and finds their positions. */
enum pe_status api_readings_rows(struct api_readings *readings, const char *name,
                                 const struct api_sheet *sheet, size_t pairs, struct pe_error *err);
/* The same of the rows of one batch row, with the positions of each. */
enum pe_status api_readings_batch(struct api_readings *readings, const char *name,
                                  const struct api_sheet *sheet, size_t pairs,
                                  struct api_batch_places *batch, struct pe_error *err);

/* One element, which must be finite; noted in the grain. */
enum pe_status api_readings_element(struct api_readings *readings, const struct api_tensor *tensor,
                                    size_t at, double *out, struct pe_error *err);

/* The coarsest dtype that holds every value: that is how they were rounded, whatever dtype they are
 * in now. */
enum pe_dtype api_readings_precision(const struct api_grain *grain, enum pe_dtype dtype);

/* Lets a diagnosis read all rows of the tensor that a reading's cos, or sin, was read of. */
void api_readings_all(struct api_readings *readings, struct pe_sample *reading, bool is_sin,
                      const struct api_tensor *tensor, size_t width, struct api_columns columns);

/* Elements first + k * step of a tensor for k < count, in doubles. */
void api_readings_elements(const struct pe_tensor *tensor, size_t first, size_t step, size_t count,
                           double *out);

/* Element 0 of a head of a token. */
size_t api_heads_element(const struct api_heads *heads, size_t head, size_t token);

/* Lets a diagnosis read every one of the heads of every token, at positions of all tokens. */
void api_readings_tokens(struct api_tokens *tokens, const struct pe_positions *positions,
                         struct pe_sample *reading);

/* The turn of each pair of one token, by least squares over all heads, [pairs] each; a pair's
 * weight is how long it is. Any thread. */
void api_tokens_turn(const struct api_tokens *tokens, size_t token, double *cos, double *sin,
                     double *weight);

/* A reading of the rows that were chosen, with neither cos nor sin yet. */
struct pe_sample *api_readings_add(struct api_readings *readings, const char *layout, size_t pairs,
                                   enum pe_dtype dtype);

/* q and q_rotated. */
enum pe_status api_readings_rotated(struct api_readings *readings, const struct api_tensor *before,
                                    const struct api_tensor *after, struct pe_error *err);

#endif
