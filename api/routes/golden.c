/* SPDX-License-Identifier: MIT */
#include "api/routes/golden.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/config/config.h"
#include "api/memory/json.h"
#include "api/response/etag.h"

/* ---- tensors --------------------------------------------------------------------------------- */

static enum pe_status tensors_open(struct api_request *request, struct golden_kind *kind,
                                   double *bytes, struct pe_error *err)
{
    const struct pe_golden_spec spec = {.size = sizeof(spec),
                                        .scheme = kind->scheme,
                                        .layout = kind->layout,
                                        .softmax_scale = kind->scale,
                                        .positions = kind->positions,
                                        .positions_count = kind->positions_count};

    if (pe_golden_new(&kind->tensors, &spec, request->work, err))
        return err->status;
    for (int role = 0; role < PE_GOLDEN_ROLES; role++) {
        const struct pe_output *output = pe_golden_output(kind->tensors, (enum pe_golden_role)role);
        if (!output)
            continue;
        kind->outputs[role] = *output;
        kind->outputs[role].name =
            api_arena_print(request->arena, "%s%s", kind->prefix, output->name);
        if (!kind->outputs[role].name)
            return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
        *bytes += (double)output->rows * (double)output->row_elements *
                  (double)pe_dtype_info(output->dtype)->size;
    }
    return PE_OK;
}

/* Sets names and shapes of all tensors. PE_TOO_LARGE: they are more than a golden file may have. */
static enum pe_status outputs_set(struct api_request *request, struct golden *golden,
                                  struct pe_error *err)
{
    double bytes = 0;

    for (size_t i = 0; i < golden->count; i++)
        if (tensors_open(request, &golden->kinds[i], &bytes, err))
            return err->status;
    if (bytes <= GOLDEN_BYTES_MAX)
        return PE_OK;
    return pe_fail(err, PE_TOO_LARGE, "parameter:config",
                   "a golden file has at most %d bytes; this config's would have %.0f",
                   GOLDEN_BYTES_MAX, bytes);
}

/* ---- schemes --------------------------------------------------------------------------------- */

static void kind_release(void *what)
{
    struct golden_kind *kind = what;

    pe_golden_free(kind->tensors);
    pe_scheme_free(kind->scheme);
    pe_params_free(&kind->params);
}

static enum pe_status kinds_take(struct api_request *request, struct golden *golden,
                                 struct pe_error *err)
{
    golden->kinds = api_arena_take(request->arena, GOLDEN_KINDS_MAX * sizeof(*golden->kinds));
    golden->warnings = json_array();
    return golden->kinds && api_json_keep(request->arena, golden->warnings)
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
}

static enum pe_status kind_add(struct api_request *request, struct golden *golden,
                               struct golden_kind **out, struct pe_error *err)
{
    struct golden_kind *kind = &golden->kinds[golden->count];

    if (golden->count == GOLDEN_KINDS_MAX)
        return pe_fail(err, PE_TOO_LARGE, "parameter:config",
                       "a golden file has at most %d kinds of layers", GOLDEN_KINDS_MAX);
    *kind = (struct golden_kind){.prefix = "", .scale = NAN};
    if (!api_arena_defer(request->arena, kind_release, kind))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
    golden->count++;
    *out = kind;
    return PE_OK;
}

static enum pe_status rotary_check(const struct pe_encoding *encoding, const char *where,
                                   struct pe_error *err)
{
    if (pe_golden_takes(encoding, err))
        snprintf(err->where, sizeof(err->where), "%s", where);
    return err->status;
}

/* Copies the values of a scheme to the parameters of `encoding`, those that it has. */
static enum pe_status params_copy(const struct pe_scheme *scheme,
                                  const struct pe_encoding *encoding, struct pe_params *params,
                                  struct pe_error *err)
{
    const struct pe_params *from = pe_scheme_params(scheme);

