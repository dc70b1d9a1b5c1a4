/* SPDX-License-Identifier: MIT */
#ifndef CORE_ENCODINGS_SINUSOIDAL_H
#define CORE_ENCODINGS_SINUSOIDAL_H

/* Parameters, frequencies and columns that encodings made of sines and cosines share with
 * sinusoidal. Their states begin with struct pe_waves. */

#include "core/scheme/rows.h"
#include "core/scheme/scheme.h"
#include "core/tables/table_fill.h"

#define PE_PARAM_DIM(least, most)                                                                  \
    {                                                                                              \
        .name = "dim", .aliases = "d_model,hidden_size,d", .type = PE_INTEGER, .min = least,       \
        .max = most, .required = true, .unit = "elements",                                         \
        .doc = "The number of elements in a row."                                                  \
    }

#define PE_PARAM_BASE                                                                              \
    {                                                                                              \
        .name = "base", .aliases = "max_wavelength,temperature,theta", .type = PE_NUMBER,          \
        .min = 1, .above_min = true, .max = 1e30, .fallback = "10000",                             \
        .doc = "The base of the frequencies, which fall in equal ratios between 1 and 1 / base, "  \
               "as the encoding's formula says."                                                   \
    }

enum { PE_SINES_INTERLEAVED, PE_SINES_CONCATENATED };
#define PE_PARAM_SINES_LAYOUT                                                                      \
    {                                                                                              \
        .name = "layout", .type = PE_CHOICE, .choices = "interleaved,concatenated",                \
        .fallback = "interleaved",                                                                 \
        .doc = "The order of the columns. interleaved: sin, cos, sin, cos, as in Attention Is "    \
               "All You Need. concatenated: all sines, then all cosines."                          \
    }

enum { PE_SPACING_PAPER, PE_SPACING_ENDPOINT, PE_SPACING_NEXT_EVEN };
#define PE_PARAM_SPACING                                                                           \
    {                                                                                              \
        .name = "spacing", .type = PE_CHOICE, .choices = "paper,endpoint", .fallback = "paper",    \
        .doc = "The exponents e of the frequencies base^-e on an axis of n columns. paper: e = "   \
               "2k / n. endpoint: e = k / (n/2 - 1), so that the last exponent is 1 "              \
               "(tensor2tensor, fairseq)."                                                         \
    }

/* Two divisors are in use for odd widths. */
#define PE_SPACING_NEXT_EVEN_DOC                                                                   \
    "next-even: for an odd dim e = 2k / (dim + 1), as in the next wider table, whose last column " \
    "is left out (positional-encodings); for an even dim the same as paper"

/* Values of these parameters. */
size_t pe_sinusoids_dim(const struct pe_scheme *scheme);
bool pe_sinusoids_endpoint(const struct pe_scheme *scheme);

/* The rate of the powers base^(-steps / parts), with the parameter base. */
void pe_sinusoids_rate(struct pe_shared *out, unsigned bits, const struct pe_scheme *scheme,
                       size_t parts);

/* For pe_waves_prepare: base^(-pair / pairs); base^(-pair / (pairs - 1)); base^(-2 pair / dim),
 * which equals the first unless dim is odd. */
extern const struct pe_powers pe_sinusoids_paper, pe_sinusoids_endpoints, pe_sinusoids_of_dim;

/* pe_waves_prepare of pe_sinusoids_endpoints where the parameter spacing says so, else of
 * pe_sinusoids_paper. */
enum pe_status pe_sinusoids_prepare(struct pe_scheme *scheme, struct pe_work *work,
                                    struct pe_error *err);

/* The columns of the pairs: `columns` columns of `size` bytes from `out` on, in rows of `dim`.
 * Pairs that do not fit are left out, from the last one on. */
struct pe_table pe_sinusoids_columns(void *out, int layout, size_t pairs, size_t columns,
                                     size_t dim, size_t size);

/* `fill` of an encoding with the parameters dim and layout; columns without a pair are 0. */
enum pe_status pe_sinusoids_rows(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                                 void *out, struct pe_work *work, struct pe_error *err);

/* `column_pair` of such an encoding. */
size_t pe_sinusoids_column_pair(const struct pe_scheme *scheme, size_t column);

/* `fill` of an encoding whose columns are all sines, one for each frequency. */
enum pe_status pe_sinusoids_sine_rows(const struct pe_scheme *scheme,
                                      const struct pe_rows_part *part, void *out,
                                      struct pe_work *work, struct pe_error *err);

/* Sets one column to 0. */
void pe_sinusoids_column_clear(size_t column, size_t dim, size_t rows, size_t size, void *out);

#endif
