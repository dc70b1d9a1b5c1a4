/* SPDX-License-Identifier: MIT */
#include "tests/core/table_fixture.h"

struct filled filled_new(const char *encoding, const char *text, const char *view_text,
                         enum pe_dtype dtype, bool cut)
{
    struct opened opened = request_open(&(const struct request){.encoding = encoding,
                                                                .text = text,
                                                                .view = "table",
                                                                .view_text = view_text,
                                                                .dtype = dtype});
    const struct pe_output *output = pe_view_output(opened.view, 0);
    struct filled table = {.dtype = dtype};

    const size_t row_size = output->row_elements * pe_dtype_info(dtype)->size;
    table.rows = output->rows;
    table.columns = output->row_elements;
    table.data = malloc(table.rows * row_size + 1);
    memset(table.data, 0xa5, table.rows * row_size + 1);
    for (size_t row = 0, piece = cut ? 1 : table.rows; row < table.rows; row += piece, piece += cut)
        rows_fill(opened.view, 0, row, row + piece < table.rows ? row + piece : table.rows,
                  table.data + row * row_size);
    ck_assert_int_eq((unsigned char)table.data[table.rows * row_size], 0xa5);
    opened_free(&opened);
    return table;
}

double filled_at(const struct filled *table, size_t row, size_t column)
{
    double value;

    pe_to_f64(&value,
              table->data + (row * table->columns + column) * pe_dtype_info(table->dtype)->size,
              table->dtype, 1);
    return value;
}

void expect_table(const char *encoding, const char *text, const char *view_text, const double *want,
                  size_t rows, size_t columns, double tolerance)
{
    struct filled table = filled_new(encoding, text, view_text, PE_F64, false);

    ck_assert_uint_eq(table.rows, rows);
    ck_assert_uint_eq(table.columns, columns);
    for (size_t i = 0; i < rows * columns; i++) {
        const double got = filled_at(&table, i / columns, i % columns);
        ck_assert_msg(fabs(got - want[i]) <= tolerance, "%s [%zu] got %.10g, want %.10g", encoding,
                      i, got, want[i]);
    }
    free(table.data);
}

void expect_refused(const char *encoding, const char *text, const char *view_text,
                    enum pe_status status, const char *where)
{
    request_refused(&(const struct request){.encoding = encoding,
                                            .text = text,
                                            .view = "table",
                                            .view_text = view_text,
                                            .dtype = PE_F32},
                    status, where);
}

double oracle_round(mpfr_srcptr value, enum pe_dtype dtype)
{
    static const struct {
        int bits, least; /* of the significand; exponent of the smallest subnormal */
    } formats[] = {
        [PE_F64] = {53, -1074}, [PE_F32] = {24, -149}, [PE_F16] = {11, -24}, [PE_BF16] = {8, -133}};
    const int least = formats[dtype].least;
    double rounded;
    mpfr_t copy;

    if (mpfr_zero_p(value))
        return mpfr_get_d(value, MPFR_RNDN);
    const long keep = mpfr_get_exp(value) - least;
    mpfr_init2(copy, mpfr_get_prec(value));
    mpfr_set(copy, value, MPFR_RNDN);
    if (keep < 1) {
        mpfr_set_ui_2exp(copy, 1, least - 1, MPFR_RNDN);
        rounded = copysign(mpfr_cmpabs(value, copy) > 0 ? ldexp(1, least) : 0, mpfr_sgn(value));
    } else {
        mpfr_prec_round(copy, keep < formats[dtype].bits ? keep : formats[dtype].bits, MPFR_RNDN);
        rounded = mpfr_get_d(copy, MPFR_RNDN);
    }
    mpfr_clear(copy);
    if (fabs(rounded) > (dtype == PE_F16 ? 65504 : dtype == PE_F64 ? INFINITY : 0x1.fffffep127))
        return copysign(INFINITY, rounded);
    return rounded;
}