    pe_params_init(params, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    for (size_t i = 0; i < from->count; i++) {
        const int index = pe_params_find(params, from->list[i].name);
        if (from->values[i].present && index >= 0 &&
            pe_params_set_value(params, (size_t)index, &from->list[i], &from->values[i], err))
            return err->status;
    }
    return PE_OK;
}

/* Text has equal coordinates, with which mrope rotates as rope does. */
static enum pe_status text_open(struct api_request *request, struct golden *golden,
                                struct golden_kind *kind, struct pe_error *err)
{
    const struct pe_encoding *rope = pe_encoding_find("rope");
    struct pe_params params = {0};
    struct pe_scheme *scheme = NULL;

    if (pe_scheme_axes(kind->scheme) == 0)
        return PE_OK;
    if (params_copy(kind->scheme, rope, &params, err) ||
        pe_scheme_open(&scheme, rope, &params, request->work, err)) {
        pe_params_free(&params);
        return err->status;
    }
    pe_scheme_free(kind->scheme);
    pe_params_free(&kind->params);
    kind->params = params;
    kind->scheme = scheme;
    json_array_append_new(golden->warnings,
                          json_string("positions are those of text, whose coordinates are equal: "
                                      "the sections of mrope are not tested"));
    return PE_OK;
}

static enum pe_status layout_read(const struct api_config *config, const struct pe_params *params,
                                  struct golden_kind *kind, struct pe_error *err)
{
    const char *known = pe_config_layout(config->reading);
    const struct pe_value *given = pe_param_value(params, "layout");

    if (!given->given && !known)
        return pe_fail(err, PE_MISSING, "parameter:layout",
                       "layout is required: the config's model is unknown");
    kind->layout = given->given                        ? (enum pe_layout)given->number
                   : strcmp(known, "interleaved") == 0 ? PE_LAYOUT_INTERLEAVED
                                                       : PE_LAYOUT_HALF;
    return PE_OK;
}

static enum pe_status config_open(struct api_request *request, struct api_config *config,
                                  struct golden_kind *kind, struct pe_error *err)
{
    const struct pe_encoding *encoding;

    if (pe_config_is_weights(config->reading))
        return pe_fail(err, PE_UNSUPPORTED, "parameter:config",
                       "the config describes %s, a table of weights, and nothing rotates",
                       config->name);
    if (api_config_encoding(config, &encoding, err) ||
        rotary_check(encoding, "parameter:config", err))
        return err->status;
    pe_params_init(&kind->params, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    return api_scheme_open(config, encoding, &kind->params, request->work, &kind->scheme, err);
}

/* ---- the description of a kind --------------------------------------------------------------- */

static json_t *layers_json(const struct pe_config_kinds *kinds, const char *layer_type)
{
    const struct pe_config_kind *kind;
    json_t *list = NULL;

    for (size_t i = 0; (kind = pe_config_kind(kinds, i)); i++) {
        const bool same =
            !layer_type || (kind->layer_type && !strcmp(kind->layer_type, layer_type));
        if (!same || !kind->turns || !kind->layers)
            continue;
        list = list ? list : json_array();
        for (size_t at = 0; at < kind->count; at++)
            json_array_append_new(list, json_integer((json_int_t)kind->layers[at]));
    }
    return list;
}

static json_t *positions_json(const struct golden_kind *kind)
{
    json_t *list = json_array();

    for (size_t i = 0; i < kind->positions_count; i++)
        json_array_append_new(list, json_integer((json_int_t)kind->positions[i]));
    return list;
}

static json_t *kind_json(const struct golden_kind *kind, const char *layer_type, json_t *layers)
{
    json_t *row = json_pack(
        "{ss so so so}", "prefix", kind->prefix, "encoding", api_scheme_json(kind->scheme),
        "layout", json_string(api_layout_name(kind->layout)), "positions", positions_json(kind));

    if (layer_type)
        json_object_set_new(row, "layer_type", json_string(layer_type));
    if (layers)
        json_object_set(row, "layers", layers);
    if (!isnan(kind->scale))
        json_object_set_new(row, "softmax_scale", json_real(kind->scale));
    return row;
}

/* ---- the kinds of a config ------------------------------------------------------------------- */

struct opening {
    struct api_request *request;
    struct golden *golden;
    const struct pe_params *params;
    double context; /* 0: that of the config */
    bool is_one;    /* all layers that rotate have the same positions */
};

/* The same layers where the whole sequence is longer than the scheme's length. */
static enum pe_status long_open(struct opening *opening, const struct golden_kind *usual,
                                double length, struct golden_kind *kind, struct pe_error *err)
{
    const struct pe_encoding *encoding = pe_scheme_encoding(usual->scheme);
    int index;

    kind->layout = usual->layout;
    kind->scale = usual->scale;
    if (params_copy(usual->scheme, encoding, &kind->params, err))
        return err->status;
    index = pe_params_find(&kind->params, "seq_len");
    return pe_params_set_number(&kind->params, (size_t)index, length, err) ||
                   pe_scheme_open(&kind->scheme, encoding, &kind->params, opening->request->work,
                                  err)
               ? err->status
               : PE_OK;
}

static const char *prefix_make(struct opening *opening, const char *layer_type, const char *length)
{
    const bool named = layer_type && !opening->is_one;

    return api_arena_print(opening->request->arena, "%s%s%s%s", named ? layer_type : "",
                           named ? "." : "", length, *length ? "." : "");
}

/* The scale of scores, by the traits of attention in the layers. */
static enum pe_status scale_read(struct api_config *config, const struct pe_config_kind *kind,
                                 struct golden_kind *row, struct pe_error *err)
{
    json_t *traits = NULL, *scale;

