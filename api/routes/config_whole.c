/* SPDX-License-Identifier: MIT */
#include "api/routes/config_whole.h"

#include <string.h>

#include "api/memory/json.h"
#include "api/request/parameters.h"
#include "api/routes/config_links.h"

/* The layers of a config one kind after the other, and the towers beside its part about text. */

/* ---- one reading ----------------------------------------------------------------------------- */

/* Hands values that the request gave on to another reading. */
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

    if (api_config_encoding(config, &encoding, err) ||
        api_scheme_open(config, encoding, params, request->work, &scheme, err))
        return err->status;
    api_scheme_warnings(scheme, config->warnings);
    encoding_put(config, api_scheme_json(scheme), api_config_links(request, scheme), row);
    pe_scheme_free(scheme);
    return PE_OK;
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

/* params: those of the request; NULL: it gave none. */
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

/* Memory that is short, and work that has ended, are failures of the request and no reasons. */
static bool is_failure(const struct pe_error *err)
{
    return err->status == PE_OUT_OF_MEMORY || err->status == PE_INTERNAL ||
           err->status == PE_CANCELLED || err->status == PE_BUSY ||
           (err->status == PE_TOO_LARGE && !*err->where);
}

/* Says why there is no encoding. */
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

/* Members at the top of the answer hold for a kind too. */
static void share_put(const json_t *answer, json_t *row)
{
    for (const char *const *key = (const char *const[]){"encoding", "provenance", "links", NULL};
         *key; key++)
        json_object_set(row, *key, json_object_get(answer, *key));
}

/* Warnings of a reading that the one at the top has not told. */
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

/* Layers of another type are read anew. *config is left as it is where there is nothing to read. */
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

/* The width of a head where the encoding tells it; 0: it does not. */
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

    json_object_set_new(answer, "layers", list);
    for (size_t i = 0; (kind = pe_config_kind(request->config->kinds, i)); i++) {
        json_t *row = json_object();
        json_array_append_new(list, row);
        if (kind_put(request, kind, params, answer, row, err))
            return err->status;
        if (is_usual(request->config, kind))
            json_object_set(answer, "attention", json_object_get(row, "attention"));
    }
    return PE_OK;
}

/* ---- towers ---------------------------------------------------------------------------------- */

/* The files of most models name their tower as the whole is named, or not at all, and its class
 * goes by the whole: qwen2_5_vl has a qwen2_5_vl_vision. A tower without such a class is not known;
 * it must not be read as the text of the model, nor by its keys alone. */
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
                   "nothing tells its positions: it has no model_type of its own, and none is "
                   "known for a tower of this model");
}

static enum pe_status tower_read(struct api_request *request, const char *part, json_t *config,
                                 json_t *row, struct pe_error *err)
{
    const json_t *type = json_object_get(config, "model_type");
    const bool own = json_is_string(type) &&
                     !json_equal(type, json_object_get(request->config->top, "model_type"));
    struct api_config *read;

    if ((own ? api_config_of_part(request, config, &read, err)
             : tower_of_whole(request, part, config, &read, err)) ||
        reading_put(request, read, NULL, row, err))
        return err->status;
    if (json_array_size(read->warnings) > 0)
        json_object_set(row, "warnings", read->warnings);
    return PE_OK;
}

static enum pe_status tower_put(struct api_request *request, const char *part, json_t *config,
                                json_t *list, struct pe_error *err)
{
    json_t *row =
        json_pack("{ss sO*}", "part", part, "model_type", json_object_get(config, "model_type"));

    json_array_append_new(list, row);
    return tower_read(request, part, config, row, err) ? reason_put(row, err) : PE_OK;
}

/* Is an object of a config a model beside the one about text? */
static bool is_tower(const char *key, const json_t *value)
{
    static const char *const beginnings[] = {"vision", "visual", "vit", "image", "audio", "speech"};
    static const char ending[] = "_config";
    const size_t size = strlen(key), end = sizeof(ending) - 1;

    if (!json_is_object(value) || size < end || strcmp(key + size - end, ending) != 0)
        return false;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (strncmp(key, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return json_is_string(json_object_get(value, "model_type"));
}

/* Parts that have parts of their own are walked too: Qwen 2.5 Omni's thinker_config. */
static enum pe_status towers_put(struct api_request *request, json_t *config, const char *text,
                                 json_t *list, struct pe_error *err)
{
    const char *key;
    json_t *value;

    json_object_foreach(config, key, value)
    {
        const size_t size = strlen(key);
        const bool on_the_way =
            strncmp(text, key, size) == 0 && (text[size] == '.' || text[size] == '\0');
        if (on_the_way && text[size] == '.' &&
            towers_put(request, value, text + size + 1, list, err))
            return err->status;
        if (!on_the_way && is_tower(key, value) && tower_put(request, key, value, list, err))
            return err->status;
    }
    return PE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

enum pe_status api_config_whole_put(struct api_request *request, const struct pe_params *params,
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
    if (layers_put(request, params, answer, err) ||
        towers_put(request, config->top, pe_config_text_part(config->reading), towers, err)) {
        json_decref(towers);
        return err->status;
    }
    if (json_array_size(towers) > 0)
        json_object_set(answer, "towers", towers);
    json_decref(towers);
    json_object_set_new(answer, "unused", api_config_unused_json(config));
    return PE_OK;
}
