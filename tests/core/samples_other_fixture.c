/* SPDX-License-Identifier: MIT */
#include "tests/core/samples_draw.h"

/* ---- tables without sines -------------------------------------------------------------------- */

void sample_index_draw(struct sample *s)
{
    s->columns = 1;
    *s->text = '\0';
    sample_places(s);
}

void sample_index_real(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_set_d(out, s->at[row][column], MPFR_RNDN);
}

/* Whole numbers below `end`, as a list. */
static void rows_draw(struct sample *s, double end)
{
    snprintf(s->view, sizeof(s->view), "positions=");
    for (size_t row = 0; row < SAMPLE_ROWS; row++) {
        const double place = fabs(floor(sample_place(s)));
        s->at[row][0] = fmod(place, end);
        sample_put(s->view, sizeof(s->view), row ? "," : "", s->at[row][0]);
    }
}

void sample_normalized_draw(struct sample *s)
{
    s->columns = 1;
    s->number[0] = fabs(floor(sample_place(s))) + 2;
    snprintf(s->text, sizeof(s->text), "length=%.17g", fmin(s->number[0], 0x1p53 - 1));
    s->number[0] = fmin(s->number[0], 0x1p53 - 1);
    rows_draw(s, s->number[0]);
}

void sample_normalized(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_set_d(out, s->at[row][column], MPFR_RNDN);
    mpfr_div_d(out, out, s->number[0] - 1, MPFR_RNDN);
}

void sample_binary_draw(struct sample *s)
{
    s->columns = sample_whole(s, 1, 53);
    s->flag = sample_bits(s) & 1;
    snprintf(s->text, sizeof(s->text), "dim=%zu bit_order=%s", s->columns, s->flag ? "lsb" : "msb");
    rows_draw(s, ldexp(1, (int)s->columns));
}

void sample_binary(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const size_t place = s->flag ? column : s->columns - 1 - column;

    mpfr_set_ui(out, (uint64_t)s->at[row][0] >> place & 1, MPFR_RNDN);
}

/* Random numbers as a posted tensor. */
static void tensor_draw(struct sample *s, size_t rows, size_t columns)
{
    for (size_t i = 0; i < rows * columns; i++)
        s->list[i] = sample_real(s, -8, 8) * (sample_bits(s) & 1 ? 1 : -1);
    s->learned =
        (struct pe_tensor){.dtype = PE_F64, .rank = 2, .shape = {rows, columns}, .data = s->list};
}

void sample_learned_draw(struct sample *s)
{
    s->columns = sample_whole(s, 1, SAMPLE_COLUMNS);
    s->flag = sample_bits(s) & 1;
    s->number[0] = sample_real(s, -8, 8);
    tensor_draw(s, SAMPLE_ROWS, s->columns);
    snprintf(s->text, sizeof(s->text), "table=x l2norm=%d scale=%.17g", s->flag, s->number[0]);
    rows_draw(s, SAMPLE_ROWS);
}

void sample_learned(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const double *table = s->list + (size_t)s->at[row][0] * s->columns;
    mpfr_t norm;

    mpfr_init2(norm, SAMPLE_BITS);
    mpfr_set_zero(norm, 1);
    for (size_t c = 0; c < s->columns; c++) {
        mpfr_set_d(out, table[c], MPFR_RNDN);
        mpfr_fma(norm, out, out, norm, MPFR_RNDN);
    }
    mpfr_sqrt(norm, norm, MPFR_RNDN);
    mpfr_set_d(out, table[column], MPFR_RNDN);
    mpfr_mul_d(out, out, s->number[0], MPFR_RNDN);
    if (s->flag)
        mpfr_div(out, out, norm, MPFR_RNDN);
    mpfr_clear(norm);
}

void sample_hierarchical_draw(struct sample *s)
{
    s->columns = sample_whole(s, 1, SAMPLE_COLUMNS);
    s->number[0] = ldexp((double)(sample_bits(s) >> 12) + 1, -53); /* below 0.5 */
    tensor_draw(s, 8, s->columns);
    snprintf(s->text, sizeof(s->text), "table=x alpha=%.17g", s->number[0]);
    snprintf(s->view, sizeof(s->view), "length=%d", SAMPLE_ROWS);
}

/* u = (p - alpha p_0) / (1 - alpha) */
static void hierarchical_piece(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_t rest;

    mpfr_init2(rest, SAMPLE_BITS);
    mpfr_set_d(rest, -s->list[column], MPFR_RNDN);
    mpfr_mul_d(rest, rest, s->number[0], MPFR_RNDN);
    mpfr_add_d(out, rest, s->list[row * s->columns + column], MPFR_RNDN);
    mpfr_set_ui(rest, 1, MPFR_RNDN);
    mpfr_sub_d(rest, rest, s->number[0], MPFR_RNDN);
    mpfr_div(out, out, rest, MPFR_RNDN);
    mpfr_clear(rest);
}

