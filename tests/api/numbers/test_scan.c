/* SPDX-License-Identifier: MIT */

/* Reading of numbers, rounded once, compared with MPFR: decimals of all lengths and magnitudes,
 * ties of hundreds of digits, edges. Each text is read by the fast path, at the end of the memory,
 * and by pe_from_text, which decides ties. And elements of arrays: integers, words, errors, runs.
 */

#include <math.h>
#include <mpfr.h>
#include <stdio.h>

#include "api/numbers/decimal.h"
#include "tests/api/numbers.h"
#include "tests/check_main.h"

static const enum pe_dtype floats[] = {PE_F64, PE_F32, PE_F16, PE_BF16};

/* The nearest number of the dtype by MPFR, its bits, ties to even. */
static uint64_t nearest(const char *text, enum pe_dtype dtype)
{
    const struct api_binary to = api_binary_of(dtype);
    const size_t size = pe_dtype_info(dtype)->size;
    uint64_t bits = 0;
    double value;
    mpfr_t number;

    mpfr_init2(number, to.precision);
    mpfr_set_emin(to.exponent_min - to.precision + 2);
    mpfr_set_emax(2 - to.exponent_min);
    const int inexact = mpfr_strtofr(number, text, NULL, 10, MPFR_RNDN);
    mpfr_subnormalize(number, inexact, MPFR_RNDN);
    value = mpfr_get_d(number, MPFR_RNDN);
    mpfr_clear(number);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    pe_from_f64(&bits, dtype, &value, 1); /* exact */
    return bits & (UINT64_MAX >> (64 - 8 * size));
}

static bool is_infinity(uint64_t bits, enum pe_dtype dtype)
{
    return (bits & ~(UINT64_C(1) << (8 * pe_dtype_info(dtype)->size - 1))) ==
           api_binary_infinity(api_binary_of(dtype));
}

/* All of the text is a number, at the end of the memory. */
static void exact_check(const char *text, enum pe_dtype dtype, uint64_t expected)
{
    const size_t size = strlen(text);
    char *copy = memcpy(malloc(size), text, size);
    uint64_t bits = 0;

    ck_assert_msg(pe_from_text(&bits, dtype, copy, size) == size && bits == expected,
                  "%.200s as %s: %llx, not %llx", text, pe_dtype_info(dtype)->name,
                  (unsigned long long)bits, (unsigned long long)expected);
    free(copy);
}

static void text_check(const char *text)
{
    const bool beyond = is_infinity(nearest(text, PE_F64), PE_F64);

    for (size_t i = 0; i < COUNT_OF(floats); i++) {
        const uint64_t expected = nearest(text, floats[i]);
        const enum pe_status status = beyond                             ? PE_MALFORMED
                                      : is_infinity(expected, floats[i]) ? PE_OUT_OF_RANGE
                                                                         : PE_OK;
        exact_check(text, floats[i], expected);
        for (int padded = 0; padded < 2; padded++) {
            uint64_t bits;
            ck_assert_msg(element_read(text, padded ? padding : "]", floats[i], &bits) == status,
                          "%.200s as %s", text, pe_dtype_info(floats[i])->name);
            if (status == PE_OK)
                ck_assert_msg(bits == expected, "%.200s as %s: %llx, not %llx", text,
                              pe_dtype_info(floats[i])->name, (unsigned long long)bits,
                              (unsigned long long)expected);
        }
    }
}

/* ---- decimals ------------------------------------------------------------------------------- */

TEST(test_random_decimals)
{
    enum { DECIMALS = 150000 };
    uint64_t state = 7;
    char text[128];

    for (int i = 0; i < DECIMALS; i += NUMBERS_STEP) {
        const int whole = (int)(random_next(&state) % 12), places = (int)(random_next(&state) % 24);
        const int range = i % 3 == 0 ? 700 : i % 3 == 1 ? 100 : 20;
        int size = 0;
        if (random_next(&state) & 1)
            text[size++] = '-';
        for (int j = 0; j < whole; j++)
            text[size++] = (char)('0' + random_next(&state) % 10 * (j > 0) + (j == 0));
        if (whole == 0)
            text[size++] = '0';
        if (places > 0)
            text[size++] = '.';
        for (int j = 0; j < places; j++)
            text[size++] = (char)('0' + random_next(&state) % 10);
        text[size] = '\0';
        if (i % 4)
            sprintf(text + size, "%c%d", i & 4 ? 'e' : 'E',
                    (int)(random_next(&state) % (unsigned)range) - range / 2);
        text_check(text);
    }
    printf("%d random decimals in four formats\n", DECIMALS / NUMBERS_STEP);
}

