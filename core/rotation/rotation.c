/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/errors.h"
#include "core/base/isa.h"
#include "core/base/sizes.h"
#include "core/base/work.h"
#include "core/rotation/rotation.h"
#include "core/scheme/rotary.h"

enum {
    BLOCK_ELEMENTS = 1 << 14, /* of cos in a block of the job: 10 us of f32, about */
    ROUND_CHUNK = 256,        /* elements rounded at once */
    /* Between two checks of the work: */
    CHECK_ROWS = 256,        /* of a given table */
    CHECK_ELEMENTS = 1 << 19 /* that rotate */
};

/* Estimated nanoseconds. */
#define BLOCK_COST   1e7  /* of a block, at most */
#define COPY_COST    1.0  /* of an element of a given table */
#define BYTE_COST    0.06 /* of a byte that rotates: memory is as fast for every ISA */
#define LANE_COST    0.1  /* of an element, times the slowness of the ISA */
#define F16_COST     0.35 /* the same of f16, which is converted */
#define ROUNDED_COST 12   /* of an element of which each operation is rounded */

/* ln of the largest scale, well within f64 and f32: cos and sin stay finite. */
#define LOG_SCALE_MAX_F64 700
#define LOG_SCALE_MAX_F32 80

struct pe_rotation {
    enum pe_dtype dtype, table_dtype;
    enum pe_layout layout, output_layout;
    size_t rotary_dim, positions, batch; /* batch 1: the same rows for every batch row */
    bool rounds_each;                    /* each operation rounds to dtype */
    char *cos, *sin;                     /* one allocation, cos first */
};

/* ---- checks of a spec ------------------------------------------------------------------------ */

static enum pe_status given_table_check(const struct pe_rotation_spec *spec, struct pe_error *err)
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
    return fabs(t) <= 0x1p53 - 1; /* false for NaN */
}

static enum pe_status positions_check(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
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
                                         dtype == PE_F64 ? LOG_SCALE_MAX_F64 : LOG_SCALE_MAX_F32,
                                         where, err)
               ? err->status
               : PE_OK;
}

static enum pe_status spec_check(const struct pe_rotation_spec *spec, enum pe_dtype dtype,
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
    if (is_given && given_table_check(spec, err))
        return err->status;
    if (!is_given && !spec->scheme->prepared)
        return pe_fail(err, PE_INVALID, "parameter:encoding",
                       "the scheme must be prepared before it rotates");
    return positions_check(spec, dtype, err);
}

double pe_rotation_work(const struct pe_rotation_spec *given, enum pe_dtype dtype)
{
    struct pe_rotation_spec spec;
    double one = COPY_COST, pairs;

    if (pe_struct_read(&spec, sizeof(spec), given, &(struct pe_error){0}) ||
        (!spec.cos && !(spec.scheme && spec.scheme->encoding->rotary)))
        return 0;
    if (!spec.cos)
        one = pe_rotary_cost(spec.scheme, &spec.positions, dtype == PE_F64 ? PE_F64 : PE_F32, true);
    pairs = (double)(spec.cos ? spec.cos->shape[1] : pe_waves_of(spec.scheme)->pairs);
    return 2 * one * pairs * (double)spec.positions.count *
           (double)(spec.positions.batch > 1 ? spec.positions.batch : 1);
}

/* ---- rotation whose every operation rounds --------------------------------------------------- */

/* Rounds floats to numbers of the dtype. */
static void round_all(float *values, enum pe_dtype dtype, size_t count)
{
    uint16_t narrow[ROUND_CHUNK];

    for (size_t i = 0; i < count; i += ROUND_CHUNK) {
        const size_t part = count - i < ROUND_CHUNK ? count - i : ROUND_CHUNK;
        pe_from_f32(narrow, dtype, values + i, part);
        pe_to_f32(values + i, narrow, dtype, part);
    }
}

/* f32 has more than twice the digits of f16 and bf16 and two: products are exact, and rounding a
 * sum first to f32 changes nothing. */
