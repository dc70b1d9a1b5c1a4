/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/arguments/described.h"
#include "api/config/config.h"
#include "api/handlers/attention_absolute.h"
#include "api/request/service.h"

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
};

static const char own[] = "encoding tensors tensor tables " API_CONFIG_OWN;
static const char later[] = "bias mask window cu_seqlens dtype";

/* Rows of one block of the computation, where they are not so long that fewer fill a block. */
enum { ROWS_TOGETHER = 64, GROUP_SIZE = 1 << 20 };

struct state {
    struct api_request *request;
    const struct pe_encoding *encoding; /* NULL: none, or absolute */
    const char *other;                  /* which of them; NULL: an encoding */
    bool rotates;                       /* the encoding is rotary */
    bool is_absolute, splits;           /* into components */
    struct attention_absolute absolute;
    struct pe_params encoding_params, params, answer_params;
    struct pe_attention_spec spec;
    struct pe_tensor weights; /* of buckets; rank 0: absent */
    struct pe_scheme *scheme;
    struct pe_attention *attentions[ATTENTION_COMPONENTS]; /* one, or one a component */
    struct pe_output outputs[ATTENTION_COMPONENTS];
    size_t made;
};

static void state_release(void *what)
{
    struct state *state = what;

    for (size_t i = 0; i < state->made; i++)
        pe_attention_free(state->attentions[i]);
    pe_scheme_free(state->scheme);
}

static bool attention_rows_fill(struct api_result *result, size_t output, size_t row_begin,
                                size_t row_end, void *out)
{
    const struct state *state = result->state;

    return pe_attention_fill(state->attentions[output], row_begin, row_end, out,
                             state->request->work, &(struct pe_error){0}) == PE_OK;
}

/* ---- what is posted ------------------------------------------------------------------------- */

static enum api_status tensors_read(struct state *state, struct api_error *err)
{
    struct pe_attention_spec *spec = &state->spec;
    const struct {
        const char *name;
        struct pe_tensor *tensor;
        bool of_absolute;
    } known[] = {{"q", &spec->q, false},
                 {"k", &spec->k, false},
                 {"v", &spec->v, false},
                 {"rel_k", &spec->rel_k, false},
                 {"rel_v", &spec->rel_v, false},
                 {"w_r", &spec->w_r, false},
                 {"pos_bias_u", &spec->pos_bias_u, false},
                 {"pos_bias_v", &spec->pos_bias_v, false},
                 {"weights", &state->weights, false},
                 {"x", &state->absolute.x, true},
                 {"p", &state->absolute.p, true},
                 {"w_q", &state->absolute.w_q, true},
                 {"w_k", &state->absolute.w_k, true},
                 {"w_v", &state->absolute.w_v, true}};
    const size_t count = sizeof(known) / sizeof(known[0]);
    char where[sizeof(err->where)];

    for (size_t i = 0; i < state->request->tensors_count; i++) {
        const struct api_tensor *tensor = &state->request->tensors[i];
        size_t j = 0;
        while (j < count && strcmp(known[j].name, tensor->name) != 0)
            j++;
        snprintf(where, sizeof(where), "tensor:%.80s", tensor->name);
        if (j == count)
            return api_fail(err, API_UNKNOWN_PARAMETER, where,
                            "attention knows no tensor '%.60s'; it takes q, k, v, rel_k, rel_v, "
                            "w_r, pos_bias_u, pos_bias_v, weights; absolute x, p, w_q, w_k, w_v",
                            tensor->name);
        if (tensor->tensor.rank == 0)
            return api_fail(err, API_SHAPE_MISMATCH, where, "%s has no dimensions", tensor->name);
        if (known[j].of_absolute != state->is_absolute)
            return api_fail(err, API_CONFLICT, where,
                            state->is_absolute
                                ? "%s has no part in absolute, which takes x, p, w_q, "
                                  "w_k and w_v"
                                : "%s belongs to the encoding absolute",
                            known[j].name);
        *known[j].tensor = tensor->tensor;
    }
    if (state->is_absolute)
        return API_OK;
    if (spec->q.rank == 4 && spec->k.rank == 4)
        return API_OK;
    snprintf(where, sizeof(where), "tensor:%s", spec->q.rank == 4 ? "k" : "q");
    return api_fail(err, spec->q.rank && spec->k.rank ? API_SHAPE_MISMATCH : API_MISSING, where,
                    "attention needs q [batch, heads, queries, d] and k [batch, heads, keys, d]");
}

