/* SPDX-License-Identifier: MIT */
#ifndef API_ROUTES_KV_AXES_H
#define API_ROUTES_KV_AXES_H

/* The axes of a cache of keys and values, a letter each: l layer, k key or value, b batch or block,
 * h head, s position, and d last. */

#include "api/routes/handler.h"

struct kv_axes {
    unsigned rank; /* 0: none were read */
    char letters[PE_RANK_MAX + 1];
    size_t shape[PE_RANK_MAX];
};

/* Axes of a tensor. `letters` NULL: the usual ones of its rank, lkbhsd, lbhsd or bhsd. */
enum pe_status kv_axes_read(struct kv_axes *axes, const struct pe_tensor *tensor,
                            const char *letters, struct pe_error *err);

/* Numbers that count through some of the axes, in the order that those have: of rows through all
 * but the last; of heads, each layer's by itself, of keys or of values; and of their batch rows. */
#define KV_ROWS  "lkbhs"
#define KV_HEADS "lkh"
#define KV_BATCH "lkbh"

size_t kv_axes_total(const struct kv_axes *axes, const char *among);
/* The index that a number has on an axis; 0 where there is no such letter. */
size_t kv_axes_index(const struct kv_axes *axes, const char *among, size_t number, char letter);
/* The number among fewer axes. */
size_t kv_axes_number(const struct kv_axes *axes, const char *among, size_t number,
                      const char *fewer);
/* {"l": 3, "b": 0, ...}: where it stands. */
json_t *kv_axes_place_json(const struct kv_axes *axes, const char *among, size_t number);

/* How many there are along an axis, and how many elements lie between two; 1 and 0 without it. */
size_t kv_axes_count(const struct kv_axes *axes, char letter);
size_t kv_axes_step(const struct kv_axes *axes, char letter);

/* Sets "axes": "lh" and "shape": [32, 8] of the heads. */
void kv_axes_heads_tell(const struct kv_axes *axes, json_t *report);

#endif
