/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_ENGINE_CACHES_H
#define API_ROUTES_ENGINE_CACHES_H

/* Caches of engines (posenc/engine_caches.h) among the tensors of a request and in reports. */

#include "api/request/request.h"
#include "posenc/engine_caches.h"

/* A parameter that names one, in the order of enum pe_rotary_cache. */
#define API_ENGINES "hf=transformers,vllm=flashinfer,meta=llama,onnx=onnxruntime,ggml=llama.cpp"
#define API_PARAM_CACHE                                                                            \
    {                                                                                              \
        .name = "cache", .type = PE_CHOICE, .choices = API_ENGINES,                                \
        .doc = "The engine whose cache is posted. hf: cos and sin [n, d], each row repeated side " \
               "by side. vllm: cos_sin_cache [n, d]. meta: freqs_cis [n, d / 2, 2]. onnx: "        \
               "cos_cache and sin_cache [n, d / 2]. ggml: rope_freqs.weight [d / 2]. All but hf "  \
               "are recognised by the names of the tensors."                                       \
    }

/* The cache of a name or an alias; -1: there is none. */
int api_engine_cache_named(const char *name);
/* True for the name of one of its tensors. */
bool api_engine_cache_holds(enum pe_rotary_cache cache, const char *tensor);
/* cos and sin [n, pairs] of a cache among the tensors; of ggml the factors alone. Errors as
 * pe_rotary_cache_parts. */
enum pe_status api_engine_cache_read(struct api_request *request, enum pe_rotary_cache cache,
                                     struct api_tensor parts[2], struct pe_error *err);

/* Replaces a cache among the tensors by cos and sin: the cache that `params` names, or whose
 * tensors are posted. ggml's factors stay. PE_CONFLICT: two caches. */
enum pe_status api_engine_cache_replace(struct api_request *request, const struct pe_params *params,
                                        struct pe_error *err);

/* Replaces the tensor `table` [2, ...] by cos and sin: npy and raw bytes have both outputs of a
 * rotary table in one array. Other tensors stay. */
enum pe_status api_stacked_table_split(struct api_request *request, struct pe_error *err);

/* Moves the tensors inv_freq and rope_freqs.weight into the parameters of an encoding, with
 * rope_type custom. */
enum pe_status api_posted_frequencies(struct api_request *request, struct pe_params *params,
                                      struct pe_error *err);

/* ggml's factors in a diagnosis, which reads them as frequencies of a base. */
struct api_factors {
    const struct pe_tensor *posted; /* NULL: none */
    struct api_tensor *inv_freq;    /* replaces them among the tensors */
    struct pe_tensor copy;
};

/* Replaces the factors by a tensor inv_freq of their dtype, whose numbers are not yet set. */
enum pe_status api_factors_open(struct api_request *request, struct api_factors *factors,
                                struct pe_error *err);
/* Sets its numbers: the plain frequencies of the scheme's base, divided by the factors. */
enum pe_status api_factors_apply(struct api_request *request, const struct api_factors *factors,
                                 const struct pe_scheme *scheme, struct pe_error *err);

/* {"l": 3, "b": 0, ...}: the coordinates of a place. */
json_t *api_kv_place_json(const struct pe_kv_axes *axes, const char *among, size_t place);
/* Sets "axes": "lh" and "shape": [32, 8] of the heads. */
void api_kv_heads_report(const struct pe_kv_axes *axes, json_t *report);

#endif