static enum api_status config_read(struct state *state, struct api_error *err)
{
    struct api_config *config = state->request->config;

    if (config && !state->encoding)
        return api_fail(err, API_CONFLICT, "parameter:config",
                        "config tells an encoding, and the encoding %s was asked for",
                        state->other);
    if (config && api_config_fill(config, state->encoding, &state->encoding_params, err))
        return api_failed(err);
    return state->rotates ? api_config_layout(config, &state->params, err) : API_OK;
}

/* heads and components belong to absolute. */
static enum api_status absolute_read(struct state *state, struct api_error *err)
{
    const struct pe_value *heads = pe_param_value(&state->params, "heads");
    const unsigned output = (unsigned)pe_param_number(&state->params, "outputs");

    state->is_absolute = state->other && strcmp(state->other, "absolute") == 0;
    state->splits = output > PE_ATTENTION_OUTPUT;
    state->spec.output = state->splits ? PE_ATTENTION_SCORES : (enum pe_attention_output)output;
    state->absolute.heads = heads->present ? (size_t)heads->number : 1;
    if (state->is_absolute || (!state->splits && !heads->given))
        return API_OK;
    return api_fail(err, API_CONFLICT, state->splits ? "parameter:outputs" : "parameter:heads",
                    state->splits ? "components are those of the encoding absolute"
                                  : "heads is a parameter of the encoding absolute; elsewhere the "
                                    "tensors tell it");
}

static enum api_status params_read(struct state *state, struct api_error *err)
{
    /* The encoding's first: a layout of its own is not that of rotated pairs. */
    struct pe_params *sets[] = {&state->encoding_params, &state->params, &state->answer_params};
    const struct pe_value *layout;

    pe_params_init(&state->params, params_list, sizeof(params_list) / sizeof(params_list[0]));
    api_answer_params(state->request, &state->answer_params);
    if (api_function_start(state->request, later, err) || api_config_open(state->request, err) ||
        api_function_encoding(state->request, &state->other, &state->encoding,
                              &state->encoding_params, &state->params, err))
        return api_failed(err);
    state->rotates = state->encoding && pe_encoding_has(state->encoding, PE_KIND_ROTARY);
    if (api_bind(state->request, sets, 3, own, err) || config_read(state, err) ||
        pe_params_finish(&state->params, &err->core))
        return api_failed(err);

    layout = pe_param_value(&state->params, "layout");
    if (state->rotates && !layout->present)
        return api_fail(err, API_MISSING, "parameter:layout",
                        "layout is required with %s: " API_LAYOUT_DOC,
                        pe_encoding_info(state->encoding)->name);
    if (layout->present && !state->rotates)
        return api_fail(err, API_CONFLICT, "parameter:layout",
                        "layout is that of rotated pairs, and nothing is rotated here; leave it "
                        "out");
    state->spec.layout = layout->present ? (enum pe_layout)layout->number : PE_LAYOUT_HALF;
    state->spec.causal = pe_param_number(&state->params, "causal") != 0;
    state->spec.scale = pe_param_number(&state->params, "scale");
    state->spec.query_start = pe_param_number(&state->params, "query_start");
    return absolute_read(state, err);
}

/* ---- before the work ------------------------------------------------------------------------ */

static size_t rows_together(const struct pe_output *output)
{
    const size_t size = output->row_elements * pe_dtype_info(output->dtype)->size;
    const size_t rows = size > 0 ? GROUP_SIZE / size : ROWS_TOGETHER;

    return rows < 1 ? 1 : rows < ROWS_TOGETHER ? rows : ROWS_TOGETHER;
}

/* The shapes that x will be projected to; the tensors themselves are made when all is checked. */
static enum api_status absolute_shape(struct state *state, double *work, struct api_error *err)
{
    const struct attention_absolute *absolute = &state->absolute;
    struct pe_attention_spec *spec = &state->spec;
    const bool needs_values = spec->output == PE_ATTENTION_OUTPUT;

