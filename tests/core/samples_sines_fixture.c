/* SPDX-License-Identifier: MIT */
#include "tests/core/samples_draw.h"

/* ---- sines ----------------------------------------------------------------------------------- */

/* The columns of a sinusoidal row, from `first` on; `pairs` of them, cut to s->columns. */
static void columns_set(struct sample *s, size_t first, size_t width, double base, double over,
                        bool concatenated)
{
    const size_t pairs = (width + 1) / 2;

    for (size_t c = 0; c < width && first + c < s->columns; c++)
        sample_column(s, first + c, base, (double)(concatenated ? c % pairs : c / 2), over,
                      concatenated ? c < pairs : c % 2 == 0);
}

static const char *layout_draw(struct sample *s, bool *concatenated)
{
    *concatenated = sample_bits(s) & 1;
    return *concatenated ? "concatenated" : "interleaved";
}

void sample_sinusoidal_draw(struct sample *s)
{
    const double base = sample_base(s);
    static const char *const spacings[] = {"paper", "endpoint", "next-even"};
    const size_t spacing = sample_bits(s) % 3;
    const size_t dim = sample_whole(s, 4, 64), even = 2 * (dim / 2);
    const double divisors[] = {(double)dim / 2, (double)even / 2 - 1, (double)(dim + dim % 2) / 2};
    bool concatenated;

    /* Of an odd width endpoint has a column of zeros. */
    s->columns = spacing == 1 ? even : dim;
    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g layout=%s spacing=%s", s->columns, base,
             layout_draw(s, &concatenated), spacings[spacing]);
    columns_set(s, 0, s->columns, base, divisors[spacing], concatenated);
    sample_places(s);
}

void sample_all_sin_draw(struct sample *s)
{
    const double base = sample_base(s);

    s->columns = sample_whole(s, 2, 64);
    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g", s->columns, base);
    for (size_t c = 0; c < s->columns; c++)
        sample_column(s, c, base, (double)c, (double)s->columns - 1, true);
    sample_places(s);
}

void sample_timestep_draw(struct sample *s)
{
    const double base = sample_base(s), shift = (double)(sample_bits(s) % 2),
                 scale = sample_real(s, -8, 8);
    const bool flip = sample_bits(s) & 1;
    const size_t half = sample_whole(s, 2, 32);

    s->columns = 2 * half;
    snprintf(s->text, sizeof(s->text),
             "dim=%zu max_period=%.17g downscale_freq_shift=%g scale=%.17g flip_sin_to_cos=%d",
             s->columns, base, shift, scale, flip);
    for (size_t c = 0; c < s->columns; c++) {
        sample_column(s, c, base, (double)(c % half), (double)half - shift, (c < half) != flip);
        mpfr_mul_d(s->column[c].w, s->column[c].w, scale, MPFR_RNDN);
    }
    sample_places(s);
}

void sample_transformer_xl_draw(struct sample *s)
{
    const double base = sample_base(s);
    const size_t length = sample_whole(s, SAMPLE_ROWS, 2000000000);
    bool concatenated;

    s->columns = sample_whole(s, 1, 64);
    const bool next_even = sample_bits(s) & 1;
    const size_t over = next_even ? s->columns + s->columns % 2 : s->columns;
    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g layout=%s spacing=%s", s->columns, base,
             layout_draw(s, &concatenated), next_even ? "next-even" : "paper");
    snprintf(s->view, sizeof(s->view), "length=%zu", length);
    columns_set(s, 0, s->columns, base, (double)over / 2, concatenated);
    s->begin = sample_whole(s, 0, 2 * length - 1 - SAMPLE_ROWS);
    for (size_t row = 0; row < SAMPLE_ROWS; row++)
        s->at[row][0] = (double)length - 1 - (double)(s->begin + row);
}

