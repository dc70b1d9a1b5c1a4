/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define half_kernel        rotate_half_f32
#define interleaved_kernel rotate_interleaved_f32
#define ELEMENT            float
#define REAL               float
#define VEC                vec
#define LANES              PE_LANES
#define load_real          vec_load
#define load               vec_load
#define store              vec_store
#define widen(x)           (x)
#define narrow(x)          (x)
#include "core/kernels/rotate_layouts.h"