void sample_hierarchical(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_t block;

    mpfr_init2(block, SAMPLE_BITS);
    hierarchical_piece(block, s, row / 8, column);
    hierarchical_piece(out, s, row % 8, column);
    mpfr_sub(block, block, out, MPFR_RNDN);
    mpfr_mul_d(block, block, s->number[0], MPFR_RNDN);
    mpfr_add(out, out, block, MPFR_RNDN);
    mpfr_clear(block);
}

/* ---- biases ---------------------------------------------------------------------------------- */

enum { HEADS = 4, QUERIES = SAMPLE_ROWS / HEADS };

/* A row is a query of a head, a column a key. */
static double distance_of(const struct sample *s, size_t row, size_t column)
{
    return (double)column - (s->number[2] + (double)(row % QUERIES));
}

static void queries_draw(struct sample *s)
{
    const double start = floor(sample_place(s));

    s->columns = SAMPLE_COLUMNS;
    s->number[2] = sample_bits(s) & 1 ? (double)sample_whole(s, 0, 64) : fmod(start, 0x1p52);
    snprintf(s->view, sizeof(s->view), "query_length=%d key_length=%d query_start=%.17g", QUERIES,
             SAMPLE_COLUMNS, s->number[2]);
}

/* A parameter that has a number for each head: s->list[which * HEADS + head]. */
static void heads_draw(struct sample *s, const char *name, size_t which, int least, int most)
{
    sample_put(s->text, sizeof(s->text), name, 0);
    s->text[strlen(s->text) - 1] = '\0';
    for (size_t h = 0; h < HEADS; h++) {
        s->list[which * HEADS + h] = sample_real(s, least, most);
        sample_put(s->text, sizeof(s->text), h ? "," : "", s->list[which * HEADS + h]);
    }
}

void sample_alibi_draw(struct sample *s)
{
    queries_draw(s);
    snprintf(s->text, sizeof(s->text), "heads=%d", HEADS);
    s->flag = sample_bits(s) & 1;
    s->number[0] = sample_real(s, -4, 6);
    if (s->flag)
        heads_draw(s, " slopes=", 0, -20, 20);
    else
        sample_put(s->text, sizeof(s->text), " alibi_bias_max=", s->number[0]);
}

void sample_alibi(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const size_t head = row / QUERIES;

    if (s->flag)
        mpfr_set_d(out, s->list[head], MPFR_RNDN);
    else {
        mpfr_set_d(out, -s->number[0], MPFR_RNDN);
        mpfr_mul_ui(out, out, head + 1, MPFR_RNDN);
        mpfr_div_ui(out, out, HEADS, MPFR_RNDN);
        mpfr_exp2(out, out, MPFR_RNDN);
    }
    mpfr_mul_d(out, out, -fabs(distance_of(s, row, column)), MPFR_RNDN);
}

void sample_kerple_log_draw(struct sample *s)
{
    queries_draw(s);
    snprintf(s->text, sizeof(s->text), "heads=%d", HEADS);
    heads_draw(s, " p=", 0, -30, 30);
    heads_draw(s, " a=", 1, -60, 30);
}

void sample_kerple_log(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_set_d(out, fabs(distance_of(s, row, column)), MPFR_RNDN);
    mpfr_mul_d(out, out, s->list[HEADS + row / QUERIES], MPFR_RNDN);
    mpfr_log1p(out, out, MPFR_RNDN);
    mpfr_mul_d(out, out, -s->list[row / QUERIES], MPFR_RNDN);
}

void sample_kerple_power_draw(struct sample *s)
{
    queries_draw(s);
    snprintf(s->text, sizeof(s->text), "heads=%d", HEADS);
    heads_draw(s, " a=", 0, -30, 30);
    heads_draw(s, " p=", 1, -10, 0);
}

void sample_kerple_power(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_t exponent;

    mpfr_init2(exponent, 53);
    mpfr_set_d(exponent, s->list[HEADS + row / QUERIES], MPFR_RNDN);
    mpfr_set_d(out, fabs(distance_of(s, row, column)), MPFR_RNDN);
    mpfr_pow(out, out, exponent, MPFR_RNDN);
    mpfr_mul_d(out, out, -s->list[row / QUERIES], MPFR_RNDN);
    mpfr_clear(exponent);
}

/* s->number[0] cosines. */
void sample_sandwich_draw(struct sample *s)
{
    const double base = sample_base(s);

    queries_draw(s);
    s->number[0] = (double)sample_whole(s, 1, 12);
    snprintf(s->text, sizeof(s->text), "heads=%d dim=%.0f base=%.17g", HEADS, 2 * s->number[0],
             base);
    heads_draw(s, " scales=", 0, -30, 30);
    for (size_t k = 0; k < (size_t)s->number[0]; k++)
        sample_column(s, k, base, (double)k + 1, s->number[0], false);
}

