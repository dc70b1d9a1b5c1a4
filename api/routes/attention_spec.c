/* SPDX-License-Identifier: MIT */
#include "api/routes/attention.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"

#define EPSILON_USUAL 1e-6

#define KEYS(of, says)                                                                             \
    {                                                                                              \
        .name = of, .type = PE_INTEGER, .max = 0x1p53 - 1, .unit = "keys", .doc = says             \
    }

static const struct pe_param params_list[] = {
    {.name = "layout", .type = PE_CHOICE, .choices = API_LAYOUTS, .doc = API_LAYOUT_DOC},
    {.name = "outputs",
     .type = PE_CHOICE,
     .choices = "scores,weights,output,components",
     .fallback = "output",
     .doc = "The result. scores: the logits. weights: their softmax. output: the weighted sum of "
            "v, which must be posted. components: the four terms of the encoding absolute."},
    {.name = "heads",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 16,
     .doc = "For absolute: the number of heads of the projections; 1 if absent."},
    {.name = "causal",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "Whether keys after their query are masked."},
    {.name = "scale",
     .type = PE_NUMBER,
     .min = 1e-30,
     .max = 1e30,
     .doc = "The factor of q·k; 1 / sqrt(d) if absent."},
    {.name = "query_start",
     .type = PE_INTEGER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The position of the first query; n - s if absent, so that the queries are at the last "
            "positions."},
    KEYS("window", "The sliding window: a query attends to its own key, to the window - 1 keys "
                   "before it and, unless causal, to as many after it. 0 is no window."),
    KEYS("window_left", "The number of keys before its own to which a query attends, as in "
                        "FlashAttention; all if absent."),
    KEYS("window_right",
         "The number of keys after its own to which a query attends; all if absent."),
    KEYS("chunk", "The length of a chunk: a query attends only to keys of its own chunk, as in "
                  "Llama 4. 0 is no chunks."),
    {.name = "softcap",
     .type = PE_NUMBER,
     .max = 1e30,
     .doc = "The bound of the scores, which become softcap tanh(score / softcap) before biases are "
            "added, as in Gemma 2. 0 is no bound."},
    {.name = "bias_before_scale",
     .type = PE_BOOLEAN,
     .doc = "Whether the encoding's bias is added to q·k before both are scaled, as in Falcon; "
            "false if absent."},
    {.name = "temperature_strength",
     .type = PE_NUMBER,
     .min = -1e30,
     .max = 1e30,
     .doc = "The strength of the temperature: queries are multiplied by 1 + strength ln(1 + "
            "floor((position + offset) / length)), offset and length being temperature_offset and "
            "temperature_length (attn_scale of Llama 4). 0 is no temperature."},
    {.name = "temperature_length",
     .type = PE_NUMBER,
     .min = 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The length in the formula of temperature_strength (floor_scale of Llama 4); required "
            "with it."},
    {.name = "temperature_offset",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "The offset in the formula of temperature_strength; 1 if absent, as in Llama 4. "
            "Ministral 3 has 0."},
    {.name = "norm",
     .type = PE_CHOICE,
     .choices = "none,before,after",
     .doc =
         "The normalization of each head of q and k by its root mean square: before the rotation, "
         "after it, or none. If absent before where q_norm or k_norm is posted, else none."},
    {.name = "norm_epsilon",
     .type = PE_NUMBER,
     .max = 1,
     .doc = "The number added to the mean square of norm; 1e-6 if absent."},
    {.name = "norm_offset",
     .type = PE_NUMBER,
     .min = -1e30,
     .max = 1e30,
     .doc = "The number added to q_norm and k_norm; 0 if absent. Gemma has 1."},
};

static const char own[] = "encoding tensors tensor tables positions key_positions cu_seqlens "
                          "cu_seqlens_k " API_CONFIG_OWN;
static const char later[] = "dtype";

