/* SPDX-License-Identifier: MIT */
#include "tests/check_main.h"
#include "tests/core/analysis_fixture.h"
#include "tests/core/relations_fixture.h"

/* Relations that hold of rows of sines and cosines, over random parameters. */

static struct text random_sinusoids(size_t *dim)
{
    struct text base = random_dim(dim), text;

    snprintf(text.at, sizeof(text.at), "%.200s layout=%s spacing=%s", base.at,
             random_whole(0, 1) ? "interleaved" : "concatenated",
             random_whole(0, 1) ? "paper" : "endpoint");
    return text;
}

/* Column of a pair's sine or cosine. */
static size_t column_of(const char *text, size_t dim, size_t pair, bool is_cos)
{
    return strstr(text, "concatenated") ? pair + (is_cos ? dim / 2 : 0) : 2 * pair + is_cos;
}

/* PE(t + delta) = T PE(t), T depending on delta alone: by the table's own rows */
TEST(a_shift_is_linear)
{
    double worst = 0;
    size_t dim, checked = 0;

    relations_begin("PE(t + delta) = T PE(t)");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        const struct text text = random_sinusoids(&dim);
        const double t = random_position(), delta = random_position();
        char view[120], shift[120];
        snprintf(view, sizeof(view), "positions=%.0f,%.0f", t, t + delta);
        snprintf(shift, sizeof(shift), "position=%.0f delta=%.0f", t, delta);
        struct filled table = filled_new("sinusoidal", text.at, view, PE_F64, false);
        struct analysed a = analysed_new("sinusoidal", text.at, "shift", shift, PE_F64);
        for (size_t k = 0; k < dim; k++, checked++) {
            const size_t pair = k / 2;
            const double *block = a.outputs[0] + 2 * k;
            const double sine = filled_at(&table, 0, column_of(text.at, dim, pair, false));
            const double cosine = filled_at(&table, 0, column_of(text.at, dim, pair, true));
            const double behind = filled_at(&table, 1, column_of(text.at, dim, pair, k % 2));
            worst = fmax(worst, fabs(block[0] * sine + block[1] * cosine - behind));
            ck_assert_double_eq(a.outputs[1][k], behind);
            ck_assert_double_le(fabs(a.outputs[3][k]), 0x1p-50);
        }
        analysed_free(&a);
        free(table.data);
    }
    printf("%zu elements, worst %.3g\n", checked, worst);
    ck_assert_double_lt(worst, 0x1p-50);
    ck_assert_uint_gt(checked, 20 * RELATION_CASES);
}

/* PE_t . PE_(t + delta) = sum of cos(w_k delta), the same for -delta */
TEST(products_are_sums_of_cosines)
{
    double worst = 0;
    size_t dim, checked = 0;

    relations_begin("PE_t . PE_(t + delta) = sum cos(w delta)");
    for (size_t i = 0; i < RELATION_CASES; i++) {
        const struct text text = random_sinusoids(&dim);
        const double t = random_position(), delta = random_position();
        char view[160], decay[120];
        snprintf(view, sizeof(view), "positions=%.0f,%.0f,%.0f", t, t + delta, t - delta);
        struct filled table = filled_new("sinusoidal", text.at, view, PE_F64, false);
        double sums[2], products[2] = {0};
        for (int side = 0; side < 2; side++) {
            const double offset = side ? -delta : delta;
            snprintf(decay, sizeof(decay), "min_offset=%.0f max_offset=%.0f", offset, offset);
            struct analysed a = analysed_new("sinusoidal", text.at, "decay", decay, PE_F64);
            sums[side] = a.outputs[0][0];
            for (size_t k = 0; k < dim; k++)
                products[side] += filled_at(&table, 0, k) * filled_at(&table, 1 + side, k);
            worst = fmax(worst, fabs(sums[side] - products[side]));
            analysed_free(&a);
        }
        ck_assert_double_eq(sums[0], sums[1]);
        free(table.data);
        checked++;
    }
    printf("%zu cases, worst %.3g\n", checked, worst);
    ck_assert_double_lt(worst, 0x1p-44);
    ck_assert_uint_eq(checked, RELATION_CASES);
}

/* it decays only on average and oscillates */
TEST(decay_is_on_average_only)
{
    enum { LENGTH = 512, SCHEMES = 40 };
    size_t rises = 0, falls = 0;

    relations_begin("it decays only on average and oscillates");
    for (size_t i = 0; i < SCHEMES; i++) {
        char text[120];
        double early = 0, late = 0;
        snprintf(text, sizeof(text), "dim=%zu base=%.17g", 2 * random_whole(16, 32),
                 exp(random_between(8, 13)));
        struct analysed a = analysed_new("sinusoidal", text, "decay", "max_offset=511", PE_F64);
        for (size_t k = 0; k + 1 < LENGTH; k++) {
            *(a.outputs[0][k + 1] > a.outputs[0][k] ? &rises : &falls) += 1;
            *(k < LENGTH / 4 ? &early : &late) += a.outputs[0][k];
            ck_assert_double_le(a.outputs[1][k + 1], a.outputs[1][k]); /* the envelope does fall */
        }
        ck_assert_double_gt(early / (LENGTH / 4), late / (LENGTH - 1 - LENGTH / 4));
        analysed_free(&a);
    }
    printf("%zu steps up, %zu down\n", rises, falls);
    ck_assert_uint_gt(rises, falls / 4);
    ck_assert_uint_gt(falls, rises);
    ck_assert_uint_eq(rises + falls, SCHEMES * (LENGTH - 1));
}
