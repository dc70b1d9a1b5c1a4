/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/fail.h"
#include "core/base/isa.h"
#include "core/base/least.h"
#include "core/base/spend.h"
#include "core/rotation/rounded.h"
#include "core/rotation/spec.h"
#include "core/scheme/rotary.h"
#include "posenc/rotation.h"

/* Values of cos and of sin that one block of the job computes: some 10 us of f32. */
enum { BLOCK_ELEMENTS = 1 << 14 };
#define BLOCK_WORK 1e7  /* nanoseconds, about */
#define BYTE_WORK  0.06 /* of a byte that is rotated */
/* Of an element, for each time that an ISA is slower than AVX-512; of f16. */
#define LANE_WORK 0.1
#define HALF_WORK 0.35

/* Between two looks at the work: rows of a given table, elements that rotate. */
enum { CHECK_ROWS = 256, CHECK_ELEMENTS = 1 << 19 };

struct pe_rotation {
    enum pe_dtype dtype, table_dtype;
    enum pe_layout layout, output_layout;
    size_t rotary_dim, positions, batch; /* batch 1: the same rows for every batch row */
    bool rounded;                        /* each operation, to dtype: rounded.h */
    char *cos, *sin;                     /* one block of memory, cos first */
};

/* ---- the table ------------------------------------------------------------------------------ */

struct table_job {
    struct pe_job job; /* first, so that a pointer to it is one to the whole */
    struct pe_rotation *rotation;
    const struct pe_rotation_spec *spec;
    enum pe_amplitude amplitude;
    size_t rows, rows_per_block, row_size;
    struct pe_work *work;
    _Atomic int status; /* of a block that failed */
};

/* A rotation by -t is one by t whose sin has the other sign, bit for bit. */
static void negate(void *data, enum pe_dtype dtype, size_t count)
{
    if (dtype == PE_F64)
        for (size_t i = 0; i < count; i++)
            ((double *)data)[i] = -((double *)data)[i];
    else
        for (size_t i = 0; i < count; i++)
            ((float *)data)[i] = -((float *)data)[i];
}

static void fill_block(struct pe_job *job, size_t block)
{
    struct table_job *table = (struct table_job *)job;
    const struct pe_rotation *rotation = table->rotation;
    const size_t begin = block * table->rows_per_block;
    const size_t count = pe_least(table->rows - begin, table->rows_per_block);
    char *cos = rotation->cos + begin * table->row_size;
    char *sin = rotation->sin + begin * table->row_size;

    const struct pe_table to = {
        cos, sin, rotation->rotary_dim / 2, rotation->rotary_dim / 2, 1, table->row_size, NULL};
    const struct pe_rotary_rows rows = {.scheme = table->spec->scheme,
                                        .positions = &table->spec->positions,
                                        .amplitude = table->amplitude,
                                        .dtype = rotation->table_dtype,
                                        .is_delta = table->spec->is_delta,
                                        .inverse_scale =
                                            table->spec->is_key != table->spec->inverse};
    struct pe_error err = {0};

    if (pe_rotary_fill(&to, &rows, begin, begin + count, table->work, &err))
        atomic_store(&table->status, err.status);
    if (rotation->rounded) {
        pe_rounded((float *)(void *)cos, rotation->dtype, count * (rotation->rotary_dim / 2));
        pe_rounded((float *)(void *)sin, rotation->dtype, count * (rotation->rotary_dim / 2));
    }
    if (table->spec->inverse)
        negate(sin, rotation->table_dtype, count * (rotation->rotary_dim / 2));
}

/* ---- a table that is given ------------------------------------------------------------------ */

static void row_copy(char *to, enum pe_dtype dtype, const struct pe_tensor *from, size_t row)
{
    const size_t pairs = from->shape[1];
    const char *data = (const char *)from->data + row * pairs * pe_dtype_info(from->dtype)->size;

    if (dtype == PE_F64)
        pe_to_f64((double *)(void *)to, data, from->dtype, pairs);
    else
        pe_to_f32((float *)(void *)to, data, from->dtype, pairs);
}

