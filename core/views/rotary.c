/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/base/fail.h"
#include "core/kinds/rotary.h"
#include "core/views/views.h"

/* ---- table: cos and sin --------------------------------------------------------------------- */

static const struct pe_param table_params[] = {
    PE_PARAMS_LENGTH,
    PE_PARAM_COORDINATES("0,1,2;0,0,1;0,1,0"),
    PE_PARAMS_PART,
};

enum { COS, SIN };

/* Which of the two an output holds. */
static int table_kind(const struct pe_view *view, size_t output)
{
    return view->part == PE_PART_SIN || (view->part == PE_PART_BOTH && output == 1) ? SIN : COS;
}

enum pe_status pe_view_rotary_add(struct pe_view *view, const struct pe_params *params,
                                  struct pe_error *err)
{
    const size_t pairs = view->scheme->pairs;
    size_t shape[2] = {view->positions.count};

    view->part = (int)pe_param_number(params, "part");
    view->duplicate = pe_param_number(params, "duplicate") != 0;
    shape[1] = view->duplicate ? 2 * pairs : pairs;
    if (view->part == PE_PART_COMPLEX) {
        if (view->duplicate)
            return pe_fail(err, PE_CONFLICT, "parameter:duplicate",
                           "part=complex has one number a pair and cannot be duplicated");
        if (pe_view_add(view, "complex", view->dtype, 2, shape, err))
            return err->status;
        view->outputs[0].is_complex = true;
        view->outputs[0].row_elements *= 2;
        return PE_OK;
    }
    if (view->part != PE_PART_SIN && pe_view_add(view, "cos", view->dtype, 2, shape, err))
        return err->status;
    if (view->part != PE_PART_COS && pe_view_add(view, "sin", view->dtype, 2, shape, err))
        return err->status;
    return PE_OK;
}

void pe_view_rotary_rows(const struct pe_view *view, const struct pe_positions *positions,
                         size_t output, size_t row_begin, size_t row_end, void *out)
{
    const size_t size = pe_dtype_info(view->dtype)->size, pairs = view->scheme->pairs;
    const size_t row_size = view->outputs[output].row_elements * size;
    const bool complex = view->part == PE_PART_COMPLEX;
    const int kind = table_kind(view, output);
    const struct pe_table table = {.cos = complex || kind == COS ? out : NULL,
                                   .sin = complex       ? (char *)out + size
                                          : kind == SIN ? out
                                                        : NULL,
                                   .cos_count = pairs,
                                   .sin_count = pairs,
                                   .pair_step = complex ? 2 : 1,
                                   .row_size = row_size};
    const struct pe_rotary_rows rows = {.scheme = view->scheme,
                                        .positions = positions,
                                        .amplitude = PE_AMPLITUDE_FACTOR,
                                        .dtype = view->dtype,
                                        .inverse_scale = view->of_keys};

    pe_rotary_fill(&table, &rows, row_begin, row_end);
    for (size_t row = 0; view->duplicate && row < row_end - row_begin; row++)
        memcpy((char *)out + row * row_size + row_size / 2, (char *)out + row * row_size,
               row_size / 2);
}

static enum pe_status table_open(struct pe_view *view, const struct pe_params *params,
                                 struct pe_error *err)
{
    if (pe_view_positions_read(view, params, err) ||
        pe_rotary_positions_check(view->scheme, &view->positions, "parameter:positions", err))
        return err->status;
    return pe_view_rotary_add(view, params, err);
}

static void table_fill(const struct pe_view *view, size_t output, size_t row_begin, size_t row_end,
                       void *out)
{
    pe_view_rotary_rows(view, &view->positions, output, row_begin, row_end, out);
}

/* ---- frequencies ---------------------------------------------------------------------------- */

enum { INV_FREQ, WAVELENGTHS, FREQ_FACTORS };

