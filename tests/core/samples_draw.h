/* SPDX-License-Identifier: MIT */
#ifndef TESTS_CORE_SAMPLES_DRAW_H
#define TESTS_CORE_SAMPLES_DRAW_H

/* How samples are drawn, and the formulas of their kinds: for samples_*fixture.c alone. */

#include "tests/core/samples_fixture.h"

uint64_t sample_bits(struct sample *s);
size_t sample_whole(struct sample *s, size_t least, size_t most);
/* Any magnitude between two powers of 2, all digits random. */
double sample_real(struct sample *s, int least, int most);
/* A base of frequencies. */
double sample_base(struct sample *s);
/* A whole number of any magnitude, or a fraction; either sign. */
double sample_place(struct sample *s);
/* Appends to a text. */
void sample_put(char *out, size_t size, const char *separator, double number);
/* Positions as a run or as a list. */
void sample_places(struct sample *s);
/* base^(-numerator / denominator) for the pair of a column. */
void sample_column(struct sample *s, size_t column, double base, double numerator,
                   double denominator, bool is_sin);
/* The points of a grid of 8 x 8, x fastest, its corner at `from`. */
void sample_grid(struct sample *s, double from);
void sample_wave(mpfr_ptr out, const struct sample *s, size_t row, size_t column);

void sample_alibi_draw(struct sample *s);
void sample_axial_draw(struct sample *s);
void sample_all_sin_draw(struct sample *s);
void sample_binary_draw(struct sample *s);
void sample_deberta_draw(struct sample *s);
void sample_fourier_draw(struct sample *s);
void sample_hierarchical_draw(struct sample *s);
void sample_index_draw(struct sample *s);
void sample_kerple_log_draw(struct sample *s);
void sample_kerple_power_draw(struct sample *s);
void sample_learned_draw(struct sample *s);
void sample_mrope_draw(struct sample *s);
void sample_normalized_draw(struct sample *s);
void sample_periodic_draw(struct sample *s);
void sample_rope_2d_draw(struct sample *s);
void sample_rope_nd_draw(struct sample *s);
void sample_rope_draw(struct sample *s);
void sample_sandwich_draw(struct sample *s);
void sample_scaled_draw(struct sample *s);
void sample_hf_draw(struct sample *s);
void sample_shaw_bias_draw(struct sample *s);
void sample_shaw_draw(struct sample *s);
void sample_sinusoidal_2d_draw(struct sample *s);
void sample_sinusoidal_draw(struct sample *s);
void sample_sinusoidal_nd_draw(struct sample *s);
void sample_t5_draw(struct sample *s);
void sample_timestep_draw(struct sample *s);
void sample_transformer_xl_draw(struct sample *s);
void sample_xpos_draw(struct sample *s);
void sample_xpos_scale_draw(struct sample *s);

void sample_axial(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_alibi(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_binary(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_deberta(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_fourier(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_hierarchical(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_index_real(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_kerple_log(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_kerple_power(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_learned(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_normalized(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_sandwich(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_scaled(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_hf(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_shaw_bias(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_t5(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_xpos(mpfr_ptr out, const struct sample *s, size_t row, size_t column);
void sample_xpos_scale(mpfr_ptr out, const struct sample *s, size_t row, size_t column);

#endif
