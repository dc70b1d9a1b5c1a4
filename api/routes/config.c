/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/config/config.h"
#include "api/memory/json.h"
#include "api/numbers/text.h"
#include "api/request/parameters.h"
#include "api/request/request.h"
#include "api/routes/handler.h"
#include "api/routes/query_text.h"

/* POST /v1/config: the encoding that a config.json describes, the source of each of
 * its parameters, what attention does in its layers, its towers, and the unread keys. */

struct state {
    struct pe_params params;
    struct pe_scheme *scheme; /* NULL: a table of weights */
    json_t *weights;          /* {"name", ...} of such a table */
    struct pe_params layout;  /* of an encoding without a config */
};

static void state_release(void *what)
{
    struct state *state = what;

    pe_params_free(&state->params);
    pe_scheme_free(state->scheme);
    json_decref(state->weights);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* The required parameters of a view, as in its example; a grid has as many axes as the scheme. */
static void example_put(struct api_text *text, const struct pe_scheme *scheme, const char *example)
{
    const struct pe_params *params = pe_scheme_params(scheme);
    const int axes = pe_params_find(params, "axes_dim");
    const size_t count = axes < 0 ? 0 : params->values[axes].list_count;

    api_text_print(text, "%c", memchr(text->bytes, '?', text->size) ? '&' : '?');
    if (count == 0 || strncmp(example, "shape=", strlen("shape=")) != 0) {
        api_text_print(text, "%s", example);
        return;
    }
    for (size_t i = 0; i < count; i++)
        api_text_print(text, "%s%d", i == 0 ? "shape=" : ",", i + 2 < count ? 1 : 2);
}

/* The URL of a view, with the required parameters of its example. */
static json_t *link_make(struct api_request *request, const struct pe_scheme *scheme,
                         const struct pe_view_info *view)
{
    struct api_text text = {0};
    json_t *link;

    api_text_print(&text, "%s/v1/encodings/%s/%s", request->settings->base_path,
                   pe_encoding_info(pe_scheme_encoding(scheme))->name, view->name);
    /* No parameter from a config is text. */
    api_query_text_put(&text, pe_scheme_params(scheme), SIZE_MAX);
    if (view->example && !text.failed)
        example_put(&text, scheme, view->example);
    link = text.failed ? NULL : json_stringn(text.bytes, text.size);
    api_text_free(&text);
    return link;
}

/* The views of a scheme, as URLs; NULL: out of memory. */
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
                     api_config_provenance_json(config), "unused", api_config_unused_json(config),
                     "warnings", config->warnings, "links", links);
}

/* The sources of an encoding without a config: the request, or a default. */
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
                     "warnings", warnings, "links", links_make(request, state->scheme));
}

/* ---- one reading ----------------------------------------------------------------------------- */

/* Copies the values that the request gave to the parameters of another reading. */
static enum pe_status given_copy(const struct api_config *config, const struct pe_params *from,
                                 struct pe_params *to, struct pe_error *err)
{
    const struct pe_config_source *source;

    for (size_t i = 0; (source = pe_config_source(config->reading, i)); i++) {
        const int at = pe_params_find(from, source->param),
                  index = pe_params_find(to, source->param);
        if (source->from != PE_CONFIG_GIVEN || at < 0 || index < 0)
            continue;
        if (pe_params_set_value(to, (size_t)index, &from->list[at], &from->values[at], err))
            return err->status;
    }
    return PE_OK;
}

static void encoding_put(const struct api_config *config, json_t *encoding, json_t *links,
                         json_t *row)
{
    const char *layout = pe_config_layout(config->reading);

    if (layout)
        json_object_set_new(encoding, "layout", json_string(layout));
    json_object_set_new(row, "encoding", encoding);
    json_object_set_new(row, "provenance", api_config_provenance_json(config));
    json_object_set_new(row, "links", links);
}

static enum pe_status scheme_put(struct api_request *request, struct api_config *config,
                                 struct pe_params *params, json_t *row, struct pe_error *err)
{
    const struct pe_encoding *encoding;
    struct pe_scheme *scheme;
    json_t *links;

