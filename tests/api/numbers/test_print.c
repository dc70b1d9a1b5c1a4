/* SPDX-License-Identifier: MIT */

/* Printing of numbers: powers of ten compared with GMP, and f32, f64, f16 and bf16 of every
 * exponent printed, read back, and compared with the shortest digits of the C library. */

#include <gmp.h>
#include <math.h>
#include <stdio.h>

#include "api/numbers/shortest.h"
#include "tests/api/numbers.h"
#include "tests/check_main.h"

/* 10^k scaled to 128 bits, by GMP. */
static void power_check(int k)
{
    const struct api_power *power = api_power(k);
    const int scale = 127 - api_power_exponent(k);
    mpz_t ten, two, mine, rest;

    mpz_inits(ten, two, mine, rest, NULL);
    mpz_ui_pow_ui(ten, 10, (unsigned long)abs(k));
    mpz_set_ui(two, 1);
    mpz_mul_2exp(two, two, (unsigned long)abs(scale));
    if (k >= 0 && scale >= 0) {
        mpz_mul(ten, ten, two);
        mpz_set_ui(two, 1);
    } else if (k < 0) { /* 2^scale / 10^-k */
        mpz_swap(ten, two);
    }
    mpz_fdiv_qr(ten, rest, ten, two);
    mpz_set_ui(mine, power->high);
    mpz_mul_2exp(mine, mine, 64);
    mpz_add_ui(mine, mine, power->low);
    ck_assert_msg(mpz_cmp(ten, mine) == 0, "10^%d", k);
    ck_assert_msg((mpz_sgn(rest) == 0) == (k >= 0 && k <= API_POWER_EXACT_MAX), "10^%d", k);
    ck_assert_msg(power->high >> 63 == 1 && ~power->low != 0, "10^%d", k);
    mpz_clears(ten, two, mine, rest, NULL);
}

TEST(test_powers)
{
    for (int k = API_POWER_MIN; k <= API_POWER_MAX; k++)
        power_check(k);
    printf("%d powers of ten\n", API_POWER_MAX - API_POWER_MIN + 1);
}

/* The integer arithmetic of floors of logarithms. */
TEST(test_logarithms)
{
    for (int e = -1080; e <= 980; e++) {
        ck_assert_int_eq(api_shortest_log10(e, false), (int)floorl(e * log10l(2)));
        ck_assert_int_eq(api_shortest_log10(e, true), (int)floorl(e * log10l(2) + log10l(0.75L)));
    }
    for (int k = -400; k <= 400; k++)
        ck_assert_int_eq(api_power_exponent(k), (int)floorl(k * log2l(10)));
}

/* ---- print, then parse ---------------------------------------------------------------------- */

/* The significant digits of a text, without zeros at the end. */
static void digits_of(const char *text, char *digits)
{
    int count = 0;

    for (text += strcspn(text, "123456789"); *text && *text != 'e'; text++)
        if (*text != '.')
            digits[count++] = *text;
    while (count > 0 && digits[count - 1] == '0')
        count--;
    digits[count] = '\0';
}

/* The text reads back, one digit less does not, and if the C library's text of as many digits reads
 * back, it has the same digits. */
static void shortest_check(const char *text, double value, bool narrow)
{
    char digits[64], library[64], same[64];

    ck_assert_msg(narrow ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value,
                  "%s is not %.17g", text, value);
    digits_of(text, digits);
    const int count = (int)strlen(digits);
    if (count > 1) {
        snprintf(library, sizeof(library), "%.*e", count - 2, value);
        ck_assert_msg(narrow ? strtof(library, NULL) != (float)value
                             : strtod(library, NULL) != value,
                      "%s is longer than %s", text, library);
    }
    snprintf(library, sizeof(library), "%.*e", count - 1, value);
    digits_of(library, same);
    if (narrow ? strtof(library, NULL) == (float)value : strtod(library, NULL) == value)
        ck_assert_msg(strcmp(same, digits) == 0, "%s is not %s", text, library);
}

static void number_check(enum pe_dtype dtype, uint64_t bits)
{
    char text[API_NUMBER_MAX];
    const size_t length = api_number_print(text, dtype, &bits);
    uint64_t back;
    double value;

    pe_to_f64(&value, &bits, dtype, 1);
    ck_assert_uint_eq(length, strlen(text));
    ck_assert_uint_le(length, api_number_length_max(dtype));
    ck_assert_int_eq(element_read(text, ",", dtype, &back), PE_OK);
    if (isnan(value))
        return;
    ck_assert_msg(back == bits, "%s of %s: %llx, read back %llx", text, pe_dtype_info(dtype)->name,
                  (unsigned long long)bits, (unsigned long long)back);
    if (isfinite(value) && value != 0)
        shortest_check(text, value, dtype != PE_F64);
}

