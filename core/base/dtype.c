/* SPDX-License-Identifier: MIT */
#include "posenc/dtype.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/base/errors.h"
#include "core/base/isa.h"
#include "core/base/sanitizer.h"
#include "core/kernels/half.h"
#include "posenc/comparison.h"

static const struct pe_dtype_info infos[] = {
#define X(name, text, size, safetensors, npy, aliases) {text, size, safetensors, npy, aliases},
    PE_DTYPE_MAP(X)
#undef X
};

const struct pe_dtype_info *pe_dtype_info(enum pe_dtype dtype)
{
    return dtype < PE_DTYPES ? &infos[dtype] : NULL;
}

const char *pe_dtype_name(enum pe_dtype dtype)
{
    return dtype < PE_DTYPES ? infos[dtype].name : "no dtype";
}

static bool is_alias(const char *aliases, const char *name)
{
    const size_t length = strlen(name);

    for (const char *alias = aliases; *alias;) {
        const size_t size = strcspn(alias, ",");
        if (size == length && strncasecmp(alias, name, size) == 0)
            return true;
        alias += size + (alias[size] == ',');
    }
    return false;
}

/* torch.float16, np.float16 */
static const char *without_module(const char *name)
{
    static const char *const modules[] = {"torch.",     "np.", "numpy.", "jnp.",
                                          "jax.numpy.", "tf.", "mx.",    "ml_dtypes."};

    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
        if (strncasecmp(name, modules[i], strlen(modules[i])) == 0)
            return name + strlen(modules[i]);
    return name;
}

bool pe_dtype_find(const char *name, enum pe_dtype *dtype)
{
    if (strchr(name, '.'))
        name = without_module(name);
    for (enum pe_dtype i = 0; i < PE_DTYPES; i++)
        if (strcasecmp(infos[i].name, name) == 0 || is_alias(infos[i].aliases, name) ||
            (infos[i].npy && strcmp(infos[i].npy, name) == 0)) {
            *dtype = i;
            return true;
        }
    return false;
}

bool pe_shape_elements(const size_t *shape, unsigned rank, size_t *count)
{
    size_t nonzero = sizeof(double);
    bool empty = false;

    /* A zero excuses no other dimension: strides are products of them. */
    for (unsigned i = 0; i < rank; i++) {
        empty |= shape[i] == 0;
        if (!pe_size_multiply(nonzero, shape[i] ? shape[i] : 1, &nonzero))
            return false;
    }
    *count = empty ? 0 : nonzero / sizeof(double);
    return nonzero <= PTRDIFF_MAX;
}

/* ---- one number from f64 -------------------------------------------------------------------- */

/* RN(x) in a format of the bits sign, exponent, fraction whose least normal number is
 * 2^exponent_min: f16 has 10 and -14, bf16 has 7 and -126. */
