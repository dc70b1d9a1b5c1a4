/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_PLACES_H
#define API_ARGUMENTS_PLACES_H

/* Positions of the tokens of a rotation, or how far they move. */

#include "api/arguments/function.h"

struct api_places {
    bool from_zero;    /* set by the caller: where nothing is said, tokens stand at 0, 1, 2 ... */
    size_t axes_count; /* coordinates of a position, set by the caller; 0: it is one number */
    bool is_delta;
    struct api_numbers numbers; /* not given: start and step */
    double start, step;
    struct api_numbers ends; /* cu_seqlens: where sequences that are packed begin, and the end */
};

/* A set of start and step, for api_bind. */
void api_places_params(struct pe_params *params);

/* Is this the tensor that holds positions, delta or cu_seqlens? */
bool api_places_hold(const struct api_places *places, const char *tensor);

/* Reads positions, start, step, delta and cu_seqlens. One way must be given (but for from_zero),
 * and no two. */
enum pe_status api_places_read(struct api_request *request, struct pe_params *params,
                               struct api_places *places, struct pe_error *err);

/* The places of one tensor's tokens; `name` is for the error. */
enum pe_status api_places_fit(struct api_request *request, const struct api_places *places,
                              const struct pe_axes *axes, const char *name,
                              struct pe_positions *positions, struct pe_error *err);

#endif
