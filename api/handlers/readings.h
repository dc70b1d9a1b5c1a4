/* SPDX-License-Identifier: MIT */
#ifndef API_HANDLERS_READINGS_H
#define API_HANDLERS_READINGS_H

/* Reads the posted tensors as rows of cos and sin, in every layout they could have. Long tensors
 * are sampled, to bound the time. */

#include "api/arguments/function.h"
#include "api/arguments/places.h"
#include "api/handlers/handler.h"
#include "posenc/diagnosis.h"

enum { API_READINGS_MAX = 4 };

/* The dtypes that hold every value that was read. */
struct api_grain {
    bool lost[PE_BF16 + 1];
    bool told; /* there were others than 0, 1 and -1 */
};

struct api_readings {
    struct api_request *request;
    const struct pe_scheme *expected; /* NULL: nothing is */
    const char *layout;               /* that is expected; NULL: any */
    const struct api_places *places;
    const char *axes; /* of q; NULL: not said */
    size_t rows_posted, rows_count;
    double *positions; /* of the rows that are looked at */
    size_t *rows;      /* which they are */
    struct api_grain grain;
    size_t count;
    struct pe_sample list[API_READINGS_MAX];
};

/* Is one thing posted, and no more? API_MISSING, API_CONFLICT. */
enum api_status api_readings_check(struct api_request *request, struct api_error *err);

/* Finds the tensors that it knows (cos, sin, freqs_cis, table, inv_freq, q and q_rotated) and reads
 * them; `expected` is not looked at any deeper than its widths. */
enum api_status api_readings_make(struct api_readings *readings, struct api_error *err);

/* The width of a head, or of a row, that is told by the tensors; 0: it is not. */
size_t api_readings_dim(struct api_request *request);

/* How many of `total` rows of so many pairs, one at least, are looked at. */
size_t api_readings_rows_of(size_t total, size_t pairs);

/* ---- among the files of readings ------------------------------------------------------------ */

/* "tensor:NAME must be ...". */
enum api_status api_readings_refuse(const char *name, const char *expected, struct api_error *err);
enum api_status api_readings_no_memory(struct api_error *err);

double *api_readings_room(const struct api_readings *readings, size_t count);

/* Chooses the rows to look at, and finds their positions. */
enum api_status api_readings_rows(struct api_readings *readings, const char *name, size_t total,
                                  size_t pairs, struct api_error *err);

/* One element, which must be finite; noted in the grain. */
enum api_status api_readings_element(struct api_readings *readings, const struct api_tensor *tensor,
                                     size_t at, double *out, struct api_error *err);

/* A reading of the rows that were chosen, with neither cos nor sin yet. */
struct pe_sample *api_readings_add(struct api_readings *readings, const char *layout, size_t pairs,
                                   enum pe_dtype dtype);

/* q and q_rotated. */
enum api_status api_readings_rotated(struct api_readings *readings, const struct api_tensor *before,
                                     const struct api_tensor *after, struct api_error *err);

#endif
