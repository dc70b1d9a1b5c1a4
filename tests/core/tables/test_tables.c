/* SPDX-License-Identifier: MIT */

/* Tables, frequencies and biases against published numbers, and relations between the schemes. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/views/view.h"
#include "tests/check_main.h"
#include "tests/core/refusing_work.h"
#include "tests/core/scheme_fixture.h"

/* One output of a view in f64; the caller frees it. */
static double *output_new(const char *encoding, const char *text, const char *view_name,
                          const char *view_text, size_t index, size_t *count)
{
    const struct pe_view_type *type = pe_encoding_view(pe_encoding_find(encoding), view_name);
    struct pe_params params, view_params;
    struct pe_scheme *scheme;
    struct pe_view *view;
    struct pe_error err = {0};
    const struct pe_output *output;
    char name[64], value[64];
    double *data;

    ck_assert_msg(!pe_params_parse(&params, encoding, text, &err), "%s", err.detail);
    ck_assert_msg(!pe_scheme_new(&scheme, pe_encoding_find(encoding), &params, NULL, &err), "%s",
                  err.detail);
    pe_params_free(&params);
    pe_params_init(&view_params, type->info.params, type->info.params_count);
    for (int used; sscanf(view_text, " %63[^=]=%63s%n", name, value, &used) == 2; view_text += used)
        ck_assert_msg(!pe_params_set_text(&view_params, (size_t)pe_params_find(&view_params, name),
                                          value, &err),
                      "%s", err.detail);
    ck_assert(!pe_params_finish(&view_params, &err));
    ck_assert_msg(!pe_view_new(&view, scheme,
                               pe_encoding_view(pe_scheme_encoding(scheme), view_name),
                               &view_params, PE_F64, NULL, &err),
                  "%s", err.detail);
    output = pe_view_output(view, index);
    *count = output->rows * output->row_elements;
    data = malloc((*count + 1) * sizeof(*data));
    pe_view_fill(view, index, 0, output->rows, data, NULL, &(struct pe_error){0});
    pe_view_free(view);
    pe_params_free(&view_params);
    pe_scheme_free(scheme);
    return data;
}

static void expect_values(double *got, size_t count, const double *want, double tolerance)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs(got[i] - want[i]) <= tolerance, "[%zu] got %.10g, want %.10g", i, got[i],
                      want[i]);
    free(got);
}

/* A common textbook example: length 4, dim 4, base 100. */
TEST(sinusoidal_published)
{
    static const double want[] = {0,          1,           0,          1,
                                  0.84147098, 0.54030231,  0.09983342, 0.99500417,
                                  0.90929743, -0.41614684, 0.19866933, 0.98006658,
                                  0.14112001, -0.9899925,  0.29552021, 0.95533649};
    size_t count;
    double *got = output_new("sinusoidal", "dim=4 base=100", "table", "length=4", 0, &count);

    ck_assert_uint_eq(count, 16);
    expect_values(got, count, want, 5e-9);
}

/* Hugging Face transformers, test_modeling_fsmt.py: concatenated, endpoint, positions from 2. */
TEST(sinusoidal_fairseq)
{
    static const double want[] = {0.9093,  0.019999, 0.0002, -0.41615, 0.9998,  1.0,
                                  0.14112, 0.029995, 0.0003, -0.98999, 0.99955, 1.0};
    size_t count;
    double *got = output_new("sinusoidal", "dim=6 layout=concatenated spacing=endpoint", "table",
                             "length=2 start=2", 0, &count);

    ck_assert_uint_eq(count, 12);
    expect_values(got, count, want, 1e-5);
}

/* Odd widths: paper has the printed exponents and no last cosine, next-even is the next wider table
 * without its last column, endpoint pads with a zero. */