void sample_sandwich(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    mpfr_t term;

    mpfr_init2(term, SAMPLE_BITS);
    mpfr_set_zero(out, 1);
    for (size_t k = 0; k < (size_t)s->number[0]; k++) {
        mpfr_mul_d(term, s->column[k].w, distance_of(s, row, column), MPFR_RNDN);
        mpfr_cos(term, term, MPFR_RNDN);
        mpfr_add(out, out, term, MPFR_RNDN);
    }
    mpfr_mul_d(out, out, s->list[row / QUERIES], MPFR_RNDN);
    mpfr_clear(term);
}

/* ---- buckets --------------------------------------------------------------------------------- */

/* ln(n / from) / ln(to / from) * steps, nudged to the side that keeps whole numbers. */
static long steps_of(double n, double from, double to, double steps, bool up)
{
    mpfr_t ratio, whole;
    long found;

    mpfr_inits2(SAMPLE_BITS, ratio, whole, (mpfr_ptr)NULL);
    mpfr_set_d(whole, to, MPFR_RNDN);
    mpfr_div_d(whole, whole, from, MPFR_RNDN);
    mpfr_log(whole, whole, MPFR_RNDN);
    mpfr_set_d(ratio, n, MPFR_RNDN);
    mpfr_div_d(ratio, ratio, from, MPFR_RNDN);
    mpfr_log(ratio, ratio, MPFR_RNDN);
    mpfr_div(ratio, ratio, whole, MPFR_RNDN);
    mpfr_mul_d(ratio, ratio, steps, MPFR_RNDN);
    mpfr_set_si_2exp(whole, up ? -1 : 1, -150, MPFR_RNDN);
    mpfr_add(ratio, ratio, whole, MPFR_RNDN);
    found = mpfr_get_si(ratio, up ? MPFR_RNDU : MPFR_RNDD);
    mpfr_clears(ratio, whole, (mpfr_ptr)NULL);
    return found;
}

void sample_t5_draw(struct sample *s)
{
    queries_draw(s);
    s->flag = sample_bits(s) & 1;
    s->number[0] = 4 * (double)sample_whole(s, 1, 64);
    s->number[1] = s->number[0] + (double)sample_whole(s, 1, 1000);
    snprintf(s->text, sizeof(s->text), "num_buckets=%.0f max_distance=%.0f bidirectional=%d",
             s->number[0], s->number[1], s->flag);
    tensor_draw(s, (size_t)s->number[0], HEADS);
}

void sample_t5(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const double d = distance_of(s, row, column),
                 one_way = s->flag ? s->number[0] / 2 : s->number[0];
    const double n = s->flag ? fabs(d) : fmax(-d, 0), exact = floor(one_way / 2);
    double bucket = n;

    if (n >= exact)
        bucket = fmin(exact + (double)steps_of(n, exact, s->number[1], one_way - exact, false),
                      one_way - 1);
    if (s->flag && d > 0)
        bucket += one_way;
    mpfr_set_d(out, s->list[(size_t)bucket * HEADS + row / QUERIES], MPFR_RNDN);
}

void sample_deberta_draw(struct sample *s)
{
    queries_draw(s);
    s->flag = sample_bits(s) & 1;
    s->number[0] = 2 * (double)sample_whole(s, 2, 512);
    s->number[1] = s->number[0] + (double)sample_whole(s, 2, 1000);
    snprintf(s->text, sizeof(s->text),
             "position_buckets=%.0f max_relative_positions=%.0f direction=%s", s->number[0],
             s->number[1], s->flag ? "j-i" : "i-j");
}

void sample_deberta(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const double d = distance_of(s, row, column), r = s->flag ? d : -d, half = s->number[0] / 2;
    double bucket = r;

    if (fabs(r) > half)
        bucket =
            copysign(half + (double)steps_of(fabs(r), half, s->number[1] - 1, half - 1, true), r);
    mpfr_set_d(out, fmax(fmin(bucket, s->number[0] - 1), -s->number[0]), MPFR_RNDN);
}

void sample_shaw_bias_draw(struct sample *s)
{
    queries_draw(s);
    s->flag = sample_bits(s) & 1;
    s->number[0] = (double)sample_whole(s, 1, 100);
    snprintf(s->text, sizeof(s->text), "max_relative_position=%.0f direction=%s", s->number[0],
             s->flag ? "i-j" : "j-i");
}

void sample_shaw_bias(mpfr_ptr out, const struct sample *s, size_t row, size_t column)
{
    const double d = distance_of(s, row, column), most = s->number[0];

    mpfr_set_d(out, fmax(fmin(s->flag ? -d : d, most), -most) + most, MPFR_RNDN);
}