static uint16_t half_from_f64(double x, int fraction, int exponent_min)
{
    uint64_t bits, magnitude, mantissa;
    int exponent, drop;
    const uint16_t infinity = (uint16_t)(0x7fff >> fraction << fraction);

    memcpy(&bits, &x, sizeof(bits));
    const uint16_t sign = (uint16_t)(bits >> 63 << 15);
    magnitude = bits & ~(UINT64_C(1) << 63);
    if (isnan(x))
        return (uint16_t)(sign | infinity | 1 << (fraction - 1));
    if (isinf(x))
        return sign | infinity;
    exponent = (int)(magnitude >> 52) - 1023;
    drop = 52 - fraction + (exponent < exponent_min ? exponent_min - exponent : 0);
    if (drop > 53) /* less than half of the least subnormal, f64's own subnormals among them */
        return sign;
    magnitude = (magnitude & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    mantissa = magnitude >> drop;
    const uint64_t rest = magnitude - (mantissa << drop), tie = UINT64_C(1) << (drop - 1);
    if (rest > tie || (rest == tie && (mantissa & 1)))
        mantissa++;
    /* The implicit bit of a normal number adds the last one to the exponent, and so does a carry.
     */
    if (exponent > exponent_min)
        mantissa += (uint64_t)(exponent - exponent_min) << fraction;
    return sign | (mantissa < infinity ? (uint16_t)mantissa : infinity);
}

/* The nearest integer in [min, max], NaN is 0; max + 1 is a power of two and so a double. */
static double integer_from_f64(double x, double min, double end)
{
    if (isnan(x))
        return 0;
    x = nearbyint(x);
    return x < min ? min : x >= end ? nextafter(end, 0) : x;
}

static void write_from_f64(void *out, enum pe_dtype dtype, size_t i, double x)
{
    switch (dtype) {
    case PE_F64:
        ((double *)out)[i] = x;
        return;
    case PE_F32:
        ((float *)out)[i] = (float)x;
        return;
    case PE_F16:
        ((uint16_t *)out)[i] = half_from_f64(x, 10, -14);
        return;
    case PE_BF16:
        ((uint16_t *)out)[i] = half_from_f64(x, 7, -126);
        return;
    case PE_I64:
        ((int64_t *)out)[i] =
            x >= 0x1p63 ? INT64_MAX : (int64_t)integer_from_f64(x, -0x1p63, 0x1p63);
        return;
    case PE_I32:
        ((int32_t *)out)[i] = (int32_t)integer_from_f64(x, INT32_MIN, 0x1p31);
        return;
    case PE_U32:
        ((uint32_t *)out)[i] = (uint32_t)integer_from_f64(x, 0, 0x1p32);
        return;
    case PE_BOOL:
        ((uint8_t *)out)[i] = x != 0;
        return;
    case PE_U8:
        ((uint8_t *)out)[i] = (uint8_t)integer_from_f64(x, 0, 0x1p8);
        return;
    case PE_DTYPES:
        return;
    }
}

static double read_to_f64(const void *in, enum pe_dtype dtype, size_t i)
{
    switch (dtype) {
    case PE_F64:
        return ((const double *)in)[i];
    case PE_F32:
        return ((const float *)in)[i];
    case PE_F16:
        return f32_from_f16(((const uint16_t *)in)[i]);
    case PE_BF16:
        return f32_from_bf16(((const uint16_t *)in)[i]);
    case PE_I64:
        return (double)((const int64_t *)in)[i];
    case PE_I32:
        return ((const int32_t *)in)[i];
    case PE_U32:
        return ((const uint32_t *)in)[i];
    case PE_BOOL:
        return ((const uint8_t *)in)[i] != 0;
    case PE_U8:
        return ((const uint8_t *)in)[i];
    case PE_DTYPES:
        break;
    }
    return NAN;
}

/* ---- arrays --------------------------------------------------------------------------------- */

void pe_from_f64(void *out, enum pe_dtype dtype, const double *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        write_from_f64(out, dtype, i, in[i]);
}

void pe_to_f64(double *out, const void *in, enum pe_dtype dtype, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = read_to_f64(in, dtype, i);
}

void pe_from_f32(void *out, enum pe_dtype dtype, const float *in, size_t count)
{
    if (dtype == PE_F16)
        pe_isa()->kernels->convert_f32_f16(out, in, count);
    else if (dtype == PE_BF16)
        pe_isa()->kernels->convert_f32_bf16(out, in, count);
    else if (dtype == PE_F32 && count > 0)
        memcpy(out, in, count * sizeof(*in));
    else
        for (size_t i = 0; i < count; i++)
            write_from_f64(out, dtype, i, in[i]);
}

void pe_to_f32(float *out, const void *in, enum pe_dtype dtype, size_t count)
{
    if (dtype == PE_F16)
        pe_isa()->kernels->convert_f16_f32(out, in, count);
    else if (dtype == PE_BF16)
        pe_isa()->kernels->convert_bf16_f32(out, in, count);
    else if (dtype == PE_F32 && count > 0)
        memcpy(out, in, count * sizeof(*out));
    else if (dtype == PE_I64) /* through f64 it would round twice */
        for (size_t i = 0; i < count; i++)
            out[i] = (float)((const int64_t *)in)[i];
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (float)read_to_f64(in, dtype, i);
}

void pe_convert(void *out, enum pe_dtype to, const void *in, enum pe_dtype from, size_t count)
{
    enum { CHUNK = 256 };
    const struct pe_dtype_info *info = pe_dtype_info(to);
    double values[CHUNK];

    if (to == from && info && count > 0)
        memcpy(out, in, count * info->size);
    else if (to == PE_F64)
        pe_to_f64(out, in, from, count);
    else if (to == PE_F32)
        pe_to_f32(out, in, from, count);
    else if (from == PE_F32)
        pe_from_f32(out, to, in, count);
    else if (from == PE_F64)
        pe_from_f64(out, to, in, count);
    else
        for (size_t i = 0, part; info && pe_dtype_info(from) && i < count; i += part) {
            part = count - i < CHUNK ? count - i : CHUNK;
            pe_to_f64(values, (const char *)in + i * pe_dtype_info(from)->size, from, part);
            pe_from_f64((char *)out + i * info->size, to, values, part);
        }
}

/* ---- distances (posenc/comparison.h) --------------------------------------------------------- */

/* The bits of a float as an integer in the order of the floats. */
static int64_t ordered(enum pe_dtype dtype, const void *number)
{
    const size_t size = pe_dtype_info(dtype)->size;
    const uint64_t sign = 1ull << (8 * size - 1);
    uint64_t bits = 0;

    memcpy(&bits, number, size); /* little-endian */
    return bits & sign ? -(int64_t)(bits & ~sign) : (int64_t)bits;
}

PE_WRAPS("the difference of two int64_t fits uint64_t")
double pe_ulps_apart(enum pe_dtype dtype, const void *a, const void *b)
{
    if (!pe_dtype_is_float(dtype))
        return NAN;

    const int64_t x = ordered(dtype, a), y = ordered(dtype, b);
    double values[2];

    pe_to_f64(&values[0], a, dtype, 1);
    pe_to_f64(&values[1], b, dtype, 1);
    if (values[0] == values[1] || (isnan(values[0]) && isnan(values[1])))
        return 0;
    if (!isfinite(values[0]) || !isfinite(values[1]))
        return INFINITY;
    return (double)(x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x);
}

double pe_round_to(double value, enum pe_dtype dtype)
{
    uint64_t bits;

    if (dtype == PE_F64)
        return value;
    if (!pe_dtype_is_float(dtype))
        return NAN;
    pe_from_f64(&bits, dtype, &value, 1);
    pe_to_f64(&value, &bits, dtype, 1);
    return value;
}
