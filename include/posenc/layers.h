/* SPDX-License-Identifier: MIT */
#ifndef POSENC_LAYERS_H
#define POSENC_LAYERS_H

/* What the attention of a model's layers does beside positions, as its config and the class of the
 * model tell it. */

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
    size_t size;             /* sizeof(struct pe_attention_traits), set by the caller */
    int64_t width;           /* of a head of queries and keys; 0: not told */
    double scale;            /* NAN: 1 / sqrt(width of a head of queries) */
    double scale_multiplier; /* of YaRN's mscale_all_dim; 1: none */
    bool scale_over_layer;   /* divided by the number of the layer too, counted from 1 */
    bool scales_bias;        /* s = scale * (q.k + bias): Falcon's ALiBi */
    double softcap;          /* 0: s is the score */
    int64_t window;          /* a query at t sees keys at t - window + 1 .. t, or, where it is not
                              * causal, t - window .. t + window; 0: all */
    int64_t chunk;           /* a query sees keys of its own chunk of so many positions; 0: all */
    bool causal;             /* no query sees keys behind its own position */
    bool sinks; /* each head has a weight that takes part in the sum of softmax alone */
    struct pe_temperature temperature;
    struct pe_qk_norm qk_norm;
};

PE_DECLARATIONS_BEGIN

/* Reads what attention does in the layers that a reading is about. PE_INVALID: a key has a value of
 * a wrong type. PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_config_traits(struct pe_config_reading *reading,
                                       struct pe_attention_traits *traits, struct pe_error *err);

/* The source of each trait that is not the usual one ("scale", "softcap", "window", "chunk",
 * "sinks", "temperature", "qk_norm", ...), after pe_config_traits; NULL past the last one. */
PE_API const struct pe_config_source *
pe_config_trait_source(const struct pe_config_reading *reading, size_t index);

PE_DECLARATIONS_END

#endif