/* Rows are never wrapped, and there is nothing between two of them. */
static enum pe_status copy_table(struct pe_rotation *rotation, const struct pe_rotation_spec *spec,
                                 size_t rows, size_t row_size, struct pe_work *work,
                                 struct pe_error *err)
{
    const struct pe_positions *p = &spec->positions;

    for (size_t i = 0; i < rows; i++) {
        const double t = p->values ? p->values[i] : p->start + p->step * (double)i;
        if (i % CHECK_ROWS == 0 && pe_work_check(work, err))
            return err->status;
        if (!(t >= 0 && t < (double)spec->cos->shape[0]) || t != floor(t))
            return pe_fail(err, PE_OUT_OF_RANGE, "parameter:positions",
                           "position %.17g is no row of cos and sin, which have rows 0 to %.0f", t,
                           (double)spec->cos->shape[0] - 1);
        row_copy(rotation->cos + i * row_size, rotation->table_dtype, spec->cos, (size_t)t);
        row_copy(rotation->sin + i * row_size, rotation->table_dtype, spec->sin, (size_t)t);
    }
    if (spec->inverse)
        negate(rotation->sin, rotation->table_dtype, rows * (rotation->rotary_dim / 2));
    return PE_OK;
}

/* ---- filling it ------------------------------------------------------------------------------ */

static enum pe_amplitude amplitude_of(const struct pe_rotation_spec *spec)
{
    if (spec->is_delta || spec->without_attention_factor)
        return PE_AMPLITUDE_ONE;
    return spec->inverse ? PE_AMPLITUDE_INVERSE : PE_AMPLITUDE_FACTOR;
}

/* A block takes 10 ms at most, or is one row. */
static size_t block_rows(const struct pe_rotation_spec *spec, enum pe_dtype dtype, size_t pairs)
{
    const double rows = (double)spec->positions.count * fmax((double)spec->positions.batch, 1);
    const double one = rows > 0 ? pe_rotation_work(spec, dtype) / rows : 0;
    const double most = fmin((double)(BLOCK_ELEMENTS / pairs), BLOCK_WORK / fmax(one, 1));

    return most < 1 ? 1 : (size_t)most;
}

static enum pe_status fill_table(struct pe_rotation *rotation, const struct pe_rotation_spec *spec,
                                 struct pe_pool *pool, struct pe_work *work, struct pe_error *err)
{
    const size_t pairs = rotation->rotary_dim / 2;
    const size_t rows_per_block = block_rows(spec, rotation->table_dtype, pairs);
    struct table_job table = {.job = {.run = fill_block, .work = work},
                              .rotation = rotation,
                              .spec = spec,
                              .amplitude = amplitude_of(spec),
                              .rows_per_block = rows_per_block,
                              .work = work};
    size_t size;

    if (!pe_size_multiply(rotation->positions, rotation->batch, &table.rows) ||
        !pe_size_multiply(pairs, pe_dtype_info(rotation->table_dtype)->size, &table.row_size) ||
        !pe_size_multiply(table.rows, table.row_size, &size) || size > SIZE_MAX / 4)
        return pe_fail(err, PE_TOO_LARGE, "parameter:positions",
                       "cos and sin of %zu x %zu positions do not fit in memory", rotation->batch,
                       rotation->positions);
    if (!pe_work_reserve(work, 2 * size))
        return pe_no_memory(err, "cos and sin");
    rotation->cos = malloc(2 * size + 1); /* + 1: malloc(0) may return NULL */
    if (!rotation->cos) {
        pe_work_release(work, 2 * size);
        return pe_no_memory(err, "cos and sin");
    }
    rotation->sin = rotation->cos + size;
    if (spec->cos)
        return copy_table(rotation, spec, table.rows, table.row_size, work, err);
    table.job.blocks = table.rows / rows_per_block + (table.rows % rows_per_block != 0);
    if (!pe_pool_run(pool, &table.job) || atomic_load(&table.status))
        return pe_work_check(work, err)
                   ? err->status
                   : pe_fail(err, PE_INTERNAL, "", "cos and sin could not be computed");
    return PE_OK;
}

