/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "core/encodings/rope/rope.h"

/* The choices of mrope_type. */
enum layout { CHUNKED, INTERLEAVED, IMROPE, VISION, ERNIE, AXIAL };

static const struct pe_param params[] = {
#include "core/encodings/rope/rope_params.def"
    {.name = "mrope_section",
     .aliases = "sections,rope_sections",
     .type = PE_NUMBERS,
     .min = 0,
     .max = 1 << 20,
     .required = true,
     .unit = "pairs",
     .doc = "The number of pairs of each coordinate: time, height, width and, in ggml, a fourth; "
            "for mrope_type vision height and width, for ernie height, width and time."},
    {.name = "mrope_interleaved",
     .type = PE_BOOLEAN,
     .doc = "The form of mrope_type in the configs of Hugging Face: true is interleaved, false is "
            "chunked."},
    {.name = "mrope_type",
     .type = PE_CHOICE,
     .choices = "chunked,interleaved,imrope,vision,ernie,axial",
     .doc = "The coordinate, t (time), h (height) or w (width), that rotates each pair. chunked, "
            "the default: section after section (Qwen2-VL, ggml's MROPE). interleaved: t h w t h "
            "w, with t in place of h or w after the end of their sections (Qwen3-VL). imrope: the "
            "same in ggml, with the fourth coordinate after the end of t. ernie: h w h w, then t. "
            "vision: section after section, pair k of a section having the frequency base^(-k / (D "
            "/ 4)), D being rotary_dim (Qwen2-VL's vision tower, ggml's VISION). axial: the same "
            "with base^(-k / n), n being the pairs of a section (MiniMax M3's vision tower)."},
};

static enum layout layout_of(const struct pe_scheme *scheme)
{
    const struct pe_value *type = pe_param_value(&scheme->params, "mrope_type");

    if (type->present)
        return (enum layout)type->number;
    return pe_rope_param(scheme, "mrope_interleaved") != 0 ? INTERLEAVED : CHUNKED;
}

/* Leaves one of the two parameters present; refuses a contradiction. */
static enum pe_status layout_resolve(struct pe_scheme *scheme, struct pe_error *err)
{
    struct pe_value *type = &scheme->params.values[pe_params_find(&scheme->params, "mrope_type")];
    struct pe_value *interleaved =
        &scheme->params.values[pe_params_find(&scheme->params, "mrope_interleaved")];

    if (type->present && interleaved->present) {
        const int layout = (int)type->number;
        const bool says = layout == INTERLEAVED || layout == IMROPE;
        if (says != (interleaved->number != 0))
            return pe_fail(err, PE_CONFLICT, "parameter:mrope_interleaved",
                           "mrope_interleaved and mrope_type say different things; give one");
        interleaved->present = false;
    }
    if (!type->present && !interleaved->present) {
        type->present = true;
        type->number = CHUNKED;
    }
    return PE_OK;
}

static size_t section(const struct pe_scheme *scheme, size_t index)
{
    const struct pe_value *sections = pe_param_value(&scheme->params, "mrope_section");

    return index < sections->list_count ? (size_t)sections->list[index] : 0;
}

static bool takes_three(enum layout layout)
{
    return layout == INTERLEAVED || layout == ERNIE;
}

/* True where the frequencies of each section start from 1 again. */
static bool restarts(enum layout layout)
{
    return layout == VISION || layout == AXIAL;
}

/* True where sections that must be equally long are not. */
static bool is_uneven(const struct pe_scheme *scheme, enum layout layout)
{
    const size_t count = pe_param_value(&scheme->params, "mrope_section")->list_count;
    const size_t alike = layout == ERNIE ? 2 : layout == AXIAL ? count : 1;

    for (size_t i = 1; i < alike; i++)
        if (section(scheme, i) != section(scheme, 0))
            return true;
    return false;
}

static enum pe_status sections_check(struct pe_scheme *scheme, struct pe_error *err)
{
    static const char where[] = "parameter:mrope_section";
    const struct pe_value *sections = pe_param_value(&scheme->params, "mrope_section");
    const enum layout layout = layout_of(scheme);
    const size_t count = sections->list_count, least = layout == VISION ? 2 : 3;
    struct pe_rotary *rotary = scheme->state;
    const size_t pairs = rotary->waves.pairs;
    size_t sum = 0;

