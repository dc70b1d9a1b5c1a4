/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_PARTS_WEIGHTS_H
#define CORE_ENCODINGS_PARTS_WEIGHTS_H

#include "core/scheme/encoding.h"

/* Copies the weights; see pe_scheme_give. */
enum pe_status pe_scheme_weights(struct pe_scheme *scheme, const struct pe_tensor *weights,
                                 struct pe_error *err);

/* The bias_row of an encoding of buckets: the learned weights themselves, rounded once. */
void pe_weights_row(const struct pe_scheme *scheme, size_t head, double query, size_t key_begin,
                    size_t key_count, enum pe_dtype dtype, void *out);

#endif
