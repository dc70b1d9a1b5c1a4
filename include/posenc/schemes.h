/* SPDX-License-Identifier: MIT */
#ifndef POSENC_SCHEMES_H
#define POSENC_SCHEMES_H

#include "posenc/dtype.h"
#include "posenc/encodings.h"
#include "posenc/work.h"

/* A scheme: an encoding with its parameters resolved (frequencies, attention factor, slopes).
 *
 * Open it, give it the learned tensors of the encoding, if any, and prepare it; pe_scheme_new does
 * all of this for encodings without learned tensors. A prepared scheme is immutable: any number of
 * threads may use and share it. It may outlive the work that it was made with; its bytes are
 * released when the work is freed. A scheme is reference-counted, and must outlive the views,
 * rotations and attentions made of it. */
struct pe_scheme;

/* Positions t = start + i * step for i < count, as real numbers without rounding; or, where values
 * is not NULL, those values: [count], with batch > 1 [batch][count], with axes > 1
 * [axes][batch][count]. |t| <= 2^53 - 1. */
struct pe_positions {
    double start, step;
    const double *values;
    size_t count;
    size_t batch;       /* 0 and 1 mean the same positions for every batch row */
    size_t axes;        /* coordinates of a position; 0 and 1: a position is one number */
    size_t reserved[2]; /* for later versions: 0 */
};

PE_DECLARATIONS_BEGIN

/* Opens and prepares. The parameters may be freed afterwards; defaults are filled in. PE_INVALID
 * where they are those of another encoding. PE_NOT_FOUND: encoding is NULL. PE_MISSING,
 * PE_OUT_OF_RANGE, PE_CONFLICT, PE_SHAPE_MISMATCH for parameters; PE_CANCELLED, PE_OUT_OF_MEMORY.
 */
PE_API enum pe_status pe_scheme_new(struct pe_scheme **scheme, const struct pe_encoding *encoding,
                                    const struct pe_params *params, struct pe_work *work,
                                    struct pe_error *err);

/* Checks and resolves the parameters, which is cheap and suffices to open views and find shapes.
 * Until it is prepared a scheme belongs to one thread. Errors as above. */
PE_API enum pe_status pe_scheme_open(struct pe_scheme **scheme, const struct pe_encoding *encoding,
                                     const struct pe_params *params, struct pe_work *work,
                                     struct pe_error *err);
/* Gives an opened scheme the tensor that its encoding learns, once. "weights" [buckets, heads] of
 * an encoding of buckets (t5) are copied; not finite: PE_OUT_OF_RANGE. A "table" [rows, width] is
 * not copied: its elements must outlive the scheme, and pe_table_check reports whether they are
 * finite. PE_CONFLICT where the encoding learns none or has one already, PE_SHAPE_MISMATCH,
 * PE_UNSUPPORTED for a dtype that is no float, PE_TOO_LARGE, PE_OUT_OF_MEMORY, PE_INVALID without
 * data or for a prepared scheme, PE_UNKNOWN_PARAMETER for another name. */
PE_API enum pe_status pe_scheme_give(struct pe_scheme *scheme, const char *name,
                                     const struct pe_tensor *tensor, struct pe_work *work,
                                     struct pe_error *err);
/* Resolves a number that only the program can set, such as the version of a stored table: name
 * "version", number 3. pe_scheme_params then has it like any other parameter.
 * PE_UNKNOWN_PARAMETER; PE_CONFLICT where it has another value or the scheme is prepared;
 * PE_INVALID, PE_OUT_OF_RANGE for the number. */
PE_API enum pe_status pe_scheme_resolve(struct pe_scheme *scheme, const char *name, double number,
                                        struct pe_error *err);
/* Computes frequencies, slopes and the like, which takes time. Calling it again does nothing.
 * PE_MISSING where a table was to be given; PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_scheme_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                        struct pe_error *err);

/* Estimated nanoseconds of one core for preparing an opened scheme. */
PE_API double pe_scheme_work(const struct pe_scheme *scheme);

/* Adds a reference and returns the scheme; removes one, and frees the scheme with the last. Any
 * thread; NULL is fine. */
PE_API struct pe_scheme *pe_scheme_share(struct pe_scheme *scheme);
PE_API void pe_scheme_free(struct pe_scheme *scheme);

/* Can this be a learned table: [rows, width] of a floating dtype, finite, not empty? `where` is for
 * the error: "tensor:E". PE_SHAPE_MISMATCH, PE_UNSUPPORTED, PE_TOO_LARGE, PE_INVALID without data,
 * PE_OUT_OF_RANGE where it is not finite, PE_CANCELLED. Any thread. */
PE_API enum pe_status pe_table_check(const struct pe_tensor *table, const char *where,
                                     struct pe_work *work, struct pe_error *err);

/* ---- properties of an opened scheme ----------------------------------------------------------
 * Pointers are to constants or valid as long as the scheme. Any thread, once it is prepared. */

PE_API const struct pe_encoding *pe_scheme_encoding(const struct pe_scheme *scheme);
/* The resolved parameters; a scheme opened with them is equal. */
PE_API const struct pe_params *pe_scheme_params(const struct pe_scheme *scheme);
/* Sentences about the parameters; NULL past the last one. */
PE_API const char *pe_scheme_warning(const struct pe_scheme *scheme, size_t index);

PE_API size_t pe_scheme_row_width(const struct pe_scheme *scheme); /* 0: no rows, or no table yet */
PE_API size_t pe_scheme_heads(const struct pe_scheme *scheme);     /* 0: any number */
PE_API size_t pe_scheme_pairs(const struct pe_scheme *scheme);     /* frequencies; 0: none */
PE_API size_t pe_scheme_head_dim(const struct pe_scheme *scheme);  /* rotary; else 0 */
PE_API size_t pe_scheme_rotary_dim(const struct pe_scheme *scheme); /* the part that rotates */
/* Coordinates that a position may have; 0: it is one number. */
PE_API size_t pe_scheme_axes(const struct pe_scheme *scheme);
/* Is each pair scaled by the position too (xpos), queries and keys differently? */
PE_API bool pe_scheme_scales(const struct pe_scheme *scheme);
/* The pair of a column of its table; SIZE_MAX: columns are no sines and cosines. */
PE_API size_t pe_scheme_column_pair(const struct pe_scheme *scheme, size_t column);
/* The intended length of sequences for its frequencies; INFINITY: any. */
PE_API double pe_scheme_length(const struct pe_scheme *scheme);
/* Do positions exceed that length? *farthest: the largest of them; -INFINITY where any length is
 * intended or there are none. */
PE_API bool pe_scheme_beyond(const struct pe_scheme *scheme, const struct pe_positions *positions,
                             double *farthest);

PE_DECLARATIONS_END

#endif
