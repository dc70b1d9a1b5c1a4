/* SPDX-License-Identifier: MIT */
#ifndef POSENC_GOLDEN_H
#define POSENC_GOLDEN_H

/* Golden tensors: inputs of a rotary kernel and the outputs that are expected of it, at the
 * positions where kernels go wrong; and the check of a kernel's outputs against them.
 * docs/golden.md describes the file that has them for each kind of layers of a config.
 *
 *   double positions[PE_GOLDEN_POSITIONS_MAX];
 *   struct pe_golden_spec spec = {.size = sizeof(spec), .scheme = scheme,
 *                                 .layout = PE_LAYOUT_HALF, .softmax_scale = NAN,
 *                                 .positions = positions};
 *   struct pe_golden *golden = NULL;
 *
 *   spec.positions_count = pe_golden_positions(pe_golden_edge(scheme), 131072, positions);
 *   if (!pe_golden_new(&golden, &spec, work, &err) && !pe_golden_compute(golden, work, &err))
 *       fwrite(pe_golden_data(golden, PE_GOLDEN_COS), ...);
 *   pe_golden_free(golden); */

#include "posenc/diagnosis.h"
#include "posenc/layouts.h"
#include "posenc/tolerance.h"
#include "posenc/views.h"

enum { PE_GOLDEN_POSITIONS_MAX = 16 };

/* The tensors, in the order of a file. The first three are inputs. */
enum pe_golden_role {
    PE_GOLDEN_POSITIONS,        /* i64 [positions] */
    PE_GOLDEN_Q,                /* f32 [positions, 2 heads, elements of a head] */
    PE_GOLDEN_K,                /* f32 [positions, 1 head, elements of a head] */
    PE_GOLDEN_INV_FREQ_F64,     /* f64 [pairs]; radians a position */
    PE_GOLDEN_INV_FREQ,         /* f32 [pairs] */
    PE_GOLDEN_COS,              /* f32 [positions, pairs], with the attention factor */
    PE_GOLDEN_SIN,              /* likewise */
    PE_GOLDEN_Q_ROTATED,        /* of the shape of q */
    PE_GOLDEN_K_ROTATED,        /* of the shape of k */
    PE_GOLDEN_ATTENTION_FACTOR, /* f64 [1] */
    PE_GOLDEN_SOFTMAX_SCALE,    /* f64 [1], where it is known */
    PE_GOLDEN_ROLES
};

static inline bool pe_golden_is_input(enum pe_golden_role role)
{
    return role <= PE_GOLDEN_K;
}

/* What golden tensors are of. Begins as zeros. */
struct pe_golden_spec {
    size_t size;              /* sizeof(struct pe_golden_spec), for later versions */
    struct pe_scheme *scheme; /* pe_golden_takes its encoding; positions are one number each */
    enum pe_layout layout;
    double softmax_scale;    /* of scores, before the softmax; NAN: unknown */
    const double *positions; /* whole numbers from 0 to 2^53 - 1; copied */
    size_t positions_count;  /* 1 to PE_GOLDEN_POSITIONS_MAX */
};

struct pe_golden;

/* A kernel's output. `tensor` has the shape of the role, axes of 1 aside, in f64, f32, f16 or bf16;
 * is_wide: cos or sin whose rows are twice as long, each pair twice, in the layout. */
struct pe_golden_observed {
    enum pe_golden_role role; /* no input */
    const struct pe_tensor *tensor;
    bool is_wide;
};

/* How an output differs. New members come after the last one. */
struct pe_golden_result {
    size_t elements, outside;       /* of them, outside of what rounding allows */
    double used;                    /* the largest fraction of an allowed error; 0 to 1 */
    double max_abs;                 /* the largest error; infinite where a value is no number */
    size_t first;                   /* the first element outside; 0 where there is none */
    double seen;                    /* its value */
    struct pe_interval expected;    /* there */
    const char *mistake;            /* "layout-swapped", ...; NULL: the output is right */
    const char *explanation, *fix;  /* sentences; NULL: none */
    const struct pe_scheme *scheme; /* that explains the values; NULL: none is known */
};