    if (count < least || count > (takes_three(layout) ? 3 : 4))
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "mrope_section has %zu numbers, %s", count,
                       layout == VISION      ? "two to four are needed: height, width"
                       : layout == ERNIE     ? "three are needed: height, width, time"
                       : takes_three(layout) ? "three are needed: time, height, width"
                                             : "three or four are needed: time, height, width");
    for (size_t i = 0; i < count; i++) {
        if (sections->list[i] != floor(sections->list[i]))
            return pe_fail(err, PE_INVALID, where, "mrope_section must be whole numbers, got %.17g",
                           sections->list[i]);
        sum += section(scheme, i);
    }
    if (is_uneven(scheme, layout))
        return pe_fail(err, PE_INVALID, where,
                       layout == ERNIE
                           ? "height and width take turns in mrope_type ernie: their sections are "
                             "as long as each other"
                           : "the sections of mrope_type axial are as long as each other");
    if (layout == VISION ? sum < pairs : sum != pairs && layout != INTERLEAVED)
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "the sections add up to %zu, %s%zu is needed: half of what rotates", sum,
                       layout == VISION ? "at least " : "", pairs);
    if (restarts(layout) && pe_rope_param(scheme, "rope_type") != 0)
        return pe_fail(err, PE_CONFLICT, "parameter:rope_type",
                       "mrope_type %s has no scaled frequencies; leave rope_type out",
                       layout == VISION ? "vision" : "axial");
    /* ggml always has a fourth coordinate. */
    rotary->axes_count = layout == IMROPE ? 4 : count;
    return PE_OK;
}

static enum pe_status check(struct pe_scheme *scheme, struct pe_error *err)
{
    return pe_rope_check(scheme, err) || layout_resolve(scheme, err) || sections_check(scheme, err)
               ? err->status
               : PE_OK;
}

/* The section of a pair, where sections follow each other; *first is the first pair of it. */
static size_t chunk_of(const struct pe_scheme *scheme, size_t pair, size_t *first)
{
    size_t axis = 0;

    for (*first = 0; pair - *first >= section(scheme, axis); axis++)
        *first += section(scheme, axis);
    return axis;
}

static size_t pair_axis(const struct pe_scheme *scheme, size_t pair)
{
    const enum layout layout = layout_of(scheme);
    const size_t axis = pair % 3;
    size_t first;

    if (layout == CHUNKED || restarts(layout))
        return chunk_of(scheme, pair, &first);
    if (layout == ERNIE)
        return pair < section(scheme, 0) + section(scheme, 1) ? 1 + pair % 2 : 0;
    if (axis > 0 || layout == IMROPE)
        if (pair < 3 * section(scheme, axis))
            return axis;
    return layout == IMROPE ? 3 : 0;
}

/* base^(-2 k / pairs), k counted from the first pair of the section: 2 k steps of rope. For axial,
 * base^(-k / (pairs / count)): k times as many steps as there are sections. */
static size_t section_steps(const void *context, size_t pair)
{
    const size_t steps = layout_of(context) == VISION ? 2 : pe_rotary_of(context)->axes_count;
    size_t first;

    chunk_of(context, pair, &first);
    return steps * (pair - first);
}

static struct pe_wide freq_factor(unsigned bits, const void *context, size_t pair)
{
    return restarts(layout_of(context)) ? pe_wide_of_uint(bits, 1)
                                        : pe_rope_freq_factor(bits, context, pair);
}

static enum pe_status prepare(struct pe_scheme *scheme, struct pe_work *work, struct pe_error *err)
{
    static const struct pe_powers restarting = {.compute_shared = pe_rope_compute_shared,
                                                .steps = section_steps};

    if (restarts(layout_of(scheme)) ? pe_waves_prepare(scheme, &restarting, work, err)
                                    : pe_rope_prepare(scheme, work, err))
        return err->status;
    return pe_rotary_axes_prepare(scheme, work, err);
}

static const struct pe_rotary_axes_kind axes = {
    .names = "t, h, w", .alike = true, .pair_axis = pair_axis};
static const struct pe_rotary_kind rotary = {
    .freq_factor = freq_factor,
    .softmax_scale_multiplier = pe_rope_softmax_scale_multiplier,
    .length = pe_rope_length,
    .axes = &axes,
    .infer = pe_rotary_infer_dim,
};

extern const struct pe_encoding pe_encoding_mrope;
const struct pe_encoding pe_encoding_mrope = {
    .info.name = "mrope",
    .info.family = "rotary",
    .info.title = "Multimodal rotary position embedding: each pair is rotated by one coordinate of "
                  "the position",
    .info.formula = "as rope, with t the coordinate of the pair's section: time, height or width",
    .info.source = "Wang et al. 2024, Qwen2-VL, arXiv:2409.12191; interleaved: Qwen3-VL in Hugging "
                   "Face transformers, modeling_qwen3_vl.py; imrope and vision: ggml_rope_multi",
    PE_INFO_PARAMS(params),
    .info.example = "dim=12&mrope_section=2,2,2",
    .rotary = &rotary,
    .state_size = sizeof(struct pe_rotary),
    .has_waves = true,
    .check = check,
    .prepare = prepare,
    .cost = pe_rope_cost,
    .close = pe_rotary_close,
};
