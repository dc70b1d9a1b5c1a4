/* SPDX-License-Identifier: MIT */
#include "tests/core/samples_draw.h"

/* ---- rotary ---------------------------------------------------------------------------------- */

/* One of cos and sin, `pairs` columns of it. */
static void turns_set(struct sample *s, size_t pairs, double base)
{
    const bool is_sin = sample_bits(s) & 1;
    const size_t used = strlen(s->view);

    snprintf(s->view + used, sizeof(s->view) - used, "%spart=%s", used ? " " : "",
             is_sin ? "sin" : "cos");
    s->columns = pairs;
    for (size_t c = 0; c < pairs; c++)
        sample_column(s, c, base, (double)c, (double)pairs, is_sin);
}

/* llama3: long waves are stretched, and those between two bounds in part. */
static void llama3_stretch(mpfr_ptr w, double factor, double low, double high, double original)
{
    mpfr_t share, pi;

    mpfr_inits2(SAMPLE_BITS, share, pi, (mpfr_ptr)NULL);
    mpfr_const_pi(pi, MPFR_RNDN);
    mpfr_mul_d(share, w, original / 2, MPFR_RNDN);
    mpfr_div(share, share, pi, MPFR_RNDN); /* turns in the original context */
    if (mpfr_cmp_d(share, low) < 0)
        mpfr_div_d(w, w, factor, MPFR_RNDN);
    else if (mpfr_cmp_d(share, high) <= 0) {
        mpfr_sub_d(share, share, low, MPFR_RNDN);
        mpfr_div_d(share, share, high - low, MPFR_RNDN);
        mpfr_mul(pi, share, w, MPFR_RNDN);
        mpfr_ui_sub(share, 1, share, MPFR_RNDN);
        mpfr_mul(w, w, share, MPFR_RNDN);
        mpfr_div_d(w, w, factor, MPFR_RNDN);
        mpfr_add(w, w, pi, MPFR_RNDN);
    }
    mpfr_clears(share, pi, (mpfr_ptr)NULL);
}

void sample_rope_draw(struct sample *s)
{
    static const char *const kinds[] = {"", " rope_type=linear factor=%.17g",
                                        " rope_type=llama3 factor=%.17g low_freq_factor=1 "
                                        "high_freq_factor=4 original_max_position_embeddings=8192"};
    const double base = sample_base(s), factor = 1 + sample_real(s, -3, 5);
    const size_t kind = sample_whole(s, 0, 2), pairs = sample_whole(s, 1, 64);
    char more[160];

    snprintf(more, sizeof(more), kinds[kind], factor);
    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g%s", 2 * pairs, base, more);
    sample_places(s);
    turns_set(s, pairs, base);
    for (size_t c = 0; c < pairs && kind == 1; c++)
        mpfr_div_d(s->column[c].w, s->column[c].w, factor, MPFR_RNDN);
    for (size_t c = 0; c < pairs && kind == 2; c++)
        llama3_stretch(s->column[c].w, factor, 1, 4, 8192);
}

void sample_mrope_draw(struct sample *s)
{
    const double base = sample_base(s);
    size_t section[SAMPLE_AXES], pairs = 0;

    for (size_t i = 0; i < SAMPLE_AXES; i++)
        pairs += section[i] = sample_whole(s, 1, 20);
    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g mrope_section=%zu,%zu,%zu", 2 * pairs,
             base, section[0], section[1], section[2]);
    snprintf(s->view, sizeof(s->view), "positions=");
    for (size_t i = 0; i < SAMPLE_AXES * SAMPLE_ROWS; i++) {
        const size_t axis = i / SAMPLE_ROWS, row = i % SAMPLE_ROWS;
        s->at[row][axis] = sample_place(s);
        sample_put(s->view, sizeof(s->view), row ? "," : axis ? ";" : "", s->at[row][axis]);
    }
    turns_set(s, pairs, base);
    for (size_t c = 0; c < pairs; c++)
        s->column[c].axis = (c >= section[0]) + (c >= section[0] + section[1]);
}