/* The value of a parameter, or `absent` without it. */
static double number_of(const struct attention_args *args, const char *name, double absent)
{
    return pe_param_value(&args->params, name)->present ? pe_param_number(&args->params, name)
                                                        : absent;
}

/* ---- parameters ------------------------------------------------------------------------------ */

static enum pe_status config_read(struct attention_args *args, struct pe_error *err)
{
    struct api_config *config = args->request->config;

    if (config && args->is_absolute)
        return pe_fail(err, PE_CONFLICT, "parameter:config",
                       "config describes an encoding, and the encoding %s is given too",
                       args->other);
    if (config && args->encoding &&
        api_config_fill(config, args->encoding, &args->encoding_params, err))
        return err->status;
    return args->rotates ? api_config_layout(config, &args->params, err) : PE_OK;
}

/* heads and components are of absolute attention. */
static enum pe_status absolute_read(struct attention_args *args, struct pe_error *err)
{
    const struct pe_value *heads = pe_param_value(&args->params, "heads");
    const unsigned output = (unsigned)pe_param_number(&args->params, "outputs");

    args->splits = output > PE_ATTENTION_OUTPUT;
    args->spec.output = args->splits ? PE_ATTENTION_SCORES : (enum pe_attention_output)output;
    args->absolute.heads = heads->present ? (size_t)heads->number : 1;
    if (args->is_absolute || (!args->splits && !heads->given))
        return PE_OK;
    return pe_fail(err, PE_CONFLICT, args->splits ? "parameter:outputs" : "parameter:heads",
                   args->splits ? "components are those of the encoding absolute"
                                : "heads is a parameter of the encoding absolute; elsewhere the "
                                  "tensors tell it");
}

static enum pe_status layout_read(struct attention_args *args, struct pe_error *err)
{
    const struct pe_value *layout = pe_param_value(&args->params, "layout");

    if (args->rotates && !layout->present)
        return pe_fail(err, PE_MISSING, "parameter:layout",
                       "layout is required with %s: " API_LAYOUT_DOC,
                       pe_encoding_info(args->encoding)->name);
    if (layout->present && !args->rotates)
        return pe_fail(err, PE_CONFLICT, "parameter:layout",
                       "layout is that of rotated pairs, and nothing is rotated here; leave it "
                       "out");
    args->spec.layout = layout->present ? (enum pe_layout)layout->number : PE_LAYOUT_HALF;
    return PE_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

static enum pe_status window_read(struct attention_args *args, struct pe_error *err)
{
    const double window = number_of(args, "window", 0), left = number_of(args, "window_left", -1);
    const double right = number_of(args, "window_right", -1);
    struct pe_attention_spec *spec = &args->spec;

    if (window > 0 && (left >= 0 || right >= 0))
        return pe_fail(err, PE_CONFLICT, "parameter:window",
                       "window says both sides; leave out window_left and window_right");
    spec->has_window = window > 0 || left >= 0 || right >= 0;
    spec->window_left = (int64_t)(window > 0 ? window - 1 : left);
    spec->window_right = (int64_t)(window > 0 ? window - 1 : right);
    spec->chunk = (uint64_t)number_of(args, "chunk", 0);
    spec->softcap = number_of(args, "softcap", 0);
    spec->bias_before_scale = number_of(args, "bias_before_scale", 0) != 0;
    return PE_OK;
}

static enum pe_status temperature_read(struct attention_args *args, struct pe_error *err)
{
    const double strength = number_of(args, "temperature_strength", 0);
    const double length = number_of(args, "temperature_length", 0);
    const double offset = number_of(args, "temperature_offset", 1);

