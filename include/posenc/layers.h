/* SPDX-License-Identifier: MIT */
#ifndef POSENC_LAYERS_H
#define POSENC_LAYERS_H

/* The kinds of layers of a config, and the traits of their attention other than positions: from
 * keys of the config, else from the class of the model. */

#include "posenc/config.h"

/* Queries far from the start are multiplied by
 * 1 + strength * ln(1 + floor((position + offset) / length)): Llama 4, Ministral 3. */
struct pe_temperature {
    double strength; /* 0: no temperature */
    double length, offset;
};

/* Vectors of queries and keys are normalised before their product. */
struct pe_qk_norm {
    enum { PE_QK_NORM_NONE, PE_QK_NORM_RMS, PE_QK_NORM_LAYER } kind;
    enum { PE_QK_WEIGHT_NONE, PE_QK_WEIGHT, PE_QK_WEIGHT_FROM_1 } weight; /* 1 + weight: Gemma */
    bool after; /* after the rotation; else before it */
    bool whole; /* all heads of a token together; else each head by itself */
    double eps;
};

/* Scores are softcap * tanh(s / softcap), where s = scale * scale_multiplier * q.k + bias. */
struct pe_attention_traits {
    size_t size;   /* sizeof(struct pe_attention_traits), set by the caller */
    int64_t width; /* of a head of queries and keys; 0: that of the encoding; -1: unknown */
    double scale;  /* NAN: 1 / sqrt(width of a head of queries) */
    double scale_multiplier; /* of YaRN's mscale_all_dim; 1: none */
    bool scale_over_layer;   /* also divided by the number of the layer, counted from 1 */
    bool scales_bias;        /* s = scale * (q.k + bias): Falcon's ALiBi */
    double softcap;          /* 0: s is the score */
    int64_t window;          /* visible keys of a query at t: t - window + 1 .. t; if not causal,
                              * t - window .. t + window; 0: all */
    int64_t chunk; /* visible keys are in the query's own run of so many positions; 0: all */
    bool causal;   /* keys after the query's position are hidden */
    bool sinks;    /* each head has a logit in the sum of its softmax, without a value */
    struct pe_temperature temperature;
    struct pe_qk_norm qk_norm;
};

/* Layers with the same positions and attention. */
struct pe_config_kind {
    const char *layer_type; /* for pe_config_read; NULL: no name, the config has one type */
    bool attends;           /* false: a state space or the like, without positions */
    bool turns;             /* rotates; false: no positions are applied in these layers */
    const size_t *layers;   /* their numbers from 0, ascending; NULL: unknown */
    size_t count;
    int64_t window; /* if layers of one type have several windows, theirs; else 0 */
};

struct pe_config_kinds;

/* A key that engines read differently, and how one of them does. */
struct pe_config_reader {
    char key[200];      /* the path of the key: "rope_scaling.type" */
    const char *engine; /* "transformers", "vllm", "llama.cpp"; constants, as the others */
    const char *reads, *source;
};

/* A rotary beside those of the layers' own queries and keys, with the frequencies of one of them.
 */
struct pe_config_rotary {
    const char *where;      /* "indexer": of queries and keys by which sparse attention chooses
                             * tokens; constants, as the others */
    const char *layer_type; /* the layers whose frequencies it has; NULL: all that rotate */
    const char *layout;     /* "half", "interleaved" */
    int64_t width;          /* of its heads, of which as many elements rotate as of the layers' */
    bool last;              /* the last elements of a head rotate; else the first */
    const char *note;       /* a sentence about its positions; NULL: none */
};

PE_DECLARATIONS_BEGIN

/* The types of layers whose positions differ, in the order of the config; NULL past the last one,
 * and at once where all layers have the same positions. */
PE_API const char *pe_config_layer_type(const struct pe_config *config, size_t index);

/* Finds the kinds of layers of a config, in the order of their first layers. Immutable once made;
 * the config must outlive it. PE_TOO_LARGE: more than 64 kinds. PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_config_kinds_new(struct pe_config_kinds **kinds,
                                          const struct pe_config *config, struct pe_error *err);
PE_API void pe_config_kinds_free(struct pe_config_kinds *kinds); /* NULL: nothing happens */
/* NULL past the last one; there is at least one. */
PE_API const struct pe_config_kind *pe_config_kind(const struct pe_config_kinds *kinds,
                                                   size_t index);
/* The default kind, for callers that name none: full attention that rotates, else the first kind
 * that rotates, else the first one. */
PE_API size_t pe_config_kinds_usual(const struct pe_config_kinds *kinds);

/* Reads the attention traits of the layers that a reading describes; without a layer_type, of those
 * that rotate. PE_MISSING: these differ in window, chunk or sinks. A value of a wrong type is a
 * warning. PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_config_traits(struct pe_config_reading *reading,
                                       struct pe_attention_traits *traits, struct pe_error *err);

/* The same for layers of a kind, whichever layers the reading describes. */
PE_API enum pe_status pe_config_kind_traits(struct pe_config_reading *reading,
                                            const struct pe_config_kind *kind,
                                            struct pe_attention_traits *traits,
                                            struct pe_error *err);

/* Warns of each key that scales scores in a way that neither pe_config_traits reads nor
 * pe_attention applies: per layer, or by YaRN. scale_given: no warnings. PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_config_attention(struct pe_config_reading *reading, bool scale_given,
                                          struct pe_error *err);

/* The index-th difference between engines, ordered by key. False: there are no more. */
PE_API bool pe_config_reader(struct pe_config_reading *reading, size_t index,
                             struct pe_config_reader *reader);

/* The index-th rotary beside those of the layers. False: there are no more. */
PE_API bool pe_config_rotary(struct pe_config_reading *reading, size_t index,
                             struct pe_config_rotary *rotary);

/* The layer_type that a reading describes; NULL: none was named. */
PE_API const char *pe_config_layer_meant(const struct pe_config_reading *reading);
/* The path of the part about text: "text_config"; "": it is the top. */
PE_API const char *pe_config_text_part(const struct pe_config_reading *reading);

/* The source of each unusual trait ("scale", "softcap", "window", "chunk", "sinks", "temperature",
 * "qk_norm", ...) of the last call above; NULL past the last one. */
PE_API const struct pe_config_source *
pe_config_trait_source(const struct pe_config_reading *reading, size_t index);

/* Estimated nanoseconds of one core for a reading, its scheme and its results. */
PE_API double pe_config_read_work(const struct pe_config *config);

/* Marks the keys that `other` has read as read by `reading` too, so that the readings of several
 * kinds of layers have one list of unused keys. Does nothing unless both are of one config. */
PE_API void pe_config_read_by(struct pe_config_reading *reading,
                              const struct pe_config_reading *other);

PE_DECLARATIONS_END

#endif
