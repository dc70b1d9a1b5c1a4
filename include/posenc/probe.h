/* SPDX-License-Identifier: MIT */
#ifndef POSENC_PROBE_H
#define POSENC_PROBE_H

#include "posenc/diagnosis.h"

/* A probe: a rotation of queries or keys as a black box. A function y = f(x, positions) was called
 * with unit vectors and others; x and y are posted, and the probe finds whether f is linear,
 * whether a token depends on others, which elements are paired, and each pair's frequency,
 * direction, scale and offset. The angles are explained by pe_diagnose.
 *
 * x has, for each position and each element of a head, one row at least in which that element alone
 * is not zero. Other rows are held against these: rows of several nonzero elements test whether f
 * is linear; the same row in several heads, batch rows and calls tests what y depends on. */

/* Begins as zeros. */
struct pe_probed {
    size_t size; /* sizeof(struct pe_probed); later versions may have more members */
    /* What the function took and gave: one shape; f64, f32, f16 or bf16. */
    const struct pe_tensor *x, *y;
    /* A letter for each axis: c calls of the function, b batch rows, s tokens, h heads, and d, the
     * elements of a head, last. NULL: sd or csd, by the rank. */
    const char *axes;
    const struct pe_scheme *expected; /* prepared, rotary; NULL: none */
    const char *layout;               /* expected: "half" or "interleaved"; NULL: either */
    struct pe_positions positions;    /* of axis s, one list for all calls and batch rows */
};

/* Something that a rotation does not do. */
struct pe_probe_fault {
    const char *code, *explanation;
};

/* Where a fault is seen. This struct is final. */
struct pe_probe_place {
    size_t call, batch, token, head, element;
    double position;
    double seen, predicted; /* of y: by another row, by the sum of others, or by a rotation */
};

/* A pair of elements of a head. New members come after the last one. */
struct pe_probe_pair {
    size_t first, second;
    double frequency;      /* |w|, radians a position; NAN: the positions do not determine it */
    int direction;         /* 1; -1: backwards; 0: the pair does not rotate */
    double scale;          /* of its length; the mean over positions */
    double offset;         /* its angle at position 0, in (-pi, pi]; NAN with the frequency */
    double expected;       /* the expected frequency; NAN: none */
    double error;          /* the largest distance of angles from the expected ones, at most pi */
    double error_position; /* where that is */
    bool differs;          /* is the error larger than rounding explains? */
};

enum { PE_PROBE_SUMMARY = 320 };

/* The result. New members come after the last one. */
struct pe_probe_result {
    bool right; /* expected and found; the angles of float32 are right, whatever the position */
    /* One line: "right: ...", or codes and what differs: "base-ignored: pairs 1-31, 3.1 rad at 9".
     */
    char summary[PE_PROBE_SUMMARY];
    const struct pe_probe_fault *fault; /* NULL: none; else there is nothing below */
    struct pe_probe_place place;        /* of the fault */
    /* "half", "interleaved", "permuted"; NULL: no pair rotates. */
    const char *layout;
    size_t head_dim;
    size_t width;                      /* elements of a head that rotate, frozen pairs included */
    const struct pe_bug_info *pairing; /* how elements are paired wrongly; NULL: as expected */
    size_t pairs_count;
    const struct pe_probe_pair *pairs;
    const struct pe_diagnosis *diagnosis; /* of the angles and scales */
};

struct pe_probe;

PE_DECLARATIONS_BEGIN

/* The faults; NULL past the last one. */
PE_API const struct pe_probe_fault *pe_probe_fault_at(size_t index);

/* Checks shapes and axes: axes->sequence positions are needed. *nanoseconds: the estimated time of
 * one core for pe_probe_new; it may be NULL. The expected scheme and the positions are not read.
 * PE_INVALID where `size` is not set or axes are not right, PE_MISSING for tensors,
 * PE_UNSUPPORTED for a dtype, PE_SHAPE_MISMATCH where y has another shape, PE_TOO_LARGE. Any
 * thread. */
PE_API enum pe_status pe_probed_axes(const struct pe_probed *probed, struct pe_axes *axes,
                                     double *nanoseconds, struct pe_error *err);

/* Probes; the tensors, the scheme and the positions must outlive the probe, which is immutable:
 * any thread. Errors as above; PE_MISSING where no row of x has an element alone, PE_INVALID for
 * an x that is not finite, PE_SHAPE_MISMATCH and PE_OUT_OF_RANGE for positions, the latter also
 * if all are 0 and nothing rotated, PE_UNSUPPORTED for an expected scheme that is not rotary;
 * errors of pe_diagnose. */
PE_API enum pe_status pe_probe_new(struct pe_probe **probe, const struct pe_probed *probed,
                                   struct pe_pool *pool, struct pe_work *work,
                                   struct pe_error *err);
PE_API const struct pe_probe_result *pe_probe_result(const struct pe_probe *probe);
PE_API void pe_probe_free(struct pe_probe *probe);

PE_DECLARATIONS_END

#endif
