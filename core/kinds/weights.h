/* SPDX-License-Identifier: MIT */
#ifndef CORE_KINDS_WEIGHTS_H
#define CORE_KINDS_WEIGHTS_H

#include "core/kinds/bias.h"

/* Learned biases, one for each bucket of distances and each head. */

/* The state of a scheme that is given weights begins with it. */
struct pe_weights {
    double *values; /* [heads][buckets]; NULL: not given */
    size_t heads;
};

/* NULL: the scheme has none, or none are given. */
const struct pe_weights *pe_weights_of(const struct pe_scheme *scheme);

/* Does it lack weights that it could be given, so that only buckets are known? */
bool pe_weights_lack(const struct pe_scheme *scheme);

/* Copies [buckets, heads]; see pe_scheme_give. */
enum pe_status pe_weights_give(struct pe_scheme *scheme, const struct pe_tensor *weights,
                               struct pe_work *work, struct pe_error *err);
/* The `close` of a state that begins with them and owns nothing more. */
void pe_weights_close(void *state);

/* `heads` and `row` of such a bias: the weights themselves, rounded once. */
size_t pe_weights_heads(const struct pe_scheme *scheme);
enum pe_status pe_weights_row(const struct pe_bias_part *part, void *out, struct pe_work *work,
                              struct pe_error *err);

#endif
