/* SPDX-License-Identifier: MIT */
#include "core/scheme/rotary.h"
#include "core/views/table.h"

/* The scales that a rotary encoding such as xpos multiplies cos and sin by. */

enum { CHECK_PAIRS = 256 }; /* between two checks of the work */

static const struct pe_param params[] = {PE_PARAMS_POSITIONS, PE_PARAM_SIDE};

static enum pe_status open(struct pe_view *view, const struct pe_params *values,
                           struct pe_error *err)
{
    const size_t pairs = pe_waves_of(view->scheme)->pairs;

    if (pe_view_scaled_positions(view, values, err) ||
        pe_view_add(view, "scale", view->dtype, 2, (size_t[]){view->positions.count, pairs}, err))
        return err->status;
    view->outputs[0].element_work =
        view->scheme->encoding->rotary->scale->cost(view->scheme, &view->positions);
    return PE_OK;
}

static void number_write(const struct pe_scale_at *at, enum pe_dtype dtype, void *out)
{
    struct pe_scale scale;

    at->scheme->encoding->rotary->scale->at(&scale, at);
    if (!scale.real) /* the value is exact */
        pe_exact_round(scale.value, 0, dtype, out);
    else if (scale.value.hi == 0 ||
             !pe_exact_round(scale.value, scale.error * scale.value.hi, dtype, out))
        pe_real_round(scale.real, at, 0, dtype, out);
}

static enum pe_status fill(const struct pe_view *view, size_t output, size_t row_begin,
                           size_t row_end, void *out, struct pe_work *work, struct pe_error *err)
{
    const struct pe_rotary_view *state = view->state;
    const size_t pairs = pe_waves_of(view->scheme)->pairs;
    struct pe_scale_at at = {.scheme = view->scheme, .sign = state->of_keys ? -1 : 1};
    size_t unchecked = 0;
    char *to = out;

    (void)output;
    for (size_t row = row_begin; row < row_end && !err->status; row++) {
        at.position = pe_position_of(&view->positions, row);
        for (at.pair = 0; at.pair < pairs; at.pair++) {
            if (unchecked++ % CHECK_PAIRS == 0 && pe_work_check(work, err))
                break;
            number_write(&at, view->dtype, to);
            to += pe_dtype_info(view->dtype)->size;
        }
    }
    return err->status;
}

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_scale;
const struct pe_view_type pe_view_scale = {
    .info.name = "scale",
    .info.title = "Scales of queries and keys",
    .info.doc = "`scale` [positions, dim / 2]: the scale of each pair, zeta^p for queries or, with "
                "side=key, zeta^-p for keys.",
    .info.example = "length=3",
    PE_INFO_PARAMS(params),
    .of = of,
    .state_size = sizeof(struct pe_rotary_view),
    .open = open,
    .fill = fill,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return encoding->rotary && encoding->rotary->scale ? &pe_view_scale : NULL;
}