    if (api_config_encoding(config, &encoding, err) ||
        api_scheme_open(config, encoding, params, request->work, &scheme, err))
        return err->status;
    api_scheme_warnings(scheme, config->warnings);
    links = links_make(request, scheme);
    if (links)
        encoding_put(config, api_scheme_json(scheme), links, row);
    pe_scheme_free(scheme);
    return links ? PE_OK : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the links of a layer");
}

static enum pe_status weights_put(struct api_config *config, json_t *row, struct pe_error *err)
{
    json_t *encoding = json_pack("{ss}", "name", config->name);

    if (api_config_weights(config, encoding, err)) {
        json_decref(encoding);
        return err->status;
    }
    encoding_put(config, encoding, json_object(), row);
    return PE_OK;
}

/* params: those of the request; NULL: none. */
static enum pe_status reading_put(struct api_request *request, struct api_config *config,
                                  const struct pe_params *params, json_t *row, struct pe_error *err)
{
    const struct pe_encoding *encoding;
    struct pe_params own = {0};
    enum pe_status status;

    if (pe_config_is_weights(config->reading))
        return weights_put(config, row, err);
    if (api_config_encoding(config, &encoding, err))
        return err->status;
    pe_params_init(&own, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    status = (params && given_copy(request->config, params, &own, err)) ||
                     scheme_put(request, config, &own, row, err)
                 ? err->status
                 : PE_OK;
    pe_params_free(&own);
    return status;
}

/* Out of memory, and cancelled work, are failures of the request and not of one reading. */
static bool is_failure(const struct pe_error *err)
{
    return err->status == PE_OUT_OF_MEMORY || err->status == PE_INTERNAL ||
           err->status == PE_CANCELLED || err->status == PE_BUSY ||
           (err->status == PE_TOO_LARGE && !*err->where);
}

/* Adds the reason why there is no encoding. */
static enum pe_status reason_put(json_t *row, struct pe_error *err)
{
    if (is_failure(err))
        return err->status;
    json_object_set_new(row, "encoding", json_null());
    json_object_set_new(row, "reason", json_string(err->detail));
    *err = (struct pe_error){0};
    return PE_OK;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static json_t *numbers_make(const struct pe_config_kind *kind)
{
    json_t *list = json_array();

    for (size_t i = 0; i < kind->count; i++)
        json_array_append_new(list, json_integer((json_int_t)kind->layers[i]));
    return list;
}

/* Copies members of the top of the answer to a kind. */
static void share_put(const json_t *answer, json_t *row)
{
    for (const char *const *key = (const char *const[]){"encoding", "provenance", "links", NULL};
         *key; key++)
        json_object_set(row, *key, json_object_get(answer, *key));
}

/* Adds the warnings of a reading that are not at the top. */
static void warnings_put(const struct api_config *top, const struct api_config *config, json_t *row)
{
    json_t *list = json_array();
    const json_t *warning, *told;
    size_t i, j;

    json_array_foreach(config->warnings, i, warning)
    {
        bool known = false;
        json_array_foreach(top->warnings, j, told) known |= json_equal(warning, told);
        if (!known)
            json_array_append_new(list, json_string(json_string_value(warning)));
    }
    if (json_array_size(list) > 0)
        json_object_set(row, "warnings", list);
    json_decref(list);
}

static bool is_usual(const struct api_config *config, const struct pe_config_kind *kind)
{
    return kind == pe_config_kind(config->kinds, pe_config_kinds_usual(config->kinds));
}

/* Reads layers of another type; *config stays where there is nothing to read. */
static enum pe_status kind_read(struct api_request *request, const struct pe_config_kind *kind,
                                const struct pe_params *params, struct api_config **config,
                                json_t *answer, json_t *row, struct pe_error *err)
{
    struct api_config *own = NULL;

    if (!kind->turns) {
        json_object_set_new(row, "encoding", json_null());
        return PE_OK;
    }
    if (is_usual(request->config, kind) || !kind->layer_type) {
        share_put(answer, row);
        return PE_OK;
    }
    if (api_config_of_layer(request, request->config, kind->layer_type, &own, err) ||
        reading_put(request, own, params, row, err))
        return reason_put(row, err);
    *config = own;
    warnings_put(request->config, own, row);
    return PE_OK;
}

/* The width of a head, of a rotary encoding; else 0. */
static double width_of(const json_t *answer, const json_t *row)
{
    const json_t *told = json_object_get(row, "encoding");
    const struct pe_encoding *encoding;
    const char *name;

    if (!json_is_object(told))
        told = json_object_get(answer, "encoding");
    name = json_string_value(json_object_get(told, "name"));
    encoding = name ? pe_encoding_find(name) : NULL;
    return encoding && pe_encoding_has(encoding, PE_KIND_ROTARY)
               ? json_number_value(json_object_get(told, "dim"))
               : 0;
}

static enum pe_status kind_put(struct api_request *request, const struct pe_config_kind *kind,
                               const struct pe_params *params, json_t *answer, json_t *row,
                               struct pe_error *err)
{
    struct api_config *config = request->config;
    json_t *traits = NULL;

    if (kind->layer_type)
        json_object_set_new(row, "layer_type", json_string(kind->layer_type));
    if (kind->layers)
        json_object_set_new(row, "layers", numbers_make(kind));
    if (!kind->attends) {
        json_object_set_new(row, "encoding", json_null());
        json_object_set_new(row, "attention", json_null());
        return PE_OK;
    }
    if (kind_read(request, kind, params, &config, answer, row, err) ||
        api_config_traits_json(config, kind, width_of(answer, row), &traits, err))
        return err->status;
    json_object_set_new(row, "attention", traits);
    pe_config_read_by(request->config->reading, config->reading);
    return PE_OK;
}

static enum pe_status layers_put(struct api_request *request, const struct pe_params *params,
                                 json_t *answer, struct pe_error *err)
{
    const struct pe_config_kind *kind;
    json_t *list = json_array();

    if (json_object_set_new(answer, "layers", list))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the layers of the config");
    for (size_t i = 0; (kind = pe_config_kind(request->config->kinds, i)); i++) {
        json_t *row = json_object();
        if (json_array_append_new(list, row))
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a layer of the config");
        if (kind_put(request, kind, params, answer, row, err))
            return err->status;
        if (is_usual(request->config, kind))
            json_object_set(answer, "attention", json_object_get(row, "attention"));
    }
    return PE_OK;
}

/* ---- other rotaries -------------------------------------------------------------------------- */

/* The number of elements that an encoding rotates; 0: it does not rotate. */
static json_int_t rotated_width(const json_t *encoding)
{
    const json_int_t dim = json_integer_value(json_object_get(encoding, "dim"));
    const json_t *rotary = json_object_get(encoding, "rotary_dim"),
                 *part = json_object_get(encoding, "partial_rotary_factor");

    return rotary ? json_integer_value(rotary)
           : part ? (json_int_t)((double)dim * json_number_value(part))
                  : dim;
}

/* The encoding of the layers whose frequencies a rotary has; NULL: there is none. */
static const json_t *encoding_of(const json_t *answer, const char *layer_type)
{
    const json_t *row;
    size_t i;

    if (!layer_type)
        return json_object_get(answer, "encoding");
    json_array_foreach(json_object_get(answer, "layers"), i, row)
    {
        const char *type = json_string_value(json_object_get(row, "layer_type"));
        if (type && strcmp(type, layer_type) == 0)
            return json_object_get(row, "encoding");
    }
    return NULL;
}

/* The layers' encoding for heads of another width. Where their last elements rotate, it is that of
 * these elements alone. */
static json_t *rotary_make(const json_t *known, const struct pe_config_rotary *rotary)
{
    const json_int_t rotated = rotated_width(known);
    json_t *encoding = json_copy((json_t *)known);

    json_object_set_new(encoding, "layout", json_string(rotary->layout));
    json_object_del(encoding, "partial_rotary_factor");
    json_object_del(encoding, "rotary_dim");
    json_object_set_new(encoding, "dim", json_integer(rotary->last ? rotated : rotary->width));
    if (!rotary->last && rotated < rotary->width)
        json_object_set_new(encoding, "rotary_dim", json_integer(rotated));
    return encoding;
}

/* Adds "others", the rotaries beside those of the layers. */
static enum pe_status others_put(struct api_config *config, json_t *answer, struct pe_error *err)
{
    struct pe_config_rotary rotary;
    json_t *list = NULL, *row;

    for (size_t i = 0; pe_config_rotary(config->reading, i, &rotary); i++) {
        const json_t *known = encoding_of(answer, rotary.layer_type);
        if (rotated_width(known) <= 0 || rotated_width(known) > rotary.width)
            continue;
        row = json_pack("{ss ss* sI ss so ss*}", "where", rotary.where, "layer_type",
                        rotary.layer_type, "head_dim", (json_int_t)rotary.width, "rotated",
                        rotary.last ? "last" : "first", "encoding", rotary_make(known, &rotary),
                        "note", rotary.note);
        if (!list)
            json_object_set_new(answer, "others", list = json_array());
        if (json_array_append_new(list, row))
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a rotary of the config");
    }
    return PE_OK;
}

/* ---- towers ---------------------------------------------------------------------------------- */

/* In most files the tower has the model_type of the model, or none, and its class follows from
 * that: qwen2_5_vl has a qwen2_5_vl_vision. A tower without such a class is unknown: it must not be
 * read as the text of the model, or by its keys alone. */
static enum pe_status tower_of_whole(struct api_request *request, const char *part, json_t *config,
                                     struct api_config **read, struct pe_error *err)
{
    const char *whole = json_string_value(json_object_get(request->config->top, "model_type"));
    json_t *named = json_copy(config);
    enum pe_status status = PE_UNSUPPORTED;

    if (!api_json_keep(request->arena, named))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a part of the config");
    json_object_set_new(named, "model_type", json_sprintf("%s_vision", whole ? whole : ""));
    if (whole && strncmp(part, "vision", 6) == 0)
        status = api_config_of_part(request, named, read, err);
    if (is_failure(err) ||
        (status == PE_OK && strcmp(pe_config_encoding((*read)->reading), "rope-2d") == 0))
        return status;
    *err = (struct pe_error){0};
    return pe_fail(err, PE_UNSUPPORTED, "parameter:config",
                   "its positions are unknown: it has no model_type of its own, and none is "
                   "known for a tower of this model");
}

/* text: receives the path to the part about text of the tower. */
static enum pe_status tower_read(struct api_request *request, const char *key, json_t *config,
                                 json_t *row, const char **text, struct pe_error *err)
{
    const json_t *type = json_object_get(config, "model_type");
    const bool own = json_is_string(type) &&
                     !json_equal(type, json_object_get(request->config->top, "model_type"));
    struct api_config *read;

    if (own ? api_config_of_part(request, config, &read, err)
            : tower_of_whole(request, key, config, &read, err))
        return err->status;
    *text = pe_config_text_part(read->reading);
    if (reading_put(request, read, NULL, row, err))
        return err->status;
    if (json_array_size(read->warnings) > 0)
        json_object_set(row, "warnings", read->warnings);
    return PE_OK;
}

/* An object of a config. */
struct part {
    json_t *config;
    const char *key, *path; /* "text_config", "talker_config.text_config"; "": the top */
    const char *text;       /* the path from here to the part about text; "": here */
    size_t depth;
};

static enum pe_status tower_put(struct api_request *request, struct part *part, json_t *list,
                                struct pe_error *err)
{
    json_t *row = json_pack("{ss sO*}", "part", part->path, "model_type",
                            json_object_get(part->config, "model_type"));

    if (json_array_append_new(list, row))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a part of the config");
    return tower_read(request, part->key, part->config, row, &part->text, err)
               ? reason_put(row, err)
               : PE_OK;
}

/* Is an object of a config a model beside the one about text? */
static bool is_tower(const char *key, const json_t *value)
{
    static const char *const beginnings[] = {"vision", "visual", "vit", "image", "audio", "speech"};
    static const char ending[] = "_config";
    const size_t size = strlen(key), end = sizeof(ending) - 1;

    if (!json_is_object(value))
        return false;
    if (json_is_string(json_object_get(value, "model_type")))
        return true;
    if (size < end || strcmp(key + size - end, ending) != 0)
        return false;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (strncmp(key, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

enum { PARTS_DEPTH = 4, PATH_SIZE = 200 };

/* Does the way to the part about text lead through a member? */
static bool is_on_the_way(const struct part *part, const char *key)
{
    const size_t size = strlen(key);

    return strncmp(part->text, key, size) == 0 &&
           (part->text[size] == '.' || part->text[size] == '\0');
}

/* Recurses into the objects that contain the part about text, whose towers have no path before
 * their key, and into towers. */
static enum pe_status towers_put(struct api_request *request, const struct part *part, json_t *list,
                                 struct pe_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(part->config, key, value)
    {
        const bool on_the_way = is_on_the_way(part, key);
        const char *rest = on_the_way ? part->text + strlen(key) : "";
        struct part inner = {value, key, part->path, *rest ? rest + 1 : "", part->depth + 1};
        char path[PATH_SIZE];
        if (on_the_way ? !*rest : !is_tower(key, value))
            continue;
        if (!on_the_way) {
            snprintf(path, sizeof(path), "%.130s%s%.60s", part->path, *part->path ? "." : "", key);
            inner.path = path;
            if (tower_put(request, &inner, list, err))
                return err->status;
        }
        if (inner.depth < PARTS_DEPTH && towers_put(request, &inner, list, err))
            return err->status;
    }
    return PE_OK;
}

/* ---- layers and towers ----------------------------------------------------------------------- */

/* Adds "attention", and, where the config was read in full, "layers", "others" and "towers". */
static enum pe_status full_report_put(struct api_request *request, const struct pe_params *params,
                                      json_t *answer, struct pe_error *err)
{
    struct api_config *config = request->config;
    const struct pe_config_kind kind = {
        .layer_type = pe_config_layer_meant(config->reading), .attends = true, .turns = true};
    json_t *traits, *towers, *readers = api_config_readers_json(config);

    if (readers)
        json_object_set_new(answer, "readers", readers);
    if (!config->kinds) {
        if (api_config_traits_json(config, &kind, width_of(answer, answer), &traits, err))
            return err->status;
        json_object_set_new(answer, "attention", traits);
        json_object_set_new(answer, "unused", api_config_unused_json(config));
        return PE_OK;
    }
    towers = json_array();
    if (layers_put(request, params, answer, err) || others_put(config, answer, err) ||
        towers_put(request,
                   &(struct part){config->top, "", "", pe_config_text_part(config->reading), 0},
                   towers, err)) {
        json_decref(towers);
        return err->status;
    }
    if (json_array_size(towers) > 0)
        json_object_set(answer, "towers", towers);
    json_decref(towers);
    json_object_set_new(answer, "unused", api_config_unused_json(config));
    return PE_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* An encoding beside a config of weights has to repeat an earlier answer. */
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
                                                         "the config has another %.40s of %s", key,
                                                         name);
    return PE_OK;
}

/* Weights have only a size. */
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

/* Is the encoding of the body a table of weights with only its size? */
static bool is_size_of_weights(const json_t *posted)
{
    const char *name = json_string_value(json_object_get(posted, "name"));
    const struct pe_encoding *encoding = name ? pe_encoding_find(name) : NULL;

    return encoding && pe_encoding_has(encoding, PE_KIND_LEARNED) &&
           json_is_integer(json_object_get(posted, "length")) &&
           json_is_integer(json_object_get(posted, "dim")) && json_object_size(posted) == 3;
}

/* An encoding without a config, in the form of an answer. */
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

/* Each kind of layers but the usual one takes another reading. */
static double kinds_cost(const struct api_config *config)
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
        return api_parameter_error_note(request, "config", err)
                   ? err->status
                   : api_bind(request, NULL, 0, API_CONFIG_OWN, err);
    }
    result->work = request->config->kinds ? kinds_cost(request->config) : 0;
    return pe_config_is_weights(request->config->reading) ? weights_open(request, state, err)
                                                          : scheme_open(request, state, err);
}

/* ---- the handler ----------------------------------------------------------------------------- */

static enum pe_status config_prepare(struct api_request *request, struct api_result *result,
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
                                       links_make(request, state->scheme))
                         : answer_make(config, json_incref(state->weights), json_object());
    return result->report ? full_report_put(request, &state->params, result->report, err)
                          : err->status;
}

const struct api_handler api_handler_config = {config_open, config_prepare};
