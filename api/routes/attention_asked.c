/* SPDX-License-Identifier: MIT */
#include "api/routes/attention_asked.h"

#include <math.h>
#include <string.h>

#include "api/config/config.h"

/* A whole number of keys, 0 being none. */
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
     .doc = "What to answer with; output needs v, components are the four terms of absolute."},
    {.name = "heads",
     .type = PE_INTEGER,
     .min = 1,
     .max = 1 << 16,
     .doc = "absolute: how many heads the projections make; 1 if absent."},
    {.name = "causal",
     .type = PE_BOOLEAN,
     .fallback = "false",
     .doc = "No token sees those behind it."},
    {.name = "scale",
     .type = PE_NUMBER,
     .min = 1e-30,
     .max = 1e30,
     .doc = "What q k is multiplied by; 1 / sqrt(d) if absent."},
    {.name = "query_start",
     .type = PE_INTEGER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "Position of the first query; n - s if absent."},
    KEYS("window", "The query's own key and window - 1 before it, and as many behind it unless "
                   "causal (sliding_window of configs); 0: all."),
    KEYS("window_left",
         "Keys before the query's own that it sees (FlashAttention); all if absent."),
    KEYS("window_right", "Keys behind the query's own that it sees; all if absent."),
    KEYS("chunk", "A query sees keys of its own chunk of so many (Llama 4); 0: all."),
    {.name = "softcap",
     .type = PE_NUMBER,
     .max = 1e30,
     .doc = "Scores are softcap tanh(score / softcap), before biases (Gemma 2); 0: as they are."},
    {.name = "bias_before_scale",
     .type = PE_BOOLEAN,
     .doc = "The encoding's bias is added to q k and scaled with it (Falcon); false if absent."},
    {.name = "temperature_strength",
     .type = PE_NUMBER,
     .min = -1e30,
     .max = 1e30,
     .doc = "Queries are multiplied by 1 + strength ln(1 + floor((position + offset) / length)) "
            "(attn_scale of Llama 4); 0: as they are."},
    {.name = "temperature_length",
     .type = PE_NUMBER,
     .min = 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "floor_scale of Llama 4; required with temperature_strength."},
    {.name = "temperature_offset",
     .type = PE_NUMBER,
     .min = -0x1p53 + 1,
     .max = 0x1p53 - 1,
     .unit = "positions",
     .doc = "1 if absent, as Llama 4 has it; Ministral 3 has 0."},
    {.name = "norm",
     .type = PE_CHOICE,
     .choices = "none,before,after",
     .doc = "Where each head of q and k is divided by its root mean square: before or after the "
            "rotation; before if q_norm or k_norm is posted."},
    {.name = "norm_epsilon",
     .type = PE_NUMBER,
     .max = 1,
     .doc = "Added to the mean square; 1e-6 if absent."},
    {.name = "norm_offset",
     .type = PE_NUMBER,
     .min = -1e30,
     .max = 1e30,
     .doc = "Added to q_norm and k_norm: 1 for Gemma; 0 if absent."},
};

static const char own[] = "encoding tensors tensor tables positions key_positions cu_seqlens "
                          "cu_seqlens_k " API_CONFIG_OWN;
static const char later[] = "dtype";

/* ---- parameters ------------------------------------------------------------------------------ */

static enum pe_status config_read(struct attention_asked *asked, struct pe_error *err)
{
    struct api_config *config = asked->request->config;

    if (config && asked->is_absolute)
        return pe_fail(err, PE_CONFLICT, "parameter:config",
                       "config tells an encoding, and the encoding %s was asked for", asked->other);
    if (config && asked->encoding &&
        api_config_fill(config, asked->encoding, &asked->encoding_params, err))
        return err->status;
    return asked->rotates ? api_config_layout(config, &asked->params, err) : PE_OK;
}

/* heads and components belong to absolute. */
static enum pe_status absolute_read(struct attention_asked *asked, struct pe_error *err)
{
    const struct pe_value *heads = pe_param_value(&asked->params, "heads");
    const unsigned output = (unsigned)pe_param_number(&asked->params, "outputs");

    asked->splits = output > PE_ATTENTION_OUTPUT;
    asked->spec.output = asked->splits ? PE_ATTENTION_SCORES : (enum pe_attention_output)output;
    asked->absolute.heads = heads->present ? (size_t)heads->number : 1;
    if (asked->is_absolute || (!asked->splits && !heads->given))
        return PE_OK;
    return pe_fail(err, PE_CONFLICT, asked->splits ? "parameter:outputs" : "parameter:heads",
                   asked->splits ? "components are those of the encoding absolute"
                                 : "heads is a parameter of the encoding absolute; elsewhere the "
                                   "tensors tell it");
}

static enum pe_status layout_read(struct attention_asked *asked, struct pe_error *err)
{
    const struct pe_value *layout = pe_param_value(&asked->params, "layout");

