/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define half_kernel        rotate_half_f64
#define interleaved_kernel rotate_interleaved_f64
#define ELEMENT            double
#define REAL               double
#define VEC                vec_f64
#define LANES              PE_LANES_F64
#define load_real          vec_load_f64
#define load               vec_load_f64
#define store              vec_store_f64
#define widen(x)           (x)
#define narrow(x)          (x)
#include "core/kernels/rotate_layouts.h"