    if (api_config_traits_json(config, kind, (double)pe_scheme_head_dim(row->scheme), &traits, err))
        return err->status;
    scale = json_object_get(traits, "scale");
    row->scale = json_is_number(scale) && !json_object_get(traits, "scale_over_layer")
                     ? json_number_value(scale)
                     : NAN;
    json_decref(traits);
    return PE_OK;
}

/* Those of the reading: the others are about which layers it is of. */
static void warnings_add(struct golden *golden, const struct api_config *config)
{
    const char *warning;

    for (size_t i = 0; (warning = pe_config_warning(config->reading, i)); i++) {
        json_t *text = json_string(warning), *other;
        bool known = false;
        size_t at;
        json_array_foreach(golden->warnings, at, other) known = known || json_equal(other, text);
        if (!known)
            json_array_append(golden->warnings, text);
        json_decref(text);
    }
}

static enum pe_status kind_describe(struct opening *opening, struct api_config *config,
                                    const struct pe_config_kind *layers, struct pe_error *err)
{
    struct golden *golden = opening->golden;
    json_t *list = json_object_get(golden->description, "kinds"), *numbers;
    struct golden_kind *kind, *longer = NULL;
    double context = opening->context, edge, most;

    if (kind_add(opening->request, golden, &kind, err) ||
        config_open(opening->request, config, kind, err) ||
        text_open(opening->request, golden, kind, err) ||
        layout_read(config, opening->params, kind, err) || scale_read(config, layers, kind, err))
        return err->status;
    if (context == 0)
        context = pe_golden_context(kind->scheme, (double)pe_config_context(config->reading));
    if (context == 0)
        return pe_fail(err, PE_MISSING, "parameter:context",
                       "context is required: the config has no max_position_embeddings");
    edge = pe_golden_edge(kind->scheme);
    most = pe_scheme_length(kind->scheme);
    kind->prefix = prefix_make(opening, layers->layer_type, isinf(most) ? "" : "short");
    kind->positions_count =
        pe_golden_positions(edge, isinf(most) ? context : fmin(most, context), kind->positions);
    if (!isinf(most)) {
        const double length = context > most ? context : 2 * most;
        if (kind_add(opening->request, golden, &longer, err) ||
            long_open(opening, kind, length, longer, err))
            return err->status;
        longer->prefix = prefix_make(opening, layers->layer_type, "long");
        longer->positions_count = pe_golden_positions(edge, length, longer->positions);
    }
    numbers = layers_json(config->kinds ? config->kinds : opening->request->config->kinds,
                          opening->is_one ? NULL : layers->layer_type);
    json_array_append_new(list, kind_json(kind, layers->layer_type, numbers));
    if (longer)
        json_array_append_new(list, kind_json(longer, layers->layer_type, numbers));
    json_decref(numbers);
    warnings_add(golden, config);
    return kind->prefix && (!longer || longer->prefix)
               ? PE_OK
               : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
}

/* Has an earlier kind the same positions? */
static bool is_repeated(const struct pe_config_kinds *kinds, size_t index, bool is_one)
{
    const struct pe_config_kind *kind = pe_config_kind(kinds, index), *other;

    for (size_t i = 0; i < index; i++) {
        other = pe_config_kind(kinds, i);
        if (other->turns && other->attends &&
            (is_one || !kind->layer_type ||
             (other->layer_type && strcmp(other->layer_type, kind->layer_type) == 0)))
            return true;
    }
    return false;
}

static enum pe_status kinds_open(struct opening *opening, struct pe_error *err)
{
    struct api_config *top = opening->request->config, *config;
    const struct pe_config_kind *kind;

