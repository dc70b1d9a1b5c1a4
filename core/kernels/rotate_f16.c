/* SPDX-License-Identifier: MIT */
#include "core/kernels/vec.h"

#define half_kernel        rotate_half_f16
#define interleaved_kernel rotate_interleaved_f16
#define ELEMENT            uint16_t
#define REAL               float
#define VEC                vec
#define LANES              PE_LANES
#define load_real          vec_load
#define load               vec_load_f16
#define store              vec_store_f16
#define widen(x)           f32_from_f16(x)
#define narrow(x)          f16_from_f32(x)
#include "core/kernels/rotate_layouts.h"
