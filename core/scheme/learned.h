/* SPDX-License-Identifier: MIT */
#ifndef CORE_SCHEME_LEARNED_H
#define CORE_SCHEME_LEARNED_H

#include "core/exact/correct_rounding.h"
#include "core/scheme/rows.h"

/* Kind learned: rows of a table [rows, width] that is given to the scheme. The state begins with it
 * as a struct pe_tensor; the elements belong to the caller. */

struct pe_learned_kind {
    /* How many positions, counted from 0, have a row, once the table is given. Required. */
    double (*rows)(const struct pe_scheme *scheme);

    /* Refuses a table whose shape does not suit the parameters. NULL: any shape does. */
    enum pe_status (*table_check)(const struct pe_scheme *scheme, const struct pe_tensor *table,
                                  struct pe_error *err);
};

/* Rank 0: not given yet. */
static inline const struct pe_tensor *pe_learned_table(const struct pe_scheme *scheme)
{
    return scheme->state;
}

/* Stores the table without copying its elements; see pe_scheme_give. */
enum pe_status pe_learned_give(struct pe_scheme *scheme, const struct pe_tensor *table,
                               struct pe_error *err);

/* ---- members that its encodings share -------------------------------------------------------- */

#define PE_PARAMS_LEARNED                                                                          \
    {.name = "table", .type = PE_TEXT, .required = true, .doc = "The name of the learned table."}, \
        {.name = "version",                                                                        \
         .type = PE_INTEGER,                                                                       \
         .min = 1,                                                                                 \
         .max = 0x1p53 - 1,                                                                        \
         .doc = "The version of the table; the latest if absent."},                                \
    {                                                                                              \
        .name = "dim", .type = PE_INTEGER, .min = 1, .max = 1 << 20, .unit = "elements",           \
        .doc = "The number of elements in a row; that of the table if absent."                     \
    }

/* `prepare`: PE_MISSING without a table. */
enum pe_status pe_learned_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                  struct pe_error *err);
/* `width` */
size_t pe_learned_width(const struct pe_scheme *scheme);
/* `positions_check`: positions other than the integers from 0 to rows - 1 are refused. */
enum pe_status pe_learned_positions(const struct pe_scheme *scheme,
                                    const struct pe_positions *positions, struct pe_error *err);

/* Estimated nanoseconds of copying an element. */
double pe_learned_copy_cost(const struct pe_scheme *scheme, enum pe_dtype dtype);

/* ---- reading the table ---------------------------------------------------------------------- */

/* The table row of a position that was checked. */
size_t pe_learned_position(const struct pe_positions *positions, size_t index);

/* Elements of a row, from a column on, as doubles: exact. */
void pe_learned_read(const struct pe_scheme *scheme, size_t row, size_t column, size_t count,
                     double *out);
/* A complete row, each element rounded once. */
void pe_learned_copy(const struct pe_scheme *scheme, size_t row, enum pe_dtype dtype, void *out);

/* True where products of three such numbers fit double-doubles. False for 0, whose sign would be
 * lost. */
static inline bool pe_learned_is_moderate(double value)
{
    const double size = value < 0 ? -value : value;

    return size > 0x1p-200 && size < 0x1p200;
}

#endif
