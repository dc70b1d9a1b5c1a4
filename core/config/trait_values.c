/* SPDX-License-Identifier: MIT */
#include "core/config/attention_traits.h"

#include <math.h>
#include <string.h>

/* What values of keys mean for attention. */

static bool is_true(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_BOOL && value->as.truth;
}

/* null is false too, as it is in Python. */
static bool is_false(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_NULL || (value->kind == PE_CONFIG_BOOL && !value->as.truth);
}

static void scale_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (pe_config_is_number(value))
        traits->scale = pe_config_number(value);
}

static void scalar_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (pe_config_is_number(value))
        traits->scale = 1 / sqrt(fmax(pe_config_number(value), 0));
}

static void unscaled_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (is_false(value))
        traits->scale = 1;
}

/* Scores over the width of a head, and not over its root. */
static void by_width_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (is_true(value))
        traits->scale = PE_SCALE_BY_WIDTH;
    else if (traits->scale == PE_SCALE_BY_WIDTH)
        traits->scale = NAN;
}

static void over_layer_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->scale_over_layer = is_true(value);
}

static void scales_bias_take(struct pe_attention_traits *traits,
                             const struct pe_config_value *value)
{
    traits->scales_bias = is_true(value);
}

static void softcap_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->softcap = pe_config_number(value);
}

static void window_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    const double window = pe_config_number(value);

    traits->window = window >= 1 && window < 0x1p53 ? (int64_t)window : 0;
}

static void half_window_take(struct pe_attention_traits *traits,
                             const struct pe_config_value *value)
{
    window_take(traits, value);
    traits->window /= 2;
}

static void window_switch(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (is_false(value))
        traits->window = 0;
}

static void chunk_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    const double chunk = pe_config_number(value);

    traits->chunk = chunk >= 1 && chunk < 0x1p53 ? (int64_t)chunk : 0;
}

static void sinks_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->sinks = is_true(value);
}

static void both_ways_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    const bool all = value->kind == PE_CONFIG_TEXT && strncmp(value->as.text, "all", 3) == 0;

    traits->causal = !is_true(value) && !all;
}

/* A window that the class of a config halves where a key lets layers see both ways. */
static void half_both_ways_take(struct pe_attention_traits *traits,
                                const struct pe_config_value *value)
{
    if (!traits->causal && traits->window > 0)
        traits->window = traits->window / 2 + (int64_t)pe_config_number(value);
}

static void causal_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->causal &= !is_false(value);
}

static void decoder_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->causal |= is_true(value);
}

static void strength_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->temperature.strength = pe_config_number(value);
}

static void length_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->temperature.length = pe_config_number(value);
}

static void from_1_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    length_take(traits, value);
    traits->temperature.offset = 1;
}

static void temperature_switch(struct pe_attention_traits *traits,
                               const struct pe_config_value *value)
{
    if (is_false(value))
        traits->temperature = (struct pe_temperature){0};
}

static void norm_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (value->kind == PE_CONFIG_TEXT)
        traits->qk_norm.kind =
            strncmp(value->as.text, "rms", 3) == 0 ? PE_QK_NORM_RMS : PE_QK_NORM_LAYER;
}

static void weight_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (value->kind == PE_CONFIG_TEXT)
        traits->qk_norm.weight = PE_QK_WEIGHT_FROM_1;
    else if (value->kind != PE_CONFIG_NULL)
        traits->qk_norm.weight = PE_QK_WEIGHT;
}

static void after_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->qk_norm.after = is_true(value);
}

static void whole_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    traits->qk_norm.whole = is_true(value);
}

static void eps_take(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (traits->qk_norm.kind)
        traits->qk_norm.eps = pe_config_number(value);
}

static void norm_switch(struct pe_attention_traits *traits, const struct pe_config_value *value)
{
    if (is_false(value))
        traits->qk_norm = (struct pe_qk_norm){0};
}

const struct pe_trait_step pe_trait_steps[] = {
#define TRAIT_BY_KEY(trait, key, takes_text, take)   {trait, key, false, takes_text, take},
#define TRAIT_BY_CLASS(trait, key, takes_text, take) {trait, key, true, takes_text, take},
#include "core/config/attention_traits.def"
#undef TRAIT_BY_KEY
#undef TRAIT_BY_CLASS
    {0},
};
