/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "posenc/dtype.h"
#include "tests/check_main.h"

/* The value of 16 bits by the definition of the format, independent of the library. */
static double value_of(uint16_t bits, int fraction, int exponent_max)
{
    const int exponent = (bits & 0x7fff) >> fraction;
    const double f = bits & ((1 << fraction) - 1), sign = bits & 0x8000 ? -1 : 1;

    if (exponent == 2 * exponent_max + 1)
        return f != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(f, 1 - exponent_max - fraction);
    return sign * ldexp(f + (1 << fraction), exponent - exponent_max - fraction);
}

static const struct {
    enum pe_dtype dtype;
    int fraction, exponent_max;
} halves[] = {{PE_F16, 10, 15}, {PE_BF16, 7, 127}};

TEST(names)
{
    enum pe_dtype dtype;

    ck_assert(pe_dtype_find("f32", &dtype) && dtype == PE_F32);
    ck_assert(pe_dtype_find("F32", &dtype) && dtype == PE_F32);
    ck_assert(pe_dtype_find("Float32", &dtype) && dtype == PE_F32);
    ck_assert(pe_dtype_find("half", &dtype) && dtype == PE_F16);
    ck_assert(pe_dtype_find("bfloat16", &dtype) && dtype == PE_BF16);
    ck_assert(pe_dtype_find("int64", &dtype) && dtype == PE_I64);
    ck_assert(pe_dtype_find("boolean", &dtype) && dtype == PE_BOOL);
    ck_assert(pe_dtype_find("uint8", &dtype) && dtype == PE_U8);
    ck_assert(pe_dtype_find("Byte", &dtype) && dtype == PE_U8);
    ck_assert(!pe_dtype_find("", &dtype));
    ck_assert(!pe_dtype_find("float3", &dtype));
    ck_assert(!pe_dtype_find("float32,fp32", &dtype));
    ck_assert(!pe_dtype_find("f320", &dtype));
    for (int i = 0; i < PE_DTYPES; i++) {
        ck_assert(pe_dtype_find(pe_dtype_info(i)->name, &dtype) && dtype == (enum pe_dtype)i);
        ck_assert(pe_dtype_find(pe_dtype_info(i)->safetensors, &dtype) &&
                  dtype == (enum pe_dtype)i);
    }
    ck_assert_uint_eq(pe_dtype_info(PE_F64)->size, 8);
    ck_assert_uint_eq(pe_dtype_info(PE_BF16)->size, 2);
    ck_assert_uint_eq(pe_dtype_info(PE_U8)->size, 1);
    ck_assert_str_eq(pe_dtype_info(PE_U8)->npy, "|u1");
    ck_assert(!pe_dtype_is_float(PE_U8));
    ck_assert_ptr_null(pe_dtype_info(PE_BF16)->npy);
}

TEST(shapes)
{
    size_t count = 7;

    ck_assert(pe_shape_elements(NULL, 0, &count) && count == 1);
    ck_assert(pe_shape_elements((size_t[]){2, 3, 4}, 3, &count) && count == 24);
    ck_assert(pe_shape_elements((size_t[]){5, 0, 4}, 3, &count) && count == 0);
    ck_assert(!pe_shape_elements((size_t[]){(size_t)1 << 32, (size_t)1 << 32}, 2, &count));
    ck_assert(!pe_shape_elements((size_t[]){2, SIZE_MAX}, 2, &count));
    ck_assert(!pe_shape_elements((size_t[]){(size_t)1 << 61}, 1, &count)); /* 2^64 bytes of f64 */
    ck_assert(!pe_shape_elements((size_t[]){0, SIZE_MAX, 2}, 3, &count));
    ck_assert(pe_shape_elements((size_t[]){(size_t)1 << 59}, 1, &count));
}