    if (strength == 0 && (length > 0 || offset != 1))
        return pe_fail(err, PE_MISSING, "parameter:temperature_strength",
                       "%s is of a temperature, which needs temperature_strength",
                       length > 0 ? "temperature_length" : "temperature_offset");
    if (strength != 0 && length == 0)
        return pe_fail(err, PE_MISSING, "parameter:temperature_length",
                       "temperature_strength needs temperature_length");
    if (strength != 0)
        args->spec.temperature = (struct pe_temperature){strength, length, offset};
    return PE_OK;
}

/* Reads a list; `instead` is the advice where it is {"start": ...}. */
static enum pe_status numbers_read(struct attention_args *args, const char *name,
                                   const char *instead, struct api_numbers *numbers,
                                   struct pe_error *err)
{
    if (api_numbers_read(args->request, name, numbers, err))
        return err->status;
    if (numbers->object)
        return pe_fail(err, PE_INVALID, numbers->where,
                       "%s of attention must be a list or \"tensor:NAME\"%s", name, instead);
    return PE_OK;
}

static struct pe_tensor list_of(const struct api_numbers *numbers)
{
    if (!numbers->given)
        return (struct pe_tensor){0};
    return (struct pe_tensor){
        PE_F64,
        numbers->rank == 0 ? 1 : numbers->rank,
        {numbers->rank > 1 ? numbers->rows : numbers->columns, numbers->columns, numbers->columns},
        (void *)(uintptr_t)numbers->values};
}

static enum pe_status lists_read(struct attention_args *args, struct pe_error *err)
{
    if (numbers_read(
            args, "positions",
            "; where queries follow each other, leave it out and give \"query_start\": the "
            "position of the first",
            &args->positions, err) ||
        numbers_read(args, "key_positions", "; without it keys stand at 0, 1, 2 ...",
                     &args->key_positions, err) ||
        numbers_read(args, "cu_seqlens", "", &args->ends, err) ||
        numbers_read(args, "cu_seqlens_k", "", &args->key_ends, err))
        return err->status;
    args->spec.cu_seqlens = list_of(&args->ends);
    args->spec.cu_seqlens_k = list_of(&args->key_ends);
    return PE_OK;
}

enum pe_status attention_params_read(struct attention_args *args, struct pe_error *err)
{
    /* Parameters of the encoding come first: its own `layout` is not that of rotated pairs. */
    struct pe_params *sets[] = {&args->encoding_params, &args->params, &args->answer_params};
    struct api_request *request = args->request;

    pe_params_init(&args->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_answer_params(request, &args->answer_params);
    if (api_function_start(request, later, err) || api_config_open(request, err) ||
        api_function_encoding(request, &args->other, &args->encoding, &args->encoding_params,
                              &args->params, err))
        return err->status;
    args->is_absolute = args->other && strcmp(args->other, "absolute") == 0;
    args->rotates = args->encoding && pe_encoding_has(args->encoding, PE_KIND_ROTARY);
    if (api_bind(request, sets, 3, own, err) || config_read(args, err) ||
        pe_params_finish(&args->params, err) || layout_read(args, err))
        return err->status;
    args->spec.size = sizeof(args->spec);
    args->spec.causal = pe_param_number(&args->params, "causal") != 0;
    args->spec.scale = pe_param_number(&args->params, "scale");
    args->spec.query_start = pe_param_number(&args->params, "query_start");
    return window_read(args, err) || temperature_read(args, err) || lists_read(args, err) ||
                   absolute_read(args, err)
               ? err->status
               : PE_OK;
}

/* ---- tensors --------------------------------------------------------------------------------- */

enum owner { ANY, ENCODING, ABSOLUTE };

static bool holds_numbers(const struct attention_args *args, const char *name)
{
    const struct api_numbers *all[] = {&args->positions, &args->key_positions, &args->ends,
                                       &args->key_ends};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i]->tensor && strcmp(all[i]->tensor, name) == 0)
            return true;
    return false;
}

