/* SPDX-License-Identifier: MIT */
#include "core/views/scale.h"

#include "core/scheme/rotary.h"
#include "core/views/rotary_table.h"

enum {
    REACH_MOST = 700,  /* ln of the largest scale, which f64 holds */
    CHECK_PAIRS = 256, /* between two looks at the work */
};

#define PARAM_SIDE                                                                                 \
    {                                                                                              \
        .name = "side", .type = PE_CHOICE, .choices = "query,key=downscale", .fallback = "query",  \
        .doc = "query: times the scale; key: divided by it."                                       \
    }

static const struct pe_param table_params[] = {PE_PARAMS_POSITIONS, PE_PARAMS_PART, PARAM_SIDE,
                                               PE_PARAMS_PICTURE};
static const struct pe_param scale_params[] = {PE_PARAMS_POSITIONS, PARAM_SIDE};

static enum pe_status places_open(struct pe_view *view, const struct pe_params *values,
                                  struct pe_error *err)
{
    struct pe_rotary_view *state = view->state;

    state->of_keys = pe_param_number(values, "side") != 0;
    return pe_view_positions_read(view, values, err) ||
                   pe_rotary_reach_check(view->scheme, &view->positions, false, REACH_MOST,
                                         "parameter:positions", err)
               ? err->status
               : PE_OK;
}

static enum pe_status table_open(struct pe_view *view, const struct pe_params *values,
                                 struct pe_error *err)
{
    return places_open(view, values, err) ? err->status : pe_view_rotary_add(view, values, err);
}

static enum pe_status scale_open(struct pe_view *view, const struct pe_params *values,
                                 struct pe_error *err)
{
    const size_t pairs = pe_waves_of(view->scheme)->pairs;

    if (places_open(view, values, err) ||
        pe_view_add(view, "scale", view->dtype, 2, (size_t[]){view->positions.count, pairs}, err))
        return err->status;
    view->outputs[0].element_work =
        view->scheme->encoding->rotary->scale->cost(view->scheme, &view->positions);
    return PE_OK;
}

static void scale_write(const struct pe_scale_at *at, enum pe_dtype dtype, void *out)
{
    struct pe_scale scale;

    at->scheme->encoding->rotary->scale->at(&scale, at);
    if (!scale.real) /* it is a double */
        pe_exact_round(scale.value, 0, dtype, out);
    else if (scale.value.hi == 0 ||
             !pe_exact_round(scale.value, scale.error * scale.value.hi, dtype, out))
        pe_real_round(scale.real, at, 0, dtype, out);
}

static enum pe_status scale_fill(const struct pe_view *view, size_t output, size_t row_begin,
                                 size_t row_end, void *out, struct pe_work *work,
                                 struct pe_error *err)
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
            scale_write(&at, view->dtype, to);
            to += pe_dtype_info(view->dtype)->size;
        }
    }
    return err->status;
}

const struct pe_view_type pe_view_scaled_table = {
    .info.name = "table",
    .info.title = "Cosines and sines of a rotation, scaled",
    .info.doc = "`cos` and `sin` [positions, dim / 2], one column a pair, or `complex`; each is "
                "multiplied by the scale of queries, or of keys.",
    .info.example = "length=3",
    .info.params = table_params,
    .info.params_count = sizeof(table_params) / sizeof(table_params[0]),
    .of = pe_view_rotary_table_of,
    .state_size = sizeof(struct pe_rotary_view),
    .open = table_open,
    .fill = pe_view_rotary_fill,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding);

extern const struct pe_view_type pe_view_scale;
const struct pe_view_type pe_view_scale = {
    .info.name = "scale",
    .info.title = "Scales of queries and keys",
    .info.doc =
        "`scale` [positions, dim / 2]: zeta^p of queries or zeta^-p of keys, one column a pair.",
    .info.example = "length=3",
    .info.params = scale_params,
    .info.params_count = sizeof(scale_params) / sizeof(scale_params[0]),
    .of = of,
    .state_size = sizeof(struct pe_rotary_view),
    .open = scale_open,
    .fill = scale_fill,
};

static const struct pe_view_type *of(const struct pe_encoding *encoding)
{
    return encoding->rotary && encoding->rotary->scale ? &pe_view_scale : NULL;
}
