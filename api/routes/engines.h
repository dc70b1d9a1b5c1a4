/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ENGINES_H
#define API_ROUTES_ENGINES_H

/* Caches of cosines and sines that are posted as engines lay them out, the same that tables with
 * `cache` are answered in. */

#include "api/request/request.h"

enum api_engine {
    API_ENGINE_HF,   /* cos, sin [n, d], each row twice side by side */
    API_ENGINE_VLLM, /* cos_sin_cache [n, d], cos beside sin */
    API_ENGINE_META, /* freqs_cis [n, d / 2, 2] */
    API_ENGINE_ONNX, /* cos_cache, sin_cache [n, d / 2] */
    API_ENGINE_GGML, /* rope_freqs.weight [d / 2] */
};

/* A parameter that names one of them. */
#define API_ENGINES "hf=transformers,vllm=flashinfer,meta=llama,onnx=onnxruntime,ggml=llama.cpp"
#define API_PARAM_CACHE                                                                            \
    {                                                                                              \
        .name = "cache", .type = PE_CHOICE, .choices = API_ENGINES,                                \
        .doc = "How a posted cache lies: hf cos and sin [n, d], each row twice; vllm "             \
               "cos_sin_cache [n, d]; meta freqs_cis [n, d/2, 2]; onnx cos_cache and sin_cache "   \
               "[n, d/2]; ggml rope_freqs.weight [d/2]. All but hf are known by their names."      \
    }

/* Makes cos and sin [n, pairs] of a cache among the tensors. PE_SHAPE_MISMATCH; PE_MISSING:
 * the request has no such tensors; PE_UNSUPPORTED: they are no floats. Not of ggml's. */
enum pe_status api_engine_read(struct api_request *request, enum api_engine cache,
                               struct api_tensor *cos, struct api_tensor *sin,
                               struct pe_error *err);

/* The cache of a name, other spellings included; -1: there is none. */
int api_engine_named(const char *name);
const char *api_engine_name(enum api_engine cache); /* "vllm" */
/* Is this the name of one of its tensors? */
bool api_engine_holds(enum api_engine cache, const char *tensor);
/* Factors [pairs] of ggml as they were posted; errors as api_engine_read. */
enum pe_status api_engine_factors_read(struct api_request *request, struct api_tensor *factors,
                                       struct pe_error *err);

/* Puts cos and sin in place of a cache among the tensors: the one that `params` names, or the one
 * whose names are there. ggml's factors stay as they are. PE_CONFLICT: there are two. */
enum pe_status api_engine_split(struct api_request *request, const struct pe_params *params,
                                struct pe_error *err);

/* Replaces the tensor `table` of [2, ...] by cos and sin: the two outputs of a rotary table as npy
 * and raw bytes have them, one behind the other. Any other tensor is left as it is. */
enum pe_status api_engine_unstack(struct api_request *request, struct pe_error *err);

/* Sets rope_type custom with the frequencies or factors that are among the tensors (inv_freq,
 * rope_freqs.weight), which are then no tensors of the request any more. */
enum pe_status api_engine_frequencies(struct api_request *request, struct pe_params *params,
                                      struct pe_error *err);

/* ggml's factors, which are diagnosed as the frequencies that they make of a base. */
struct api_engine_factors {
    const struct pe_tensor *posted; /* NULL: none are */
    struct api_tensor *inv_freq;    /* in their place among the tensors */
    struct pe_tensor copy;
};

/* Puts a tensor inv_freq of their dtype in place of the factors, without its numbers. */
enum pe_status api_engine_factors_open(struct api_request *request,
                                       struct api_engine_factors *factors, struct pe_error *err);
/* Writes its numbers: the plain frequencies of a scheme's base, divided. */
enum pe_status api_engine_factors_make(struct api_request *request,
                                       const struct api_engine_factors *factors,
                                       const struct pe_scheme *scheme, struct pe_error *err);

#endif