static enum pe_status tensor_take(struct attention_args *args, const struct api_tensor *tensor,
                                  struct pe_error *err)
{
    struct pe_attention_spec *spec = &args->spec;
    const struct {
        const char *name;
        struct pe_tensor *tensor;
        enum owner owner;
    } known[] = {{"q", &spec->q, ENCODING},
                 {"k", &spec->k, ENCODING},
                 {"v", &spec->v, ENCODING},
                 {"mask", &spec->mask, ANY},
                 {"bias", &spec->bias, ANY},
                 {"sinks", &spec->sinks, ANY},
                 {"q_norm", &spec->q_norm, ANY},
                 {"k_norm", &spec->k_norm, ANY},
                 {"rel_k", &spec->rel_k, ENCODING},
                 {"rel_v", &spec->rel_v, ENCODING},
                 {"w_r", &spec->w_r, ENCODING},
                 {"pos_bias_u", &spec->pos_bias_u, ENCODING},
                 {"pos_bias_v", &spec->pos_bias_v, ENCODING},
                 {"pos_key", &spec->pos_key, ENCODING},
                 {"pos_query", &spec->pos_query, ENCODING},
                 {"weights", &args->weights, ENCODING},
                 {"x", &args->absolute.x, ABSOLUTE},
                 {"p", &args->absolute.p, ABSOLUTE},
                 {"w_q", &args->absolute.w_q, ABSOLUTE},
                 {"w_k", &args->absolute.w_k, ABSOLUTE},
                 {"w_v", &args->absolute.w_v, ABSOLUTE}};
    const size_t count = sizeof(known) / sizeof(known[0]);
    char where[sizeof(err->where)];
    size_t i = 0;

    while (i < count && strcmp(known[i].name, tensor->name) != 0)
        i++;
    snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
    if (i == count)
        return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                       "attention has no tensor '%.60s'; it takes q, k, v, mask, bias, sinks, "
                       "q_norm, k_norm, rel_k, rel_v, w_r, pos_bias_u, pos_bias_v, pos_key, "
                       "pos_query, weights; absolute x, p, w_q, w_k, w_v",
                       tensor->name);
    if (tensor->tensor.rank == 0)
        return pe_fail(err, PE_SHAPE_MISMATCH, where, "%s has no dimensions", tensor->name);
    if (known[i].owner == (args->is_absolute ? ENCODING : ABSOLUTE))
        return pe_fail(err, PE_CONFLICT, where,
                       args->is_absolute ? "%s has no part in absolute, which takes x, p, w_q, "
                                           "w_k and w_v"
                                         : "%s belongs to the encoding absolute",
                       known[i].name);
    *known[i].tensor = tensor->tensor;
    return PE_OK;
}

/* The norm, once tensors are read: posted weights imply one. */
static enum pe_status norm_read(struct attention_args *args, struct pe_error *err)
{
    struct pe_attention_spec *spec = &args->spec;
    const bool weighs = spec->q_norm.rank > 0 || spec->k_norm.rank > 0;
    const double epsilon = number_of(args, "norm_epsilon", EPSILON_USUAL);
    const double offset = number_of(args, "norm_offset", 0);

    spec->norm =
        (enum pe_attention_norm)number_of(args, "norm", weighs ? PE_NORM_BEFORE : PE_NORM_NONE);
    if (spec->norm == PE_NORM_NONE && (epsilon != EPSILON_USUAL || offset != 0))
        return pe_fail(err, PE_CONFLICT,
                       offset != 0 ? "parameter:norm_offset" : "parameter:norm_epsilon",
                       "%s is of a norm, and there is none: post q_norm and k_norm, or say norm",
                       offset != 0 ? "norm_offset" : "norm_epsilon");
    if (spec->norm == PE_NORM_NONE)
        return PE_OK;
    if (offset != 0 && !weighs)
        return pe_fail(err, PE_CONFLICT, "parameter:norm_offset",
                       "norm_offset is added to q_norm and k_norm, which are not posted");
    spec->norm_epsilon = epsilon;
    spec->norm_offset = offset;
    return PE_OK;
}

