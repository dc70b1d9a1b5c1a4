/* SPDX-License-Identifier: MIT */
#ifndef POSENC_VIEWS_H
#define POSENC_VIEWS_H

#include "posenc/schemes.h"

/* Views of a scheme: tables, frequencies, biases and analyses, as named tensors that are filled row
 * by row in any order, on any threads, with the same bytes on every machine. */
struct pe_view;

enum { PE_OUTPUTS_MAX = 4 };

/* The most values of a picture of bytes (u8), which a view caches. */
#define PE_PICTURE_BYTES_MAX ((size_t)1 << 24)

/* One named tensor of a view. A row is a run along the last dimension, and can be filled by itself;
 * `rows` is the product of the other dimensions, 1 for a tensor of rank 1. A complex tensor's row
 * holds (real, imaginary) pairs. The library fills the struct in; new members come after the last
 * one. */
struct pe_output {
    const char *name;
    enum pe_dtype dtype;
    bool is_complex;
    unsigned rank;
    size_t shape[PE_RANK_MAX];
    size_t rows;
    size_t row_elements; /* of dtype; twice the last dimension where complex */
    double element_work; /* estimated nanoseconds of one core for an element; 0 means 1. Work that
                          * outputs share is counted in one of them */
    double once_work;    /* further nanoseconds, spent once by the rows that are filled first */
    size_t once_parts;   /* once_work consists of so many equal parts, each spent by the first rows
                          * of one of as many equal runs of rows, such as a head's; 0 means 1 */
};

/* Estimated nanoseconds of one core for filling so many rows of an output, without once_work. */
static inline double pe_output_work(const struct pe_output *output, size_t rows)
{
    return (double)rows * (double)output->row_elements *
           (output->element_work > 0 ? output->element_work : 1);
}

struct pe_scalar {
    const char *name; /* "attention_factor" */
    double value;
};

/* Descriptions of the parameters for the positions of rows, for lists of a program's own: length
 * with start and step, or positions. */
#define PE_PARAMS_LENGTH                                                                           \
    {.name = "length",                                                                             \
     .type = PE_INTEGER,                                                                           \
     .min = 0,                                                                                     \
     .max = 0x1p53 - 1,                                                                            \
     .unit = "positions",                                                                          \
     .doc = "The number of positions."},                                                           \
        {.name = "start",                                                                          \
         .type = PE_NUMBER,                                                                        \
         .min = -0x1p53 + 1,                                                                       \
         .max = 0x1p53 - 1,                                                                        \
         .fallback = "0",                                                                          \
         .unit = "positions",                                                                      \
         .doc = "The first position; it may be negative or fractional."},                          \
    {                                                                                              \
        .name = "step", .type = PE_NUMBER, .min = -0x1p53 + 1, .max = 0x1p53 - 1, .fallback = "1", \
        .unit = "positions",                                                                       \
        .doc = "The distance from one position to the next; it may be negative or fractional."     \
    }

#define PE_PARAMS_POSITIONS                                                                        \
    PE_PARAMS_LENGTH,                                                                              \
    {                                                                                              \
        .name = "positions", .type = PE_RANGES, .min = -0x1p53 + 1, .max = 0x1p53 - 1,             \
        .unit = "positions",                                                                       \
        .doc = "The positions, as numbers and ranges, instead of length, start and step: "         \
               "0,5,7..9,-3..-1."                                                                  \
    }

PE_DECLARATIONS_BEGIN

/* type: a view of the scheme's encoding; params: of the list in its pe_view_info, finished
 * (pe_params_finish), which may be freed afterwards. The dtype is that of floating outputs.
 * PE_UNSUPPORTED for a view of another encoding or NULL; PE_INVALID for a dtype that is no float
 * and for parameters that are another list's or not finished; PE_MISSING, PE_OUT_OF_RANGE,
 * PE_CONFLICT for parameters; PE_TOO_LARGE where a size does not fit in 63 bits; PE_CANCELLED,
 * PE_OUT_OF_MEMORY. The scheme must outlive the view, and may be prepared later, but before
 * anything is filled. */
PE_API enum pe_status pe_view_new(struct pe_view **view, const struct pe_scheme *scheme,
                                  const struct pe_view_type *type, const struct pe_params *params,
                                  enum pe_dtype dtype, struct pe_work *work, struct pe_error *err);
PE_API void pe_view_free(struct pe_view *view);

/* NULL and false past the last one. There are no scalars before the scheme is prepared. Pointers
 * are valid as long as the view. */
PE_API const struct pe_output *pe_view_output(const struct pe_view *view, size_t index);
PE_API bool pe_view_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar);

/* Estimated nanoseconds of one core for filling all outputs once, without the preparation of its
 * scheme (pe_scheme_work). May be infinite. */
PE_API double pe_view_work(const struct pe_view *view);

/* The positions of the rows; count 0: rows have none. */
PE_API const struct pe_positions *pe_view_positions(const struct pe_view *view);
/* The position of a row, rounded to a double; the first coordinate where it has several; NAN for a
 * row without a position. */
PE_API double pe_view_position(const struct pe_view *view, size_t row);
/* Of a bias; else both 0. */
PE_API size_t pe_view_queries(const struct pe_view *view);
PE_API size_t pe_view_keys(const struct pe_view *view);
/* The most bytes that a view caches while it is filled. They are not charged to any work: an owner
 * who limits memory can reserve them before the first fill. */
PE_API size_t pe_view_memory(const struct pe_view *view);

/* Writes rows [row_begin, row_end) of one output, row_elements of its dtype each, correctly
 * rounded. Any thread, several at once, in any order. PE_OUT_OF_RANGE for rows or an output that
 * are not there, PE_INVALID for a scheme that is not prepared, PE_CANCELLED, PE_OUT_OF_MEMORY:
 * `out` is undefined then. */
PE_API enum pe_status pe_view_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                   size_t row_end, void *out, struct pe_work *work,
                                   struct pe_error *err);

PE_DECLARATIONS_END

#endif