    *work = 0;
    if (!state->is_absolute)
        return API_OK;
    if (attention_absolute_check(absolute, needs_values, work, err))
        return api_failed(err);
    spec->q = (struct pe_tensor){absolute->x.dtype,
                                 4,
                                 {absolute->x.shape[0], absolute->heads, absolute->x.shape[1],
                                  absolute->w_q.shape[0] / absolute->heads},
                                 NULL};
    spec->k = spec->q;
    spec->v = needs_values ? spec->q : spec->v;
    spec->v.shape[3] = needs_values ? absolute->w_v.shape[0] / absolute->heads : 0;
    return API_OK;
}

static enum api_status scheme_open(struct state *state, struct api_error *err)
{
    if (!state->encoding && state->weights.rank)
        return api_fail(err, API_CONFLICT, "tensor:weights",
                        "weights belong to an encoding of buckets such as t5, not to none");
    if (!state->encoding)
        return API_OK;
    if (pe_attention_infer(state->encoding, &state->encoding_params, &state->spec, &err->core) ||
        api_scheme_open(state->request->config, state->encoding, &state->encoding_params,
                        state->request->work, &state->scheme, err) ||
        api_config_attention(state->request->config, (double)state->spec.q.shape[3],
                             pe_param_given(&state->params, "scale"), err) ||
        (state->weights.rank && pe_scheme_give(state->scheme, "weights", &state->weights,
                                               state->request->work, &err->core)))
        return api_failed(err);
    state->spec.scheme = state->scheme;
    return API_OK;
}

static enum api_status outputs_open(struct state *state, struct api_result *result,
                                    struct api_error *err)
{
    if (pe_attention_shape(&state->spec, state->outputs, sizeof(*state->outputs), &err->core))
        return api_failed(err);
    result->outputs = state->outputs;
    result->outputs_count = state->splits ? ATTENTION_COMPONENTS : 1;
    for (size_t i = 0; state->splits && i < ATTENTION_COMPONENTS; i++) {
        state->outputs[i] = state->outputs[0];
        state->outputs[i].name = attention_components[i];
    }
    result->rows_together = rows_together(state->outputs);
    return API_OK;
}

static enum api_status result_describe(const struct state *state, struct api_result *result,
                                       struct api_error *err)
{
    if (api_function_describe(state->request, result, state->scheme,
                              state->rotates ? api_layout_name(state->spec.layout) : NULL, err))
        return api_failed(err);
    if (state->is_absolute &&
        json_object_set_new(result->encoding, "name", json_string(state->other)))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the answer");
    if (state->scheme)
        api_result_warn_beyond(result, state->scheme,
                               &(struct pe_positions){.step = 1, .count = state->spec.k.shape[2]});
    return API_OK;
}

/* ---- the two phases -------------------------------------------------------------------------- */

static enum api_status attention_open(struct api_request *request, struct api_result *result,
                                      struct api_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));
    double projections;

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for an attention");
    state->request = request;
    state->spec.size = sizeof(state->spec);
    if (params_read(state, err) || api_answer_apply(request, &state->answer_params, result, err) ||
        tensors_read(state, err) || absolute_shape(state, &projections, err) ||
        scheme_open(state, err) || outputs_open(state, result, err))
        return api_failed(err);
    result->fill = attention_rows_fill;
    result->work = projections + (state->scheme ? pe_scheme_work(state->scheme) : 0);
    result->advice = "send fewer queries or keys at once";
    result->subject = "the attention";
    result->file_stem = result->operation = "attention";
    result->encoding_name =
        state->encoding ? pe_encoding_info(state->encoding)->name : state->other;
    result->dtype = state->outputs->dtype;
    return result_describe(state, result, err);
}

static enum api_status attention_prepare(struct api_request *request, struct api_result *result,
                                         struct api_error *err)
{
    struct pe_attention_spec specs[ATTENTION_COMPONENTS];
    struct state *state = result->state;

    if (state->scheme && pe_scheme_prepare(state->scheme, request->work, &err->core))
        return api_failed(err);
    if (state->is_absolute && !state->splits &&
        attention_absolute_project(request, &state->absolute, &state->spec, err))
        return api_failed(err);
    for (size_t i = 0; i < result->outputs_count; i++)
        specs[i] = state->spec;
    if (state->splits && attention_absolute_split(request, &state->absolute, specs, err))
        return api_failed(err);
    for (; state->made < result->outputs_count; state->made++)
        if (pe_attention_new(&state->attentions[state->made], &specs[state->made],
                             api_pool(request->api), request->work, &err->core))
            return api_failed(err);
    return API_OK;
}

const struct api_handler api_handler_attention = {attention_open, attention_prepare};