static void pair_rotate(uint16_t *x0, uint16_t *x1, enum pe_dtype dtype, float c, float s)
{
    float x[2], products[4], sums[2];

    pe_to_f32(&x[0], x0, dtype, 1);
    pe_to_f32(&x[1], x1, dtype, 1);
    products[0] = x[0] * c;
    products[1] = x[1] * s;
    products[2] = x[1] * c;
    products[3] = x[0] * s;
    round_all(products, dtype, 4);
    sums[0] = products[0] - products[1];
    sums[1] = products[2] + products[3];
    pe_from_f32(x0, dtype, &sums[0], 1);
    pe_from_f32(x1, dtype, &sums[1], 1);
}

/* Rotates f16 and bf16 as frameworks do whose every operation rounds to the dtype: RN(RN(x0 c) -
 * RN(x1 s)), c and s of that dtype too. The first 2 * pairs elements of each row of head_dim
 * rotate. */
static void rotate_rounding(void *data, enum pe_dtype dtype, const float *cos, const float *sin,
                            size_t tokens, size_t heads, size_t head_dim, size_t pairs,
                            enum pe_layout layout)
{
    const size_t step = layout == PE_LAYOUT_HALF ? 1 : 2;
    const size_t apart = layout == PE_LAYOUT_HALF ? pairs : 1;

    for (size_t row = 0; row < tokens * heads; row++) {
        uint16_t *x = (uint16_t *)data + row * head_dim;
        const size_t table = row / heads * pairs;
        for (size_t pair = 0; pair < pairs; pair++)
            pair_rotate(x + pair * step, x + pair * step + apart, dtype, cos[table + pair],
                        sin[table + pair]);
    }
}

/* ---- the table of cos and sin ---------------------------------------------------------------- */

struct table_job {
    struct pe_job job; /* first: the job points to the struct */
    struct pe_rotation *rotation;
    const struct pe_rotation_spec *spec;
    enum pe_amplitude amplitude;
    size_t rows, rows_per_block, row_size;
    struct pe_work *work;
    _Atomic int status; /* of a block that failed */
};

/* Rotation by -t is rotation by t with -sin, bit for bit. */
static void negate(void *data, enum pe_dtype dtype, size_t count)
{
    if (dtype == PE_F64)
        for (size_t i = 0; i < count; i++)
            ((double *)data)[i] = -((double *)data)[i];
    else
        for (size_t i = 0; i < count; i++)
            ((float *)data)[i] = -((float *)data)[i];
}

static void block_fill(struct pe_job *job, size_t block)
{
    struct table_job *table = (struct table_job *)job;
    const struct pe_rotation *rotation = table->rotation;
    const size_t begin = block * table->rows_per_block;
    const size_t count = pe_min(table->rows - begin, table->rows_per_block);
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
    if (rotation->rounds_each) {
        round_all((float *)(void *)cos, rotation->dtype, count * (rotation->rotary_dim / 2));
        round_all((float *)(void *)sin, rotation->dtype, count * (rotation->rotary_dim / 2));
    }
    if (table->spec->inverse)
        negate(sin, rotation->table_dtype, count * (rotation->rotary_dim / 2));
}

static void row_copy(char *to, enum pe_dtype dtype, const struct pe_tensor *from, size_t row)
{
    const size_t pairs = from->shape[1];
    const char *data = (const char *)from->data + row * pairs * pe_dtype_info(from->dtype)->size;

    pe_convert(to, dtype, data, from->dtype, pairs);
}

