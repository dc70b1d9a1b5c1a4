/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENGINES_ROTATION_H
#define CORE_ENGINES_ROTATION_H

/* What the layers of a config rotate, and how two rotations differ. */

#include "core/config/tree.h"
#include "posenc/engines.h"
#include "posenc/layers.h"

/* Of one kind of layers, for sequences of one length. */
struct pe_engine_rotation {
    size_t pairs; /* that move */
    const double *frequencies;
    double factor;      /* of cosines and sines */
    double scale;       /* of the softmax; 0: unknown */
    double base;        /* of the encoding */
    bool is_scaled;     /* its rope type is not default */
    const char *layout; /* "half" or "interleaved"; NULL: unknown */
};

/* A kind of layers. */
struct pe_engine_layers {
    const char *layer_type; /* NULL: none */
    const size_t *numbers;  /* of the layers; NULL: unknown */
    size_t count;
    bool rotates;
    int64_t window;
    double context; /* max_position_embeddings; 0: none */
    double reach;   /* factor × original_max_position_embeddings; 0: it lacks one of them */
    double changes; /* the length at which longrope's frequencies change; 0: they do not */
    struct pe_engine_rotation rotations[2]; /* at the lengths of the model */
};

/* A config read for one or two lengths, the longest first. Texts are the config's. */
struct pe_engine_model {
    struct pe_config_kinds *kinds;
    struct pe_engine_layers *layers;
    size_t count;
    int64_t lengths[2];
    size_t lengths_count;
};

/* lengths NULL: those of the config itself. Memory for the arrays is taken from `memory`; `model`
 * is to be released in any case. PE_UNSUPPORTED where no layer rotates along one axis. */
enum pe_status pe_engine_model_read(struct pe_engine_model *model, const struct pe_config *config,
                                    const struct pe_engine_model *lengths,
                                    struct pe_config_memory *memory, struct pe_error *err);
/* Sets the lengths of the model to its own: the longest context, and the length at which
 * frequencies change below it. */
void pe_engine_lengths_set(struct pe_engine_model *model);
/* Do frequencies of a model change at a length of its own at which the other is not read? */
bool pe_engine_lengths_differ(const struct pe_engine_model *model,
                              const struct pe_engine_model *other);
void pe_engine_model_release(struct pe_engine_model *model);

/* The layers of another model that have to agree with these; NULL: there are none. */
const struct pe_engine_layers *pe_engine_layers_match(const struct pe_engine_layers *layers,
                                                      const struct pe_engine_model *other);

/* Sets `difference` and returns true where layers of `theirs` rotate otherwise. */
bool pe_engine_layers_differ(const struct pe_engine_model *ours,
                             const struct pe_engine_layers *layers,
                             const struct pe_engine_layers *theirs,
                             struct pe_engine_difference *difference);

#endif