/* All numbers of digits before and behind the point, across the borders of words. */
TEST(test_lengths)
{
    char text[128];
    unsigned long count = 0;

    for (int whole = 1; whole < 40; whole++)
        for (int places = 0; places < 40; places++)
            for (int kind = 0; kind < 3; kind++, count++) {
                static const char digits[] = "1234567890987654321234567890987654321234567890";
                static const char nines[] = "9999999999999999999999999999999999999999999999";
                const char *from = kind == 1 ? nines : digits;
                snprintf(text, sizeof(text), "%.*s%s%.*s%s", whole, from, places ? "." : "", places,
                         from, kind == 2 ? "e-35" : "");
                text_check(text);
            }
    for (int zeros = 0; zeros < 60; zeros++, count++) {
        snprintf(text, sizeof(text), "0.%0*d12345678901234567891", zeros + 1, 0);
        text_check(text);
    }
    printf("%lu lengths\n", count);
}

/* ---- ties ----------------------------------------------------------------------------------- */

/* The exact middle of two neighbours, and texts just below and above it. */
static void tie_check(enum pe_dtype dtype, uint64_t bits)
{
    const struct api_binary to = api_binary_of(dtype);
    const uint64_t next = bits + 1;
    char text[1000], digits[900];
    mpfr_exp_t exponent;
    mpfr_t middle;
    double low, high;

    pe_to_f64(&low, &bits, dtype, 1);
    pe_to_f64(&high, &next, dtype, 1);
    if (!isfinite(high))
        return;
    mpfr_init2(middle, to.precision + 2);
    mpfr_set_d(middle, low, MPFR_RNDN);
    mpfr_add_d(middle, middle, high, MPFR_RNDN);
    mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
    mpfr_get_str(digits, &exponent, 10, 800, middle, MPFR_RNDN);
    mpfr_clear(middle);
    snprintf(text, sizeof(text), "0.%se%ld", digits, (long)exponent);
    text_check(text);
    snprintf(text, sizeof(text), "0.%s1e%ld", digits, (long)exponent);
    text_check(text);
    for (size_t last = 799; digits[last]-- == '0'; last--)
        digits[last] = '9';
    snprintf(text, sizeof(text), "0.%se%ld", digits, (long)exponent);
    text_check(text);
    while (strlen(digits) > 0 && digits[strlen(digits) - 1] == '9')
        digits[strlen(digits) - 1] = '\0';
    snprintf(text, sizeof(text), "0.%s5e%ld", digits, (long)exponent);
    text_check(text);
}

TEST(test_ties)
{
    static const uint64_t ends[] = {0, 1, 2, 3};
    uint64_t state = 11;
    unsigned long count = 0;

    for (size_t i = 0; i < COUNT_OF(floats); i++) {
        const uint64_t infinity = api_binary_infinity(api_binary_of(floats[i]));
        for (size_t j = 0; j < COUNT_OF(ends); j++, count += 2) {
            tie_check(floats[i], ends[j]);
            tie_check(floats[i], infinity - 2 - ends[j]);
        }
        for (int j = 0; j < 400; j += NUMBERS_STEP, count++)
            tie_check(floats[i], random_next(&state) % infinity);
    }
    printf("%lu ties\n", count);
}

/* Short ties, and exact values with a negative power of ten, whose digits are divisible by 5. */
TEST(test_short_ties)
{
    char text[128];
    unsigned long count = 0;

    for (int shift = 1; shift < 30; shift++)
        for (uint32_t odd = 2047; odd < 2400; odd += 2, count++) {
            snprintf(text, sizeof(text), "%.40g", ldexp(odd, -shift));
            text_check(text);
            snprintf(text, sizeof(text), "%.40g", ldexp(odd * 8192.0 + 1, -shift));
            text_check(text);
        }
    printf("%lu short ties\n", count);
}

