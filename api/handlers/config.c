/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/arguments/function.h"
#include "api/config/config.h"
#include "api/handlers/handler.h"
#include "api/numbers/print.h"
#include "api/numbers/text.h"

/* Answers with what a config.json says about positions: an encoding of this service, where each of
 * its parameters came from, and keys that were not read. */

struct state {
    struct pe_params params;
    struct pe_scheme *scheme; /* NULL: the config tells of weights */
    json_t *weights;          /* {"name", ...}, where it does */
};

static void state_release(void *what)
{
    struct state *state = what;

    pe_params_free(&state->params);
    pe_scheme_free(state->scheme);
    json_decref(state->weights);
}

/* ---- links ----------------------------------------------------------------------------------- */

static void number_put(struct api_text *text, double number)
{
    char digits[API_NUMBER_MAX];

    api_double_print(digits, number);
    api_text_put(text, digits);
}

static void value_put(struct api_text *text, const struct pe_param *param,
                      const struct pe_value *value)
{
    char choice[64];

    if (param->type == PE_CHOICE) {
        pe_choice_name(param, (size_t)value->number, choice, sizeof(choice));
        api_text_put(text, choice);
    } else if (param->type == PE_BOOLEAN) {
        api_text_put(text, value->number != 0 ? "true" : "false");
    } else if (value->list_count > 0) {
        for (size_t i = 0; i < value->list_count; i++) {
            api_text_put(text, i > 0 ? "," : "");
            number_put(text, value->list[i]);
        }
    } else {
        number_put(text, value->number);
    }
}

/* A view of the scheme, with what the view cannot do without as in its example. */
static json_t *link_make(struct api_request *request, const struct pe_scheme *scheme,
                         const struct pe_view_info *view)
{
    const struct pe_params *params = pe_scheme_params(scheme);
    struct api_text text = {0};
    char separator = '?';
    json_t *link;

    api_text_print(&text, "%s/v1/encodings/%s/%s", request->settings->base_path,
                   pe_encoding_info(pe_scheme_encoding(scheme))->name, view->name);
    for (size_t i = 0; i < params->count; i++) {
        if (!params->values[i].given)
            continue;
        api_text_print(&text, "%c%s=", separator, params->list[i].name);
        value_put(&text, &params->list[i], &params->values[i]);
        separator = '&';
    }
    if (view->example)
        api_text_print(&text, "%c%s", separator, view->example);
    link = text.failed ? NULL : json_stringn(text.bytes, text.size);
    api_text_free(&text);
    return link;
}

static json_t *links_make(struct api_request *request, const struct pe_scheme *scheme)
{
    const struct pe_view_type *type;
    json_t *links = json_object();

    for (size_t i = 0; (type = pe_encoding_view_at(pe_scheme_encoding(scheme), i)); i++) {
        const struct pe_view_info *view = pe_view_info(type);
        if (!view->group &&
            json_object_set_new(links, view->name, link_make(request, scheme, view))) {
            json_decref(links);
            return NULL;
        }
    }
    return links;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static json_t *answer_make(struct api_config *config, json_t *encoding, json_t *links)
{
    const char *layout = pe_config_layout(config->reading);

    if (layout)
        json_object_set_new(encoding, "layout", json_string(layout));
    return json_pack("{so so so sO so}", "encoding", encoding, "provenance",
                     api_config_provenance(config), "unused", api_config_unused(config), "warnings",
                     config->warnings, "links", links);
}

/* ---- what is asked -------------------------------------------------------------------------- */

/* Weights have a size, and nothing else to compute with. */
static enum api_status weights_open(struct api_request *request, struct state *state,
                                    struct api_error *err)
{
    state->weights = json_pack("{ss}", "name", request->config->name);
    return api_bind(request, NULL, 0, API_CONFIG_OWN, err)
               ? api_failed(err)
               : api_config_weights(request->config, state->weights, err);
}

static enum api_status scheme_open(struct api_request *request, struct state *state,
                                   struct api_error *err)
{
    struct pe_params *sets[] = {&state->params};
    const bool again = api_encoding_is_posted(request);
    const struct pe_encoding *encoding;

    if (api_config_encoding(request->config, &encoding, err))
        return api_failed(err);
    pe_params_init(&state->params, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    return api_bind(request, sets, 1, again ? "encoding " API_CONFIG_OWN : API_CONFIG_OWN, err) ||
                   (again && api_encoding_again(request, encoding, NULL, &state->params, err))
               ? api_failed(err)
               : api_scheme_open(request->config, encoding, &state->params, request->work,
                                 &state->scheme, err);
}

static enum api_status config_open(struct api_request *request, struct api_result *result,
                                   struct api_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return api_fail(err, API_OUT_OF_MEMORY, "", "no memory for the request");
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    if (api_config_open(request, err))
        return api_failed(err);
    if (!request->config)
        return api_fail(err, API_MISSING, "parameter:config",
                        "config is required: post a config.json, or {\"config\": {...}}");
    return pe_config_is_weights(request->config->reading) ? weights_open(request, state, err)
                                                          : scheme_open(request, state, err);
}

static enum api_status config_tell(struct api_request *request, struct api_result *result,
                                   struct api_error *err)
{
    struct state *state = result->state;
    struct api_config *config = request->config;

    for (size_t i = 0; state->scheme && pe_scheme_warning(state->scheme, i); i++)
        json_array_append_new(config->warnings, json_string(pe_scheme_warning(state->scheme, i)));
    result->report = state->scheme
                         ? answer_make(config, api_scheme_json(state->scheme),
                                       links_make(request, state->scheme))
                         : answer_make(config, json_incref(state->weights), json_object());
    return api_failed(err);
}

const struct api_handler api_handler_config = {config_open, config_tell};
