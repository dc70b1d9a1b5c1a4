/* SPDX-License-Identifier: MIT */
#include "tests/core/samples_draw.h"

/* rope with scaled frequencies, each type by its formula; and the arithmetic of transformers. The
 * last column has what cos and sin are multiplied by. */

enum { PAIRS_MAX = SAMPLE_COLUMNS - 1, LISTED_MAX = 24 };

static mpfr_ptr factor_of(struct sample *s)
{
    return s->column[PAIRS_MAX].w;
}

static void text_add(struct sample *s, const char *name, double number)
{
    const size_t used = strlen(s->text);

    snprintf(s->text + used, sizeof(s->text) - used, " %s=%.17g", name, number);
}

/* One number for each pair, between two powers of 2. */
static void list_add(struct sample *s, const char *name, double *list, int least, int most)
{
    const size_t used = strlen(s->text);

    snprintf(s->text + used, sizeof(s->text) - used, " %s=", name);
    for (size_t c = 0; c < s->columns; c++) {
        list[c] = sample_real(s, least, most);
        sample_put(s->text, sizeof(s->text), c ? "," : "", list[c]);
    }
}

/* w / f * ramp + w * (1 - ramp), the ramp rising from `low` to `high`. */
static void ramp_take(mpfr_ptr w, size_t pair, mpfr_srcptr low, mpfr_srcptr high, double factor)
{
    mpfr_t ramp, span;

    mpfr_inits2(SAMPLE_BITS, ramp, span, (mpfr_ptr)NULL);
    mpfr_ui_sub(ramp, pair, low, MPFR_RNDN);
    mpfr_sub(span, high, low, MPFR_RNDN);
    mpfr_div(ramp, ramp, span, MPFR_RNDN);
    if (mpfr_sgn(ramp) < 0)
        mpfr_set_ui(ramp, 0, MPFR_RNDN);
    if (mpfr_cmp_ui(ramp, 1) > 0)
        mpfr_set_ui(ramp, 1, MPFR_RNDN);
    mpfr_mul(span, w, ramp, MPFR_RNDN);
    mpfr_sub(w, w, span, MPFR_RNDN);
    mpfr_div_d(span, span, factor, MPFR_RNDN);
    mpfr_add(w, w, span, MPFR_RNDN);
    mpfr_clears(ramp, span, (mpfr_ptr)NULL);
}

/* The pair that turns so many times within a length: pairs * ln(length / (2 pi turns)) / ln base.
 */
static void pair_find(mpfr_ptr out, const struct sample *s, double length, double turns)
{
    mpfr_t ln;

    mpfr_init2(ln, SAMPLE_BITS);
    mpfr_const_pi(ln, MPFR_RNDN);
    mpfr_mul_d(ln, ln, 2 * turns, MPFR_RNDN);
    mpfr_d_div(out, length, ln, MPFR_RNDN);
    mpfr_log(out, out, MPFR_RNDN);
    mpfr_mul_ui(out, out, s->columns, MPFR_RNDN);
    mpfr_set_d(ln, s->number[0], MPFR_RNDN);
    mpfr_log(ln, ln, MPFR_RNDN);
    mpfr_div(out, out, ln, MPFR_RNDN);
    mpfr_clear(ln);
}

static void yarn(struct sample *s)
{
    const double factor = 1 + sample_real(s, -3, 5), length = (double)sample_whole(s, 64, 1 << 17);
    const bool whole = sample_bits(s) & 1;
    mpfr_t low, high;

    text_add(s, "factor", factor);
    text_add(s, "original_max_position_embeddings", length);
    snprintf(s->text + strlen(s->text), 20, " truncate=%s", whole ? "true" : "false");
    mpfr_inits2(SAMPLE_BITS, low, high, (mpfr_ptr)NULL);
    pair_find(low, s, length, 32);
    pair_find(high, s, length, 1);
    if (whole) {
        mpfr_floor(low, low);
        mpfr_ceil(high, high);
    }
    if (mpfr_sgn(low) < 0)
        mpfr_set_ui(low, 0, MPFR_RNDN);
    if (mpfr_cmp_ui(high, 2 * s->columns - 1) > 0)
        mpfr_set_ui(high, 2 * s->columns - 1, MPFR_RNDN);
    if (mpfr_equal_p(low, high)) { /* a thousandth, which no double is */
        mpfr_mul_ui(high, high, 1000, MPFR_RNDN);
        mpfr_add_ui(high, high, 1, MPFR_RNDN);
        mpfr_div_ui(high, high, 1000, MPFR_RNDN);
    }
    for (size_t c = 0; c < s->columns; c++)
        ramp_take(s->column[c].w, c, low, high, factor);
    mpfr_set_d(factor_of(s), factor, MPFR_RNDN);
    mpfr_log(factor_of(s), factor_of(s), MPFR_RNDN);
    mpfr_div_ui(factor_of(s), factor_of(s), 10, MPFR_RNDN);
    mpfr_add_ui(factor_of(s), factor_of(s), 1, MPFR_RNDN);
    mpfr_clears(low, high, (mpfr_ptr)NULL);
}

