/* SPDX-License-Identifier: MIT */
/* Rotation of f64, f32 and f16. bf16 has loads and stores of its own: rotate_bf16.c. */
#include "core/kernels/vec.h"

#define TWICE_HIGH(i) ((i) / 2 + LANES / 2)
#define SIGN(i)       ((i) % 2 ? 1 : -1)

#define NAME(part) part##_f64
#define ELEMENT    double
#define REAL       double
#define VEC        vec_f64
#define LANES      PE_LANES_F64
#define load_real  vec_load_f64
#define load       vec_load_f64
#define store      vec_store_f64
#define widen(x)   (x)
#define narrow(x)  (x)
#include "core/kernels/rotate_layouts.h"

#define NAME(part) part##_f32
#define ELEMENT    float
#define REAL       float
#define VEC        vec
#define LANES      PE_LANES
#define load_real  vec_load
#define load       vec_load
#define store      vec_store
#define widen(x)   (x)
#define narrow(x)  (x)
#include "core/kernels/rotate_layouts.h"

#define NAME(part) part##_f16
#define ELEMENT    uint16_t
#define REAL       float
#define VEC        vec
#define LANES      PE_LANES
#define load_real  vec_load
#define load       vec_load_f16
#define store      vec_store_f16
#define widen(x)   f32_from_f16(x)
#define narrow(x)  f16_from_f32(x)
#include "core/kernels/rotate_layouts.h"
