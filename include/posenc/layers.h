/* SPDX-License-Identifier: MIT */
#ifndef POSENC_LAYERS_H
#define POSENC_LAYERS_H

/* The kinds of layers of a config, and what attention does in them beside positions: by keys of the
 * config, else by the class of the model. */

#include "posenc/config.h"

/* Queries far from the start are multiplied by
 * 1 + strength * ln(1 + floor((position + offset) / length)): Llama 4, Ministral 3. */
struct pe_temperature {
    double strength; /* 0: nothing is multiplied */
    double length, offset;
};

/* Vectors of queries and keys are normalised before their product. */
struct pe_qk_norm {
    enum { PE_QK_NORM_NONE, PE_QK_NORM_RMS, PE_QK_NORM_LAYER } kind;
    enum { PE_QK_WEIGHT_NONE, PE_QK_WEIGHT, PE_QK_WEIGHT_FROM_1 } weight; /* 1 + weight: Gemma */
    bool after; /* the rotation, not before it */
    bool whole; /* all heads of a token at once, not each by itself */
    double eps;
};

/* Scores are softcap * tanh(s / softcap), where s = scale * scale_multiplier * q.k + bias. */
struct pe_attention_traits {
    size_t size;   /* sizeof(struct pe_attention_traits), set by the caller */
    int64_t width; /* of a head of queries and keys; 0: that of the encoding; -1: unknown */
    double scale;  /* NAN: 1 / sqrt(width of a head of queries) */
    double scale_multiplier; /* of YaRN's mscale_all_dim; 1: none */
    bool scale_over_layer;   /* divided by the number of the layer too, counted from 1 */
    bool scales_bias;        /* s = scale * (q.k + bias): Falcon's ALiBi */
    double softcap;          /* 0: s is the score */
    int64_t window;          /* a query at t sees keys at t - window + 1 .. t, or, where it is not
                              * causal, t - window .. t + window; 0: all */
    int64_t chunk;           /* a query sees keys of its own chunk of so many positions; 0: all */
    bool causal;             /* no query sees keys after its own position */
    bool sinks;              /* each head has a weight that only adds to the sum of softmax */
    struct pe_temperature temperature;
    struct pe_qk_norm qk_norm;
};

/* Layers that are alike. */
struct pe_config_kind {
    const char *layer_type; /* as pe_config_read takes it; NULL: no name, all are alike */
    bool attends;           /* false: a state space or the like, without positions */
    bool turns;             /* false: no positions are applied in these layers */
    const size_t *layers;   /* their numbers from 0, ascending; NULL: unknown */
    size_t count;
    int64_t window; /* of these, where layers of one type have several windows; 0: one a type */
};

struct pe_config_kinds;

/* A key that engines read differently, and how one of them does. */
struct pe_config_reader {
    char key[200];      /* the path of the key: "rope_scaling.type" */
    const char *engine; /* "transformers", "vllm", "llama.cpp"; constants, as the others */
    const char *reads, *source;
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
/* NULL past the last one. There is one at least. */
PE_API const struct pe_config_kind *pe_config_kind(const struct pe_config_kinds *kinds,
                                                   size_t index);
/* The usual kind, which is read where none is named: full attention that rotates, else the first
 * kind that rotates, else the first one. */
PE_API size_t pe_config_kinds_usual(const struct pe_config_kinds *kinds);

/* Reads the traits of attention in the layers that a reading describes; where no type was named, in
 * those that rotate. PE_MISSING: these differ by window, chunk or sinks. A value of a wrong type is
 * a warning. PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_config_traits(struct pe_config_reading *reading,
                                       struct pe_attention_traits *traits, struct pe_error *err);

/* The same for layers of a kind, whichever layers the reading describes. */
PE_API enum pe_status pe_config_kind_traits(struct pe_config_reading *reading,
                                            const struct pe_config_kind *kind,
                                            struct pe_attention_traits *traits,
                                            struct pe_error *err);

/* Warns of each key about a scale of scores that neither pe_config_traits reads nor pe_attention
 * applies: of each layer, of YaRN; none where scale_given. PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_config_attention(struct pe_config_reading *reading, bool scale_given,
                                          struct pe_error *err);

/* The index-th difference between engines, ordered by key. False: there are no more. */
PE_API bool pe_config_reader(struct pe_config_reading *reading, size_t index,
                             struct pe_config_reader *reader);

/* The layer_type that a reading describes; NULL: none was named. */
PE_API const char *pe_config_layer_meant(const struct pe_config_reading *reading);
/* The keys that lead to the part about text, joined by dots: "text_config"; "": it is the top. */
PE_API const char *pe_config_text_part(const struct pe_config_reading *reading);

/* The source of each unusual trait ("scale", "softcap", "window", "chunk", "sinks", "temperature",
 * "qk_norm", ...) of the last call above; NULL past the last one. */
PE_API const struct pe_config_source *
pe_config_trait_source(const struct pe_config_reading *reading, size_t index);

/* Estimated nanoseconds of one core for a reading, its scheme and its results. */
PE_API double pe_config_read_work(const struct pe_config *config);

/* Marks the keys that `other`, a reading of the same config, has read as read by `reading` too, so
 * that the readings of several kinds of layers have one list of unused keys. Nothing happens where
 * `other` is of another config. */
PE_API void pe_config_read_by(struct pe_config_reading *reading,
                              const struct pe_config_reading *other);

PE_DECLARATIONS_END

#endif
