/* SPDX-License-Identifier: MIT */
#include "core/tables/table_rows.h"

#include <string.h>

#include "core/base/sizes.h"

/* Rows of arithmetic=hf: the position, its product with the frequency, cosine and sine, and their
 * product with the attention factor are float32 each. Cosine and sine are made in doubles, within
 * 2^-42 of the value and 2^-78 a quarter turn; where that leaves the rounding undecided,
 * exact_pair.c makes them. The proof is in docs/internals/exactness.md, "Rows of arithmetic=hf". */

enum {
    COLUMNS = PE_TABLE_COLUMNS,
    CHECK_ROWS = 128, /* rows between two checks of the work: some hundred microseconds */
};

struct fill {
    const struct pe_table_call *call;
    size_t pair, count; /* of the piece */
    float factor;
    float frequencies[COLUMNS];
    float values[2][COLUMNS]; /* cosines, sines */
    double elements[COLUMNS]; /* of either, in the dtype */
    uint64_t undecided[2];
};

static void waves_make(struct fill *fill, const struct pe_position *position)
{
    const size_t padded = (fill->count + PE_FLOAT32_PAD - 1) / PE_FLOAT32_PAD * PE_FLOAT32_PAD;

    fill->call->kernels->float32_waves(fill->call->table->cos ? fill->values[0] : NULL,
                                       fill->call->table->sin ? fill->values[1] : NULL,
                                       fill->undecided, pe_position_float32(position),
                                       fill->frequencies, padded);
}

/* Makes the undecided elements anew, without the factor. */
static void undecided_settle(struct fill *fill, size_t which, size_t count,
                             const struct pe_position *position)
{
    uint64_t left = fill->undecided[which];

    if (count < COLUMNS)
        left &= (UINT64_C(1) << count) - 1;
    for (; left != 0; left &= left - 1) {
        const size_t i = (size_t)__builtin_ctzll(left);
        float *value = &fill->values[which][i];
        pe_frequencies_pair(fill->call->frequencies, fill->pair + i, position, PE_AMPLITUDE_ONE,
                            PE_F32, which ? NULL : value, which ? value : NULL);
    }
}

static void values_scale(struct fill *fill, float *values, size_t count)
{
    if (fill->factor == 1 || fill->call->amplitude == PE_AMPLITUDE_ONE)
        return;
    for (size_t i = 0; i < count; i++)
        values[i] = fill->call->amplitude == PE_AMPLITUDE_FACTOR ? values[i] * fill->factor
                                                                 : values[i] / fill->factor;
}

/* Writes elements of one row from the first pair of the piece on. */
static void values_place(struct fill *fill, const float *values, size_t count, char *out)
{
    const struct pe_table_call *call = fill->call;

    if (!call->table->columns && call->table->pair_step == 1) {
        pe_from_f32(pe_table_place(call, out, fill->pair), call->dtype, values, count);
        return;
    }
    pe_from_f32(fill->elements, call->dtype, values, count);
    pe_table_scatter(call, fill->elements, fill->pair, count, out);
}

static enum pe_status piece_fill(struct fill *fill, struct pe_work *work, struct pe_error *err)
{
    const struct pe_table_call *call = fill->call;
    const struct pe_table *table = call->table;
    void *const out[] = {table->cos, table->sin};
    const size_t ends[] = {table->cos_count, table->sin_count};

    memset(fill->frequencies, 0, sizeof(fill->frequencies));
    memcpy(fill->frequencies, pe_frequencies_float32(call->frequencies) + fill->pair,
           fill->count * sizeof(float));
    for (size_t row = call->begin; row < call->end; row++) {
        const struct pe_position position = pe_position_of(call->positions, row);
        const size_t at = (row - call->begin) * table->row_size;

        if ((row - call->begin) % CHECK_ROWS == 0 && pe_work_check(work, err))
            return err->status;
        waves_make(fill, &position);
        for (size_t which = 0; which < 2; which++) {
            if (!out[which] || ends[which] <= fill->pair)
                continue;
            const size_t count = pe_min(ends[which] - fill->pair, fill->count);
            undecided_settle(fill, which, count, &position);
            values_scale(fill, fill->values[which], count);
            values_place(fill, fill->values[which], count, (char *)out[which] + at);
        }
    }
    return PE_OK;
}

enum pe_status pe_rows_float32_fill(const struct pe_table_call *call, struct pe_work *work,
                                    struct pe_error *err)
{
    struct fill fill;

    fill.call = call;
    fill.factor = (float)pe_frequencies_amplitude(call->frequencies, PE_AMPLITUDE_FACTOR);
    for (fill.pair = 0; fill.pair < call->pairs; fill.pair += COLUMNS) {
        fill.count = pe_min(call->pairs - fill.pair, COLUMNS);
        if (piece_fill(&fill, work, err))
            return err->status;
    }
    return PE_OK;
}