/* Many at once, by the functions of answers and bodies. */
static unsigned long many_check(enum pe_dtype dtype, const void *elements, size_t count)
{
    static char text[1 << 20];
    static uint64_t back[1 << 14];
    const size_t size = count * pe_dtype_info(dtype)->size;
    const char *end = api_numbers_print(text, dtype, elements, count, false);
    struct api_json_run run = {.at = (unsigned char *)text,
                               .end = (const unsigned char *)end + 1,
                               .out = (unsigned char *)back,
                               .capacity = count};

    text[end - text] = ']';
    ck_assert_int_eq(api_json_run_read(&run, dtype), PE_OK);
    ck_assert_uint_eq(run.count, count);
    ck_assert_ptr_eq(run.at, end);
    ck_assert_int_eq(memcmp(back, elements, size), 0);
    return count;
}

/* Powers of two, their neighbours and the ends of an exponent, with either sign. */
static const uint32_t fractions_f32[] = {0, 1, 2, 3, 0x400000, 0x7ffffd, 0x7ffffe, 0x7fffff};

TEST(test_f32)
{
    enum { EACH = 19608 };
    static uint32_t numbers[EACH];
    uint64_t state = 88172645463325252;
    unsigned long count = 0;

    for (uint32_t high = 0; high < 512; high++) {
        const size_t known = COUNT_OF(fractions_f32);
        if ((high & 255) == 255)
            continue;
        for (size_t i = 0; i < EACH; i++)
            numbers[i] =
                high << 23 | (i < known ? fractions_f32[i] : (uint32_t)(random_next(&state) >> 41));
        for (size_t i = 0; i < 64; i++)
            number_check(PE_F32, numbers[i]);
        for (size_t i = 0; i < EACH; i += EACH / 2)
            count += many_check(PE_F32, numbers + i, EACH / 2);
    }
    number_check(PE_F32, 0x7f800000);
    number_check(PE_F32, 0xff800000);
    number_check(PE_F32, 0x7fc00000);
    ck_assert_uint_ge(count, 10000000 - 1000);
    printf("%lu f32 printed and read back\n", count);
}

TEST(test_f64)
{
    enum { EACH = 256 };
    static uint64_t numbers[EACH];
    uint64_t state = 5;
    unsigned long count = 0;

    for (uint64_t high = 0; high < 4096; high++) {
        if ((high & 2047) == 2047)
            continue;
        for (size_t i = 0; i < EACH; i++) {
            const uint64_t random = random_next(&state) >> 12;
            numbers[i] = high << 52 | (i < 4   ? i
                                       : i < 8 ? UINT64_C(0x10000000000000) - (i - 3)
                                               : random);
        }
        for (size_t i = 0; i < 16; i++)
            number_check(PE_F64, numbers[i]);
        count += many_check(PE_F64, numbers, EACH);
    }
    number_check(PE_F64, UINT64_C(0x7ff0000000000000));
    ck_assert_uint_ge(count, 1000000);
    printf("%lu f64 printed and read back\n", count);
}

TEST(test_halves)
{
    for (uint32_t bits = 0; bits < 1 << 16; bits++) {
        number_check(PE_F16, bits);
        number_check(PE_BF16, bits);
    }
    printf("131072 f16 and bf16 printed and read back\n");
}

/* Short decimals of all magnitudes. */
TEST(test_short_decimals)
{
    char text[64], out[API_NUMBER_MAX];
    unsigned long count = 0;

    for (int exponent = -30; exponent < 30; exponent++)
        for (int digits = 1; digits < 2000; digits += digits < 100 ? 1 : 37, count++) {
            snprintf(text, sizeof(text), "%de%d", digits, exponent);
            const double value = strtod(text, NULL);
            api_double_print(out, value);
            shortest_check(out, value, false);
            ck_assert_uint_le(strlen(out), 24);
        }
    printf("%lu short decimals\n", count);
}

