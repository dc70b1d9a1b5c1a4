/* SPDX-License-Identifier: MIT */
#include "tests/core/samples_draw.h"

/* ---- what is drawn --------------------------------------------------------------------------- */

uint64_t sample_bits(struct sample *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random;
}

size_t sample_whole(struct sample *s, size_t least, size_t most)
{
    return least + (size_t)(sample_bits(s) % (most - least + 1));
}

/* Any magnitude between two powers of 2, all digits random. */
double sample_real(struct sample *s, int least, int most)
{
    const double digits = 1 + ldexp((double)(sample_bits(s) >> 12), -52);

    return ldexp(digits, (int)sample_whole(s, 0, (size_t)(most - least)) + least);
}

double sample_base(struct sample *s)
{
    static const double usual[] = {10000, 500000, 1e6, 100};

    return sample_bits(s) & 1 ? usual[sample_bits(s) % 4] : 1 + sample_real(s, -10, 60);
}

/* A whole number of any magnitude, or a fraction; either sign. */
double sample_place(struct sample *s)
{
    const uint64_t digits = sample_bits(s) >> 11;
    const double place = sample_bits(s) & 1 ? (double)(digits >> (sample_bits(s) % 53))
                                            : ldexp((double)digits, -(int)(sample_bits(s) % 60));

    return sample_bits(s) & 1 ? place : -place;
}

void sample_put(char *out, size_t size, const char *separator, double number)
{
    const size_t used = strlen(out);

    snprintf(out + used, size - used, "%s%.17g", separator, number);
}

/* Positions as a run or as a list. */
void sample_places(struct sample *s)
{
    const double start = sample_place(s);
    const bool run = sample_bits(s) & 1 && start == floor(start) && fabs(start) < 0x1p52;

    snprintf(s->view, sizeof(s->view), run ? "length=%d start=%.17g" : "positions=", SAMPLE_ROWS,
             start);
    for (size_t row = 0; row < SAMPLE_ROWS; row++) {
        s->at[row][0] = run ? start + (double)row : sample_place(s);
        if (!run)
            sample_put(s->view, sizeof(s->view), row ? "," : "", s->at[row][0]);
    }
}

/* base^(-numerator / denominator) for the pair of a column. */
void sample_column(struct sample *s, size_t column, double base, double numerator,
                   double denominator, bool is_sin)
{
    mpfr_ptr w = s->column[column].w;

    mpfr_set_d(w, -numerator, MPFR_RNDN);
    mpfr_div_d(w, w, denominator, MPFR_RNDN);
    mpfr_t power;
    mpfr_init2(power, SAMPLE_BITS);
    mpfr_set_d(power, base, MPFR_RNDN);
    mpfr_pow(w, power, w, MPFR_RNDN);
    mpfr_clear(power);
    s->column[column].is_sin = is_sin;
    s->column[column].axis = 0;
}

void sample_wave(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_mul_d(out, s->column[column].w, s->at[row][s->column[column].axis], MPFR_RNDN);
    (s->column[column].is_sin ? mpfr_sin : mpfr_cos)(out, out, MPFR_RNDN);
}

void sample_grid(struct sample *s, double from)
{
    for (size_t row = 0; row < SAMPLE_ROWS; row++) {
        s->at[row][0] = (double)(row % 8) + from;
        s->at[row][1] = (double)(row / 8) + from;
    }
}

/* ---- a sample -------------------------------------------------------------------------------- */

void sample_begin(struct sample *s, uint64_t seed)
{
    *s = (struct sample){.random = seed};
    for (size_t c = 0; c < SAMPLE_COLUMNS; c++)
        mpfr_init2(s->column[c].w, SAMPLE_BITS);
}

void sample_end(struct sample *s)
{
    for (size_t c = 0; c < SAMPLE_COLUMNS; c++)
        mpfr_clear(s->column[c].w);
}

const struct sample_kind sample_kinds[] = {
    {"sinusoidal", "table", sample_sinusoidal_draw, sample_wave},
    {"all-sin", "table", sample_all_sin_draw, sample_wave},
    {"timestep", "table", sample_timestep_draw, sample_wave},
    {"transformer-xl", "table", sample_transformer_xl_draw, sample_wave},
    {"sinusoidal-2d", "table", sample_sinusoidal_2d_draw, sample_wave},
    {"sinusoidal-nd", "table", sample_sinusoidal_nd_draw, sample_wave},
    {"fourier", "table", sample_fourier_draw, sample_fourier},
    {"periodic", "table", sample_periodic_draw, sample_wave},
    {"shaw", "table", sample_shaw_draw, sample_wave},
    {"rope", "table", sample_rope_draw, sample_wave},
    {"rope", "table", sample_scaled_draw, sample_scaled},
    {"rope", "table", sample_hf_draw, sample_hf},
    {"mrope", "table", sample_mrope_draw, sample_wave},
    {"rope-2d", "table", sample_rope_2d_draw, sample_wave},
    {"rope-nd", "table", sample_rope_nd_draw, sample_wave},
    {"rope-nd", "table", sample_axial_draw, sample_axial},
    {"xpos", "table", sample_xpos_draw, sample_xpos},
    {"xpos", "scale", sample_xpos_scale_draw, sample_xpos_scale},
    {"index", "table", sample_index_draw, sample_index_real},
    {"normalized", "table", sample_normalized_draw, sample_normalized},
    {"binary", "table", sample_binary_draw, sample_binary},
    {"learned", "table", sample_learned_draw, sample_learned},
    {"hierarchical", "table", sample_hierarchical_draw, sample_hierarchical},
    {"alibi", "bias", sample_alibi_draw, sample_alibi},
    {"t5", "bias", sample_t5_draw, sample_t5},
    {"kerple-log", "bias", sample_kerple_log_draw, sample_kerple_log},
    {"kerple-power", "bias", sample_kerple_power_draw, sample_kerple_power},
    {"sandwich", "bias", sample_sandwich_draw, sample_sandwich},
    {"deberta-log", "bias", sample_deberta_draw, sample_deberta},
    {"shaw", "bias", sample_shaw_bias_draw, sample_shaw_bias},
    {0},
};