TEST(all_numbers_of_16_bits)
{
    for (size_t h = 0; h < COUNT_OF(halves); h++)
        for (uint32_t i = 0; i < 0x10000; i++) {
            const uint16_t bits = (uint16_t)i;
            const double want = value_of(bits, halves[h].fraction, halves[h].exponent_max);
            double wide;
            float narrow;
            uint16_t back[2];

            pe_to_f64(&wide, &bits, halves[h].dtype, 1);
            pe_to_f32(&narrow, &bits, halves[h].dtype, 1);
            pe_from_f64(&back[0], halves[h].dtype, &wide, 1);
            pe_from_f32(&back[1], halves[h].dtype, &narrow, 1);
            if (isnan(want)) {
                ck_assert(isnan(wide) && isnan(narrow));
                for (int b = 0; b < 2; b++)
                    ck_assert(isnan(value_of(back[b], halves[h].fraction, halves[h].exponent_max)));
                continue;
            }
            ck_assert_msg(wide == want && !signbit(wide) == !signbit(want), "%#x: %a", bits, wide);
            ck_assert_msg(narrow == want && !signbit(narrow) == !signbit(want), "%#x", bits);
            ck_assert_msg(back[0] == bits && back[1] == bits, "%#x: %#x %#x", bits, back[0],
                          back[1]);
        }
}

static uint16_t nearest(double x, enum pe_dtype dtype)
{
    uint16_t bits;

    pe_from_f64(&bits, dtype, &x, 1);
    return bits;
}

/* Between each number and the next, infinity included: a tie rounds to even, and the doubles next
 * to the tie round to the nearer number. Through f32 both would be ties. */
TEST(one_rounding_from_f64)
{
    for (size_t h = 0; h < COUNT_OF(halves); h++) {
        const enum pe_dtype dtype = halves[h].dtype;
        const int fraction = halves[h].fraction, exponent_max = halves[h].exponent_max;
        const uint16_t infinity = (uint16_t)((2 * exponent_max + 1) << fraction);

        for (uint16_t low = 0; low < infinity; low++) {
            const double a = value_of(low, fraction, exponent_max);
            const double b = low + 1 == infinity ? ldexp(1, exponent_max + 1)
                                                 : value_of(low + 1, fraction, exponent_max);
            const double tie = a + (b - a) / 2;
            const uint16_t even = low & 1 ? low + 1 : low;

            ck_assert_uint_eq(nearest(tie, dtype), even);
            ck_assert_uint_eq(nearest(-tie, dtype), 0x8000 | even);
            ck_assert_uint_eq(nearest(nextafter(tie, 0), dtype), low);
            ck_assert_uint_eq(nearest(nextafter(tie, INFINITY), dtype), low + 1);
            ck_assert_uint_eq(nearest(-nextafter(tie, INFINITY), dtype), 0x8000 | (low + 1));
        }
        ck_assert_uint_eq(nearest(0x1p-1074, dtype), 0);
        ck_assert_uint_eq(nearest(-0x1p-1060, dtype), 0x8000);
        ck_assert_uint_eq(nearest(1e300, dtype), infinity);
    }
}

TEST(from_f32_agrees)
{
    enum { COUNT = 1 << 16 };
    static float in[COUNT];
    static double wide[COUNT];
    static uint16_t got[COUNT], want[COUNT];

    srand(1);
    for (int round = 0; round < 16; round++) {
        for (size_t i = 0; i < COUNT; i++) {
            const uint32_t bits = (uint32_t)rand() << 16 ^ (uint32_t)rand();
            memcpy(&in[i], &bits, sizeof(bits));
            if (isnan(in[i]))
                in[i] = 0;
            wide[i] = in[i];
        }
        for (size_t h = 0; h < COUNT_OF(halves); h++) {
            pe_from_f32(got, halves[h].dtype, in, COUNT);
            pe_from_f64(want, halves[h].dtype, wide, COUNT);
            for (size_t i = 0; i < COUNT; i++)
                ck_assert_msg(got[i] == want[i], "%a: %#x, not %#x", wide[i], got[i], want[i]);
        }
    }
}

TEST(nan_stays_nan)
{
    static const uint32_t payloads[] = {0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x7fc00000};

    for (size_t i = 0; i < COUNT_OF(payloads); i++)
        for (size_t h = 0; h < COUNT_OF(halves); h++) {
            float in[40];
            uint16_t out[40];

            for (size_t k = 0; k < 40; k++)
                memcpy(&in[k], &payloads[i], sizeof(in[k]));
            pe_from_f32(out, halves[h].dtype, in, 40);
            for (size_t k = 0; k < 40; k++)
                ck_assert(isnan(value_of(out[k], halves[h].fraction, halves[h].exponent_max)));
        }
}

