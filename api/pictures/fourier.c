/* SPDX-License-Identifier: MIT */
#include "api/pictures/fourier.h"

#include <math.h>
#include <string.h>

enum {
    FINER = 4
}; /* frequencies are told this many times as finely as the numbers tell them apart */

static size_t size_of(size_t count)
{
    size_t size = 1;

    while (size < FINER * count)
        size *= 2;
    return size;
}

/* exp(-2 pi i k / size) by halved angles and by products of them, so that none is further from the
 * true one than some roundings. */
static void turns_make(struct api_fourier *fourier)
{
    double *turns = fourier->turns, c = 0, s = -1; /* a quarter of a turn */

    turns[0] = 1;
    turns[1] = 0;
    for (size_t bit = fourier->size / 4; bit > 0; bit /= 2) {
        turns[2 * bit] = c;
        turns[2 * bit + 1] = s;
        c = sqrt((1 + c) / 2);
        s = s / (2 * c);
    }
    for (size_t bit = 2; bit < fourier->size / 2; bit *= 2)
        for (size_t k = bit + 1; k < 2 * bit; k++) {
            const double *a = &turns[2 * bit], *b = &turns[2 * (k - bit)];
            turns[2 * k] = a[0] * b[0] - a[1] * b[1];
            turns[2 * k + 1] = a[0] * b[1] + a[1] * b[0];
        }
}

/* ---- the transform -------------------------------------------------------------------------- */

/* Changes places with the one whose number has the bits the other way round. */
static void order_reverse(double *wave, size_t size)
{
    for (size_t i = 0, j = 0; i < size; i++) {
        size_t bit = size / 2;
        for (int part = 0; j > i && part < 2; part++) {
            const double kept = wave[2 * i + (size_t)part];
            wave[2 * i + (size_t)part] = wave[2 * j + (size_t)part];
            wave[2 * j + (size_t)part] = kept;
        }
        for (; bit > 0 && (j & bit); bit /= 2)
            j -= bit;
        j += bit;
    }
}

/* By Cooley and Tukey: from transforms of half the size to those of all. */
static void wave_transform(struct api_fourier *fourier)
{
    const size_t size = fourier->size;

    order_reverse(fourier->wave, size);
    for (size_t half = 1; half < size; half *= 2)
        for (size_t begin = 0; begin < size; begin += 2 * half)
            for (size_t k = 0; k < half; k++) {
                const double *turn = &fourier->turns[k * (size / half)];
                double *a = &fourier->wave[2 * (begin + k)], *b = a + 2 * half;
                const double re = b[0] * turn[0] - b[1] * turn[1];
                const double im = b[0] * turn[1] + b[1] * turn[0];
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
}

static double magnitude(const struct api_fourier *fourier, size_t k)
{
    const double *at = &fourier->wave[2 * k];

    return sqrt(at[0] * at[0] + at[1] * at[1]);
}

/* ---- amplitudes ----------------------------------------------------------------------------- */

/* The weights go to zero at both ends, so that a sine between two frequencies does not spread over
 * all others. */
static void window_make(struct api_fourier *fourier)
{
    const double count = (double)fourier->count;

    for (size_t i = 0; i < fourier->count; i++) {
        const double u = (2 * (double)i + 1 - count) / count;
        fourier->window[i] = (1 - u * u) * (1 - u * u);
    }
}

/* A sine shows at its frequency and at that of the other sign; where both are near each other, as
 * in numbers that go up and down by turns, a peak has both. */
static void shares_make(struct api_fourier *fourier)
{
    const size_t size = fourier->size;

    memset(fourier->wave, 0, 2 * size * sizeof(*fourier->wave));
    for (size_t i = 0; i < fourier->count; i++)
        fourier->wave[2 * i] = fourier->window[i];
    wave_transform(fourier);
    for (size_t k = fourier->first; k <= fourier->last; k++)
        fourier->shares[k - fourier->first] =
            2 / (magnitude(fourier, 0) + magnitude(fourier, 2 * k % size));
}

bool api_fourier_begin(struct api_fourier *fourier, struct api_arena *arena, size_t count)
{
    const size_t size = size_of(count), bytes = size * sizeof(double);

    *fourier = (struct api_fourier){
        .count = count,
        .size = size,
        .first = (size + count - 1) / count, /* once in all of the numbers */
        .last = size / 2,
        .window = (double *)(void *)api_arena_room(arena, count * sizeof(double)),
        .turns = (double *)(void *)api_arena_room(arena, bytes),
        .wave = (double *)(void *)api_arena_room(arena, 2 * bytes),
        .shares = (double *)(void *)api_arena_room(arena, bytes),
    };
    if (!fourier->window || !fourier->turns || !fourier->wave || !fourier->shares)
        return false;
    turns_make(fourier);
    window_make(fourier);
    shares_make(fourier);
    return true;
}

/* Without its mean, as the window weighs it. */
void api_fourier_amplitudes(struct api_fourier *fourier, const double *values, size_t every,
                            double *amplitudes)
{
    double sum = 0, weights = 0;

    for (size_t i = 0; i < fourier->count; i++) {
        sum += fourier->window[i] * values[i * every];
        weights += fourier->window[i];
    }
    memset(fourier->wave, 0, 2 * fourier->size * sizeof(*fourier->wave));
    for (size_t i = 0; i < fourier->count; i++)
        fourier->wave[2 * i] = fourier->window[i] * (values[i * every] - sum / weights);
    wave_transform(fourier);
    for (size_t k = fourier->first; k <= fourier->last; k++)
        amplitudes[k - fourier->first] =
            magnitude(fourier, k) * fourier->shares[k - fourier->first];
}

double api_fourier_work(size_t count)
{
    double steps = 1;

    for (size_t size = size_of(count); size > 1; size /= 2)
        steps++;
    return 2 * (double)size_of(count) * steps;
}