TEST(sinusoidal_odd)
{
    size_t count, wide_count;
    OWNED_MEMORY double *odd =
        output_new("sinusoidal", "dim=5", "table", "start=3 length=1", 0, &count);
    OWNED_MEMORY double *wide =
        output_new("sinusoidal", "dim=6", "table", "start=3 length=1", 0, &wide_count);
    OWNED_MEMORY double *endpoint =
        output_new("sinusoidal", "dim=5 spacing=endpoint", "table", "start=3 length=1", 0, &count);
    OWNED_MEMORY double *next =
        output_new("sinusoidal", "dim=5 spacing=next-even", "table", "start=3 length=1", 0, &count);

    for (size_t column = 0; column < 5; column++) {
        const double angle = 3 * pow(10000, -(double)(column / 2 * 2) / 5);
        ck_assert(fabs(odd[column] - (column % 2 ? cos(angle) : sin(angle))) < 1e-14);
    }
    ck_assert(memcmp(next, wide, 5 * sizeof(double)) == 0);
    ck_assert(endpoint[4] == 0 && fabs(endpoint[2] - sin(3e-4)) < 1e-12);
}

/* transformers, tests/utils/test_modeling_rope_utils.py, to the five digits given there. */
static const struct {
    const char *text;
    size_t pair;
    double inv_freq;
} frequencies[] = {
    {"dim=128", 1, 0.86596},
    {"dim=128", 63, 0.00011548},
    {"dim=256 rope_type=yarn factor=10 original_max_position_embeddings=131072", 94, 0.0010699},
    {"dim=256 rope_type=yarn factor=10 original_max_position_embeddings=131072", 127, 3.4431e-05},
    {"dim=128 rope_type=linear factor=8", 0, 0.125},
};

TEST_LOOP(COUNT_OF(frequencies), rope_frequencies)
{
    size_t count;
    OWNED_MEMORY double *got =
        output_new("rope", frequencies[_i].text, "frequencies", "", 0, &count);

    ck_assert_uint_gt(count, frequencies[_i].pair);
    ck_assert_msg(fabs(got[frequencies[_i].pair] / frequencies[_i].inv_freq - 1) < 5e-5, "%.7g",
                  got[frequencies[_i].pair]);
}

/* llama3's pieces: short waves kept, long ones slowed, freq_factors = w / w'. */
TEST(llama3_pieces)
{
    const char *text = "dim=128 base=500000 rope_type=llama3 factor=8 low_freq_factor=1 "
                       "high_freq_factor=4 original_max_position_embeddings=8192";
    size_t count;
    OWNED_MEMORY double *scaled = output_new("rope", text, "frequencies", "", 0, &count);
    OWNED_MEMORY double *factors = output_new("rope", text, "frequencies", "", 2, &count);
    OWNED_MEMORY double *plain =
        output_new("rope", "dim=128 base=500000", "frequencies", "", 0, &count);
    size_t kept = 0, slowed = 0, blended = 0;

    for (size_t i = 0; i < count; i++) {
        const double wave = 2 * M_PI / plain[i];
        const double s = (8192 / wave - 1) / 3;
        const double want = s >= 1   ? plain[i]
                            : s <= 0 ? plain[i] / 8
                                     : (1 - s) * plain[i] / 8 + s * plain[i];
        s >= 1 ? kept++ : s <= 0 ? slowed++ : blended++;
        ck_assert_double_eq_tol(scaled[i] / want, 1, 1e-14);
        ck_assert_double_eq_tol(factors[i], plain[i] / scaled[i], 1e-13);
    }
    ck_assert(kept > 0 && slowed > 0 && blended > 0);
}

/* A factor of 1 changes nothing, bit for bit. */
TEST(factor_one)
{
    static const char *const types[] = {
        "rope_type=linear factor=1",
        "rope_type=yarn factor=1 original_max_position_embeddings=4096",
        "rope_type=llama3 factor=1 low_freq_factor=1 high_freq_factor=4 "
        "original_max_position_embeddings=8192"};
    char text[200];
    size_t count, plain_count;
    OWNED_MEMORY double *plain =
        output_new("rope", "dim=64", "table", "length=50", 0, &plain_count);

    for (size_t i = 0; i < 3; i++) {
        snprintf(text, sizeof(text), "dim=64 %s", types[i]);
        OWNED_MEMORY double *got = output_new("rope", text, "table", "length=50", 0, &count);
        ck_assert_uint_eq(count, plain_count);
        ck_assert_msg(memcmp(got, plain, count * sizeof(double)) == 0, "%s", types[i]);
    }
}