    for (size_t i = 0; (kind = pe_config_kind(top->kinds, i)); i++) {
        const bool usual = i == pe_config_kinds_usual(top->kinds) || !kind->layer_type;
        config = top;
        if (!kind->attends || !kind->turns || is_repeated(top->kinds, i, opening->is_one))
            continue;
        if ((!usual && !opening->is_one &&
             api_config_of_layer(opening->request, top, kind->layer_type, &config, err)) ||
            kind_describe(opening, config, kind, err))
            return err->status;
    }
    return opening->golden->count > 0
               ? PE_OK
               : pe_fail(err, PE_UNSUPPORTED, "parameter:config",
                         "no layer of this config rotates, so that there is nothing to compare");
}

static int hash_put(const char *bytes, size_t size, void *hash)
{
    api_hash_bytes(hash, bytes, size);
    return 0;
}

/* The hash of the config as JSON with sorted keys; of a GGUF file there is none. */
static json_t *config_hash(const struct api_config *config)
{
    struct api_hash hash;

    if (!config->top)
        return json_null();
    api_hash_start(&hash);
    if (json_dump_callback(config->top, hash_put, &hash, JSON_SORT_KEYS | JSON_COMPACT))
        return NULL;
    return json_sprintf("fnv1a-128:%016llx%016llx", (unsigned long long)(hash.state >> 64),
                        (unsigned long long)hash.state);
}

static json_t *description_new(const struct api_config *config)
{
    return json_pack(
        "{si so ss ss ss s{ss ss ss ss} s[]}", "format", GOLDEN_FORMAT, "config",
        config_hash(config), "axes",
        "q, k: tokens, heads, elements of a head; cos, sin: tokens, "
        "pairs; token t is at positions[t]",
        "values",
        "cos and sin include the attention factor; q_rotated and k_rotated are q and k "
        "rotated by it too",
        "inputs",
        "element i in row-major order of q (s = 1) and k (s = 2): x = (2654435761 i + "
        "2246822507 s) mod 2^32, (2 floor(x / 2^25) - 127) / 64; f32, f16 and bf16 have "
        "all of them",
        "errors", "inv_freq, inv_freq_f64, cos, sin, attention_factor",
        "the real number, rounded once to nearest, ties to even", "q_rotated, k_rotated",
        "half a unit in the last place, and 2^-49 times attention_factor", "softmax_scale",
        "operations of doubles, each rounded once", "positions, q, k", "exact", "kinds");
}

enum pe_status golden_of_config(struct api_request *request, double context,
                                const struct pe_params *params, struct golden *golden,
                                struct pe_error *err)
{
    struct opening opening = {
        .request = request, .golden = golden, .params = params, .context = context};

    opening.is_one = !pe_config_layer_type(request->config->values, 0);
    golden->description = description_new(request->config);
    if (!api_json_keep(request->arena, golden->description))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
    return kinds_take(request, golden, err) || kinds_open(&opening, err) ||
                   outputs_set(request, golden, err)
               ? err->status
               : PE_OK;
}

/* ---- a description, read back ---------------------------------------------------------------- */

static enum pe_status description_fail(struct pe_error *err, const char *what)
{
    return pe_fail(err, PE_INVALID, "parameter:golden",
                   "golden must be the description in the metadata of a golden file: %s", what);
}

static enum pe_status positions_read(const json_t *list, struct golden_kind *kind,
                                     struct pe_error *err)
{
    const size_t count = json_array_size(list);

