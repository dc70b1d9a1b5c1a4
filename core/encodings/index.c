/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/base/isa.h"
#include "core/base/sizes.h"
#include "core/exact/angle.h"
#include "core/scheme/rows.h"

/* Enough for any exact sum of two doubles up to 2^53. */
enum { SUM_BITS = 1152 };

static size_t width(const struct pe_scheme *scheme)
{
    (void)scheme;
    return 1;
}

/* The exact sum of three doubles, rounded once. */
static void position_round(const struct pe_position *position, enum pe_dtype dtype, void *out)
{
    const double *part = position->part;

    if (part[2] == 0)
        pe_exact_round((struct pe_exact){part[0], part[1]}, 0, dtype, out);
    else
        pe_wide_write(
            pe_wide_add_double(pe_wide_add_double(pe_wide_of(SUM_BITS, part[0]), part[1]), part[2]),
            dtype, out);
}

static void row(const struct pe_scheme *scheme, const struct pe_positions *positions, size_t index,
                enum pe_dtype dtype, void *out)
{
    (void)scheme;
    if (positions->values) {
        pe_from_f64(out, dtype, &positions->values[index], 1);
        return;
    }
    const struct pe_position position =
        pe_position_at(positions->start, positions->step, (double)index);
    position_round(&position, dtype, out);
}

/* True for evenly spaced positions that are integers up to 2^53: two double operations compute
 * each of them exactly. */
static bool is_whole(const struct pe_positions *p)
{
    const double far = p->step * ((double)p->count - 1), last = p->start + far;

    return !p->values && p->start == floor(p->start) && p->step == floor(p->step) &&
           fabs(p->start) <= 0x1p53 && fabs(far) < 0x1p53 && fabs(last) < 0x1p53;
}

enum { GROUP = 512 };

/* Adding 0.0 makes -0 a 0, as in an exact sum. Conversion to float rounds once, not at all up to
 * 2^24.
 */
static void whole_write(const struct pe_positions *p, size_t begin, size_t count,
                        enum pe_dtype dtype, char *out)
{
    const double step = p->step, first = p->start + step * (double)begin;
    float values[GROUP];

    if (dtype == PE_F64) {
        for (size_t i = 0; i < count; i++)
            ((double *)(void *)out)[i] = first + step * (double)(int64_t)i + 0.0;
        return;
    }
    float *const floats = dtype == PE_F32 ? (float *)(void *)out : values;
    pe_isa()->kernels->even_f32(floats, first, step, count);
    if (dtype != PE_F32)
        pe_from_f32(out, dtype, values, count);
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_positions *p = part->positions;
    const size_t size = pe_dtype_info(part->dtype)->size;
    const double farthest = fmax(fabs(p->start), fabs(p->start + p->step * ((double)p->count - 1)));

    if (!is_whole(p) || ((part->dtype == PE_F16 || part->dtype == PE_BF16) && farthest > 0x1p24))
        return pe_rows_each(scheme, part, row, out, work, err);
    for (size_t at = part->begin; at < part->end; at += GROUP) {
        if (at % (GROUP * 64) < GROUP && pe_work_check(work, err))
            return err->status;
        whole_write(p, at, pe_min(GROUP, part->end - at), part->dtype,
                    (char *)out + (at - part->begin) * size);
    }
    return PE_OK;
}

/* Fractional positions are sums of three doubles. */
static double cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    (void)scheme;
    if (positions->values)
        return 7;
    return !is_whole(positions) ? 60
           : dtype == PE_F64    ? 0.7
                                : 0.15 + 0.05 * pe_isa()->kernels->slowness;
}

static const struct pe_rows_kind rows = {.width = width, .fill = fill, .cost = cost};

extern const struct pe_encoding pe_encoding_index;
const struct pe_encoding pe_encoding_index = {
    .info.name = "index",
    .info.family = "absolute",
    .info.title = "The position itself, in one column",
    .info.formula = "p(t) = t",
    .info.source = "The plainest way to number positions; grows without bound",
    .rows = &rows,
};
