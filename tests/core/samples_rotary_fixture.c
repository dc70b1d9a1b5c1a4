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

/* 1 + k (base - 1) / (pairs - 1), or base^(k / (pairs - 1)). */
static void rising_column(struct sample *s, size_t c, double base, size_t k, size_t pairs,
                          bool is_linear)
{
    const double last = pairs > 1 ? (double)pairs - 1 : 1;
    mpfr_ptr w = s->column[c].w;

    if (!is_linear) {
        sample_column(s, c, base, -(double)k, last, s->column[c].is_sin);
        return;
    }
    mpfr_set_d(w, base, MPFR_RNDN);
    mpfr_sub_d(w, w, 1, MPFR_RNDN);
    mpfr_mul_ui(w, w, k, MPFR_RNDN);
    mpfr_div_d(w, w, last, MPFR_RNDN);
    mpfr_add_d(w, w, 1, MPFR_RNDN);
}

/* Frequencies of any series and unit at coordinates of any kind. A coordinate is (u + number)
 * list[0] / list[1] of its axis; flag says that frequencies are in half turns. */
void sample_axial_draw(struct sample *s)
{
    static const char *const series[] = {"falling", "rising", "linear"};
    static const char *const units[] = {"radian", "quarter-turn", "half-turn", "turn"};
    static const char *const kinds[] = {"centres", "ends", "fractions", "ratio"};
    const double base = 1 + sample_real(s, -4, 20);
    const size_t pairs = sample_whole(s, 1, 20), rule = sample_whole(s, 0, 2);
    const size_t unit = sample_whole(s, 0, 3), kind = sample_whole(s, 0, 3);
    const bool alternates = sample_bits(s) & 1;
    const size_t still = alternates ? sample_whole(s, 0, 4) : 0;
    double size[SAMPLE_AXES], reference[SAMPLE_AXES];

    for (size_t i = 0; i < SAMPLE_AXES; i++) {
        size[i] = kind < 2 ? (double)sample_whole(s, 2, 5000) : sample_real(s, -3, 12);
        reference[i] = sample_real(s, -3, 12);
        s->list[i] = kind == 3 ? reference[i] : 2;
        s->list[SAMPLE_AXES + i] = kind == 1 ? size[i] - 1 : size[i];
        s->number[i] = kind == 3 ? 0 : kind == 2 ? -size[i] / 2 : (1 - size[i]) / 2;
    }
    s->flag = unit > 0;
    snprintf(s->text, sizeof(s->text),
             "base=%.17g axes_dim=%zu,%zu,%zu dim=%zu series=%s unit=%s order=%s "
             "axes_coordinates=%s axes_size=%.17g,%.17g,%.17g",
             base, 2 * pairs, 2 * pairs, 2 * pairs, 6 * pairs + 2 * still, series[rule],
             units[unit], alternates ? "alternating" : "blocks", kinds[kind], size[0], size[1],
             size[2]);
    for (size_t i = 0; i < SAMPLE_AXES && kind == 3; i++)
        sample_put(s->text, sizeof(s->text), i ? "," : " axes_reference=", reference[i]);
    snprintf(s->view, sizeof(s->view), "positions=");
    for (size_t i = 0; i < SAMPLE_AXES * SAMPLE_ROWS; i++) {
        const size_t axis = i / SAMPLE_ROWS, row = i % SAMPLE_ROWS;
        s->at[row][axis] = sample_place(s) / 2;
        sample_put(s->view, sizeof(s->view), row ? "," : axis ? ";" : "", s->at[row][axis]);
    }
    turns_set(s, 3 * pairs + still, base);
    for (size_t c = 0; c < s->columns; c++) {
        const size_t at = c < still ? 0 : c - still;
        const size_t axis = alternates ? at % SAMPLE_AXES : at / pairs;
        const size_t k = alternates ? at / SAMPLE_AXES : at % pairs;
        mpfr_ptr w = s->column[c].w;
        if (rule == 0)
            sample_column(s, c, base, (double)k, (double)pairs, s->column[c].is_sin);
        else
            rising_column(s, c, base, k, pairs, rule == 2);
        mpfr_mul_d(w, w, c < still ? 0 : unit == 0 ? 1 : ldexp(1, (int)unit - 2), MPFR_RNDN);
        s->column[c].axis = c < still ? 0 : axis;
    }
}

/* The zeros of whole quarter turns are positive. */
void sample_axial(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const size_t axis = s->column[column].axis;
    const bool is_sin = s->column[column].is_sin;
    mpfr_t t;

    mpfr_init2(t, SAMPLE_BITS);
    mpfr_set_d(t, s->at[row][axis], MPFR_RNDN);
    mpfr_add_d(t, t, s->number[axis], MPFR_RNDN);
    mpfr_mul_d(t, t, s->list[axis], MPFR_RNDN);
    mpfr_mul(out, s->column[column].w, t, MPFR_RNDN);
    mpfr_div_d(out, out, s->list[SAMPLE_AXES + axis], MPFR_RNDN);
    mpfr_clear(t);
    const bool is_zero = mpfr_zero_p(out);
    if (s->flag)
        (is_sin ? mpfr_sinpi : mpfr_cospi)(out, out, MPFR_RNDN);
    else
        (is_sin ? mpfr_sin : mpfr_cos)(out, out, MPFR_RNDN);
    if (mpfr_zero_p(out) && !is_zero)
        mpfr_set_zero(out, 1);
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
