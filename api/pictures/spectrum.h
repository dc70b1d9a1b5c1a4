/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_SPECTRUM_H
#define API_PICTURES_SPECTRUM_H

#include "api/pictures/fourier.h"
#include "api/pictures/frame.h"

/* Columns of a table, or a decay, over frequencies instead of places. */

struct api_spectrum {
    struct api_fourier fourier;
    size_t count;       /* frequencies */
    double *places;     /* where they stand: decadic logarithms of radians a position, rising */
    double *amplitudes; /* room for those of one column */
};

/* For numbers at such places, which must be evenly spaced. In rooms of the arena. */
enum pe_status api_spectrum_begin(struct api_spectrum *spectrum, struct api_drawing *drawing,
                                  const double *places, size_t count);

/* Their axis: from once in all places on, to every second place. */
struct api_axis api_spectrum_axis(const struct api_spectrum *spectrum, struct api_drawing *drawing);

/* The first output as a matrix of so many rows, the highest frequencies first, and columns; each is
 * the greatest amplitude of what it stands for. NULL: err says why. */
double *api_spectrum_cells(struct api_drawing *drawing, struct api_axis *axis, size_t rows,
                           size_t columns);

#endif
