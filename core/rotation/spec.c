/* SPDX-License-Identifier: MIT */
#include "core/rotation/spec.h"

#include <math.h>

#include "core/base/fail.h"
#include "core/scheme/rotary.h"

#define COPY_WORK 1.0 /* nanoseconds of an element of a given table, about */

static enum pe_status check_given(const struct pe_rotation_spec *spec, struct pe_error *err)
{
    const struct pe_tensor *cos = spec->cos, *sin = spec->sin;
    size_t elements;

    if (!cos || !sin)
        return pe_fail(err, PE_MISSING, cos ? "tensor:sin" : "tensor:cos",
                       "cos and sin go together; %s is missing", cos ? "sin" : "cos");
    if (!pe_dtype_is_float(cos->dtype) || !pe_dtype_is_float(sin->dtype))
        return pe_fail(err, PE_UNSUPPORTED,
                       pe_dtype_is_float(cos->dtype) ? "tensor:sin" : "tensor:cos",
                       "cos and sin must be f64, f32, f16 or bf16");
    if (cos->rank != 2 || sin->rank != 2 || cos->shape[0] != sin->shape[0] ||
        cos->shape[1] != sin->shape[1] || cos->shape[1] == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, "tensor:cos",
                       "cos and sin must both be [rows, rotary_dim / 2]");
    if (!pe_shape_elements(cos->shape, 2, &elements))
        return pe_fail(err, PE_TOO_LARGE, "tensor:cos", "the size of cos does not fit in 63 bits");
    if (elements > 0 && (!cos->data || !sin->data))
        return pe_fail(err, PE_INVALID, cos->data ? "tensor:sin" : "tensor:cos",
                       "cos and sin must have data");
    if (spec->positions.axes > 1)
        return pe_fail(err, PE_CONFLICT, "parameter:positions",
                       "a table of cos and sin has one row a position, which must be one number");
    if (spec->is_delta || spec->without_attention_factor)
        return pe_fail(err, PE_CONFLICT,
                       spec->is_delta ? "parameter:delta" : "parameter:apply_attention_factor",
                       "a table of cos and sin is applied as it is: it has no rows for distances, "
                       "and its attention factor cannot be taken out");
    return PE_OK;
}

static bool is_position(double t)
{
    return fabs(t) <= 0x1p53 - 1;
} /* false for NaN */

/* ln of the largest scale, well within f64 and f32: cos and sin are to stay finite. */
#define REACH_F64 700
#define REACH_F32 80

static enum pe_status check_positions(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                      struct pe_error *err)
{
    const char *where = spec->is_delta ? "parameter:delta" : "parameter:positions";
    const struct pe_positions *p = &spec->positions;
    const size_t batch = p->batch > 1 ? p->batch : 1;
    size_t total;

    if (p->reserved[0] || p->reserved[1])
        return pe_fail(err, PE_INVALID, where, "what is reserved in positions must be 0");
    if (!p->values && p->count > 0) {
        const double last = p->start + (double)(p->count - 1) * p->step;
        if (!is_position(p->start) || !is_position(last))
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "positions must be within +-(2^53 - 1), got %.4g to %.4g", p->start,
                           last);
    }
    if (!p->values && batch > 1)
        return pe_fail(err, PE_INVALID, where,
                       "positions that differ by batch row must be listed, got start and step");
    if (!p->values && p->axes > 1)
        return pe_fail(err, PE_INVALID, where,
                       "positions of several coordinates must be listed, got start and step");
    if (!pe_size_multiply(p->count, batch, &total) ||
        !pe_size_multiply(total, p->axes > 1 ? p->axes : 1, &total))
        return pe_fail(err, PE_TOO_LARGE, where, "%zu x %zu positions do not fit in memory", batch,
                       p->count);
    for (size_t i = 0; p->values && i < total; i++)
        if (!is_position(p->values[i]))
            return pe_fail(err, PE_OUT_OF_RANGE, where,
                           "positions must be within +-(2^53 - 1), got %.4g at index %zu",
                           p->values[i], i);
    if (spec->cos)
        return PE_OK;
    return pe_rotary_positions_check(spec->scheme, p, where, err) ||
                   pe_rotary_reach_check(spec->scheme, p, spec->is_delta,
                                         dtype == PE_F64 ? REACH_F64 : REACH_F32, where, err)
               ? err->status
               : PE_OK;
}

enum pe_status pe_rotation_spec_check(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
                                      struct pe_error *err)
{
    const bool is_given = spec->cos || spec->sin;

    if (!spec->scheme && !is_given)
        return pe_fail(err, PE_MISSING, "parameter:encoding", "a rotation needs a scheme");
    if (spec->scheme && !spec->scheme->encoding->rotary)
        return pe_fail(err, PE_UNSUPPORTED, "parameter:encoding",
                       "%s is not rotary and rotates nothing; use a rotary encoding such as rope",
                       spec->scheme->encoding->info.name);
    if (!pe_dtype_is_float(dtype))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:dtype",
                       "only f64, f32, f16 and bf16 tensors rotate, got %s", pe_dtype_name(dtype));
    if ((unsigned)spec->layout > PE_LAYOUT_INTERLEAVED ||
        (unsigned)spec->output_layout > PE_LAYOUT_INTERLEAVED)
        return pe_fail(err, PE_INVALID, "parameter:layout", "a layout is half or interleaved");
    if (is_given && check_given(spec, err))
        return err->status;
    if (!is_given && !spec->scheme->prepared)
        return pe_fail(err, PE_INVALID, "parameter:encoding",
                       "the scheme must be prepared before it rotates");
    return check_positions(spec, dtype, err);
}

double pe_rotation_work(const struct pe_rotation_spec *given, enum pe_dtype dtype)
{
    struct pe_rotation_spec spec;
    double one = COPY_WORK, pairs;

    if (pe_struct_read(&spec, sizeof(spec), given, &(struct pe_error){0}) ||
        (!spec.cos && !(spec.scheme && spec.scheme->encoding->rotary)))
        return 0;
    if (!spec.cos)
        one = pe_rotary_cost(spec.scheme, &spec.positions, dtype == PE_F64 ? PE_F64 : PE_F32, true);
    pairs = (double)(spec.cos ? spec.cos->shape[1] : pe_waves_of(spec.scheme)->pairs);
    return 2 * one * pairs * (double)spec.positions.count *
           (double)(spec.positions.batch > 1 ? spec.positions.batch : 1);
}
