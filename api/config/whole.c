/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "api/config/config.h"
#include "api/memory/json.h"

/* Configs as a whole: their kinds of layers, their parts, and what attention does. */

/* ---- reading --------------------------------------------------------------------------------- */

static void kinds_release(void *kinds)
{
    pe_config_kinds_free(kinds);
}

/* The type that has to be named for the layers that are meant where none is; NULL: none has. */
static const char *usual_type(const struct api_config *config)
{
    const struct pe_config_kind *usual =
        pe_config_kind(config->kinds, pe_config_kinds_usual(config->kinds));

    return pe_config_layer_type(config->values, 0) ? usual->layer_type : NULL;
}

static enum pe_status whole_read(struct api_request *request, struct api_config *config,
                                 bool strict, struct pe_error *err)
{
    const char *meant;

    if (pe_config_kinds_new(&config->kinds, config->values, err))
        return api_config_failed(config, err);
    if (!api_arena_defer(request->arena, kinds_release, config->kinds))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    meant = usual_type(config);
    if (api_config_read(request, config, meant, strict, err))
        return err->status;
    if (pe_config_layer_type(config->values, 1))
        json_array_append_new(
            config->warnings,
            json_sprintf("the layers of this config differ: `encoding` is that of %s, `layers` has "
                         "all of them; functions take layer_type",
                         meant));
    return PE_OK;
}

enum pe_status api_config_open_whole(struct api_request *request, struct pe_error *err)
{
    struct api_config *config;
    const char *layer_type;
    bool strict;

    if (api_config_find(request, true, &config, &layer_type, &strict, err))
        return err->status;
    if (config && (layer_type ? api_config_read(request, config, layer_type, strict, err)
                              : whole_read(request, config, strict, err)))
        return err->status;
    request->config = config;
    return PE_OK;
}

enum pe_status api_config_of_layer(struct api_request *request, const struct api_config *config,
                                   const char *layer_type, struct api_config **out,
                                   struct pe_error *err)
{
    struct api_config *other = api_arena_take(request->arena, sizeof(*other));

    if (!other)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    *other = (struct api_config){.top = config->top,
                                 .pointer = config->pointer,
                                 .values = config->values,
                                 .warnings = json_array()};
    if (!api_json_keep(request->arena, other->warnings))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    *out = other;
    return api_config_read(request, other, layer_type, config->strict, err);
}

enum pe_status api_config_of_part(struct api_request *request, json_t *part,
                                  struct api_config **out, struct pe_error *err)
{
    return api_config_make(request, part, NULL, out, err) || whole_read(request, *out, false, err)
               ? err->status
               : PE_OK;
}

/* ---- attention ------------------------------------------------------------------------------- */

static void number_put(json_t *object, const char *key, double value)
{
    const bool whole = value == floor(value) && fabs(value) < 0x1p53;

    json_object_set_new(object, key, whole ? json_integer((json_int_t)value) : json_real(value));
}

/* The scale as a number where the width of a head is known. */
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

static void sight_put(json_t *object, const struct pe_attention_traits *traits)
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
    json_t *told;

    if (!norm->kind)
        return;
    told = json_pack("{ss ss ss ss}", "kind", kinds[norm->kind], "weight", weights[norm->weight],
                     "rotation", norm->after ? "before" : "after", "over",
                     norm->whole ? "all heads" : "each head");
    if (norm->eps > 0)
        json_object_set_new(told, "eps", json_real(norm->eps));
    json_object_set_new(object, "qk_norm", told);
}

enum pe_status api_config_traits_told(struct api_config *config, const struct pe_config_kind *kind,
                                      double dim, json_t **out, struct pe_error *err)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};
    const struct pe_config_source *source;
    json_t *provenance;

    if (pe_config_kind_traits(config->reading, kind, &traits, err))
        return api_config_failed(config, err);
    *out = json_object();
    provenance = json_object();
    scale_put(*out, &traits, dim);
    sight_put(*out, &traits);
    norm_put(*out, &traits.qk_norm);
    for (size_t i = 0; (source = pe_config_trait_source(config->reading, i)); i++)
        json_object_set_new(provenance, source->param,
                            json_string(source->key ? source->key : "model_type"));
    if (json_object_size(provenance) > 0)
        json_object_set(*out, "provenance", provenance);
    json_decref(provenance);
    api_config_tell(config);
    return PE_OK;
}

/* ---- for attention --------------------------------------------------------------------------- */

/* The kind that is meant: of the type, else one that rotates, or does not. */
static const struct pe_config_kind *kind_of(const struct pe_config_kinds *kinds,
                                            const char *layer_type, bool still)
{
    const struct pe_config_kind *kind;

    for (size_t i = 0; (kind = pe_config_kind(kinds, i)); i++)
        if (layer_type ? kind->layer_type && strcmp(kind->layer_type, layer_type) == 0
                       : still && kind->attends && !kind->turns)
            return kind;
    return pe_config_kind(kinds, pe_config_kinds_usual(kinds));
}

/* Layers of one type that have several windows. */
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
    warning = json_sprintf("layers of type %s have several windows, which /v1/config tells: this "
                           "is the one of layer %d, %" JSON_INTEGER_FORMAT,
                           kind->layer_type, (int)kind->layers[0], (json_int_t)window);
    return json_array_append_new(config->warnings, warning)
               ? pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config")
               : PE_OK;
}

static enum pe_status kind_warn(struct api_config *config, const struct pe_config_kind *kind,
                                struct pe_error *err)
{
    const struct pe_config_kind *other;
    json_t *warning;

    for (size_t i = 0; (other = pe_config_kind(config->kinds, i)); i++)
        if (other != kind && other->attends && other->layer_type && kind->layer_type)
            break;
    if (!other)
        return PE_OK;
    warning = json_sprintf("attention is that of layers of type %s; others are of type %s: give "
                           "layer_type",
                           kind->layer_type, other->layer_type);
    return json_array_append_new(config->warnings, warning)
               ? pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config")
               : PE_OK;
}

enum pe_status api_config_attention(struct api_request *request, struct api_config *config,
                                    bool still, bool scale_given,
                                    struct pe_attention_traits *traits, struct pe_error *err)
{
    const char *layer_type = pe_config_layer_meant(config->reading);
    const struct pe_config_kind *kind;

    if (pe_config_kinds_new(&config->kinds, config->values, err))
        return api_config_failed(config, err);
    if (!api_arena_defer(request->arena, kinds_release, config->kinds))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the config");
    kind = kind_of(config->kinds, layer_type, still);
    if (pe_config_kind_traits(config->reading, kind, traits, err) ||
        pe_config_attention(config->reading, scale_given || traits->scale_multiplier != 1, err))
        return api_config_failed(config, err);
    api_config_tell(config);
    if (windows_warn(config, kind, traits->window, err))
        return err->status;
    return layer_type ? PE_OK : kind_warn(config, kind, err);
}

/* ---- engines --------------------------------------------------------------------------------- */

json_t *api_config_readers(const struct api_config *config)
{
    struct pe_config_reader reader;
    json_t *readers = NULL;

    for (size_t i = 0; pe_config_reader(config->reading, i, &reader); i++) {
        json_t *engines = json_object_get(readers, reader.key);
        if (!readers)
            readers = json_object();
        if (!engines)
            json_object_set_new(readers, reader.key, engines = json_object());
        json_object_set_new(engines, reader.engine,
                            json_pack("{ss ss}", "reads", reader.reads, "source", reader.source));
    }
    return readers;
}
