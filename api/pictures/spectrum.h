/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_SPECTRUM_H
#define API_PICTURES_SPECTRUM_H

#include "api/pictures/drawing.h"

/* ---- the transform --------------------------------------------------------------------------- */

enum { API_FOURIER_MIN = 8, API_FOURIER_MAX = 1 << 16 }; /* values of a row */

struct api_fourier {
    size_t count, size; /* values; the size of the transform, a power of two */
    size_t first, last; /* frequencies in the result: bin k is k / size cycles a value */
    double *window;     /* weights of the values */
    double *roots;      /* exp(-2 pi i k / size) for k < size / 2, real and imaginary parts */
    double *wave;       /* the data of the transform, likewise */
    double *gains;      /* the amplitude of a magnitude of 1, of each frequency */
};

/* For rows of `count` values, API_FOURIER_MIN to API_FOURIER_MAX. In the arena. False: out of
 * memory. */
bool api_fourier_begin(struct api_fourier *fourier, struct api_arena *arena, size_t count);

/* Computes the amplitudes of frequencies first to last, without the mean: a sine of amplitude 1 has
 * a peak of about 1. If a value is not finite, all are NAN. */
void api_fourier_amplitudes(struct api_fourier *fourier, const double *values, size_t stride,
                            double *amplitudes);

/* Estimated nanoseconds of api_fourier_amplitudes. */
double api_fourier_cost(size_t count);

/* ---- spectra of views ------------------------------------------------------------------------ */

/* Columns of a table, or a decay, over frequencies instead of positions. */

struct api_spectrum {
    struct api_fourier fourier;
    size_t count;       /* frequencies */
    double *places;     /* their decimal logarithms, in radians a position, rising */
    double *amplitudes; /* a buffer for those of one column */
};

/* For values at these places, which must be evenly spaced. In the arena. */
enum pe_status api_spectrum_begin(struct api_spectrum *spectrum, struct api_drawing *drawing,
                                  const double *places, size_t count);

/* The axis of frequencies, from one cycle in all places to one in two places. */
struct api_axis api_spectrum_axis(const struct api_spectrum *spectrum, struct api_drawing *drawing);

/* The spectra of the first output's columns as a matrix, with the highest frequencies in the first
 * row; each cell is the greatest amplitude that it covers. NULL: err is set. */
double *api_spectrum_cells(struct api_drawing *drawing, struct api_axis *axis, size_t rows,
                           size_t columns);

#endif