/* ---- new ------------------------------------------------------------------------------------ */

enum pe_status pe_rotation_new(struct pe_rotation **out, const struct pe_rotation_spec *given,
                               enum pe_dtype dtype, struct pe_pool *pool, struct pe_work *work,
                               struct pe_error *err)
{
    struct pe_rotation_spec ours, *spec = &ours;
    struct pe_rotation *rotation;

    *out = NULL;
    /* A caller may have asked what it costs, for its limits; here it is counted. */
    if (pe_struct_read(spec, sizeof(*spec), given, err) ||
        pe_rotation_spec_check(spec, dtype, err) ||
        pe_spend(work, pe_rotation_work(spec, dtype), err))
        return err->status;
    rotation = calloc(1, sizeof(*rotation));
    if (!rotation)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a rotation");
    rotation->dtype = dtype;
    rotation->table_dtype = dtype == PE_F64 ? PE_F64 : PE_F32;
    rotation->layout = spec->layout;
    rotation->output_layout = spec->output_layout;
    rotation->rotary_dim = 2 * (spec->cos ? spec->cos->shape[1] : pe_waves_of(spec->scheme)->pairs);
    rotation->rounded = !spec->cos &&
                        pe_frequencies_in_float32(pe_waves_of(spec->scheme)->frequencies) &&
                        (dtype == PE_F16 || dtype == PE_BF16);
    rotation->positions = spec->positions.count;
    rotation->batch = spec->positions.batch > 1 ? spec->positions.batch : 1;
    if (fill_table(rotation, spec, pool, work, err)) {
        pe_rotation_free(rotation);
        return err->status;
    }
    *out = rotation;
    return PE_OK;
}

void pe_rotation_free(struct pe_rotation *rotation)
{
    if (!rotation)
        return;
    free(rotation->cos);
    free(rotation);
}

/* ---- use ------------------------------------------------------------------------------------ */

enum pe_status pe_rotation_check(const struct pe_rotation *rotation, const struct pe_axes *axes,
                                 enum pe_dtype dtype, const char *name, struct pe_error *err)
{
    char where[sizeof(err->where)];

    if (dtype == rotation->dtype && axes->sequence == rotation->positions &&
        (rotation->batch <= 1 || axes->batch == rotation->batch) &&
        axes->head_dim >= rotation->rotary_dim)
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%s", name);
    if (dtype != rotation->dtype)
        return pe_fail(err, PE_CONFLICT, where, "%s is %s, the rotation was made for %s", name,
                       pe_dtype_name(dtype), pe_dtype_name(rotation->dtype));
    if (axes->sequence != rotation->positions)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu tokens in a sequence, but there are %zu positions", name,
                       axes->sequence, rotation->positions);
    if (rotation->batch > 1 && axes->batch != rotation->batch)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu batch rows, the positions have %zu; give one row for all, or "
                       "one each",
                       name, axes->batch, rotation->batch);
    return pe_fail(err, PE_SHAPE_MISMATCH, where,
                   "%s has heads %zu wide, of which %zu should rotate; give a smaller dim or "
                   "rotary_dim",
                   name, axes->head_dim, rotation->rotary_dim);
}

