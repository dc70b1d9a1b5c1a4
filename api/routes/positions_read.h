/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_POSITIONS_READ_H
#define API_ROUTES_POSITIONS_READ_H

#include "api/arguments/function.h"
#include "api/routes/handler.h"
#include "posenc/position_ids.h"

/* A request of POST /v1/positions, read. Arrays lie in the arena. */
struct api_positions_asked {
    struct pe_params params;
    struct pe_ids_spec spec;
    const int64_t *posted; /* position_ids [posted_axes, rows, count]; NULL: ids are asked for */
    unsigned posted_axes;
};

/* Binds `answer_params` too. */
enum pe_status api_positions_asked_read(struct api_request *request,
                                        struct api_positions_asked *asked,
                                        struct pe_params *answer_params, struct pe_error *err);

/* ---- between positions_read.c and positions_tokens.c ----------------------------------------- */

/* Lists of a request: of tokens first, whose shapes are alike. */
enum api_positions_list {
    API_POSITIONS_KINDS,
    API_POSITIONS_INPUT_IDS,
    API_POSITIONS_MASK,
    API_POSITIONS_OF_TOKENS,
    API_POSITIONS_LENGTHS = API_POSITIONS_OF_TOKENS,
    API_POSITIONS_IMAGES,
    API_POSITIONS_VIDEOS,
    API_POSITIONS_SECONDS,
    API_POSITIONS_BOUNDS,
    API_POSITIONS_POSTED,
    API_POSITIONS_LISTS
};

/* "mm_token_type_ids" */
extern const char *const api_positions_names[API_POSITIONS_LISTS];

struct api_positions_reading {
    struct api_request *request;
    struct api_positions_asked *asked;
    struct api_numbers lists[API_POSITIONS_LISTS];
    struct pe_error *err;
};

/* NULL: it was not posted. */
const struct api_numbers *api_positions_list(const struct api_positions_reading *reading,
                                             enum api_positions_list list);
const struct pe_value *api_positions_value(const struct api_positions_reading *reading,
                                           const char *name);
size_t api_positions_count(const struct api_numbers *numbers);
enum pe_status api_positions_no_memory(const struct api_positions_reading *reading);

/* Sets rows, tokens, kinds and mask of the spec, whose model, grids and bounds are set. */
enum pe_status api_positions_tokens_read(struct api_positions_reading *reading);

#endif