/* Components are the terms of q k; options that act on their sum are refused. */
static enum pe_status components_check(const struct attention_args *args, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &args->spec;

    if (!args->splits || (spec->softcap == 0 && spec->bias.rank == 0 && spec->sinks.rank == 0 &&
                          spec->norm == PE_NORM_NONE))
        return PE_OK;
    return pe_fail(err, PE_CONFLICT, "parameter:outputs",
                   "components are the four terms of q k; softcap, bias, sinks and norms belong "
                   "to their sum");
}

enum pe_status attention_tensors_read(struct attention_args *args, struct pe_error *err)
{
    const struct pe_attention_spec *spec = &args->spec;
    char where[sizeof(err->where)];

    for (size_t i = 0; i < args->request->tensors_count; i++)
        if (!holds_numbers(args, args->request->tensors[i].name) &&
            tensor_take(args, &args->request->tensors[i], err))
            return err->status;
    if (norm_read(args, err) || components_check(args, err))
        return err->status;
    if (args->is_absolute || (spec->q.rank == 4 && spec->k.rank == 4))
        return PE_OK;
    snprintf(where, sizeof(where), "tensor:%s", spec->q.rank == 4 ? "k" : "q");
    return pe_fail(err, spec->q.rank && spec->k.rank ? PE_SHAPE_MISMATCH : PE_MISSING, where,
                   "attention needs q [batch, heads, queries, d] and k [batch, heads, keys, d]");
}

/* ---- positions ------------------------------------------------------------------------------- */

static enum pe_status positions_fit(struct attention_args *args, const struct api_numbers *numbers,
                                    const struct pe_tensor *tensor, const char *name,
                                    size_t axes_count, struct pe_positions *positions,
                                    struct pe_error *err)
{
    const struct api_token_positions places = {
        .axes_count = axes_count, .numbers = *numbers, .step = 1};
    const struct pe_axes axes = {tensor->shape[0], tensor->shape[1], tensor->shape[2], 1,
                                 tensor->shape[3]};

    return numbers->given
               ? api_token_positions_fit(args->request, &places, &axes, name, positions, err)
               : PE_OK;
}

enum pe_status attention_positions_read(struct attention_args *args, size_t axes_count,
                                        struct pe_error *err)
{
    struct pe_attention_spec *spec = &args->spec;

    return positions_fit(args, &args->positions, &spec->q, "q", axes_count, &spec->positions,
                         err) ||
                   positions_fit(args, &args->key_positions, &spec->k, "k", axes_count,
                                 &spec->key_positions, err)
               ? err->status
               : PE_OK;
}

/* ---- traits of a config's model ------------------------------------------------------------- */

static bool is_open(const struct attention_args *args, const char *name)
{
    return !pe_param_given(&args->params, name);
}

static void model_norm_take(struct attention_args *args, const struct pe_attention_spec *model)
{
    struct pe_attention_spec *spec = &args->spec;

    spec->norm = model->norm;
    spec->norm_epsilon = is_open(args, "norm_epsilon")
                             ? model->norm_epsilon
                             : pe_param_number(&args->params, "norm_epsilon");
    if (is_open(args, "norm_offset"))
        spec->norm_offset = model->norm_offset;
}

/* Takes from the model's spec what the request leaves open. */
static void model_take(struct attention_args *args, const struct pe_attention_spec *model)
{
    struct pe_attention_spec *spec = &args->spec;

    if (is_open(args, "scale"))
        spec->scale = model->scale;
    if (is_open(args, "window") && is_open(args, "window_left") && is_open(args, "window_right")) {
        spec->has_window = model->has_window;
        spec->window_left = model->window_left;
        spec->window_right = model->window_right;
    }
    if (is_open(args, "chunk"))
        spec->chunk = model->chunk;
    if (is_open(args, "temperature_strength"))
        spec->temperature = model->temperature;
    if (is_open(args, "softcap"))
        spec->softcap = model->softcap;
    if (is_open(args, "bias_before_scale"))
        spec->bias_before_scale = model->bias_before_scale;
}

