/* SPDX-License-Identifier: MIT */
#ifndef CORE_POSITIONS_POSITION_IDS_H
#define CORE_POSITIONS_POSITION_IDS_H

#include "posenc/position_ids.h"

/* The id of the text after a grid: by the spec, or after the grid's larger side in tokens, its
 * largest id, all of its tokens, or its larger side in patches. */
enum pe_ids_advance {
    PE_IDS_AS_REQUESTED,
    PE_IDS_BY_GRID,
    PE_IDS_BY_LARGEST,
    PE_IDS_BY_TOKENS,
    PE_IDS_BY_PATCHES
};

/* Grids whose time is multiplied together with the offset before them. PE_IDS_SCALED_OFFSETS: the
 * offset is all that is multiplied, and the frames have no time of their own. */
enum { PE_IDS_SCALED_IMAGES = 1, PE_IDS_SCALED_VIDEOS = 2, PE_IDS_SCALED_OFFSETS = 4 };

/* A known error in counting ids. Zeros: none. */
struct pe_position_error {
    int shift;
    unsigned scaled; /* PE_IDS_SCALED_ */
    enum pe_ids_advance advance;
    bool uncentred, text_from_zero;                                        /* of generators */
    bool text_counted, after_text, unpadded, unblocked, unscaled, unrated; /* likewise */
    bool no_mask, no_bounds, no_start, no_delta, swapped_ids, swapped_grids, by_columns, flat,
        no_seconds, from_zero;
};

enum { PE_IDS_AXES_MAX = 4 };

struct pe_ids_token {
    size_t row, index; /* within the requested tokens */
    int64_t ids[PE_IDS_AXES_MAX];
    double coordinates[PE_IDS_AXES_MAX]; /* the ids of a model with fractions */
    bool padding;
};

static inline bool pe_ids_is_fractional(const struct pe_ids_model *model)
{
    return model->coordinates != PE_IDS_WHOLE;
}

/* The id of an axis as a double. */
static inline double pe_ids_coordinate(const struct pe_ids_token *token,
                                       const struct pe_ids_model *model, unsigned axis)
{
    return pe_ids_is_fractional(model) ? token->coordinates[axis] : (double)token->ids[axis];
}

/* Receives the requested tokens in order. */
struct pe_ids_sink {
    bool (*take)(void *context, const struct pe_ids_token *token); /* false: stop */
    void *context;
    int64_t *deltas; /* NULL: not requested */
};

/* Counts the tokens of a checked spec with an error. */
enum pe_status pe_ids_iterate(const struct pe_ids_spec *spec, const struct pe_position_error *error,
                              const struct pe_ids_sink *sink, struct pe_work *work,
                              struct pe_error *err);

/* The same for a model with a generator. */
enum pe_status pe_ids_generator_iterate(const struct pe_ids_spec *spec,
                                        const struct pe_position_error *error,
                                        const struct pe_ids_sink *sink, struct pe_work *work,
                                        struct pe_error *err);

/* Fails: ids of the model are no integers. */
enum pe_status pe_ids_fractions_refuse(const struct pe_ids_model *model, struct pe_error *err);

/* Checks the members of a model with a generator, and its grids. */
enum pe_status pe_ids_generator_check(const struct pe_ids_spec *spec, struct pe_error *err);

/* Copies a caller's spec and checks it. */
enum pe_status pe_ids_spec_read(struct pe_ids_spec *ours, const struct pe_ids_spec *given,
                                struct pe_error *err);

#endif