TEST(test_notations)
{
    static const struct {
        double value;
        const char *text;
    } table[] = {
        {0, "0"},
        {-0.0, "-0.0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {10000, "10000"},
        {1e15, "1000000000000000"},
        {1e16, "1e16"},
        {1e30, "1e30"},
        {1.25e-5, "0.0000125"},
        {1e-6, "1e-6"},
        {1234.5, "1234.5"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {0.30000000000000004, "0.30000000000000004"},
        {NAN, "\"NaN\""},
        {INFINITY, "\"Infinity\""},
        {-INFINITY, "\"-Infinity\""},
        {9007199254740993.0, "9007199254740992"},
        {123456789012345680.0, "1.2345678901234568e17"},
        {1234567890123456.0, "1234567890123456"},
        {-123456789012345.6, "-123456789012345.6"},
        {0x1p-1022, "2.2250738585072014e-308"},
        {0x1p1023, "8.98846567431158e307"},
        {-0.00001, "-0.00001"},
        {0.000012345678901234567, "0.000012345678901234568"},
        {9.5367431640625e-07, "9.5367431640625e-7"},
        {100, "100"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {-1e100, "-1e100"},
        {5e-324, "5e-324"},
        /* The nearest with 16 digits is on the narrow side of a power of two, and another one. */
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p-24, "5.960464477539063e-8"},
    };
    char out[API_NUMBER_MAX];

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        ck_assert_uint_eq(api_double_print(out, table[i].value), strlen(table[i].text));
        ck_assert_str_eq(out, table[i].text);
    }
    const float narrow = 0x1p-96f;
    api_number_print(out, PE_F32, &narrow);
    ck_assert_str_eq(out, "1.2621775e-29");
}

/* ---- integers and rows ---------------------------------------------------------------------- */

TEST(test_integers)
{
    char text[API_NUMBER_MAX], expected[64];
    uint64_t back;

    for (int shift = 0; shift < 64; shift++)
        for (int64_t near = -2; near <= 2; near++)
            for (int sign = -1; sign <= 1; sign += 2) {
                const int64_t value =
                    (int64_t)(((UINT64_C(1) << shift) + (uint64_t)near) * (uint64_t)sign);
                ck_assert_uint_le(api_number_print(text, PE_I64, &value),
                                  api_number_length_max(PE_I64));
                snprintf(expected, sizeof(expected), "%lld", (long long)value);
                ck_assert_str_eq(text, expected);
                ck_assert_int_eq(element_read(text, "]", PE_I64, &back), PE_OK);
                ck_assert_int_eq((int64_t)back, value);
            }
    for (uint64_t ten = 1; ten < UINT32_MAX; ten *= 10) {
        const uint32_t values[] = {(uint32_t)ten, (uint32_t)ten - 1, (uint32_t)ten + 1};
        char *end = api_numbers_print(text, PE_U32, values, 3, false);
        snprintf(expected, sizeof(expected), "%u,%u,%u", values[0], values[1], values[2]);
        *end = '\0';
        ck_assert_str_eq(text, expected);
    }
    const uint32_t most = UINT32_MAX;
    api_number_print(text, PE_U32, &most);
    ck_assert_str_eq(text, "4294967295");
}

TEST(test_rows)
{
    static const float floats[] = {1, -0.5f, 0, 3e9f};
    static const unsigned char flags[] = {1, 0}, bytes[] = {0, 7, 10, 99, 100, 255};
    uint16_t halves[130], back[130];
    char text[1 << 12], *end;

    end = api_numbers_print(text, PE_F32, floats, 4, true);
    *end = '\0';
    ck_assert_str_eq(text, "[1,-0.5],[0,3000000000]");
    end = api_numbers_print(text, PE_BOOL, flags, 2, false);
    *end = '\0';
    ck_assert_str_eq(text, "true,false");
    end = api_numbers_print(text, PE_U8, bytes, 6, false);
    *end = '\0';
    ck_assert_str_eq(text, "0,7,10,99,100,255");
    ck_assert_ptr_eq(api_numbers_print(text, PE_F32, floats, 0, false), text);
    for (uint16_t i = 0; i < 130; i++)
        halves[i] = (uint16_t)(0x3c00 + i);
    end = api_numbers_print(text, PE_F16, halves, 130, false);
    struct api_json_run run = {.at = (unsigned char *)text,
                               .end = (unsigned char *)end + 1,
                               .out = (unsigned char *)back,
                               .capacity = 130};
    *end = ']';
    ck_assert_int_eq(api_json_run_read(&run, PE_F16), PE_OK);
    ck_assert_uint_eq(run.count, 130);
    ck_assert_int_eq(memcmp(halves, back, sizeof(halves)), 0);
}