/* Frequencies of a base that is `stretch` to the power of D / (D - 2) as large. */
static void base_stretch(struct sample *s, mpfr_srcptr stretch)
{
    mpfr_t ln;

    mpfr_init2(ln, SAMPLE_BITS);
    mpfr_log(ln, stretch, MPFR_RNDN);
    for (size_t c = 0; c < s->columns; c++) {
        mpfr_t slower;
        mpfr_init2(slower, SAMPLE_BITS); /* D / (D - 2) * c / (D / 2) = 2 c / (D - 2) */
        mpfr_mul_ui(slower, ln, c, MPFR_RNDN);
        mpfr_div_ui(slower, slower, s->columns - 1, MPFR_RNDN);
        mpfr_exp(slower, slower, MPFR_RNDN);
        mpfr_div(s->column[c].w, s->column[c].w, slower, MPFR_RNDN);
        mpfr_clear(slower);
    }
    mpfr_clear(ln);
}

static void ntk(struct sample *s)
{
    const double factor = 1 + sample_real(s, -3, 5);
    mpfr_t stretch;

    mpfr_init2(stretch, SAMPLE_BITS);
    mpfr_set_d(stretch, factor, MPFR_RNDN);
    text_add(s, sample_bits(s) & 1 ? "factor" : "alpha", factor);
    base_stretch(s, stretch);
    mpfr_clear(stretch);
}

/* f S / M - (f - 1), S at least M. */
static void dynamic(struct sample *s)
{
    const double factor = 1 + sample_real(s, -3, 5);
    const size_t most = sample_whole(s, 64, 1 << 13), length = sample_whole(s, 1, 1 << 15);
    mpfr_t stretch;

    mpfr_init2(stretch, SAMPLE_BITS);
    text_add(s, "factor", factor);
    text_add(s, "max_position_embeddings", (double)most);
    text_add(s, "seq_len", (double)length);
    mpfr_set_d(stretch, factor, MPFR_RNDN);
    mpfr_mul_ui(stretch, stretch, length > most ? length - most : 0, MPFR_RNDN);
    mpfr_div_ui(stretch, stretch, most, MPFR_RNDN);
    mpfr_add_ui(stretch, stretch, 1, MPFR_RNDN);
    base_stretch(s, stretch);
    mpfr_clear(stretch);
}

/* Base times factor, each frequency over factor^(2 / D); or over
 * exp(ln factor * ((c + 1) / (D / 2))^b). */
static void ntk_fixed(struct sample *s)
{
    const double factor = 1 + sample_real(s, -3, 5), b = sample_real(s, -2, -1);
    const bool mixed = sample_bits(s) & 1;
    mpfr_t slower, power;

    text_add(s, "factor", factor);
    if (mixed)
        text_add(s, "mixed_b", b);
    mpfr_inits2(SAMPLE_BITS, slower, power, (mpfr_ptr)NULL);
    for (size_t c = 0; c < s->columns; c++) {
        mpfr_set_ui(power, c + 1, MPFR_RNDN);
        mpfr_div_ui(power, power, s->columns, MPFR_RNDN);
        mpfr_set_d(slower, b, MPFR_RNDN);
        if (mixed)
            mpfr_pow(power, power, slower, MPFR_RNDN);
        mpfr_set_d(slower, factor, MPFR_RNDN);
        mpfr_pow(slower, slower, power, MPFR_RNDN);
        mpfr_div(s->column[c].w, s->column[c].w, slower, MPFR_RNDN);
    }
    mpfr_clears(slower, power, (mpfr_ptr)NULL);
}

/* sqrt(1 + ln f / ln O) */
static void longrope(struct sample *s)
{
    const double factor = 1 + sample_real(s, -3, 5);
    const size_t original = sample_whole(s, 2, 1 << 13), length = sample_whole(s, 1, 1 << 14);
    double within[LISTED_MAX], beyond[LISTED_MAX];
    mpfr_t ln;

    list_add(s, "short_factor", within, -1, 5);
    list_add(s, "long_factor", beyond, -1, 5);
    text_add(s, "factor", factor);
    text_add(s, "original_max_position_embeddings", (double)original);
    text_add(s, "seq_len", (double)length);
    for (size_t c = 0; c < s->columns; c++)
        mpfr_div_d(s->column[c].w, s->column[c].w, length > original ? beyond[c] : within[c],
                   MPFR_RNDN);
    mpfr_init2(ln, SAMPLE_BITS);
    mpfr_set_ui(ln, original, MPFR_RNDN);
    mpfr_log(ln, ln, MPFR_RNDN);
    mpfr_set_d(factor_of(s), factor, MPFR_RNDN);
    mpfr_log(factor_of(s), factor_of(s), MPFR_RNDN);
    mpfr_div(factor_of(s), factor_of(s), ln, MPFR_RNDN);
    mpfr_add_ui(factor_of(s), factor_of(s), 1, MPFR_RNDN);
    mpfr_sqrt(factor_of(s), factor_of(s), MPFR_RNDN);
    mpfr_clear(ln);
}