    if (!json_is_array(list) || count == 0 || count > PE_GOLDEN_POSITIONS_MAX)
        return description_fail(err, "positions are a list of 1 to 16 numbers");
    for (size_t i = 0; i < count; i++) {
        const json_t *number = json_array_get(list, i);
        if (!json_is_integer(number) || json_integer_value(number) < 0 ||
            json_integer_value(number) >= (json_int_t)1 << 53)
            return description_fail(err, "positions are whole numbers from 0");
        kind->positions[i] = (double)json_integer_value(number);
    }
    kind->positions_count = count;
    return PE_OK;
}

static enum pe_status encoding_read(struct api_request *request, json_t *object, const char *at,
                                    struct golden_kind *kind, struct pe_error *err)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    const struct pe_encoding *encoding = name ? pe_encoding_find(name) : NULL;
    struct pe_params *sets[] = {&kind->params};

    if (!encoding)
        return description_fail(err, "encoding has no name that is known");
    if (rotary_check(encoding, "parameter:golden", err))
        return err->status;
    pe_params_init(&kind->params, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    if (api_bind_object(request, object, at, sets, 1, "name", err) ||
        pe_scheme_open(&kind->scheme, encoding, &kind->params, request->work, err))
        return err->status;
    return pe_scheme_axes(kind->scheme) == 0
               ? PE_OK
               : description_fail(err, "a position has several coordinates");
}

static enum pe_status kind_read(struct api_request *request, struct golden *golden, json_t *json,
                                size_t index, struct pe_error *err)
{
    const char *layout = json_string_value(json_object_get(json, "layout"));
    const json_t *prefix = json_object_get(json, "prefix");
    const json_t *scale = json_object_get(json, "softmax_scale");
    const char *at = api_arena_print(request->arena, "/golden/kinds/%zu/encoding", index);
    struct golden_kind *kind;

    if (!at || kind_add(request, golden, &kind, err))
        return err->status ? err->status
                           : pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for a golden file");
    if (!json_is_string(prefix) || !layout || (scale && !json_is_number(scale)))
        return description_fail(err, "each kind has prefix, encoding, layout and positions");
    kind->prefix = json_string_value(prefix);
    kind->scale = scale ? json_number_value(scale) : NAN;
    for (int known = PE_LAYOUT_HALF; known <= PE_LAYOUT_INTERLEAVED; known++)
        if (strcmp(layout, api_layout_name((enum pe_layout)known)) == 0) {
            kind->layout = (enum pe_layout)known;
            return positions_read(json_object_get(json, "positions"), kind, err) ||
                           encoding_read(request, json_object_get(json, "encoding"), at, kind, err)
                       ? err->status
                       : PE_OK;
        }
    return description_fail(err, "layout is half or interleaved");
}

enum pe_status golden_of_description(struct api_request *request, json_t *description,
                                     struct golden *golden, struct pe_error *err)
{
    json_t *kinds = json_object_get(description, "kinds"), *kind;
    size_t index;

    if (!json_is_array(kinds) || json_array_size(kinds) == 0)
        return description_fail(err, "it has no kinds");
    if (json_integer_value(json_object_get(description, "format")) != GOLDEN_FORMAT)
        return description_fail(err, "format is 1");
    golden->description = description;
    if (kinds_take(request, golden, err))
        return err->status;
    json_array_foreach(kinds, index, kind)
    {
        if (kind_read(request, golden, kind, index, err))
            return err->status;
    }
    return outputs_set(request, golden, err);
}

/* ---- computing ------------------------------------------------------------------------------- */

double golden_work(const struct golden *golden)
{
    double work = 0;

    for (size_t i = 0; i < golden->count; i++)
        work += pe_golden_work(golden->kinds[i].tensors);
    return work;
}

enum pe_status golden_compute(struct api_request *request, struct golden *golden,
                              struct pe_error *err)
{
    for (size_t i = 0; i < golden->count; i++)
        if (pe_golden_compute(golden->kinds[i].tensors, request->work, err))
            return err->status;
    return PE_OK;
}
