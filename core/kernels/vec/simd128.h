/* SPDX-License-Identifier: MIT */
/* Operations that SIMD128 of WebAssembly does faster than vectors in general; included by vec.h
 * alone. */
#include <wasm_simd128.h>

#define PE_HAS_ANY
PE_INLINE int vec_any(vec_u32 v)
{
    return wasm_v128_any_true((v128_t)v);
}
