/* SPDX-License-Identifier: MIT */
#ifndef POSENC_EXTENSION_H
#define POSENC_EXTENSION_H

/* A config for a longer context: what to change in a config.json whose frequencies are not scaled,
 * which pairs of a head rotate otherwise then, and which cached keys are void.
 *
 *   struct pe_extension *extension;
 *
 *   if (!pe_extension_new(&extension, config, 131072, "yarn", work, &err))
 *       for (size_t i = 0; (layers = pe_extension_layers(extension, i)); i++)
 *           printf("%zu of %zu pairs\n", layers->pairs, layers->of);
 *   pe_extension_free(extension);
 *
 * Every patch is applied and read back before it is offered. An extension says nothing about the
 * quality of a model's output. Immutable once made: any thread. */

#include "posenc/engines.h"

struct pe_extension;

/* What becomes of the keys in a cache that was filled before the change. */
enum pe_extension_cache {
    PE_CACHE_VALID,  /* the rotation is the same */
    PE_CACHE_SCALED, /* it is the same but for the attention factor */
    PE_CACHE_VOID    /* at least one pair rotates otherwise */
};

/* A kind of layers, after the change. New members come after the last one. */
struct pe_extension_layers {
    const char *layer_type; /* NULL: none */
    const size_t *numbers;  /* of the layers, from 0; NULL: unknown */
    size_t count;
    bool rotates;
    size_t pairs, of;   /* pairs with another frequency, among how many that rotate */
    size_t first, last; /* of these pairs, from 0; 0 where there are none */
    double radians;     /* the worst difference of an angle at `at` */
    int64_t at;         /* the last position of the new context */
    double factor_before, factor_after; /* attention factor: cosines and sines are times it */
    enum pe_extension_cache cache;
};

PE_DECLARATIONS_BEGIN

/* rope_type: "yarn", "linear", "dynamic" or "ntk" (that of vLLM, which transformers lacks); NULL:
 * yarn. `to` is in positions. `extension` is to be freed in any case; the config must outlive it.
 * work may be NULL and is charged for memory and time.
 * PE_CONFLICT: the config is scaled already. PE_MISSING: it has no context. PE_OUT_OF_RANGE: `to`
 * is not longer. PE_INVALID: no such rope_type, or one whose values cannot be calculated.
 * PE_UNSUPPORTED: no rotation along one axis, a learned table, a GGUF file, or a model whose code
 * reads no such scaling. The errors of pe_config_read and pe_config_scheme. `where` is
 * "parameter:to", "parameter:type", or a place in the config. */
PE_API enum pe_status pe_extension_new(struct pe_extension **extension,
                                       const struct pe_config *config, int64_t to,
                                       const char *rope_type, struct pe_work *work,
                                       struct pe_error *err);
PE_API void pe_extension_free(struct pe_extension *extension); /* NULL: nothing happens */
/* Estimated nanoseconds of one core. */
PE_API double pe_extension_work(const struct pe_config *config);

PE_API const char *pe_extension_type(const struct pe_extension *extension);
PE_API int64_t pe_extension_from(const struct pe_extension *extension);  /* the config's context */
PE_API double pe_extension_factor(const struct pe_extension *extension); /* to / from */

/* Of form 4 (rope_theta and rope_scaling) or 5 (rope_parameters): the patch, whose members replace
 * those of the config, within objects too, where null removes one (RFC 7396), and the config with
 * it. NULL: there is no such patch, and pe_extension_reason is a sentence about why, else NULL. */
PE_API const struct pe_config_node *pe_extension_patch(const struct pe_extension *extension,
                                                       int form);
PE_API const struct pe_config *pe_extension_config(const struct pe_extension *extension, int form);
PE_API const char *pe_extension_reason(const struct pe_extension *extension, int form);

/* In the order of their first layers; NULL past the last one. */
PE_API const struct pe_extension_layers *pe_extension_layers(const struct pe_extension *extension,
                                                             size_t index);

/* The complete rope object of form 5 and the context, in their places in a config, for programs
 * that override these keys of an unpatched config; NULL: there is no patch of form 5. */
PE_API const struct pe_config_node *pe_extension_override(const struct pe_extension *extension);

PE_DECLARATIONS_END

#endif