/* A tie of each format followed by thousands of zeros, and one with a 1 behind these. */
TEST(test_long_tails)
{
    static const char *const ties[] = {"9007199254740993.",
                                       "16777217.",
                                       "2049.",
                                       "257.",
                                       "6.10649585723876953125",
                                       "0.000000000931322574615478515625"};
    char text[5000];

    for (size_t i = 0; i < COUNT_OF(ties); i++)
        for (int zeros = 1; zeros < 4000; zeros = zeros * 3 / 2 + 1)
            for (int last = 0; last < 2; last++) {
                snprintf(text, sizeof(text), "%s%0*d%d", ties[i], zeros, 0, last);
                text_check(text);
                snprintf(text, sizeof(text), "%s%0*d%de-5", ties[i], zeros, 0, last);
                text_check(text);
            }
}

/* Texts that begin with a number, and its length. */
static const struct {
    const char *text;
    size_t size;
    double value;
} beginnings[] = {
    {"", 0, 0},        {".", 0, 0},        {"-", 0, 0},       {"+", 0, 0},    {"e5", 0, 0},
    {"x", 0, 0},       {" 1", 0, 0},       {"inf", 0, 0},     {"nan", 0, 0},  {"0x10", 1, 0},
    {"1", 1, 1},       {"+1", 2, 1},       {"-1.5", 4, -1.5}, {".5", 2, 0.5}, {"5.", 2, 5},
    {"7..9", 1, 7},    {"7.5..9", 3, 7.5}, {"1e", 1, 1},      {"1e+", 1, 1},  {"1e+2", 4, 100},
    {"1e2.5", 3, 100}, {"1,5", 1, 1},      {"1_000", 1, 1},   {"-.e1", 0, 0}, {"1E-1x", 4, 0.1},
    {"1.e1", 4, 10},   {"00012", 5, 12},   {"1 2", 1, 1},     {"--1", 0, 0},  {"1-2", 1, 1},
};

TEST(test_beginnings)
{
    for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
        const char *text = beginnings[i].text;
        double value = 0;
        ck_assert_msg(pe_from_text(&value, PE_F64, text, strlen(text)) == beginnings[i].size &&
                          value == beginnings[i].value,
                      "%s: %g", text, value);
    }
    for (int dtype = PE_I64; dtype < PE_DTYPES; dtype++)
        ck_assert(pe_from_text(&(uint64_t){0}, (enum pe_dtype)dtype, "1", 1) == 0);
}

/* ---- edges ---------------------------------------------------------------------------------- */

static const char *const edges[] = {"0",
                                    "-0",
                                    "0.0",
                                    "-0.0e5",
                                    "0e999999999999",
                                    "0e-999999999999999999999",
                                    "5e-324",
                                    "4.9406564584124654e-324",
                                    "2.4703282292062327e-324",
                                    "2.4703282292062328e-324",
                                    "2.4703282292062327208e-324",
                                    "1e-400",
                                    "-1e-400",
                                    "1e-99999999999999999999999",
                                    "1e400",
                                    "-1e400",
                                    "1e99999999999999999999999",
                                    "1.7976931348623157e308",
                                    "1.7976931348623158e308",
                                    "1.797693134862315807e308",
                                    "1.797693134862315808e308",
                                    "1.7976931348623159e308",
                                    "9007199254740992",
                                    "9007199254740993",
                                    "9007199254740993.0000000000000000000000001",
                                    "9007199254740995",
                                    "16777217",
                                    "16777217.0000000000000000000000001",
                                    "3.4028234663852886e38",
                                    "3.4028235677973366e38",
                                    "3.40282356779733661637539395458142568447e38",
                                    "3.40282356779733661637539395458142568448e38",
                                    "1e39",
                                    "65504",
                                    "65519.999999999999999999",
                                    "65520",
                                    "65536",
                                    "338953138925153547590470800371487866880",
                                    "3.3961775292304957e38",
                                    "1.1754943508222875e-38",
                                    "1.1754942e-38",
                                    "7.0064923216240854e-46",
                                    "7.0064923216240853e-46",
                                    "5.9604644775390625e-8",
                                    "2.98023223876953125e-8",
                                    "2.980232238769531250000000000000000001e-8",
                                    "6.097555160522461e-05",
                                    "1e22",
                                    "1e23",
                                    "8.442911973260991817129021e-309",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "99999999999999999999",
                                    "123456789012345678901234567890e-30",
                                    "1e0000000000000000000001",
                                    "1e+5",
                                    "1E-5",
                                    "2.2250738585072011e-308",
                                    "2.2250738585072012e-308"};