void sample_rope_2d_draw(struct sample *s)
{
    static const char *const variants[] = {"axial", "llama4", "pixtral"};
    const double base = sample_base(s);
    const size_t variant = sample_whole(s, 0, 2), quarter = sample_whole(s, 1, 32);

    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g variant=%s", 4 * quarter, base,
             variants[variant]);
    snprintf(s->view, sizeof(s->view), "width=8 height=8");
    turns_set(s, 2 * quarter, base);
    for (size_t c = 0; c < 2 * quarter; c++) {
        const size_t k = c % quarter, second = c >= quarter;
        sample_column(s, c, base, (double)(variant == 2 ? 2 * k + second : 2 * k),
                      2 * (double)quarter, s->column[c].is_sin);
        s->column[c].axis = variant == 2 ? !second : second;
    }
    sample_grid(s, variant == 1);
}

void sample_rope_nd_draw(struct sample *s)
{
    const double base = sample_base(s);
    size_t pairs[SAMPLE_AXES], sum = 0;

    for (size_t i = 0; i < SAMPLE_AXES; i++)
        sum += pairs[i] = sample_whole(s, 1, 20);
    snprintf(s->text, sizeof(s->text), "base=%.17g axes_dim=%zu,%zu,%zu", base, 2 * pairs[0],
             2 * pairs[1], 2 * pairs[2]);
    snprintf(s->view, sizeof(s->view), "positions=");
    for (size_t i = 0; i < SAMPLE_AXES * SAMPLE_ROWS; i++) {
        const size_t axis = i / SAMPLE_ROWS, row = i % SAMPLE_ROWS;
        s->at[row][axis] = sample_place(s);
        sample_put(s->view, sizeof(s->view), row ? "," : axis ? ";" : "", s->at[row][axis]);
    }
    turns_set(s, sum, base);
    for (size_t c = 0, axis = 0, first = 0; c < sum; c++) {
        for (; c - first >= pairs[axis]; axis++)
            first += pairs[axis];
        sample_column(s, c, base, (double)(c - first), (double)pairs[axis], s->column[c].is_sin);
        s->column[c].axis = axis;
    }
}

/* Positions where the scale is between 2^-100 and 2^100. */
static void xpos_places(struct sample *s, size_t *pairs, double *base)
{
    *pairs = sample_whole(s, 1, 64);
    *base = sample_base(s);
    s->number[0] = floor(sample_real(s, 0, 20));
    s->number[1] = floor(sample_place(s) * 0x1p-23);
    s->flag = sample_bits(s) & 1;
    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g scale_base=%.17g t_center=%.17g",
             2 * *pairs, *base, s->number[0], s->number[1]);
    snprintf(s->view, sizeof(s->view), "side=%s positions=", s->flag ? "key" : "query");
    for (size_t row = 0; row < SAMPLE_ROWS; row++) {
        s->at[row][0] = s->number[1] + (double)sample_whole(s, 0, (size_t)s->number[0] * 100) -
                        s->number[0] * 50;
        sample_put(s->view, sizeof(s->view), row ? "," : "", s->at[row][0]);
    }
}

void sample_xpos_draw(struct sample *s)
{
    size_t pairs;
    double base;

    xpos_places(s, &pairs, &base);
    turns_set(s, pairs, base);
}

void sample_xpos_scale_draw(struct sample *s)
{
    size_t pairs;
    double base;

    xpos_places(s, &pairs, &base);
    s->columns = pairs;
}

/* ((2 pair + 0.4 dim) / (1.4 dim))^((t - center) / scale_base), or one over it. Powers of some
 * columns are fractions with few digits, (4/9)^-17 lies on a tie of f64: the last digits go, so
 * that a tie is one. */
void sample_xpos_scale(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_t exponent, whole;

    mpfr_init2(exponent, SAMPLE_BITS);
    mpfr_init2(whole, SAMPLE_BITS - 64);
    mpfr_set_d(exponent, s->at[row][0] - s->number[1], MPFR_RNDN);
    mpfr_div_d(exponent, exponent, s->flag ? -s->number[0] : s->number[0], MPFR_RNDN);
    mpfr_set_ui(out, 5 * column + 2 * s->columns, MPFR_RNDN);
    mpfr_div_ui(out, out, 7 * s->columns, MPFR_RNDN);
    mpfr_pow(out, out, exponent, MPFR_RNDN);
    mpfr_set(whole, out, MPFR_RNDN);
    mpfr_set(out, whole, MPFR_RNDN);
    mpfr_clears(exponent, whole, (mpfr_ptr)NULL);
}

void sample_xpos(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_t scale;

    mpfr_init2(scale, SAMPLE_BITS);
    sample_xpos_scale(scale, s, row, column);
    sample_wave(out, s, row, column);
    mpfr_mul(out, out, scale, MPFR_RNDN);
    mpfr_clear(scale);
}