    if (asked->rotates && !layout->present)
        return pe_fail(err, PE_MISSING, "parameter:layout",
                       "layout is required with %s: " API_LAYOUT_DOC,
                       pe_encoding_info(asked->encoding)->name);
    if (layout->present && !asked->rotates)
        return pe_fail(err, PE_CONFLICT, "parameter:layout",
                       "layout is that of rotated pairs, and nothing is rotated here; leave it "
                       "out");
    asked->spec.layout = layout->present ? (enum pe_layout)layout->number : PE_LAYOUT_HALF;
    return PE_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

static enum pe_status window_read(struct attention_asked *asked, struct pe_error *err)
{
    const double window = attention_number(asked, "window", 0),
                 left = attention_number(asked, "window_left", -1);
    const double right = attention_number(asked, "window_right", -1);
    struct pe_attention_spec *spec = &asked->spec;

    if (window > 0 && (left >= 0 || right >= 0))
        return pe_fail(err, PE_CONFLICT, "parameter:window",
                       "window says both sides; leave out window_left and window_right");
    spec->has_window = window > 0 || left >= 0 || right >= 0;
    spec->window_left = (int64_t)(window > 0 ? window - 1 : left);
    spec->window_right = (int64_t)(window > 0 ? window - 1 : right);
    spec->chunk = (uint64_t)attention_number(asked, "chunk", 0);
    spec->softcap = attention_number(asked, "softcap", 0);
    spec->bias_before_scale = attention_number(asked, "bias_before_scale", 0) != 0;
    return PE_OK;
}

static enum pe_status temperature_read(struct attention_asked *asked, struct pe_error *err)
{
    const double strength = attention_number(asked, "temperature_strength", 0);
    const double length = attention_number(asked, "temperature_length", 0);
    const double offset = attention_number(asked, "temperature_offset", 1);

    if (strength == 0 && (length > 0 || offset != 1))
        return pe_fail(err, PE_MISSING, "parameter:temperature_strength",
                       "%s is of a temperature, which needs temperature_strength",
                       length > 0 ? "temperature_length" : "temperature_offset");
    if (strength != 0 && length == 0)
        return pe_fail(err, PE_MISSING, "parameter:temperature_length",
                       "temperature_strength needs temperature_length");
    if (strength != 0)
        asked->spec.temperature = (struct pe_temperature){strength, length, offset};
    return PE_OK;
}

/* `instead`: what is given where they would be {"start": ...}. */
static enum pe_status numbers_read(struct attention_asked *asked, const char *name,
                                   const char *instead, struct api_numbers *numbers,
                                   struct pe_error *err)
{
    if (api_numbers_read(asked->request, name, numbers, err))
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

static enum pe_status lists_read(struct attention_asked *asked, struct pe_error *err)
{
    if (numbers_read(
            asked, "positions",
            "; where queries follow each other, leave it out and give \"query_start\": the "
            "position of the first",
            &asked->positions, err) ||
        numbers_read(asked, "key_positions", "; without it keys stand at 0, 1, 2 ...",
                     &asked->key_positions, err) ||
        numbers_read(asked, "cu_seqlens", "", &asked->ends, err) ||
        numbers_read(asked, "cu_seqlens_k", "", &asked->key_ends, err))
        return err->status;
    asked->spec.cu_seqlens = list_of(&asked->ends);
    asked->spec.cu_seqlens_k = list_of(&asked->key_ends);
    return PE_OK;
}

enum pe_status attention_asked_read(struct attention_asked *asked, struct pe_error *err)
{
    /* The encoding's first: a layout of its own is not that of rotated pairs. */
    struct pe_params *sets[] = {&asked->encoding_params, &asked->params, &asked->answer_params};
    struct api_request *request = asked->request;

    pe_params_init(&asked->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_answer_params(request, &asked->answer_params);
    if (api_function_start(request, later, err) || api_config_open(request, err) ||
        api_function_encoding(request, &asked->other, &asked->encoding, &asked->encoding_params,
                              &asked->params, err))
        return err->status;
    asked->is_absolute = asked->other && strcmp(asked->other, "absolute") == 0;
    asked->rotates = asked->encoding && pe_encoding_has(asked->encoding, PE_KIND_ROTARY);
    if (api_bind(request, sets, 3, own, err) || config_read(asked, err) ||
        pe_params_finish(&asked->params, err) || layout_read(asked, err))
        return err->status;
    asked->spec.size = sizeof(asked->spec);
    asked->spec.causal = pe_param_number(&asked->params, "causal") != 0;
    asked->spec.scale = pe_param_number(&asked->params, "scale");
    asked->spec.query_start = pe_param_number(&asked->params, "query_start");
    return window_read(asked, err) || temperature_read(asked, err) || lists_read(asked, err) ||
                   absolute_read(asked, err)
               ? err->status
               : PE_OK;
}
