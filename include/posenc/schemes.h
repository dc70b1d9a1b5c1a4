/* SPDX-License-Identifier: MIT */
#ifndef POSENC_SCHEMES_H
#define POSENC_SCHEMES_H

#include "posenc/dtype.h"
#include "posenc/encodings.h"
#include "posenc/work.h"

/* A scheme: an encoding with its parameters resolved (frequencies, attention factor, slopes).
 *
 * Open it, give it tensors where the encoding learns some, prepare it; pe_scheme_new does so at
 * once where there are no tensors to give. From then on it is immutable: any number of threads
 * may use it and share it. A scheme may outlive the work that it was made with, whose bytes are
 * given back when the work is freed. A scheme is counted by references, and must outlive the views,
 * rotations and attentions made of it. */
struct pe_scheme;

/* Positions t = start + i * step for i < count, as real numbers without rounding; or, where values
 * is not NULL, those values. batch > 1: values has batch rows of count; axes > 1: that many times
 * as many, [axes][batch][count]. |t| <= 2^53 - 1. */
struct pe_positions {
    double start, step;
    const double *values;
    size_t count;
    size_t batch;       /* 0 and 1 mean the same positions for every batch row */
    size_t axes;        /* coordinates of a position; 0 and 1: a position is one number */
    size_t reserved[2]; /* for later versions: 0 */
};

PE_DECLARATIONS_BEGIN

/* Opens and prepares. The parameters are read and not kept; defaults are filled in. PE_INVALID
 * where they are those of another encoding. PE_NOT_FOUND: encoding is NULL. PE_MISSING,
 * PE_OUT_OF_RANGE, PE_CONFLICT, PE_SHAPE_MISMATCH for parameters; PE_CANCELLED, PE_OUT_OF_MEMORY.
 */
PE_API enum pe_status pe_scheme_new(struct pe_scheme **scheme, const struct pe_encoding *encoding,
                                    const struct pe_params *params, struct pe_work *work,
                                    struct pe_error *err);

/* Checks and resolves the parameters, which is cheap and enough to open views and to tell shapes.
 * Until it is prepared a scheme belongs to one thread. Errors as above. */
PE_API enum pe_status pe_scheme_open(struct pe_scheme **scheme, const struct pe_encoding *encoding,
                                     const struct pe_params *params, struct pe_work *work,
                                     struct pe_error *err);
/* Gives an opened scheme the tensor that its encoding learns, once. "weights" [buckets, heads] of
 * an encoding of buckets (t5) are copied; not finite: PE_OUT_OF_RANGE. A "table" [rows, width] is
 * not: its elements must outlive the scheme, and pe_table_check tells whether they are finite.
 * PE_CONFLICT where the encoding has no use for it or has one already, PE_SHAPE_MISMATCH,
 * PE_UNSUPPORTED for a dtype that is no float, PE_TOO_LARGE, PE_OUT_OF_MEMORY, PE_INVALID without
 * data or for a prepared scheme, PE_UNKNOWN_PARAMETER for another name. */
PE_API enum pe_status pe_scheme_give(struct pe_scheme *scheme, const char *name,
                                     const struct pe_tensor *tensor, struct pe_work *work,
                                     struct pe_error *err);
/* Resolves a number that has no value yet and that only the program knows, which is the owner of a
 * learned table: name "version", number 3. pe_scheme_params then tells it like any other parameter.
 * PE_UNKNOWN_PARAMETER; PE_CONFLICT where it has another value or the scheme is prepared;
 * PE_INVALID, PE_OUT_OF_RANGE for the number. */
PE_API enum pe_status pe_scheme_resolve(struct pe_scheme *scheme, const char *name, double number,
                                        struct pe_error *err);
/* Computes frequencies, slopes and the like, which takes time. Calling it again does nothing.
 * PE_MISSING where a table was to be given; PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_scheme_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                        struct pe_error *err);

/* Nanoseconds of one core, about, that preparing takes once the scheme is opened. */
PE_API double pe_scheme_work(const struct pe_scheme *scheme);

/* One reference more, which is returned, and one less: the last one frees. Any thread; NULL is
 * fine. */
PE_API struct pe_scheme *pe_scheme_share(struct pe_scheme *scheme);
PE_API void pe_scheme_free(struct pe_scheme *scheme);

/* Can this be a learned table: [rows, width] of a floating dtype, finite, not empty? `where` is for
 * the error: "tensor:E". PE_SHAPE_MISMATCH, PE_UNSUPPORTED, PE_TOO_LARGE, PE_INVALID without data,
 * PE_OUT_OF_RANGE where it is not finite, PE_CANCELLED. Any thread. */
PE_API enum pe_status pe_table_check(const struct pe_tensor *table, const char *where,
                                     struct pe_work *work, struct pe_error *err);

/* ---- questions to an opened scheme ----------------------------------------------------------
 * Answers are constants or live as long as the scheme. Any thread, once it is prepared. */

PE_API const struct pe_encoding *pe_scheme_encoding(const struct pe_scheme *scheme);
/* The parameters with everything resolved: given again they make the same scheme. */
PE_API const struct pe_params *pe_scheme_params(const struct pe_scheme *scheme);
/* Sentences about the parameters; NULL past the last one. */
PE_API const char *pe_scheme_warning(const struct pe_scheme *scheme, size_t index);

PE_API size_t pe_scheme_row_width(const struct pe_scheme *scheme); /* 0: no rows, or no table yet */
PE_API size_t pe_scheme_heads(const struct pe_scheme *scheme);     /* 0: any number will do */
PE_API size_t pe_scheme_pairs(const struct pe_scheme *scheme);     /* frequencies; 0: none */
PE_API size_t pe_scheme_head_dim(const struct pe_scheme *scheme);  /* rotary; else 0 */
PE_API size_t pe_scheme_rotary_dim(const struct pe_scheme *scheme); /* the part that turns */
/* Coordinates that a position may have; 0: it is one number. */
PE_API size_t pe_scheme_axes(const struct pe_scheme *scheme);
/* Is each pair scaled by the position too (xpos), queries and keys differently? */
PE_API bool pe_scheme_scales(const struct pe_scheme *scheme);
/* The pair that a column of its table turns with; SIZE_MAX: columns are no sines and cosines. */
PE_API size_t pe_scheme_column_pair(const struct pe_scheme *scheme, size_t column);
/* How long a sequence its frequencies are meant for; INFINITY: any. */
PE_API double pe_scheme_length(const struct pe_scheme *scheme);
/* Do positions lie beyond that? *farthest: the largest of them, -INFINITY where any length is meant
 * or there are none. */
PE_API bool pe_scheme_beyond(const struct pe_scheme *scheme, const struct pe_positions *positions,
                             double *farthest);

PE_DECLARATIONS_END

#endif