/* Takes the rows of a given table that positions name. */
static enum pe_status table_copy(struct pe_rotation *rotation, const struct pe_rotation_spec *spec,
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

static enum pe_amplitude amplitude_kind(const struct pe_rotation_spec *spec)
{
    if (spec->is_delta || spec->without_attention_factor)
        return PE_AMPLITUDE_ONE;
    return spec->inverse ? PE_AMPLITUDE_INVERSE : PE_AMPLITUDE_FACTOR;
}

/* Rows that BLOCK_COST and BLOCK_ELEMENTS allow, one at least. */
static size_t block_rows(const struct pe_rotation_spec *spec, enum pe_dtype dtype, size_t pairs)
{
    const double rows = (double)spec->positions.count * fmax((double)spec->positions.batch, 1);
    const double one = rows > 0 ? pe_rotation_work(spec, dtype) / rows : 0;
    const double most = fmin((double)(BLOCK_ELEMENTS / pairs), BLOCK_COST / fmax(one, 1));

    return most < 1 ? 1 : (size_t)most;
}

static enum pe_status table_fill(struct pe_rotation *rotation, const struct pe_rotation_spec *spec,
                                 struct pe_pool *pool, struct pe_work *work, struct pe_error *err)
{
    const size_t pairs = rotation->rotary_dim / 2;
    const size_t rows_per_block = block_rows(spec, rotation->table_dtype, pairs);
    struct table_job table = {.job = {.run = block_fill, .work = work},
                              .rotation = rotation,
                              .spec = spec,
                              .amplitude = amplitude_kind(spec),
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
        return table_copy(rotation, spec, table.rows, table.row_size, work, err);
    table.job.blocks = table.rows / rows_per_block + (table.rows % rows_per_block != 0);
    if (!pe_pool_run(pool, &table.job) || atomic_load(&table.status))
        return pe_work_check(work, err)
                   ? err->status
                   : pe_fail(err, PE_INTERNAL, "", "cos and sin could not be computed");
    return PE_OK;
}

/* ---- new and free ---------------------------------------------------------------------------- */

enum pe_status pe_rotation_new(struct pe_rotation **out, const struct pe_rotation_spec *given,
                               enum pe_dtype dtype, struct pe_pool *pool, struct pe_work *work,
                               struct pe_error *err)
{
    struct pe_rotation_spec ours, *spec = &ours;
    struct pe_rotation *rotation;

    *out = NULL;
    if (pe_struct_read(spec, sizeof(*spec), given, err) || spec_check(spec, dtype, err) ||
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
    rotation->rounds_each = !spec->cos &&
                            pe_frequencies_in_float32(pe_waves_of(spec->scheme)->frequencies) &&
                            (dtype == PE_F16 || dtype == PE_BF16);
    rotation->positions = spec->positions.count;
    rotation->batch = spec->positions.batch > 1 ? spec->positions.batch : 1;
    if (table_fill(rotation, spec, pool, work, err)) {
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

/* Tokens of one sequence, neighbours in memory and in the table. */
static void rotate_run(const struct pe_rotation *rotation, void *data, size_t row, size_t tokens,
                       size_t heads, size_t head_dim)
{
    const struct pe_kernels *kernels = pe_isa()->kernels;
    const size_t offset = row * (rotation->rotary_dim / 2);
    const size_t size = pe_dtype_info(rotation->table_dtype)->size;
    const void *cos = rotation->cos + offset * size, *sin = rotation->sin + offset * size;
    const size_t width = rotation->rotary_dim;
    const bool is_half = rotation->layout == PE_LAYOUT_HALF;

    if (rotation->rounds_each)
        rotate_rounding(data, rotation->dtype, cos, sin, tokens, heads, head_dim, width / 2,
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

static double rotate_cost(const struct pe_rotation *rotation, double elements)
{
    const struct pe_kernels *kernels = pe_isa()->kernels;
    const double size = (double)pe_dtype_info(rotation->dtype)->size;
    const double more = kernels->slowness - 1,
                 extra = rotation->dtype == PE_F16 ? F16_COST : LANE_COST;

    return elements * (rotation->rounds_each ? ROUNDED_COST : BYTE_COST * size + extra * more);
}

enum pe_status pe_rotate_rows(const struct pe_rotation *rotation, void *rows, size_t head_dim,
                              size_t begin, size_t count, struct pe_work *work,
                              struct pe_error *err)
{
    if (pe_spend(work, rotate_cost(rotation, (double)head_dim * (double)count), err))
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
    if (pe_spend(work, rotate_cost(rotation, elements * (double)(end - begin)), err))
        return err->status;
    while (begin < end) {
        const size_t index = begin % axes->sequence;
        const size_t batch_row = begin / axes->sequence / axes->heads_outer;
        const size_t row = (rotation->batch > 1 ? batch_row * axes->sequence : 0) + index;
        const size_t left = axes->sequence - index;
        const size_t tokens = pe_min(pe_min(end - begin, left), most);

        if (pe_work_check(work, err))
            return err->status;
        rotate_run(rotation, (char *)data + begin * token_size, row, tokens, axes->heads_inner,
                   axes->head_dim);
        begin += tokens;
    }
    return PE_OK;
}
