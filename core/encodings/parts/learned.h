/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_PARTS_LEARNED_H
#define CORE_ENCODINGS_PARTS_LEARNED_H

#include "core/scheme/encoding.h"

/* What the encodings whose rows are those of a given table have in common. */

#define PE_PARAMS_LEARNED                                                                          \
    {.name = "table",                                                                              \
     .type = PE_TEXT,                                                                              \
     .required = true,                                                                             \
     .doc = "The name of the table whose rows these are."},                                        \
        {.name = "version",                                                                        \
         .type = PE_INTEGER,                                                                       \
         .min = 1,                                                                                 \
         .max = 0x1p53 - 1,                                                                        \
         .doc = "Which version of the table; the latest if absent."},                              \
    {                                                                                              \
        .name = "dim", .type = PE_INTEGER, .min = 1, .max = 1 << 20, .unit = "elements",           \
        .doc = "How wide the rows are expected to be; as wide as the table's if absent."           \
    }

/* Keeps the table, not its elements; see pe_scheme_give. */
enum pe_status pe_scheme_table(struct pe_scheme *scheme, const struct pe_tensor *table,
                               struct pe_error *err);

/* row_width */
size_t pe_learned_width(const struct pe_scheme *scheme);

/* Only whole positions from 0 to rows - 1 have a row: another one is refused, never wrapped. */
enum pe_status pe_learned_positions(const struct pe_scheme *scheme, double rows,
                                    const struct pe_positions *positions, struct pe_error *err);
/* The position of a row that was checked. */
size_t pe_learned_position(const struct pe_positions *positions, size_t index);

/* Elements of the table's row, from a column on, in double: exact. */
void pe_learned_read(const struct pe_scheme *scheme, size_t row, size_t column, size_t count,
                     double *out);
/* The whole row, each element rounded once. */
void pe_learned_copy(const struct pe_scheme *scheme, size_t row, enum pe_dtype dtype, void *out);

/* May double-doubles hold products of three such? 0 is none of them: its sign would go. */
static inline bool pe_learned_is_moderate(double value)
{
    const double size = value < 0 ? -value : value;

    return size > 0x1p-200 && size < 0x1p200;
}

/* RN of a real number whose size is known as `truncated` (PE_LEARNED_BITS bits, towards 0) and as
 * more than that where something was cut off. Rounding to odd at that precision makes the second
 * rounding as good as the only one. `truncated` has PE_LEARNED_BITS + 2 bits of room. */
enum { PE_LEARNED_BITS = 128 };
void pe_learned_finish(mpfr_ptr truncated, bool cut, enum pe_dtype dtype, void *out);

#endif
