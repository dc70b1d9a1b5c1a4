/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/config/config.h"
#include "api/memory/json.h"
#include "api/response/etag.h"

/* Makes parts of an answer from the results of a reading. */

/* ---- errors and warnings --------------------------------------------------------------------- */

/* Writes the pointer to a key of a config, "pointer:/encoding/config/rope_scaling/factor", from the
 * pointer to the config and the dotted path of the key; cut to `size`. */
static void pointer_print(char *where, size_t size, const char *pointer, const char *path)
{
    size_t used = (size_t)snprintf(where, size, "pointer:%.64s/", pointer);

    for (; *path && used + 1 < size; path++)
        where[used++] = *path == '.' ? '/' : *path;
    where[used] = '\0';
}

enum pe_status api_config_fail(const struct api_config *config, struct pe_error *err)
{
    static const char key[] = "key:";
    char path[sizeof(err->where)];
    const bool at_key = strncmp(err->where, key, sizeof(key) - 1) == 0;

    memcpy(path, err->where, sizeof(path));
    if (at_key && config->pointer)
        pointer_print(err->where, sizeof(err->where), config->pointer, path + sizeof(key) - 1);
    else if (at_key || strcmp(path, "config") == 0)
        snprintf(err->where, sizeof(err->where), "parameter:config");
    return err->status;
}

void api_config_warnings_take(struct api_config *config)
{
    const char *text;

    for (; (text = pe_config_warning(config->reading, config->warnings_taken));
         config->warnings_taken++)
        json_array_append_new(config->warnings, json_string(text));
}

/* ---- sources and sizes ----------------------------------------------------------------------- */

static const char *source_text(const struct pe_config_source *source)
{
    switch (source->from) {
    case PE_CONFIG_GIVEN:
        return "request";
    case PE_CONFIG_MODEL:
        return "model_type";
    case PE_CONFIG_DEFAULT:
        return "default";
    case PE_CONFIG_KEY:
    case PE_CONFIG_DERIVED:
        break;
    }
    return source->key;
}

static void source_put(json_t *provenance, const struct pe_config_source *source)
{
    json_object_set_new(provenance, source->param, json_string(source_text(source)));
}

json_t *api_config_provenance_json(const struct api_config *config)
{
    json_t *provenance = json_object();
    const struct pe_config_source *source;

    for (size_t i = 0; (source = pe_config_source(config->reading, i)); i++)
        source_put(provenance, source);
    if ((source = pe_config_layout_source(config->reading)))
        source_put(provenance, source);
    return provenance;
}

static void path_put(void *list, const char *path)
{
    json_array_append_new(list, json_string(path));
}

json_t *api_config_unused_json(const struct api_config *config)
{
    json_t *list = json_array();

    pe_config_unused(config->reading, path_put, list);
    return list;
}

enum pe_status api_config_weights(struct api_config *config, json_t *encoding, struct pe_error *err)
{
    int64_t size;

    for (const char *const *name = (const char *const[]){"length", "dim", NULL}; *name; name++) {
        if (pe_config_size(config->reading, *name, &size, err))
            return api_config_fail(config, err);
        json_object_set_new(encoding, *name, json_integer(size));
    }
    api_config_warnings_take(config);
    return PE_OK;
}

void api_config_hash(const struct api_config *config, struct api_hash *hash)
{
    const json_t *warning;
    size_t i;

    json_array_foreach(config->warnings, i, warning)
        api_hash_text(hash, json_string_value(warning));
}

/* ---- attention ------------------------------------------------------------------------------- */

static void number_put(json_t *object, const char *key, double value)
{
    const bool whole = value == floor(value) && fabs(value) < 0x1p53;

    json_object_set_new(object, key, whole ? json_integer((json_int_t)value) : json_real(value));
}

/* Adds the scale as a number if it is set, or if the width of a head is known; dim 0: unknown. */
static void scale_put(json_t *object, const struct pe_attention_traits *traits, double dim)
{
    const double width = traits->width != 0 ? (double)traits->width : dim;
    const double scale = isnan(traits->scale) ? 1 / sqrt(width) : traits->scale;

    if (!isnan(traits->scale) || width > 0)
        number_put(object, "scale", scale * traits->scale_multiplier);
    if (traits->scale_over_layer)
        json_object_set_new(object, "scale_over_layer", json_true());
    if (traits->scales_bias)
        json_object_set_new(object, "scales_bias", json_true());
}

static void limits_put(json_t *object, const struct pe_attention_traits *traits)
{
    json_object_set_new(object, "causal", json_boolean(traits->causal));
    if (traits->softcap > 0)
        number_put(object, "softcap", traits->softcap);
    if (traits->window > 0)
        number_put(object, "window", (double)traits->window);
    if (traits->chunk > 0)
        number_put(object, "chunk", (double)traits->chunk);
    if (traits->sinks)
        json_object_set_new(object, "sinks", json_true());
    if (traits->temperature.strength > 0) {
        number_put(object, "temperature", traits->temperature.strength);
        number_put(object, "temperature_length", traits->temperature.length);
        number_put(object, "temperature_offset", traits->temperature.offset);
    }
}

