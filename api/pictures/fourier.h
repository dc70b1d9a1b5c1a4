/* SPDX-License-Identifier: MIT */
#ifndef API_PICTURES_FOURIER_H
#define API_PICTURES_FOURIER_H

#include "api/memory/arena.h"

/* How much of each frequency is in a row of numbers. Functions of the C library that round
 * differently from machine to machine are not called, the square root is rounded alike on all. */

enum { API_FOURIER_MIN = 8, API_FOURIER_MAX = 1 << 16 }; /* numbers of a row */

struct api_fourier {
    size_t count, size; /* numbers; of the transform, which is of a power of two */
    size_t first, last; /* frequencies that are told: bin k is k / size turns a number */
    double *window;     /* weights of the numbers */
    double *turns;      /* real and imaginary parts of half a turn in steps of one `size`th */
    double *wave;       /* real and imaginary parts of what is transformed */
    double *shares;     /* amplitudes of a magnitude of 1 */
};

/* For rows of so many numbers, which are at least API_FOURIER_MIN and at most API_FOURIER_MAX. In
 * rooms of the arena. False: memory is short. */
bool api_fourier_begin(struct api_fourier *fourier, struct api_arena *arena, size_t count);

/* Amplitudes of frequencies first to last, behind each other: a sine of amplitude 1 has a peak of
 * about 1. What is constant is taken away before. NAN or infinity among the numbers: all are
 * NAN. */
void api_fourier_amplitudes(struct api_fourier *fourier, const double *values, size_t every,
                            double *amplitudes);

/* Nanoseconds of api_fourier_amplitudes, about. */
double api_fourier_work(size_t count);

#endif