/* keras-hub alibi_bias_test.py: 8 heads; and 3 heads with alibi_bias_max 6, one query at the end.
 */
TEST(alibi_published)
{
    static const double three[] = {-0.25, -0.125,      0,           -0.03125, -0.015625,
                                   0,     -0.70710677, -0.35355338, 0};
    size_t count;
    double *got = output_new("alibi", "heads=8", "bias", "query_length=1 key_length=3", 0, &count);

    ck_assert_uint_eq(count, 24);
    for (size_t head = 0; head < 8; head++)
        for (size_t key = 0; key < 3; key++)
            ck_assert_double_eq(got[3 * head + key],
                                (double)key == 2 ? 0 : -ldexp((double)(2 - key), -(int)head - 1));
    free(got);
    got = output_new("alibi", "heads=3 alibi_bias_max=6", "bias", "query_length=1 key_length=3", 0,
                     &count);
    ck_assert_uint_eq(count, 9);
    expect_values(got, count, three, 5e-8);
}

/* Rows of a table are the same bytes where their work refuses memory, and nothing stays charged for
 * them: whole positions in any order, ranges and fractions, in every dtype and layout of columns.
 */
TEST(memory_of_rows)
{
    enum { ROWS = 400 };
    static const struct {
        const char *encoding, *text, *more;
    } tables[] = {{"rope", "dim=64", "duplicate=true"},
                  {"rope", "dim=64", ""},
                  {"sinusoidal", "dim=62", ""},
                  {"sinusoidal", "dim=62 layout=concatenated", ""},
                  {"all-sin", "dim=40", ""}};
    size_t reserved = 0;

    for (size_t i = 0; i < COUNT_OF(tables) * 3 * 4; i++) {
        const enum pe_dtype dtype = (enum pe_dtype)(i % 4);
        const unsigned way = (unsigned)(i / 4 % 3);
        char view[12 * ROWS + 40];
        int at = snprintf(view, sizeof(view), "%s positions=", tables[i / 12].more);
        for (size_t row = 0; row < ROWS; row++)
            at += snprintf(view + at, sizeof(view) - (size_t)at, row ? ",%g" : "%g",
                           way == 0   ? (double)(row * 37 % 409)
                           : way == 1 ? (double)row * 0.5
                                      : (double)(row / 2 * 1000 + row % 2));
        const struct request request = {
            tables[i / 12].encoding, tables[i / 12].text, "table", view, dtype, NULL};
        OWNED_OPENED opened = request_open(&request);
        const struct pe_output *output = pe_view_output(opened.view, 0);
        const size_t size = output->rows * output->row_elements * pe_dtype_info(dtype)->size;
        OWNED_MEMORY char *plain = malloc(size), *counted = malloc(size), *refused = malloc(size);
        struct refusing all, none;
        struct pe_work *counting = refusing_work(&all, -1), *refusing = refusing_work(&none, 0);
        struct pe_error err = {0};
        ck_assert_uint_eq(output->rows, ROWS);
        ck_assert(!pe_view_fill(opened.view, 0, 0, ROWS, plain, NULL, &err));
        ck_assert(!pe_view_fill(opened.view, 0, 0, ROWS, counted, counting, &err));
        ck_assert_msg(!pe_view_fill(opened.view, 0, 0, ROWS, refused, refusing, &err), "%s",
                      err.detail);
        ck_assert_msg(all.held == 0 && none.held == 0, "%s, way %u, %s: %zu and %zu bytes",
                      request.encoding, way, pe_dtype_name(dtype), all.held, none.held);
        ck_assert(!memcmp(plain, counted, size) && !memcmp(plain, refused, size));
        reserved += all.left < -1;
        pe_work_free(counting);
        pe_work_free(refusing);
    }
    ck_assert_uint_gt(reserved, 10);
}
