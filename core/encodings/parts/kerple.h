/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_PARTS_KERPLE_H
#define CORE_ENCODINGS_PARTS_KERPLE_H

#include "core/encodings/parts/heads.h"

/* An element of the two kernels of KERPLE: made of two numbers of its head, which are learned, and
 * a distance. */
struct pe_kerple {
    double a, p;
    int64_t distance; /* |key - query| */
};

/* Smaller numbers lose parts of their products in double-doubles. */
#define PE_KERPLE_LEAST 0x1p-400

struct pe_exact pe_kerple_distance(const struct pe_kerple *element);

/* A learned parameter: one for all heads or one for each. */
#define PE_PARAM_KERPLE(letter, most, text)                                                        \
    {                                                                                              \
        .name = letter, .aliases = "bias_" letter, .type = PE_NUMBERS, .min = 0,                   \
        .above_min = true, .max = most, .required = true, .doc = text                              \
    }

/* `check` */
enum pe_status pe_kerple_check(struct pe_scheme *scheme, struct pe_error *err);

/* `row`, that of distance 0 being 0. `write` has RN of any other element. */
typedef void pe_kerple_write(const struct pe_kerple *element, enum pe_dtype dtype, void *out);
enum pe_status pe_kerple_row(const struct pe_bias_part *part, void *out, pe_kerple_write *write,
                             struct pe_work *work, struct pe_error *err);

/* Is a parameter of some head so small that wide numbers are made of it? */
bool pe_kerple_is_slow(const struct pe_scheme *scheme);

#endif