void sample_sinusoidal_2d_draw(struct sample *s)
{
    const double base = sample_base(s), scale = sample_real(s, -8, 8);
    const bool mae = sample_bits(s) & 1, normalize = !mae && sample_bits(s) & 1;
    const size_t half = 2 * sample_whole(s, 1, 16);
    const bool scaled = mae && sample_bits(s) & 1;
    const size_t base_size = sample_whole(s, 1, 128), most = sample_whole(s, 8, 400);
    char more[120] = "";

    s->columns = 2 * half;
    if (normalize)
        snprintf(more, sizeof(more), "normalize=true scale=%.17g", scale);
    if (scaled)
        snprintf(more, sizeof(more), "base_size=%zu max_size=%zu interpolation_scale=%.17g",
                 base_size, most, scale);
    snprintf(s->text, sizeof(s->text), "dim=%zu height=8 width=8 variant=%s base=%.17g %s",
             s->columns, mae ? "mae" : "detr", base, more);
    *s->view = '\0';
    columns_set(s, 0, half, base, (double)half / 2, mae);
    columns_set(s, half, half, base, (double)half / 2, mae);
    for (size_t c = 0; c < s->columns; c++) {
        s->column[c].axis = (c < half) != mae;
        if (normalize) {
            mpfr_t last;
            mpfr_init2(last, SAMPLE_BITS);
            mpfr_set_str(last, "8.000001", 10, MPFR_RNDN);
            mpfr_mul_d(s->column[c].w, s->column[c].w, scale, MPFR_RNDN);
            mpfr_div(s->column[c].w, s->column[c].w, last, MPFR_RNDN);
            mpfr_clear(last);
        }
        if (scaled) {
            mpfr_mul_ui(s->column[c].w, s->column[c].w, base_size, MPFR_RNDN);
            mpfr_div_ui(s->column[c].w, s->column[c].w, most, MPFR_RNDN);
            mpfr_div_d(s->column[c].w, s->column[c].w, scale, MPFR_RNDN);
        }
    }
    sample_grid(s, scaled ? (most - 8) / 2 : !mae);
}

void sample_sinusoidal_nd_draw(struct sample *s)
{
    static const char *const shapes[] = {"64", "8,8", "4,4,4"};
    const double base = sample_base(s);
    const size_t ndim = sample_whole(s, 1, 3), width = 2 * sample_whole(s, 1, 10);
    bool concatenated;

    s->columns = ndim * width - sample_whole(s, 0, 1);
    snprintf(s->text, sizeof(s->text), "dim=%zu ndim=%zu base=%.17g layout=%s", s->columns, ndim,
             base, layout_draw(s, &concatenated));
    snprintf(s->view, sizeof(s->view), "shape=%s", shapes[ndim - 1]);
    for (size_t axis = 0; axis < ndim; axis++) {
        columns_set(s, axis * width, width, base, (double)width / 2, concatenated);
        for (size_t c = axis * width; c < (axis + 1) * width && c < s->columns; c++)
            s->column[c].axis = axis;
        for (size_t row = 0; row < SAMPLE_ROWS; row++)
            s->at[row][axis] =
                (double)(row >> (6 / ndim * (ndim - 1 - axis)) & ((1u << 6 / ndim) - 1));
    }
}

void sample_periodic_draw(struct sample *s)
{
    s->columns = sample_whole(s, 1, 64);
    snprintf(s->text, sizeof(s->text), "dim=%zu", s->columns);
    for (size_t c = 0; c < s->columns; c++)
        sample_column(s, c, 2, (double)c, 1, true);
    sample_places(s);
}

void sample_shaw_draw(struct sample *s)
{
    const double base = sample_base(s);

    s->columns = sample_whole(s, 1, 64);
    snprintf(s->text, sizeof(s->text),
             "max_relative_position=32 vectors=sinusoidal dim=%zu base=%.17g", s->columns, base);
    *s->view = '\0';
    columns_set(s, 0, s->columns, base, (double)s->columns / 2, false);
    for (size_t row = 0; row < SAMPLE_ROWS; row++)
        s->at[row][0] = (double)row;
}
