/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_PARTS_KERPLE_H
#define CORE_ENCODINGS_PARTS_KERPLE_H

#include "core/scheme/encoding.h"

/* What the two kernels of KERPLE share: an element is made from two numbers of its head, which are
 * learned, and a distance. */
struct pe_kerple {
    double a, p;
    int64_t distance; /* |key - query| */
};

/* Smaller numbers lose parts of their products in double-doubles. */
#define PE_KERPLE_LEAST 0x1p-400

struct pe_exact pe_kerple_distance(const struct pe_kerple *element);
void pe_kerple_distance_set(mpfr_ptr out, const struct pe_kerple *element);

/* Writes a row of elements, that of distance 0 being 0. `write` has RN of any other. */
typedef void pe_kerple_write(const struct pe_kerple *element, enum pe_dtype dtype, void *out);
void pe_kerple_row(const struct pe_scheme *scheme, size_t head, double query, size_t key_begin,
                   size_t key_count, enum pe_dtype dtype, void *out, pe_kerple_write *write);

#endif