static void norm_put(json_t *object, const struct pe_qk_norm *norm)
{
    static const char *const kinds[] = {"none", "rms", "layer"};
    static const char *const weights[] = {"none", "weight", "1 + weight"};
    json_t *qk_norm;

    if (!norm->kind)
        return;
    qk_norm = json_pack("{ss ss ss ss}", "kind", kinds[norm->kind], "weight", weights[norm->weight],
                        "rotation", norm->after ? "before" : "after", "over",
                        norm->whole ? "all heads" : "each head");
    if (norm->eps > 0)
        json_object_set_new(qk_norm, "eps", json_real(norm->eps));
    json_object_set_new(object, "qk_norm", qk_norm);
}

enum pe_status api_config_traits_json(struct api_config *config, const struct pe_config_kind *kind,
                                      double dim, json_t **out, struct pe_error *err)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};
    const struct pe_config_source *source;
    json_t *provenance;

    if (pe_config_kind_traits(config->reading, kind, &traits, err))
        return api_config_fail(config, err);
    *out = json_object();
    provenance = json_object();
    scale_put(*out, &traits, dim);
    limits_put(*out, &traits);
    norm_put(*out, &traits.qk_norm);
    for (size_t i = 0; (source = pe_config_trait_source(config->reading, i)); i++)
        json_object_set_new(provenance, source->param,
                            json_string(source->key ? source->key : "model_type"));
    if (json_object_size(provenance) > 0)
        json_object_set(*out, "provenance", provenance);
    json_decref(provenance);
    api_config_warnings_take(config);
    return PE_OK;
}

/* Returns the kind of layer_type. Without layer_type, and with nope_layers, returns the first kind
 * with attention and without rotation. If none matches, returns the usual kind. */
static const struct pe_config_kind *kind_of(const struct pe_config_kinds *kinds,
                                            const char *layer_type, bool nope_layers)
{
    const struct pe_config_kind *kind;

    for (size_t i = 0; (kind = pe_config_kind(kinds, i)); i++)
        if (layer_type ? kind->layer_type && strcmp(kind->layer_type, layer_type) == 0
                       : nope_layers && kind->attends && !kind->turns)
            return kind;
    return pe_config_kind(kinds, pe_config_kinds_usual(kinds));
}

/* Warns if other layers of the same type have a different window. */
static enum pe_status windows_warn(struct api_config *config, const struct pe_config_kind *kind,
                                   int64_t window, struct pe_error *err)
{
    const struct pe_config_kind *other;
    json_t *warning;

    for (size_t i = 0; (other = pe_config_kind(config->kinds, i)); i++)
        if (other->window != kind->window && other->layer_type && kind->layer_type &&
            strcmp(other->layer_type, kind->layer_type) == 0)
            break;
    if (!other)
        return PE_OK;
    warning = json_sprintf("layers of type %s have different windows, which /v1/config lists; "
                           "this answer has that of layer %d: %" JSON_INTEGER_FORMAT,
                           kind->layer_type, (int)kind->layers[0], (json_int_t)window);
    return json_array_append_new(config->warnings, warning)
               ? pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config")
               : PE_OK;
}

/* Warns if the config has another kind of layers with attention. */
static enum pe_status kind_warn(struct api_config *config, const struct pe_config_kind *kind,
                                struct pe_error *err)
{
    const struct pe_config_kind *other;
    json_t *warning;

    for (size_t i = 0; (other = pe_config_kind(config->kinds, i)); i++)
        if (other->attends && other->layer_type && kind->layer_type &&
            strcmp(other->layer_type, kind->layer_type) != 0)
            break;
    if (!other)
        return PE_OK;
    warning = json_sprintf("this answer is for attention layers of type %s; others are of type "
                           "%s: give layer_type",
                           kind->layer_type, other->layer_type);
    return json_array_append_new(config->warnings, warning)
               ? pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config")
               : PE_OK;
}

enum pe_status api_config_attention(struct api_request *request, struct api_config *config,
                                    bool nope_layers, bool scale_given,
                                    struct pe_attention_traits *traits, struct pe_error *err)
{
    const char *layer_type = pe_config_layer_meant(config->reading);
    const struct pe_config_kind *kind;

    if (api_config_kinds_find(request, config, err))
        return err->status;
    kind = kind_of(config->kinds, layer_type, nope_layers);
    if (pe_config_kind_traits(config->reading, kind, traits, err) ||
        pe_config_attention(config->reading, scale_given || traits->scale_multiplier != 1, err))
        return api_config_fail(config, err);
    api_config_warnings_take(config);
    if (windows_warn(config, kind, traits->window, err))
        return err->status;
    return layer_type ? PE_OK : kind_warn(config, kind, err);
}

/* ---- engines --------------------------------------------------------------------------------- */

json_t *api_config_readers_json(const struct api_config *config)
{
    struct pe_config_reader reader;
    json_t *readers = NULL;

    for (size_t i = 0; pe_config_reader(config->reading, i, &reader); i++) {
        json_t *engines = json_object_get(readers, reader.key);
        if (!readers)
            readers = json_object();
        if (!engines && (engines = json_object()) &&
            json_object_set_new(readers, reader.key, engines))
            engines = NULL; /* it is freed, and api_json_memory_failed is true */
        json_object_set_new(engines, reader.engine,
                            json_pack("{ss ss}", "reads", reader.reads, "source", reader.source));
    }
    return readers;
}
