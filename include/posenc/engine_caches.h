/* SPDX-License-Identifier: MIT */
#ifndef POSENC_ENGINE_CACHES_H
#define POSENC_ENGINE_CACHES_H

#include "posenc/layouts.h"
#include "posenc/work.h"

/* Caches in the layouts of inference engines: cosines and sines of a rotation, and keys and values.
 * Pure functions of their arguments: any thread. */

/* Cosines and sines of n positions and heads of d elements. */
enum pe_rotary_cache {
    PE_CACHE_HF,   /* transformers: cos and sin [n, d]; a row has its d / 2 numbers twice */
    PE_CACHE_VLLM, /* vLLM, FlashInfer: cos_sin_cache [n, d], cos beside sin */
    PE_CACHE_META, /* Llama: freqs_cis [n, d / 2, 2], cos + i sin */
    PE_CACHE_ONNX, /* ONNX Runtime: cos_cache and sin_cache [n, d / 2] */
    PE_CACHE_GGML, /* llama.cpp: rope_freqs.weight [d / 2], factors that divide frequencies */
    PE_ROTARY_CACHES
};

struct pe_rotary_cache_info {
    const char *name;       /* "vllm" */
    const char *tensors[2]; /* their names; the second is NULL where there is one */
    unsigned rank;          /* of each tensor */
};

/* Axes of a cache of keys and values, a letter each: l layer, k key or value, b batch or block, h
 * head, s position, and d, the elements of a head, last. */
struct pe_kv_axes {
    unsigned rank; /* 0: no axes */
    char letters[PE_RANK_MAX + 1];
    size_t shape[PE_RANK_MAX];
};

/* Sets of axes to iterate over: rows of d elements; heads of each layer, keys and values counted
 * separately; and these in each batch row. */
#define PE_KV_ROWS  "lkbhs"
#define PE_KV_HEADS "lkh"
#define PE_KV_BATCH "lkbh"

PE_DECLARATIONS_BEGIN

/* A constant; NULL for a number that is no cache. */
PE_API const struct pe_rotary_cache_info *pe_rotary_cache_info(enum pe_rotary_cache cache);

/* Sets parts[0] and parts[1] to cos and sin [n, d / 2] in the dtype of the cache, whose tensors are
 * in the order of pe_rotary_cache_info, NULL where one is missing. The data of the parts point into
 * a cache that has them in this form (onnx); else they are NULL, and pe_rotary_cache_split copies
 * them. GGML has one part, its factors.
 *
 * PE_MISSING: a tensor. PE_UNSUPPORTED: no floating dtype. PE_SHAPE_MISMATCH: another rank, an odd
 * width, or rows of hf whose halves differ. PE_INVALID: no such cache. */
PE_API enum pe_status pe_rotary_cache_parts(enum pe_rotary_cache cache,
                                            const struct pe_tensor *const tensors[2],
                                            struct pe_tensor parts[2], struct pe_error *err);

/* Copies a cache into parts of pe_rotary_cache_parts whose data the caller has allocated. Parts
 * that point into the cache stay as they are. */
PE_API void pe_rotary_cache_split(enum pe_rotary_cache cache,
                                  const struct pe_tensor *const tensors[2],
                                  const struct pe_tensor parts[2]);

/* Writes the frequencies base^(-2 i / d) of d / 2 pairs, divided by ggml's factors [d / 2], into
 * `inv_freq`, radians a position in the dtype of the factors. PE_OUT_OF_RANGE for a base or a
 * factor that rope refuses; PE_CANCELLED, PE_TOO_LARGE, PE_OUT_OF_MEMORY of the work. */
PE_API enum pe_status pe_rotary_factors_apply(const struct pe_tensor *factors, double base,
                                              void *inv_freq, struct pe_work *work,
                                              struct pe_error *err);

/* Reads the axes of a tensor. letters NULL: lkbhsd, lbhsd or bhsd, by its rank; PE_MISSING for a
 * smaller one. PE_INVALID at "parameter:axes": a letter unknown or twice, d not last, or another
 * number of letters than axes. */
PE_API enum pe_status pe_kv_axes_parse(struct pe_kv_axes *axes, const char *letters,
                                       const struct pe_tensor *tensor, struct pe_error *err);

/* The length of an axis, 1 without it; elements between two neighbours along it, 0 without it. */
PE_API size_t pe_kv_axes_length(const struct pe_kv_axes *axes, char letter);
PE_API size_t pe_kv_axes_stride(const struct pe_kv_axes *axes, char letter);

/* Places of a set of axes, such as PE_KV_ROWS, are numbered in the order of the cache, the last
 * axis fastest. `among` is the set. Returned are the number of places, the coordinate of a place
 * along one axis (0 if the cache lacks it), and the number of a place in the smaller set `fewer`.
 */
PE_API size_t pe_kv_axes_places(const struct pe_kv_axes *axes, const char *among);
PE_API size_t pe_kv_axes_coordinate(const struct pe_kv_axes *axes, const char *among, size_t place,
                                    char letter);
PE_API size_t pe_kv_axes_project(const struct pe_kv_axes *axes, const char *among, size_t place,
                                 const char *fewer);

/* Describes the cache as *slabs consecutive tensors of the axes *slab: the axes before b, such as
 * layers, make slabs, because each batch row may have positions of its own. PE_INVALID without an
 * s. */
PE_API enum pe_status pe_kv_axes_slabs(const struct pe_kv_axes *axes, struct pe_axes *slab,
                                       size_t *slabs, struct pe_error *err);

PE_DECLARATIONS_END

#endif
