/* SPDX-License-Identifier: MIT */
#include "core/scheme/rotary.h"
#include "core/scheme/rows.h"
#include "core/views/table.h"

enum { INV_FREQ, WAVELENGTHS, FREQ_FACTORS };

/* Estimated nanoseconds of a number that double-doubles decide, and of a factor: a quotient of wide
 * numbers, made of two others or of two float32. */
enum { NEAR_COST = 120, FACTOR_COST = 5500, FACTOR_FLOAT32_COST = 600 };

enum { CHECK_PAIRS = 64 }; /* between two checks of the work: 1 to 2 ms */

static const struct pe_rotary_axes_kind *axes_of(const struct pe_view *view)
{
    const struct pe_rotary_kind *rotary = view->scheme->encoding->rotary;

    return rotary ? rotary->axes : NULL;
}

static pe_real *factor_of(const struct pe_view *view)
{
    const struct pe_rotary_kind *rotary = view->scheme->encoding->rotary;

    return rotary ? rotary->freq_factor : NULL;
}

static enum pe_status open(struct pe_view *view, const struct pe_params *params,
                           struct pe_error *err)
{
    const size_t *pairs = &pe_waves_of(view->scheme)->pairs;

    (void)params;
    if (pe_view_add(view, "inv_freq", view->dtype, 1, pairs, err) ||
        pe_view_add(view, "wavelengths", view->dtype, 1, pairs, err))
        return err->status;
    view->outputs[INV_FREQ].element_work = view->outputs[WAVELENGTHS].element_work = NEAR_COST;
    if (factor_of(view)) {
        if (pe_view_add(view, "freq_factors", view->dtype, 1, pairs, err))
            return err->status;
        view->outputs[FREQ_FACTORS].element_work =
            pe_rotary_of(view->scheme)->in_float32 ? FACTOR_FLOAT32_COST : FACTOR_COST;
    }
    return axes_of(view) ? pe_view_add(view, "axes", PE_I64, 1, pairs, err) : PE_OK;
}

/* The coordinate that rotates each pair. */
static void axes_fill(const struct pe_view *view, int64_t *out)
{
    for (size_t pair = 0; pair < pe_waves_of(view->scheme)->pairs; pair++)
        out[pair] = (int64_t)axes_of(view)->pair_axis(view->scheme, pair);
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_frequencies *f = pe_waves_of(view->scheme)->frequencies;
    const size_t size = pe_dtype_info(view->dtype)->size;

    (void)row_begin, (void)row_end; /* a tensor of rank 1 is one row */
    if (view->outputs[output].dtype == PE_I64) {
        axes_fill(view, out);
        return PE_OK;
    }
    for (size_t pair = 0; pair < pe_frequencies_count(f); pair++) {
        char *at = (char *)out + pair * size;
        if (pair % CHECK_PAIRS == 0 && pe_work_check(work, err))
            break;
        if (output == FREQ_FACTORS)
            pe_real_round(factor_of(view), view->scheme, pair, view->dtype, at);
        else
            pe_frequencies_write(f, pair, view->dtype, output == INV_FREQ ? at : NULL,
                                 output == WAVELENGTHS ? at : NULL);
    }
    return err->status;
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

static const struct pe_view_type rotary_frequencies = {
    .info.name = "frequencies",
    .info.title = "Frequencies, wavelengths and attention factor",
    .info.doc = "`inv_freq` [pairs]: the frequency of each pair, in radians per position. "
                "`wavelengths` [pairs]: the positions of a full rotation, 2 pi / inv_freq. "
                "`freq_factors` [pairs]: the unscaled frequency over the scaled one. `axes` "
                "[pairs], i64, for mrope, rope-2d and rope-nd: the index of the coordinate that "
                "rotates the pair. `attention_factor`: the factor of cos and sin.",
    .of = of,
    .open = open,
    .fill = fill,
    .scalar = pe_view_rotary_scalar,
};

extern const struct pe_view_type pe_view_frequencies;
const struct pe_view_type pe_view_frequencies = {
    .info.name = "frequencies",
    .info.title = "Frequencies and wavelengths",
    .info.doc = "`inv_freq` [pairs]: the frequency of each pair, in radians per position. "
                "`wavelengths` [pairs]: the positions of a full rotation, 2 pi / inv_freq.",
    .of = of,
    .open = open,
    .fill = fill,
};

/* With a scale instead of the attention factor there are no scalars. */
static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    const struct pe_sines *sines = encoding->rows ? encoding->rows->sines : NULL;

    if (encoding->rotary)
        return encoding->rotary->scale ? &pe_view_frequencies : &rotary_frequencies;
    return sines && !sines->plain ? &pe_view_frequencies : NULL;
}
