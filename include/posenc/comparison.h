/* SPDX-License-Identifier: MIT */
#ifndef POSENC_COMPARISON_H
#define POSENC_COMPARISON_H

#include "posenc/engine_caches.h"
#include "posenc/pool.h"
#include "posenc/rotation.h"
#include "posenc/tolerance.h"
#include "posenc/views.h"
#include "posenc/work.h"

/* Differences of tables, rotations and caches of one floating dtype. pe_compare compares two
 * arrays; pe_differences_find compares two operands and finds the rows and heads where they differ,
 * and the values outside of the error interval of a path of computation (posenc/tolerance.h). */

/* Sums of a comparison. The caller owns it and zeroes all but `size` and `tolerance`; one thread at
 * a time adds to it. */
struct pe_comparison {
    size_t size;      /* sizeof(struct pe_comparison); later versions may have more members */
    double tolerance; /* values further apart than that diverge */
    uint64_t elements, unequal;
    double max_abs, max_ulp; /* infinite if one value is NaN or infinite and the other differs */
    double squares;          /* sum of the squared differences */
    bool diverges;
    size_t row, column; /* of the first divergence: its row, and the first column in it */
    double a, b;        /* the two values there */
};

/* The largest absolute difference and the largest in ulps of each row or column. The caller owns
 * the arrays and zeroes them before the first call. Either may be NULL. This struct is final. */
struct pe_maxima {
    double *abs, *ulp;
};

/* ---- operands -------------------------------------------------------------------------------- */

/* One of two operands: the tables of a view, tensors, or a tensor that is rotated. Begins as zeros.
 * Whatever it points to must outlive the differences. */
struct pe_operand {
    size_t size; /* sizeof(struct pe_operand); later versions may have more members */
    const struct pe_view *view; /* of tables, of the dtype of the comparison; NULL: tensors */
    /* Tables [.., width], whose other axes are rows: one, or cos and sin of one shape and dtype. */
    const struct pe_tensor *tensors;
    size_t tensors_count;
    /* The one tensor after this rotation, which keeps the layout, in the dtype of the comparison.
     * It has `slabs` times the elements of `axes`. NULL: tensors as they are. */
    const struct pe_rotation_spec *rotation;
    struct pe_axes axes;
    size_t slabs;
};

/* Begins as zeros. */
struct pe_differences_spec {
    size_t size; /* sizeof(struct pe_differences_spec); later versions may have more members */
    const struct pe_operand *a, *b; /* of as many tables, rows and columns */
    enum pe_dtype dtype;            /* values are rounded to it and compared in it */
    double tolerance;               /* of pe_comparison */
    bool by_row, by_pair;           /* find the largest differences of each row, of each pair */
    const struct pe_kv_axes *axes;  /* of both operands, to find those of each head; NULL: none */
    /* Count the values of one operand outside of the error intervals of `path` around the other
     * one, which is a view or a rotation. The counted operand is a if it consists of tensors only,
     * else b. */
    bool has_path;
    enum pe_path path;
    bool keeps_intervals;
};

/* Values outside of their interval. This struct is final. */
struct pe_outside {
    uint64_t count;
    double used; /* the largest fraction of the allowed error that a value inside consumes: of the
                    float32 error, or of a rotation's interval */
    size_t table, row, column; /* of the first one */
    double value;
    struct pe_interval interval;
};

/* The result. New members come after the last one; arrays that were not requested are NULL. */
struct pe_differences_found {
    const struct pe_comparison *sum; /* of all tables */
    size_t table;                    /* of the first divergence */
    size_t tables, rows, columns, pairs, heads;
    struct pe_maxima by_row, by_pair, by_head; /* heads are numbered as PE_KV_HEADS */
    size_t computed;                           /* the operand checked by intervals: 0 a, 1 b */
    struct pe_outside outside;
    const struct pe_interval *intervals; /* [tables][rows][columns]; NAN: a column of no pair */
};

struct pe_differences;

PE_DECLARATIONS_BEGIN

/* Adds rows [row_begin, row_begin + rows) of two tables [.., columns]; a and b point to the first
 * of these rows. The arrays of by_row have row_begin + rows entries at least, those of by_column
 * `columns`; the larger value stays in them. by_row, by_column and work may be NULL. PE_INVALID for
 * a dtype that is no float and a size that is not set; PE_CANCELLED, PE_TOO_LARGE of the work. */
PE_API enum pe_status pe_compare(struct pe_comparison *sum, enum pe_dtype dtype, const void *a,
                                 const void *b, size_t row_begin, size_t rows, size_t columns,
                                 const struct pe_maxima *by_row, const struct pe_maxima *by_column,
                                 struct pe_work *work, struct pe_error *err);
/* Estimated nanoseconds of one core for comparing so many elements, without making them. */
PE_API double pe_comparison_work(double elements);

/* Adds `more` to `sum`, and keeps the first divergence by row, then column. */
PE_API void pe_comparison_join(struct pe_comparison *sum, const struct pe_comparison *more);

/* The root mean square of the differences; 0 without elements. */
PE_API double pe_comparison_rms(const struct pe_comparison *sum);

/* Checks the operands and allocates nothing large. PE_INVALID where a `size` is not set, an operand
 * is none or a view has another dtype; PE_SHAPE_MISMATCH between operands, PE_CONFLICT for a path
 * between two operands of tensors, PE_UNSUPPORTED for dtypes and rotations, PE_TOO_LARGE,
 * PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_differences_new(struct pe_differences **differences,
                                         const struct pe_differences_spec *spec,
                                         struct pe_work *work, struct pe_error *err);
/* Nanoseconds of one core, about, that pe_differences_find and the preparation of its schemes take.
 */
PE_API double pe_differences_work(const struct pe_differences *differences);
/* Compares on the pool; pool NULL: on this thread. The result is the same for any pool. PE_INVALID
 * for a second call and for a scheme that is not prepared; errors of pe_view_fill, pe_rotation_new
 * and pe_tolerance_new; PE_TOO_LARGE, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_differences_find(struct pe_differences *differences, struct pe_pool *pool,
                                          struct pe_error *err);
PE_API void pe_differences_free(struct pe_differences *differences);

/* After pe_differences_find. Any thread, here and below. */
PE_API const struct pe_differences_found *
pe_differences_found(const struct pe_differences *differences);
/* The position of a row, by a view, a rotation or the axes; NAN: unknown. */
PE_API double pe_differences_position(const struct pe_differences *differences, size_t row);
/* The pair of a column, by a view or a rotation; else the column itself. */
PE_API size_t pe_differences_pair(const struct pe_differences *differences, size_t column);

/* The distance of two numbers in ulps, counted in numbers of the dtype; +0 equals -0, and all NaNs
 * are equal. NAN for a dtype that is no float. */
PE_API double pe_ulps_apart(enum pe_dtype dtype, const void *a, const void *b);

/* A double as the nearest number of a floating dtype; NAN for a dtype that is no float. */
PE_API double pe_round_to(double value, enum pe_dtype dtype);

PE_DECLARATIONS_END

#endif
