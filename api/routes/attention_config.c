/* SPDX-License-Identifier: MIT */
#include "api/routes/attention_asked.h"

#include <math.h>

#include "api/base/system.h"
#include "api/config/config.h"

/* The attention of a config's model beside positions, applied where the request leaves it open;
 * and what was done, for the answer. */

static void warn(struct attention_asked *asked, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void warn(struct attention_asked *asked, const char *format, ...)
{
    char text[300];
    va_list args;

    va_start(args, format);
    api_vprint(text, sizeof(text), format, args);
    va_end(args);
    json_array_append_new(asked->request->config->warnings, json_string(text));
}

static bool is_open(const struct attention_asked *asked, const char *name)
{
    return !pe_param_given(&asked->params, name);
}

/* ---- what a config says ---------------------------------------------------------------------- */

static void scale_apply(struct attention_asked *asked, const struct pe_attention_traits *traits)
{
    const double width = (double)asked->spec.q.shape[3];

    if (!is_open(asked, "scale"))
        return;
    if (!isnan(traits->scale) || traits->scale_multiplier != 1)
        asked->spec.scale =
            (isnan(traits->scale) ? 1 / sqrt(width) : traits->scale) * traits->scale_multiplier;
    if (traits->scale_over_layer)
        warn(asked, "each layer of the model divides scale by its number, counted from 1, which is "
                    "not known here; give scale");
}

/* A window of a causal model ends at the query; of another one it has both sides. */
static void window_apply(struct attention_asked *asked, const struct pe_attention_traits *traits)
{
    struct pe_attention_spec *spec = &asked->spec;
    const bool open =
        is_open(asked, "window") && is_open(asked, "window_left") && is_open(asked, "window_right");

    if (traits->window > 0 && open) {
        spec->has_window = true;
        spec->window_left = traits->causal ? traits->window - 1 : traits->window;
        spec->window_right = traits->causal ? -1 : traits->window;
    }
    if (traits->chunk > 0 && is_open(asked, "chunk"))
        spec->chunk = (uint64_t)traits->chunk;
    if (!traits->causal || spec->causal || !is_open(asked, "causal"))
        return;
    if (traits->window > 0 || traits->chunk > 0)
        warn(asked, "queries see the keys behind them too: causal was not given");
}

static void norm_apply(struct attention_asked *asked, const struct pe_attention_traits *traits)
{
    const struct pe_qk_norm *norm = &traits->qk_norm;
    struct pe_attention_spec *spec = &asked->spec;
    const bool posted = spec->q_norm.rank > 0 || spec->k_norm.rank > 0;

    if (norm->kind == PE_QK_NORM_NONE || !is_open(asked, "norm"))
        return;
    if (norm->kind != PE_QK_NORM_RMS || norm->whole) {
        warn(asked,
             "the model's norm of q and k is %s: it is not applied; post q and k as they "
             "are after it",
             norm->whole ? "that of all heads together" : "a layer norm");
        return;
    }
    if (norm->weight != PE_QK_WEIGHT_NONE && !posted) {
        warn(asked, "the model's norm of q and k is not applied, for its weights q_norm and k_norm "
                    "are not posted");
        return;
    }
    spec->norm = norm->after ? PE_NORM_AFTER : PE_NORM_BEFORE;
    spec->norm_epsilon = is_open(asked, "norm_epsilon")
                             ? norm->eps
                             : pe_param_number(&asked->params, "norm_epsilon");
    if (is_open(asked, "norm_offset"))
        spec->norm_offset = norm->weight == PE_QK_WEIGHT_FROM_1 ? 1 : 0;
}

enum pe_status attention_config_apply(struct attention_asked *asked, struct pe_error *err)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};
    struct api_config *config = asked->request->config;
    struct pe_attention_spec *spec = &asked->spec;

    if (!config)
        return PE_OK;
    if (api_config_attention(asked->request, config, !asked->encoding, !is_open(asked, "scale"),
                             &traits, err))
        return err->status;
    scale_apply(asked, &traits);
    window_apply(asked, &traits);
    if (traits.temperature.strength != 0 && is_open(asked, "temperature_strength"))
        spec->temperature = traits.temperature;
    norm_apply(asked, &traits);
    if (traits.softcap > 0 && is_open(asked, "softcap"))
        spec->softcap = traits.softcap;
    if (traits.scales_bias && is_open(asked, "bias_before_scale"))
        spec->bias_before_scale = asked->encoding && pe_encoding_has(asked->encoding, PE_KIND_BIAS);
    if (traits.sinks && spec->sinks.rank == 0)
        warn(asked, "the model's heads have sinks, which are not applied, for the tensor sinks is "
                    "not posted");
    return PE_OK;
}

/* ---- what was done --------------------------------------------------------------------------- */

static double scale_of(const struct pe_attention_spec *spec)
{
    const double terms = 1 + (spec->pos_key.rank > 0) + (spec->pos_query.rank > 0);

    return isnan(spec->scale) ? 1 / sqrt((double)spec->q.shape[3] * terms) : spec->scale;
}

static void set(json_t *object, bool has, const char *name, json_t *value)
{
    if (has)
        json_object_set_new(object, name, value);
    else
        json_decref(value);
}

static json_t *side_json(int64_t keys)
{
    return keys < 0 ? json_string("all") : json_integer((json_int_t)keys);
}

json_t *attention_asked_json(const struct attention_asked *asked)
{
    static const char *const norms[] = {"none", "before", "after"};
    const struct pe_attention_spec *spec = &asked->spec;
    const struct pe_temperature *t = &spec->temperature;
    const bool warm = t->strength != 0, norm = spec->norm != PE_NORM_NONE;
    json_t *done = json_object();

    set(done, true, "accumulation", json_string(spec->q.dtype == PE_F64 ? "f64" : "f32"));
    set(done, true, "scale", json_real(scale_of(spec)));
    set(done, true, "causal", json_boolean(spec->causal));
    set(done, spec->has_window, "window_left", side_json(spec->window_left));
    set(done, spec->has_window, "window_right", side_json(spec->window_right));
    set(done, spec->chunk > 0, "chunk", json_integer((json_int_t)spec->chunk));
    set(done, spec->softcap > 0, "softcap", json_real(spec->softcap));
    set(done, spec->bias_before_scale, "bias_before_scale", json_true());
    set(done, warm, "temperature_strength", json_real(t->strength));
    set(done, warm, "temperature_length", json_real(t->length));
    set(done, warm, "temperature_offset", json_real(t->offset));
    set(done, norm, "norm", json_string(norms[spec->norm]));
    set(done, norm, "norm_epsilon", json_real(spec->norm_epsilon));
    set(done, norm && spec->norm_offset != 0, "norm_offset", json_real(spec->norm_offset));
    set(done, spec->sinks.rank > 0, "sinks", json_true());
    return done;
}
