/* SPDX-License-Identifier: MIT */
#ifndef POSENC_DTYPE_H
#define POSENC_DTYPE_H

#include "posenc/common.h"

/* X(NAME, text, bytes, safetensors' name, npy's descr or NULL, aliases separated by commas).
 * Floating types first: PE_F64 .. PE_BF16 are what tables and Q/K batches can have. */
#define PE_DTYPE_MAP(X)                                                                            \
    X(F64, "f64", 8, "F64", "<f8", "float64,fp64,double")                                          \
    X(F32, "f32", 4, "F32", "<f4", "float32,fp32,float")                                           \
    X(F16, "f16", 2, "F16", "<f2", "float16,fp16,half")                                            \
    X(BF16, "bf16", 2, "BF16", NULL, "bfloat16")                                                   \
    X(I64, "i64", 8, "I64", "<i8", "int64,long")                                                   \
    X(I32, "i32", 4, "I32", "<i4", "int32,int")                                                    \
    X(U32, "u32", 4, "U32", "<u4", "uint32")                                                       \
    X(BOOL, "bool", 1, "BOOL", "|b1", "boolean")                                                   \
    X(U8, "u8", 1, "U8", "|u1", "uint8,byte")

enum pe_dtype {
#define X(name, text, size, safetensors, npy, aliases) PE_##name,
    PE_DTYPE_MAP(X)
#undef X
        PE_DTYPES /* how many there are */
};

enum { PE_RANK_MAX = 8 };

struct pe_dtype_info {
    const char *name;        /* "f32" */
    size_t size;             /* bytes of an element */
    const char *safetensors; /* "F32" */
    const char *npy;         /* "<f4"; NULL where npy has none */
    const char *aliases;     /* "float32,fp32,float" */
};

PE_DECLARATIONS_BEGIN

/* A constant; NULL for a number that is no dtype. Any thread. */
PE_API const struct pe_dtype_info *pe_dtype_info(enum pe_dtype dtype);

/* Finds a dtype by its name or an alias, in any case ("float32", "F32") and with or without the
 * name of a module ("torch.float32"), or by npy's descr ("<f4"). False: there is none. */
PE_API bool pe_dtype_find(const char *name, enum pe_dtype *dtype);

static inline bool pe_dtype_is_float(enum pe_dtype dtype)
{
    return dtype <= PE_BF16;
}

/* Elements in row-major order, little-endian, aligned as one element; the caller owns the memory.
 * Rank 0: no tensor. This struct is final: specs that need more of a tensor will have it in members
 * of their own. */
struct pe_tensor {
    enum pe_dtype dtype;
    unsigned rank;
    size_t shape[PE_RANK_MAX];
    void *data;
};

/* out = a * b, false where it does not fit. */
static inline bool pe_size_multiply(size_t a, size_t b, size_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* The number of elements of a shape; false where it, or its size in bytes, takes over 63 bits. A
 * dimension of 0 makes the number 0, but the product of the others must still fit. */
PE_API bool pe_shape_elements(const size_t *shape, unsigned rank, size_t *count);

/* Conversions, element by element; in and out must not overlap. Every f64 has its nearest f16 and
 * bf16 in one rounding (never through f32), ties to even, subnormals kept, NaN stays NaN. Integers
 * are the nearest ones, ties to even, clamped to their range (300 as u8 is 255); NaN becomes 0. A
 * bool is true unless the number is 0. For an invalid dtype pe_from_* leave `out` as it is, and
 * pe_to_* write NaN. Any thread. */
PE_API void pe_from_f64(void *out, enum pe_dtype dtype, const double *in, size_t count);
PE_API void pe_to_f64(double *out, const void *in, enum pe_dtype dtype,
                      size_t count); /* exact; i64 rounds */
PE_API void pe_from_f32(void *out, enum pe_dtype dtype, const float *in, size_t count);
PE_API void pe_to_f32(float *out, const void *in, enum pe_dtype dtype,
                      size_t count); /* f64 rounds */

/* Any dtype to any other: a copy where both are the same, else rounded as above; from i64 through
 * f64. For an invalid dtype `out` stays as it is or becomes NaN, as above. Any thread. */
PE_API void pe_convert(void *out, enum pe_dtype to, const void *in, enum pe_dtype from,
                       size_t count);

/* Reads the decimal number that `text` begins with (12, -0.5, .5, 1e-3) into one element of a float
 * dtype, rounded once, ties to even; beyond the largest number it becomes infinite. The decimal
 * point is a point in every locale. size: bytes of the text. Returns the bytes of the number; 0:
 * there is none, or the dtype is no float, and `out` is unchanged. Any thread. */
PE_API size_t pe_from_text(void *out, enum pe_dtype dtype, const char *text, size_t size);

PE_DECLARATIONS_END

#endif