TEST(integers)
{
    const double in[] = {1.5, -2.5, 1e300, -1e300, NAN, 3, -0.25};
    const int64_t large = ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1;
    int64_t i64[7];
    int32_t i32[7];
    uint32_t u32[7];
    uint8_t boolean[7];
    float f32;
    double f64[7];

    pe_from_f64(i64, PE_I64, in, 7);
    pe_from_f64(i32, PE_I32, in, 7);
    pe_from_f64(u32, PE_U32, in, 7);
    pe_from_f64(boolean, PE_BOOL, in, 7);
    ck_assert(i64[0] == 2 && i64[1] == -2 && i64[2] == INT64_MAX && i64[3] == INT64_MIN);
    ck_assert(i64[4] == 0 && i64[5] == 3 && i64[6] == 0);
    ck_assert(i32[0] == 2 && i32[2] == INT32_MAX && i32[3] == INT32_MIN && i32[4] == 0);
    ck_assert(u32[0] == 2 && u32[1] == 0 && u32[2] == UINT32_MAX && u32[4] == 0);
    ck_assert(boolean[0] == 1 && boolean[6] == 1);
    pe_to_f64(f64, i32, PE_I32, 7);
    ck_assert(f64[0] == 2 && f64[3] == INT32_MIN);
    pe_to_f64(f64, u32, PE_U32, 7);
    ck_assert(f64[2] == UINT32_MAX);
    pe_to_f32(&f32, &large, PE_I64, 1); /* just above a tie that f64 cannot hold */
    ck_assert(f32 == 0x1p60f + 0x1p37f);
}

/* To the nearest, ties to even; from below 0 to 0, from above 255 to 255. */
TEST(bytes)
{
    static const struct {
        double from;
        uint8_t to;
    } table[] = {{0, 0},       {-0.0, 0},     {0.5, 0},        {1.5, 2},     {2.5, 2},
                 {-0.5, 0},    {-0.51, 0},    {-1, 0},         {-1e300, 0},  {-INFINITY, 0},
                 {254.5, 254}, {254.51, 255}, {255, 255},      {255.5, 255}, {256, 255},
                 {300, 255},   {1e300, 255},  {INFINITY, 255}, {NAN, 0},     {127.25, 127}};
    uint8_t all[256], back[256], one;
    double wide[256];
    float narrow[256];

    for (size_t i = 0; i < COUNT_OF(table); i++) {
        pe_from_f64(&one, PE_U8, &table[i].from, 1);
        ck_assert_msg(one == table[i].to, "%g becomes %u", table[i].from, one);
        pe_from_f32(&one, PE_U8, &(float){(float)table[i].from}, 1);
        ck_assert_msg(one == table[i].to, "%g as a float becomes %u", table[i].from, one);
    }
    for (unsigned i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    pe_to_f64(wide, all, PE_U8, 256);
    pe_to_f32(narrow, all, PE_U8, 256);
    pe_from_f64(back, PE_U8, wide, 256);
    for (unsigned i = 0; i < 256; i++)
        ck_assert(wide[i] == i && narrow[i] == (float)i && back[i] == i);
}

/* Every dtype to every other, more numbers than fit a chunk: once through f64 where neither is f64.
 */
TEST(any_to_any)
{
    enum { COUNT = 600 };
    double numbers[COUNT], wide[COUNT], out[COUNT], want[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        numbers[i] = ((double)i - 300) * 0.37;
    for (int from = 0; from < PE_DTYPES; from++)
        for (int to = 0; to < PE_DTYPES; to++) {
            const size_t size = pe_dtype_info((enum pe_dtype)to)->size * COUNT;
            pe_from_f64(wide, (enum pe_dtype)from, numbers, COUNT);
            pe_to_f64(out, wide, (enum pe_dtype)from, COUNT);
            pe_from_f64(want, (enum pe_dtype)to, out, COUNT);
            pe_convert(out, (enum pe_dtype)to, wide, (enum pe_dtype)from, COUNT);
            ck_assert_mem_eq(out, want, size);
        }
}