TEST(test_edges)
{
    char text[4100];

    for (size_t i = 0; i < COUNT_OF(edges); i++)
        text_check(edges[i]);
    for (int zeros = 1; zeros < 2000; zeros += 131) {
        snprintf(text, sizeof(text), "1%0*de-%d", zeros, 0, zeros);
        text_check(text);
        snprintf(text, sizeof(text), "0.%0*d1e%d", zeros, 0, zeros);
        text_check(text);
        snprintf(text, sizeof(text), "1.%0*d", zeros, 0);
        text_check(text);
    }
}

/* ---- elements and runs ---------------------------------------------------------------------- */

static const struct {
    enum pe_dtype dtype;
    const char *text;
    enum pe_status status;
    int64_t value;
} elements[] = {
    {PE_I64, "-9223372036854775808", PE_OK, INT64_MIN},
    {PE_I64, "9223372036854775807", PE_OK, INT64_MAX},
    {PE_I64, "9223372036854775808", PE_OUT_OF_RANGE, 0},
    {PE_I64, "-9223372036854775809", PE_OUT_OF_RANGE, 0},
    {PE_I64, "10000000000000000000", PE_OUT_OF_RANGE, 0},
    {PE_I64, "18446744073709551617", PE_OUT_OF_RANGE, 0},
    {PE_I64, "6.4e1", PE_OK, 64},
    {PE_I64, "64.0", PE_OK, 64},
    {PE_I64, "64.5", PE_INVALID, 0},
    {PE_I64, "1e15", PE_OK, 1000000000000000},
    {PE_I64, "1e16", PE_INVALID, 0},
    {PE_I32, "-2147483648", PE_OK, 0x80000000},
    {PE_I32, "2147483648", PE_OUT_OF_RANGE, 0},
    {PE_I32, "-2147483649", PE_OUT_OF_RANGE, 0},
    {PE_I32, "-0", PE_OK, 0},
    {PE_U32, "4294967295", PE_OK, 0xffffffff},
    {PE_U32, "4294967296", PE_OUT_OF_RANGE, 0},
    {PE_U32, "-1", PE_OUT_OF_RANGE, 0},
    {PE_U8, "0", PE_OK, 0},
    {PE_U8, "-0", PE_OK, 0},
    {PE_U8, "255", PE_OK, 255},
    {PE_U8, "2.55e2", PE_OK, 255},
    {PE_U8, "256", PE_OUT_OF_RANGE, 0},
    {PE_U8, "-1", PE_OUT_OF_RANGE, 0},
    {PE_U8, "18446744073709551617", PE_OUT_OF_RANGE, 0},
    {PE_U8, "1.5", PE_INVALID, 0},
    {PE_U8, "true", PE_INVALID, 0},
    {PE_U8, "\"NaN\"", PE_INVALID, 0},
    {PE_BOOL, "1", PE_OK, 1},
    {PE_BOOL, "0", PE_OK, 0},
    {PE_BOOL, "-1", PE_OUT_OF_RANGE, 0},
    {PE_BOOL, "2", PE_OUT_OF_RANGE, 0},
    {PE_BOOL, "true", PE_OK, 1},
    {PE_BOOL, "false", PE_OK, 0},
    {PE_BOOL, "tru", PE_MALFORMED, 0},
    {PE_F32, "true", PE_INVALID, 0},
    {PE_F32, "null", PE_INVALID, 0},
    {PE_F32, "\"1\"", PE_INVALID, 0},
    {PE_F32, "\"Infinity\"", PE_OK, 0x7f800000},
    {PE_F32, "\"-Infinity\"", PE_OK, 0xff800000},
    {PE_BF16, "\"Infinity\"", PE_OK, 0x7f80},
    {PE_I32, "\"NaN\"", PE_INVALID, 0},
    /* not numbers by JSON's grammar */
    {PE_F32, "01", PE_MALFORMED, 0},
    {PE_F32, "-01.5", PE_MALFORMED, 0},
    {PE_F32, "00", PE_MALFORMED, 0},
    {PE_F32, "-", PE_MALFORMED, 0},
    {PE_F32, "--1", PE_MALFORMED, 0},
    {PE_F32, "+1", PE_MALFORMED, 0},
    {PE_F32, ".5", PE_MALFORMED, 0},
    {PE_F32, "-.5", PE_MALFORMED, 0},
    {PE_F32, "1.", PE_MALFORMED, 0},
    {PE_F32, "1.e5", PE_MALFORMED, 0},
    {PE_F32, "1e", PE_MALFORMED, 0},
    {PE_F32, "1e+", PE_MALFORMED, 0},
    {PE_F32, "1e-", PE_MALFORMED, 0},
    {PE_F32, "1e+-5", PE_MALFORMED, 0},
    {PE_F32, "12345678.", PE_MALFORMED, 0},
    {PE_F32, "NaN", PE_MALFORMED, 0},
    {PE_F32, "-Infinity", PE_MALFORMED, 0},
    {PE_F32, "inf", PE_MALFORMED, 0},
    {PE_F32, "\"nan\"", PE_INVALID, 0},
    {PE_F32, "/", PE_MALFORMED, 0},
    {PE_F32, ":", PE_MALFORMED, 0},
    /* numbers followed by something else: read, but not to the end */
    {PE_F32, "0x10", PE_INTERNAL, 0},
    {PE_F32, "1_000", PE_INTERNAL, 0},
    {PE_F32, "1.5.5", PE_INTERNAL, 0},
    {PE_F32, "1e5.5", PE_INTERNAL, 0},
    {PE_F32, "1f", PE_INTERNAL, 0},
    {PE_F32, "1e5e5", PE_INTERNAL, 0},
};

