/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"
#include "api/request/parameters.h"
#include "api/routes/config_links.h"
#include "api/routes/config_whole.h"
#include "api/routes/handler.h"

/* Answers with what a config.json says about positions: an encoding of this service, where each of
 * its parameters came from, and keys that were not read. */

struct state {
    struct pe_params params;
    struct pe_scheme *scheme; /* NULL: the config tells of weights */
    json_t *weights;          /* {"name", ...}, where it does */
    struct pe_params layout;  /* of an encoding that came without a config */
};

static void state_release(void *what)
{
    struct state *state = what;

    pe_params_free(&state->params);
    pe_scheme_free(state->scheme);
    json_decref(state->weights);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static json_t *answer_make(struct api_config *config, json_t *encoding, json_t *links)
{
    const char *layout = pe_config_layout(config->reading);

    if (layout)
        json_object_set_new(encoding, "layout", json_string(layout));
    return json_pack("{so so so sO so}", "encoding", encoding, "provenance",
                     api_config_provenance_json(config), "unused", api_config_unused_json(config),
                     "warnings", config->warnings, "links", links);
}

/* Of an encoding that came without a config: what was posted, and what is the default of the rest.
 */
static json_t *own_provenance(const struct state *state)
{
    const struct pe_params *params = pe_scheme_params(state->scheme);
    json_t *provenance = json_object();

    for (size_t i = 0; i < params->count; i++)
        if (params->values[i].present)
            json_object_set_new(provenance, params->list[i].name,
                                json_string(params->values[i].given ? "request" : "default"));
    return provenance;
}

static json_t *own_answer(struct api_request *request, const struct state *state)
{
    json_t *encoding = api_scheme_json(state->scheme), *warnings = json_array();
    json_t *provenance = own_provenance(state);
    const char *layout;

    for (size_t i = 0; pe_scheme_warning(state->scheme, i); i++)
        json_array_append_new(warnings, json_string(pe_scheme_warning(state->scheme, i)));
    if (pe_param_given(&state->layout, "layout")) {
        layout = api_layout_name((enum pe_layout)pe_param_number(&state->layout, "layout"));
        json_object_set_new(encoding, "layout", json_string(layout));
        json_object_set_new(provenance, "layout", json_string("request"));
    }
    return json_pack("{so so s[] so so}", "encoding", encoding, "provenance", provenance, "unused",
                     "warnings", warnings, "links", api_config_links(request, state->scheme));
}

/* ---- what is asked -------------------------------------------------------------------------- */

/* An encoding beside the config of weights is what was told of them before, or a mistake. */
static enum pe_status weights_again(const struct api_request *request, const struct state *state,
                                    struct pe_error *err)
{
    json_t *posted = json_object_get(request->json, "encoding"), *value;
    const char *key, *name = request->config->name;

    if (json_is_string(posted) && json_equal(posted, json_object_get(state->weights, "name")))
        return PE_OK;
    if (!json_is_object(posted))
        return pe_fail(err, PE_CONFLICT, "pointer:/encoding", "the config describes %s", name);
    json_object_foreach(
        posted, key,
        value) if (!json_equal(value,
                               json_object_get(
                                   state->weights,
                                   key))) return pe_fail(err, PE_CONFLICT, "pointer:/encoding",
                                                         "the config tells another %.40s of %s",
                                                         key, name);
    return PE_OK;
}

/* Weights have a size, and nothing else to compute with. */
static enum pe_status weights_open(struct api_request *request, struct state *state,
                                   struct pe_error *err)
{
    const bool again = api_encoding_is_posted(request);

    state->weights = json_pack("{ss}", "name", request->config->name);
    if (api_bind(request, NULL, 0, again ? "encoding " API_CONFIG_OWN : API_CONFIG_OWN, err) ||
        api_config_weights(request->config, state->weights, err))
        return err->status;
    return again ? weights_again(request, state, err) : PE_OK;
}

/* Is the encoding of the body a table of weights, told by its size and nothing else? */
static bool is_size_of_weights(const json_t *posted)
{
    const char *name = json_string_value(json_object_get(posted, "name"));
    const struct pe_encoding *encoding = name ? pe_encoding_find(name) : NULL;

    return encoding && pe_encoding_has(encoding, PE_KIND_LEARNED) &&
           json_is_integer(json_object_get(posted, "length")) &&
           json_is_integer(json_object_get(posted, "dim")) && json_object_size(posted) == 3;
}

/* An encoding without a config, as answers tell it. */
static enum pe_status own_open(struct api_request *request, struct state *state,
                               struct pe_error *err)
{
    static const struct pe_param layouts[] = {
        {.name = "layout", .type = PE_CHOICE, .choices = API_LAYOUTS, .doc = API_LAYOUT_DOC}};
    json_t *posted = json_object_get(request->json, "encoding");
    struct pe_params *sets[] = {&state->params};
    const struct pe_encoding *encoding;

    if (is_size_of_weights(posted)) {
        state->weights = json_copy(posted);
        return api_bind(request, NULL, 0, "encoding", err);
    }
    pe_params_init(&state->layout, layouts, 1);
    return api_function_encoding(request, NULL, &encoding, &state->params, &state->layout, err) ||
                   api_bind(request, sets, 1, "encoding", err)
               ? err->status
               : api_scheme_open(NULL, encoding, &state->params, request->work, &state->scheme,
                                 err);
}

static json_t *weights_answer(json_t *weights)
{
    return json_pack("{sO s{ss ss} s[] s[] s{}}", "encoding", weights, "provenance", "length",
                     "request", "dim", "request", "unused", "warnings", "links");
}

static enum pe_status scheme_open(struct api_request *request, struct state *state,
                                  struct pe_error *err)
{
    struct pe_params *sets[] = {&state->params};
    const bool again = api_encoding_is_posted(request);
    const struct pe_encoding *encoding;

    if (api_config_encoding(request->config, &encoding, err))
        return err->status;
    pe_params_init(&state->params, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    return api_bind(request, sets, 1, again ? "encoding " API_CONFIG_OWN : API_CONFIG_OWN, err) ||
                   (again && api_encoding_again(request, encoding, NULL, &state->params, err))
               ? err->status
               : api_scheme_open(request->config, encoding, &state->params, request->work,
                                 &state->scheme, err);
}

/* Each kind of layers but the usual one is read once more. */
static double kinds_work(const struct api_config *config)
{
    size_t count = 0;

    while (pe_config_kind(config->kinds, count))
        count++;
    return count > 1 ? (double)(count - 1) * pe_config_read_work(config->values) : 0;
}

static enum pe_status config_open(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    struct state *state = result->state = api_arena_take(request->arena, sizeof(*state));

    if (!state || !api_arena_defer(request->arena, state_release, state))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the request");
    result->kind = API_REPORT;
    result->cache_control = "no-store";
    if (api_config_open_full(request, err))
        return err->status;
    if (!request->config && api_encoding_is_posted(request))
        return own_open(request, state, err);
    if (!request->config) {
        pe_fail(err, PE_MISSING, "parameter:config",
                "config is required: post a config.json, or {\"config\": {...}}");
        return api_mistake_note(request, "config", err)
                   ? err->status
                   : api_bind(request, NULL, 0, API_CONFIG_OWN, err);
    }
    result->work = request->config->kinds ? kinds_work(request->config) : 0;
    return pe_config_is_weights(request->config->reading) ? weights_open(request, state, err)
                                                          : scheme_open(request, state, err);
}

static enum pe_status config_tell(struct api_request *request, struct api_result *result,
                                  struct pe_error *err)
{
    struct state *state = result->state;
    struct api_config *config = request->config;

    if (!config) {
        result->report =
            state->scheme ? own_answer(request, state) : weights_answer(state->weights);
        return err->status;
    }
    for (size_t i = 0; state->scheme && pe_scheme_warning(state->scheme, i); i++)
        json_array_append_new(config->warnings, json_string(pe_scheme_warning(state->scheme, i)));
    result->report = state->scheme
                         ? answer_make(config, api_scheme_json(state->scheme),
                                       api_config_links(request, state->scheme))
                         : answer_make(config, json_incref(state->weights), json_object());
    return result->report ? api_config_whole_put(request, &state->params, result->report, err)
                          : err->status;
}

const struct api_handler api_handler_config = {config_open, config_tell};