/* What a check found. Immutable: any thread. */
struct pe_golden_check;

PE_DECLARATIONS_BEGIN

/* "q_rotated"; NULL for no role. */
PE_API const char *pe_golden_role_name(enum pe_golden_role role);

/* PE_OK for rope and encodings that rotate as rope does where coordinates are equal; otherwise
 * PE_UNSUPPORTED, without `where`. */
PE_API enum pe_status pe_golden_takes(const struct pe_encoding *encoding, struct pe_error *err);

/* The position at which a scheme's scaling begins, or after which it has other frequencies: the
 * length for which it was trained. 0: there is none. */
PE_API double pe_golden_edge(const struct pe_scheme *scheme);
/* The context that a scheme reaches: the larger of `context` (0: unknown) and the original length
 * times the scaling factor. 0: unknown. */
PE_API double pe_golden_context(const struct pe_scheme *scheme, double context);

/* Writes the positions below `length`, in ascending order, at which kernels go wrong: the first
 * ones, those around 256 (where bf16 loses odd numbers) and around `edge` (0: none), and the last.
 * Returns their number. */
PE_API size_t pe_golden_positions(double edge, double length,
                                  double positions[PE_GOLDEN_POSITIONS_MAX]);

/* The scheme and the work must outlive it. work may be NULL and is charged for memory.
 * PE_INVALID for the spec, PE_UNSUPPORTED for the scheme, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_golden_new(struct pe_golden **golden, const struct pe_golden_spec *spec,
                                    struct pe_work *work, struct pe_error *err);
PE_API void pe_golden_free(struct pe_golden *golden); /* NULL: nothing happens */

/* Name, dtype and shape of a tensor; NULL: there is none of the role. */
PE_API const struct pe_output *pe_golden_output(const struct pe_golden *golden,
                                                enum pe_golden_role role);
/* Estimated nanoseconds of pe_golden_compute, on one core. */
PE_API double pe_golden_work(const struct pe_golden *golden);
/* Computes all tensors, and prepares the scheme. Frequencies, cosines, sines and the attention
 * factor are the real numbers, rounded once; rotated elements have an error of at most half a unit
 * in the last place and 2^-49 times the attention factor. The same bytes on every machine. One
 * thread; then any thread reads. PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_golden_compute(struct pe_golden *golden, struct pe_work *work,
                                        struct pe_error *err);
/* Elements of a tensor in row-major order, once computed; NULL: there is none of the role. */
PE_API const void *pe_golden_data(const struct pe_golden *golden, enum pe_golden_role role);

/* Estimated nanoseconds for checking an output of so many elements, on one core, with the diagnosis
 * where it is wrong. */
PE_API double pe_golden_check_work(const struct pe_golden *golden, enum pe_golden_role role,
                                   size_t elements);
/* Checks outputs against computed golden tensors: values have to be in the intervals that rounding
 * allows (posenc/tolerance.h), and a diagnosis names the mistake of those that are not. path: the
 * arithmetic that is allowed, beside float32; NULL: that of the dtype, which for bf16 and f16 has
 * cos and sin of that dtype. golden, the tensors and the work must outlive the check. PE_INVALID
 * for a role or a shape, PE_CANCELLED, PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_golden_check_new(struct pe_golden_check **check,
                                          const struct pe_golden *golden,
                                          const struct pe_golden_observed *observed, size_t count,
                                          const enum pe_path *path, struct pe_pool *pool,
                                          struct pe_work *work, struct pe_error *err);
PE_API void pe_golden_check_free(struct pe_golden_check *check); /* NULL: nothing happens */
/* In the order of the outputs; NULL past the last one. */
PE_API const struct pe_golden_result *pe_golden_check_result(const struct pe_golden_check *check,
                                                             size_t index);

PE_DECLARATIONS_END

#endif