/* Tokens of one sequence: neighbours in memory and in the table. */
static void rotate_run(const struct pe_rotation *rotation, void *data, size_t row, size_t tokens,
                       size_t heads, size_t head_dim)
{
    const struct pe_kernels *kernels = pe_isa()->kernels;
    const size_t offset = row * (rotation->rotary_dim / 2);
    const size_t size = pe_dtype_info(rotation->table_dtype)->size;
    const void *cos = rotation->cos + offset * size, *sin = rotation->sin + offset * size;
    const size_t width = rotation->rotary_dim;
    const bool is_half = rotation->layout == PE_LAYOUT_HALF;

    if (rotation->rounded)
        pe_rotate_rounded(data, rotation->dtype, cos, sin, tokens, heads, head_dim, width / 2,
                          rotation->layout);
    else if (rotation->dtype == PE_F64)
        (is_half ? kernels->rotate_half_f64
                 : kernels->rotate_interleaved_f64)(data, cos, sin, tokens, heads, head_dim, width);
    else if (rotation->dtype == PE_F32)
        (is_half ? kernels->rotate_half_f32
                 : kernels->rotate_interleaved_f32)(data, cos, sin, tokens, heads, head_dim, width);
    else if (rotation->dtype == PE_F16)
        (is_half ? kernels->rotate_half_f16
                 : kernels->rotate_interleaved_f16)(data, cos, sin, tokens, heads, head_dim, width);
    else
        (is_half ? kernels->rotate_half_bf16 : kernels->rotate_interleaved_bf16)(
            data, cos, sin, tokens, heads, head_dim, width);
    pe_layout_convert(data, rotation->dtype, tokens * heads, head_dim, width, rotation->layout,
                      rotation->output_layout, &(struct pe_error){0}); /* the widths were checked */
}

/* Nanoseconds, about. Memory is as fast for all ISAs, conversions of halves are not. */
static double rotate_work(const struct pe_rotation *rotation, double elements)
{
    const struct pe_kernels *kernels = pe_isa()->kernels;
    const double size = (double)pe_dtype_info(rotation->dtype)->size;
    const double more = kernels->slowness - 1,
                 extra = rotation->dtype == PE_F16 ? HALF_WORK : LANE_WORK;

    return elements * (rotation->rounded ? 12 : BYTE_WORK * size + extra * more);
}

enum pe_status pe_rotate_rows(const struct pe_rotation *rotation, void *rows, size_t head_dim,
                              size_t begin, size_t count, struct pe_work *work,
                              struct pe_error *err)
{
    if (pe_spend(work, rotate_work(rotation, (double)head_dim * (double)count), err))
        return err->status;
    rotate_run(rotation, rows, begin, count, 1, head_dim);
    return PE_OK;
}

enum pe_status pe_rotate(const struct pe_rotation *rotation, void *data, const struct pe_axes *axes,
                         size_t begin, size_t end, struct pe_work *work, struct pe_error *err)
{
    const size_t token_size =
        axes->heads_inner * axes->head_dim * pe_dtype_info(rotation->dtype)->size;

    const double elements = (double)axes->heads_inner * (double)axes->head_dim;
    const size_t most =
        elements < CHECK_ELEMENTS ? (size_t)(CHECK_ELEMENTS / (elements + 1)) + 1 : 1;
    size_t tokens_count;

    if (pe_rotation_check(rotation, axes, rotation->dtype, "data", err))
        return err->status;
    if (!pe_size_multiply(axes->batch, axes->heads_outer, &tokens_count) ||
        !pe_size_multiply(tokens_count, axes->sequence, &tokens_count))
        return pe_fail(err, PE_TOO_LARGE, "", "the tensor's size does not fit in 64 bits");
    if (begin > end || end > tokens_count)
        return pe_fail(err, PE_OUT_OF_RANGE, "", "the tensor has no tokens %zu to %zu", begin, end);
    if (pe_spend(work, rotate_work(rotation, elements * (double)(end - begin)), err))
        return err->status;
    while (begin < end) {
        const size_t index = begin % axes->sequence;
        const size_t batch_row = begin / axes->sequence / axes->heads_outer;
        const size_t row = (rotation->batch > 1 ? batch_row * axes->sequence : 0) + index;
        const size_t left = axes->sequence - index;
        const size_t tokens = pe_least(pe_least(end - begin, left), most);

        if (pe_work_check(work, err))
            return err->status;
        rotate_run(rotation, (char *)data + begin * token_size, row, tokens, axes->heads_inner,
                   axes->head_dim);
        begin += tokens;
    }
    return PE_OK;
}