void oracle_write(mpfr_srcptr value, enum pe_dtype dtype, void *out)
{
    const double rounded = oracle_round(value, dtype);

    pe_from_f64(out, dtype, &rounded, 1);
}

size_t expect_rounded(const char *encoding, const char *text, const char *view_text, oracle *real)
{
    size_t checked = 0;
    mpfr_t value;

    mpfr_init2(value, ORACLE_BITS);
    for (enum pe_dtype dtype = PE_F64; dtype <= PE_BF16; dtype++) {
        struct filled table = filled_new(encoding, text, view_text, dtype, false);
        for (size_t row = 0; row < table.rows; row++)
            for (size_t column = 0; column < table.columns; column++, checked++) {
                const double got = filled_at(&table, row, column);
                real(value, row, column);
                const double want = oracle_round(value, dtype);
                ck_assert_msg(got == want && signbit(got) == signbit(want),
                              "%s %s %s %s [%zu, %zu]: got %a, want %a", encoding, text, view_text,
                              pe_dtype_info(dtype)->name, row, column, got, want);
            }
        free(table.data);
    }
    mpfr_clear(value);
    return checked;
}

void oracle_power(mpfr_ptr out, double base, double numerator, double denominator)
{
    mpfr_t exponent;

    mpfr_init2(exponent, ORACLE_BITS);
    mpfr_set_d(exponent, -numerator, MPFR_RNDN);
    mpfr_div_d(exponent, exponent, denominator, MPFR_RNDN);
    mpfr_set_d(out, base, MPFR_RNDN);
    mpfr_pow(out, out, exponent, MPFR_RNDN);
    mpfr_clear(exponent);
}

void oracle_wave(mpfr_ptr out, double t, bool is_sin)
{
    mpfr_mul_d(out, out, t, MPFR_RNDN);
    (is_sin ? mpfr_sin : mpfr_cos)(out, out, MPFR_RNDN);
}

void oracle_frequency(mpfr_ptr out, const struct oracle_scheme *s, size_t pair)
{
    oracle_power(out, s->base, 2 * (double)pair, (double)s->dim);
    mpfr_div_d(out, out, s->factor, MPFR_RNDN);
}

size_t bias_compare(const char *encoding, const char *text, size_t near_keys,
                    void (*want_write)(const void *kernel, double distance, enum pe_dtype dtype,
                                       void *out),
                    const void *kernel)
{
    static const enum pe_dtype dtypes[] = {PE_F64, PE_F32, PE_F16, PE_BF16};
    static const double starts[] = {20, 123456789012, -9007199254740991, 9007199254740990};
    const size_t queries[] = {1, 3, 2, 2}, keys[] = {near_keys, 40, 40, 9};
    unsigned char want[8];
    size_t compared = 0;
    char parameters[120], place[120];

    snprintf(parameters, sizeof(parameters), "heads=1 %s", text);
    for (size_t i = 0; i < 16; i++) {
        const enum pe_dtype dtype = dtypes[i / 4];
        const size_t size = pe_dtype_info(dtype)->size;
        snprintf(place, sizeof(place), "query_length=%zu key_length=%zu query_start=%.0f",
                 queries[i % 4], keys[i % 4], starts[i % 4]);
        struct viewed got = viewed_new(encoding, parameters, "bias", place, NULL, dtype);
        ck_assert_uint_eq(got.count, queries[i % 4] * keys[i % 4]);
        for (size_t e = 0; e < got.count; e++) {
            /* The distance has 54 bits where the query is at the end: two doubles hold it. */
            const double key = (double)(e % keys[i % 4]);
            const double query = starts[i % 4] + (double)(e / keys[i % 4]);
            if (key - query != floor(key - query) || (key - query) + query != key)
                continue;
            want_write(kernel, key - query, dtype, want);
            ck_assert_msg(memcmp(want, (char *)got.data + e * size, size) == 0, "%s %zu",
                          parameters, e);
            compared++;
        }
        viewed_free(&got);
    }
    printf("%s: %zu elements of %s rounded as by MPFR\n", encoding, compared, text);
    return compared;
}
