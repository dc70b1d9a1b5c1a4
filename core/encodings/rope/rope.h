/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_ROPE_ROPE_H
#define CORE_ENCODINGS_ROPE_ROPE_H

#include "core/encodings/rope/type.h"

/* Encodings with the parameters of rope_params.def: the types of rope_types.def and members of the
 * kind rotary. */

extern const char pe_rope_type_choices[]; /* ",default,linear,..." */
/* In the order of the list; NULL past the last one. */
const struct pe_rope_type *pe_rope_type_at(size_t index);
const struct pe_rope_type *pe_rope_type_of(const struct pe_scheme *scheme);

/* Members of encodings with the parameters of rope_params.def; their states begin with struct
 * pe_rotary. */
enum pe_status pe_rope_check(struct pe_scheme *scheme, struct pe_error *err);
enum pe_status pe_rope_prepare(struct pe_scheme *scheme, struct pe_work *work,
                               struct pe_error *err);
double pe_rope_work(const struct pe_scheme *scheme);
pe_real pe_rope_freq_factor;
double pe_rope_softmax_scale_multiplier(const struct pe_scheme *scheme);
double pe_rope_length(const struct pe_scheme *scheme);

#endif