static void warnings_add(const struct attention_args *args,
                         const struct pe_attention_traits *traits, unsigned skipped)
{
    const bool limits = traits->window > 0 || traits->chunk > 0;
    const struct {
        bool applies;
        const char *text;
    } warnings[] = {
        {skipped & PE_TRAITS_LAYER_SCALE && is_open(args, "scale"),
         "each layer of the model divides scale by its number, counted from 1, which is not known "
         "here; give scale"},
        {limits && traits->causal && !args->spec.causal && is_open(args, "causal"),
         "queries see the keys behind them too: causal was not given"},
        {skipped & PE_TRAITS_NORM && is_open(args, "norm") && traits->qk_norm.whole,
         "the model's norm of q and k is that of all heads together: it is not applied; post q and "
         "k as they are after it"},
        {skipped & PE_TRAITS_NORM && is_open(args, "norm") && !traits->qk_norm.whole,
         "the model's norm of q and k is a layer norm: it is not applied; post q and k as they are "
         "after it"},
        {skipped & PE_TRAITS_NORM_WEIGHTS && is_open(args, "norm"),
         "the model's norm of q and k is not applied, for its weights q_norm and k_norm are not "
         "posted"},
        {skipped & PE_TRAITS_SINKS,
         "the model's heads have sinks, which are not applied, for the tensor sinks is not posted"},
    };

    for (size_t i = 0; i < sizeof(warnings) / sizeof(warnings[0]); i++)
        if (warnings[i].applies)
            json_array_append_new(args->request->config->warnings, json_string(warnings[i].text));
}

enum pe_status attention_config_apply(struct attention_args *args, struct pe_error *err)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};
    struct api_config *config = args->request->config;
    struct pe_attention_spec model = args->spec;
    unsigned skipped;

    if (!config)
        return PE_OK;
    if (api_config_attention(args->request, config, !args->encoding, !is_open(args, "scale"),
                             &traits, err) ||
        pe_attention_traits_apply(&traits, &model, &skipped, err))
        return err->status;
    model_take(args, &model);
    if (traits.qk_norm.kind != PE_QK_NORM_NONE && is_open(args, "norm") &&
        !(skipped & (PE_TRAITS_NORM | PE_TRAITS_NORM_WEIGHTS)))
        model_norm_take(args, &model);
    warnings_add(args, &traits, skipped);
    return PE_OK;
}

/* ---- the report ------------------------------------------------------------------------------ */

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

json_t *attention_options_json(const struct attention_args *args)
{
    static const char *const norms[] = {"none", "before", "after"};
    const struct pe_attention_spec *spec = &args->spec;
    const struct pe_temperature *t = &spec->temperature;
    const bool temperature = t->strength != 0, norm = spec->norm != PE_NORM_NONE;
    json_t *report = json_object();

    set(report, true, "accumulation", json_string(spec->q.dtype == PE_F64 ? "f64" : "f32"));
    set(report, true, "scale", json_real(scale_of(spec)));
    set(report, true, "causal", json_boolean(spec->causal));
    set(report, spec->has_window, "window_left", side_json(spec->window_left));
    set(report, spec->has_window, "window_right", side_json(spec->window_right));
    set(report, spec->chunk > 0, "chunk", json_integer((json_int_t)spec->chunk));
    set(report, spec->softcap > 0, "softcap", json_real(spec->softcap));
    set(report, spec->bias_before_scale, "bias_before_scale", json_true());
    set(report, temperature, "temperature_strength", json_real(t->strength));
    set(report, temperature, "temperature_length", json_real(t->length));
    set(report, temperature, "temperature_offset", json_real(t->offset));
    set(report, norm, "norm", json_string(norms[spec->norm]));
    set(report, norm, "norm_epsilon", json_real(spec->norm_epsilon));
    set(report, norm && spec->norm_offset != 0, "norm_offset", json_real(spec->norm_offset));
    set(report, spec->sinks.rank > 0, "sinks", json_true());
    return report;
}
