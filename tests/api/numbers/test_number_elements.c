/* SPDX-License-Identifier: MIT */

/* Elements of arrays as text: integers and their ranges, words, what is no JSON, and where a run of
 * elements stops. */

#include <stdio.h>

#include "tests/api/numbers.h"
#include "tests/check_main.h"

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
    /* numbers that something else stops: read, and not to the end */
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
    /* A number that ends the text may not be all of it. */
    ck_assert_int_eq(element_read("1.5", "", PE_F32, &bits), PE_MALFORMED);
    ck_assert_int_eq(element_read("-", "", PE_F32, &bits), PE_MALFORMED);
    ck_assert_int_eq(element_read("\"Na", "", PE_F32, &bits), PE_INVALID);
    ck_assert_int_eq(element_read("\"NaN\"", "]", PE_F16, &bits), PE_OK);
    ck_assert_uint_gt(bits & 0x7fff, 0x7c00);
}

/* Where a run stops, and how much it has read by then. */
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
