/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "core/base/isa.h"
#include "core/base/params.h"
#include "core/base/sizes.h"
#include "core/encodings/sinusoidal.h"
#include "core/exact/angle.h"

enum { ORDER_MSB, ORDER_LSB };
enum { POSITION_BITS = 53 };
enum { CHECK_ELEMENTS = 1 << 16 }; /* between two checks of the work */

static const struct pe_param params[] = {
    PE_PARAM_DIM(1, 1 << 20),
    {.name = "bit_order",
     .type = PE_CHOICE,
     .choices = "msb,lsb",
     .fallback = "msb",
     .doc = "The order of the digits. msb: the most significant digit first, as numbers are "
            "written. lsb: the least significant digit first."},
};

static double position_of(const struct pe_positions *positions, size_t index)
{
    if (positions->values)
        return positions->values[index];
    /* Exact: start, step and the last position are integers below 2^53. */
    return positions->start + positions->step * (double)index;
}

static enum pe_status position_check(const struct pe_scheme *scheme, double position,
                                     const char *where, struct pe_error *err)
{
    const size_t dim = pe_sinusoids_dim(scheme);
    const double end = ldexp(1, dim < POSITION_BITS ? (int)dim : POSITION_BITS);

    if (position >= 0 && position < end && position == floor(position))
        return PE_OK;
    return pe_fail(err, PE_OUT_OF_RANGE, where,
                   "binary with dim=%zu has whole positions from 0 to %.0f, got position %.17g",
                   dim, end - 1, position);
}

static enum pe_status positions_check(const struct pe_scheme *scheme,
                                      const struct pe_positions *positions, struct pe_error *err)
{
    return pe_rows_whole_positions_check(scheme, positions, position_check,
                                         "has whole positions only", err);
}

/* The same for every row. */
struct digits {
    size_t dim, count; /* columns; those that hold a digit */
    bool lsb;
    uint64_t one; /* the bytes of 1 in the dtype */
};

/* With a constant size each memcpy is one instruction. */
static inline void digits_write(const struct digits *d, uint64_t position, char *out,
                                const size_t size)
{
    char *const first = d->lsb ? out : out + (d->dim - d->count) * size;

    if (d->count < d->dim)
        memset(out, 0, d->dim * size);
    if (d->lsb)
        for (size_t i = 0; i < d->count; i++, position >>= 1) {
            const uint64_t value = position & 1 ? d->one : 0;
            memcpy(first + i * size, &value, size);
        }
    else
        for (size_t i = d->count; i > 0; position >>= 1) {
            const uint64_t value = position & 1 ? d->one : 0;
            memcpy(first + --i * size, &value, size);
        }
}

static void row_write(const struct digits *d, uint64_t position, char *out, size_t size)
{
    if (size == sizeof(float))
        digits_write(d, position, out, sizeof(float));
    else if (size == sizeof(double))
        digits_write(d, position, out, sizeof(double));
    else
        digits_write(d, position, out, sizeof(uint16_t));
}

/* Wide f32 rows are written by a kernel, which takes the bit of each column as two halves. */
enum { GROUP = 64, KERNEL_COLUMNS = 16 };

static void floats_write(const struct digits *d, const struct pe_positions *positions, size_t begin,
                         size_t rows, float *out)
{
    float *const first = d->lsb ? out : out + (d->dim - d->count);
    uint32_t low[POSITION_BITS], high[POSITION_BITS];
    uint64_t numbers[GROUP];

    for (size_t i = 0; i < d->count; i++) {
        const uint64_t bit = UINT64_C(1) << (d->lsb ? i : d->count - 1 - i);
        low[i] = (uint32_t)bit;
        high[i] = (uint32_t)(bit >> 32);
    }
    for (size_t i = 0; i < rows; i++)
        numbers[i] = (uint64_t)position_of(positions, begin + i);
    if (d->count < d->dim)
        memset(out, 0, rows * d->dim * sizeof(*out));
    pe_isa()->kernels->bits_f32(first, numbers, rows, low, high, d->count, d->dim);
}

static enum pe_status fill(const struct pe_scheme *scheme, const struct pe_rows_part *part,
                           void *out, struct pe_work *work, struct pe_error *err)
{
    const size_t dim = pe_sinusoids_dim(scheme), size = pe_dtype_info(part->dtype)->size;
    struct digits digits = {.dim = dim,
                            .count = pe_min(dim, POSITION_BITS),
                            .lsb = pe_param_choice(&scheme->params, "bit_order") == ORDER_LSB};
    /* Rows written at once: at most CHECK_ELEMENTS elements. */
    const size_t most = dim < CHECK_ELEMENTS / GROUP ? GROUP : 1;
    const bool by_kernel = part->dtype == PE_F32 && dim >= KERNEL_COLUMNS;
    const double one = 1;
    size_t unchecked = 0;

    pe_from_f64(&digits.one, part->dtype, &one, 1);
    for (size_t row = part->begin, rows; row < part->end; row += rows, unchecked += rows * dim) {
        char *const to = (char *)out + (row - part->begin) * dim * size;
        rows = pe_min(most, part->end - row);
        if (unchecked >= CHECK_ELEMENTS) {
            unchecked = 0;
            if (pe_work_check(work, err))
                return err->status;
        }
        if (by_kernel)
            floats_write(&digits, part->positions, row, rows, (float *)(void *)to);
        for (size_t i = 0; !by_kernel && i < rows; i++)
            row_write(&digits, (uint64_t)position_of(part->positions, row + i), to + i * dim * size,
                      size);
    }
    return PE_OK;
}

/* Columns beyond the bits of a position are only cleared. */
static double cost(const struct pe_scheme *scheme, const struct pe_positions *positions,
                   enum pe_dtype dtype)
{
    const double dim = (double)pe_sinusoids_dim(scheme);

    (void)positions;
    if (dtype == PE_F32 && dim >= KERNEL_COLUMNS)
        return 0.1 + 0.05 * pe_isa()->kernels->slowness + 1.5 / dim;
    return 0.1 + 0.6 * fmin(dim, POSITION_BITS) / dim + 8 / dim;
}

static const struct pe_rows_kind rows = {
    .width = pe_sinusoids_dim, .fill = fill, .cost = cost, .positions_check = positions_check};

extern const struct pe_encoding pe_encoding_binary;
const struct pe_encoding pe_encoding_binary = {
    .info.name = "binary",
    .info.family = "absolute",
    .info.title = "The binary digits of the position, one in each column",
    .info.formula = "p(t, i) = bit dim - 1 - i of t (msb) or bit i of t (lsb), 0 <= t < 2^dim",
    .info.source = "Textbook step from positions to sinusoidal encodings",
    PE_INFO_PARAMS(params),
    .info.example = "dim=4",
    .rows = &rows,
};