static enum pe_status frequencies_open(struct pe_view *view, const struct pe_params *params,
                                       struct pe_error *err)
{
    const size_t pairs = view->scheme->pairs;

    (void)params;
    if (pe_view_add(view, "inv_freq", view->dtype, 1, &pairs, err) ||
        pe_view_add(view, "wavelengths", view->dtype, 1, &pairs, err))
        return err->status;
    if (view->scheme->encoding->freq_factor &&
        pe_view_add(view, "freq_factors", view->dtype, 1, &pairs, err))
        return err->status;
    return view->scheme->encoding->pair_axis ? pe_view_add(view, "axes", PE_I64, 1, &pairs, err)
                                             : PE_OK;
}

/* Which coordinate each pair turns with. */
static void axes_fill(const struct pe_scheme *scheme, int64_t *out)
{
    for (size_t pair = 0; pair < scheme->pairs; pair++)
        out[pair] = (int64_t)scheme->encoding->pair_axis(scheme, pair);
}

static void frequencies_fill(const struct pe_view *view, size_t output, size_t row_begin,
                             size_t row_end, void *out)
{
    const struct pe_frequencies *f = view->scheme->frequencies;
    const size_t size = pe_dtype_info(view->dtype)->size;

    if (row_begin < row_end && view->outputs[output].dtype == PE_I64) {
        axes_fill(view->scheme, out);
        return;
    }
    for (size_t pair = 0; row_begin < row_end && pair < pe_frequencies_count(f); pair++) {
        char *at = (char *)out + pair * size;
        if (output == FREQ_FACTORS)
            pe_real_round(view->scheme->encoding->freq_factor, view->scheme, pair, view->dtype, at);
        pe_frequencies_write(f, pair, view->dtype, output == INV_FREQ ? at : NULL,
                             output == WAVELENGTHS ? at : NULL);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
}

bool pe_view_rotary_scalar(const struct pe_view *view, size_t index, struct pe_scalar *scalar)
{
    const struct pe_scheme *scheme = view->scheme;

    if (index == 0) {
        *scalar = (struct pe_scalar){
            "attention_factor", pe_frequencies_amplitude(scheme->frequencies, PE_AMPLITUDE_FACTOR)};
        return true;
    }
    if (index > 1 || !scheme->encoding->softmax_scale_multiplier)
        return false;
    *scalar = (struct pe_scalar){"softmax_scale_multiplier",
                                 scheme->encoding->softmax_scale_multiplier(scheme)};
    return !isnan(scalar->value);
}

const struct pe_view_type pe_view_rotary_table = {
    .info.name = "table",
    .info.title = "Cosines and sines of a rotation",
    .info.doc =
        "`cos` and `sin` [positions, rotary_dim / 2], one column a pair, or `complex`; each is "
        "multiplied by the attention factor.",
    .info.example = "length=3",
    .info.params = table_params,
    .info.params_count = sizeof(table_params) / sizeof(table_params[0]),
    .open = table_open,
    .fill = table_fill,
    .scalar = pe_view_rotary_scalar,
};

const struct pe_view_type pe_view_frequencies = {
    .info.name = "frequencies",
    .info.title = "Frequencies and wavelengths",
    .info.doc =
        "`inv_freq` [pairs], radians a position, and `wavelengths` [pairs], positions a turn.",
    .open = frequencies_open,
    .fill = frequencies_fill,
};

const struct pe_view_type pe_view_rotary_frequencies = {
    .info.name = "frequencies",
    .info.title = "Frequencies and attention factor",
    .info.doc =
        "`inv_freq` [pairs], radians a position, `wavelengths` [pairs], positions a turn, "
        "`freq_factors` [pairs], unscaled over scaled, and the attention factor; where "
        "positions have several coordinates, `axes` [pairs]: which of them a pair turns with.",
    .open = frequencies_open,
    .fill = frequencies_fill,
    .scalar = pe_view_rotary_scalar,
};
