/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_LEARNED_H
#define CORE_SCHEME_LEARNED_H

#include "core/exact/correct_rounding.h"
#include "core/scheme/rows.h"

/* Kind learned: rows out of a table [rows, width] that is given to the scheme, whose state begins
 * with it as a struct pe_tensor: its elements are not the scheme's. */

struct pe_learned_kind {
    /* How many positions have a row, counted from 0, once the table is there. Required. */
    double (*rows)(const struct pe_scheme *scheme);
};

/* Rank 0: not given yet. */
static inline const struct pe_tensor *pe_learned_table(const struct pe_scheme *scheme)
{
    return scheme->state;
}

/* Keeps the table, not its elements; see pe_scheme_give. */
enum pe_status pe_learned_give(struct pe_scheme *scheme, const struct pe_tensor *table,
                               struct pe_error *err);

/* ---- members of the kinds that encodings of it share ---------------------------------------- */

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
        .doc = "Width of a row; the table's if absent."                                            \
    }

/* `prepare`: PE_MISSING without a table. */
enum pe_status pe_learned_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                  struct pe_error *err);
/* `width` */
size_t pe_learned_width(const struct pe_scheme *scheme);
/* `positions_check`: only whole positions from 0 to rows - 1 have a row; another one is refused,
 * never wrapped. */
enum pe_status pe_learned_positions(const struct pe_scheme *scheme,
                                    const struct pe_positions *positions, struct pe_error *err);

/* Nanoseconds that copying an element takes, about. */
double pe_learned_copy_work(const struct pe_scheme *scheme, enum pe_dtype dtype);

/* ---- reading the table ---------------------------------------------------------------------- */

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

#endif