/* The first pairs turn, as many as the product of doubles says. */
static void proportional(struct sample *s)
{
    const double factor = 1 + sample_real(s, -3, 5), part = sample_real(s, -3, -1);
    const size_t turning = (size_t)floor(part * (double)(2 * s->columns) / 2);

    text_add(s, "factor", factor);
    text_add(s, "partial_rotary_factor", part);
    for (size_t c = 0; c < s->columns; c++)
        mpfr_div_d(s->column[c].w, s->column[c].w, factor, MPFR_RNDN);
    for (size_t c = turning; c < s->columns; c++)
        mpfr_set_ui(s->column[c].w, 0, MPFR_RNDN);
}

/* Frequencies as they stand, or what each is divided by. */
static void custom(struct sample *s)
{
    const bool as_they_stand = sample_bits(s) & 1;
    const double amplitude = sample_real(s, -2, 2);
    double list[LISTED_MAX];

    list_add(s, as_they_stand ? "inv_freq" : "freq_factors", list, -20, 3);
    text_add(s, "attention_factor", amplitude);
    mpfr_set_d(factor_of(s), amplitude, MPFR_RNDN);
    for (size_t c = 0; c < s->columns; c++)
        if (as_they_stand)
            mpfr_set_d(s->column[c].w, list[c], MPFR_RNDN);
        else
            mpfr_div_d(s->column[c].w, s->column[c].w, list[c], MPFR_RNDN);
}

static const struct {
    const char *name;
    size_t pairs_max;
    void (*take)(struct sample *s);
} types[] = {
    {"yarn", PAIRS_MAX, yarn},          {"ntk", PAIRS_MAX, ntk},
    {"dynamic", PAIRS_MAX, dynamic},    {"ntk_fixed", PAIRS_MAX, ntk_fixed},
    {"longrope", LISTED_MAX, longrope}, {"proportional", PAIRS_MAX, proportional},
    {"custom", LISTED_MAX, custom},
};

void sample_scaled_draw(struct sample *s)
{
    const size_t type = sample_whole(s, 0, sizeof(types) / sizeof(types[0]) - 1);
    const size_t pairs = sample_whole(s, 2, types[type].pairs_max);
    const bool is_sin = sample_bits(s) & 1;
    const double base = sample_base(s);

    s->columns = pairs;
    s->number[0] = base;
    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g rope_type=%s", 2 * pairs, base,
             types[type].name);
    for (size_t c = 0; c < pairs; c++)
        sample_column(s, c, base, (double)c, (double)pairs, is_sin);
    mpfr_set_ui(factor_of(s), 1, MPFR_RNDN);
    types[type].take(s);
    sample_places(s);
    snprintf(s->view + strlen(s->view), 20, " part=%s", is_sin ? "sin" : "cos");
}

void sample_scaled(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    sample_wave(out, s, row, column);
    mpfr_mul(out, out, s->column[PAIRS_MAX].w, MPFR_RNDN);
}

/* ---- arithmetic=hf --------------------------------------------------------------------------- */

/* 1 / base^(2c / dim), each operation rounded to float32. */
void sample_hf_draw(struct sample *s)
{
    const size_t pairs = sample_whole(s, 2, PAIRS_MAX);
    const bool is_sin = sample_bits(s) & 1;
    const double base = (float)sample_base(s);
    mpfr_t power;

    s->columns = pairs;
    snprintf(s->text, sizeof(s->text), "dim=%zu base=%.17g arithmetic=hf", 2 * pairs, base);
    mpfr_init2(power, SAMPLE_BITS);
    for (size_t c = 0; c < pairs; c++) {
        mpfr_set_d(power, base, MPFR_RNDN);
        mpfr_set_d(s->column[c].w, (float)(2 * c) / (float)(2 * pairs), MPFR_RNDN);
        mpfr_pow(power, power, s->column[c].w, MPFR_RNDN);
        mpfr_set_d(s->column[c].w, 1 / (float)oracle_round(power, PE_F32), MPFR_RNDN);
        s->column[c].is_sin = is_sin;
        s->column[c].axis = 0;
    }
    mpfr_clear(power);
    sample_places(s);
    snprintf(s->view + strlen(s->view), 20, " part=%s", is_sin ? "sin" : "cos");
}

/* Position times frequency, then cos or sin, each rounded to float32. */
void sample_hf(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const float angle = (float)s->at[row][0] * mpfr_get_flt(s->column[column].w, MPFR_RNDN);

    mpfr_set_flt(out, angle, MPFR_RNDN);
    (s->column[column].is_sin ? mpfr_sin : mpfr_cos)(out, out, MPFR_RNDN);
    mpfr_set_d(out, oracle_round(out, PE_F32), MPFR_RNDN);
}