TEST(test_elements)
{
    uint64_t bits;

    for (size_t i = 0; i < COUNT_OF(elements); i++)
        for (int padded = 0; padded < 2; padded++) {
            const char *behind = padded ? padding : ",";
            ck_assert_msg(element_read(elements[i].text, behind, elements[i].dtype, &bits) ==
                              elements[i].status,
                          "%s", elements[i].text);
            if (elements[i].status == PE_OK)
                ck_assert_msg(bits == (elements[i].dtype == PE_I64
                                           ? (uint64_t)elements[i].value
                                           : (uint64_t)elements[i].value & 0xffffffff),
                              "%s: %llx", elements[i].text, (unsigned long long)bits);
        }
    /* A number at the end of the text may be incomplete. */
    ck_assert_int_eq(element_read("1.5", "", PE_F32, &bits), PE_MALFORMED);
    ck_assert_int_eq(element_read("-", "", PE_F32, &bits), PE_MALFORMED);
    ck_assert_int_eq(element_read("\"Na", "", PE_F32, &bits), PE_INVALID);
    ck_assert_int_eq(element_read("\"NaN\"", "]", PE_F16, &bits), PE_OK);
    ck_assert_uint_gt(bits & 0x7fff, 0x7c00);
}

/* Where a run stops, and with how many elements. */
TEST(test_runs)
{
    static const struct {
        const char *text;
        size_t count, capacity, at;
        enum pe_status status;
    } runs[] = {
        {"1,2,3]", 3, 9, 5, PE_OK},        {"1 ,\t2\n, \r 3 ]", 3, 9, 12, PE_OK},
        {"1,2,3]", 2, 2, 3, PE_OK},        {"1,[2]", 1, 9, 1, PE_OK},
        {"1,]", 1, 9, 1, PE_OK},           {"1,", 1, 9, 1, PE_OK},
        {"1, ", 1, 9, 1, PE_OK},           {"1 2", 1, 9, 2, PE_OK},
        {"1,x,3]", 1, 9, 2, PE_MALFORMED}, {"1, 2,1e99]", 2, 9, 5, PE_OUT_OF_RANGE},
    };
    float out[9];

    for (size_t i = 0; i < COUNT_OF(runs); i++)
        for (int padded = 0; padded < 2; padded++) {
            char text[300];
            snprintf(text, sizeof(text), "%s%s", runs[i].text, padded ? padding + 1 : "");
            struct api_json_run run = {.at = (unsigned char *)text,
                                       .end = (unsigned char *)text + strlen(text),
                                       .out = (unsigned char *)out,
                                       .capacity = runs[i].capacity};
            if (padded && !strchr(runs[i].text, ']'))
                continue;
            ck_assert_int_eq(api_json_run_read(&run, PE_F32), runs[i].status);
            ck_assert_msg(run.count == runs[i].count &&
                              run.capacity == runs[i].capacity - run.count &&
                              run.at == (unsigned char *)text + runs[i].at,
                          "%s: %zu at %td", text, run.count, run.at - (unsigned char *)text);
            for (size_t j = 0; j < run.count; j++)
                ck_assert_float_eq(out[j], (float)(j + 1));
            ck_assert_int_eq(run.fault != NULL, runs[i].status != PE_OK);
        }
}
