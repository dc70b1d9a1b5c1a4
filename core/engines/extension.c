/* SPDX-License-Identifier: MIT */
#include "posenc/extension.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/text.h"
#include "core/base/work.h"
#include "core/config/reading.h"
#include "core/engines/change.h"
#include "core/engines/rotation.h"

/* Makes the patches that scale the frequencies of a config, applies each to a copy, reads the copy
 * back, and compares its rotation with that of the config. A patch is offered only where the
 * reading has what was written and nothing else differs. */

enum { TYPES_MAX = 64, TEXT_SIZE = 400, READINGS = 12, FORMS = 2, FIRST_FORM = 4 };

static const char original_key[] = "original_max_position_embeddings";

/* Keys of a rope object that are written anew or have their own place in a form. */
static const char *const own_keys[] = {"rope_type", "type",       "rope_theta",
                                       "factor",    original_key, NULL};

/* The types of scaling that need no more than a factor and the config's context. */
static const struct scaling {
    const char *name, *read; /* as it is written, and the rope_type of its reading */
    bool has_original;       /* its object has the original context */
    bool keeps_context;      /* the context of the config is the original one */
} scalings[] = {
    {"yarn", "yarn", true, false},
    {"linear", "linear", false, false},
    {"dynamic", "dynamic", false, true},
    {"ntk", "ntk_fixed", false, false},
};

/* Layers with the same positions. */
struct type {
    const char *name; /* NULL: all that rotate */
    bool is_scaled;   /* the extension scales them */
    double base;
};

struct form {
    struct pe_config *patch, *changed; /* NULL: none */
    const char *reason;
};

struct pe_extension {
    struct pe_config_memory memory;
    const struct pe_config *config;
    const struct scaling *scaling;
    int64_t from, to;
    double factor;
    struct form forms[FORMS];
    struct pe_config *override; /* NULL: none */
    struct pe_extension_layers *layers;
    size_t layers_count;
};

/* An extension while it is made. */
struct making {
    struct pe_extension *extension;
    struct pe_config_scope scope;
    struct type types[TYPES_MAX];
    size_t types_count;
    bool is_by_type; /* rope_parameters has an object for each type */
    struct pe_engine_model before, after[FORMS];
    struct pe_error *err;
};

/* ---- one reading ----------------------------------------------------------------------------- */

/* What a reading has of the scaling. */
struct facts {
    char rope_type[40];
    const char *key; /* of the rope type, in `key_text`; "": no key has it */
    char key_text[PE_CONFIG_PATH_SIZE];
    double base, factor, original;
    int64_t context;
};

static double number_of(const struct pe_params *params, const char *name)
{
    const double number = pe_param_number(params, name);

    return isnan(number) ? 0 : number;
}

static void facts_take(const struct pe_config_reading *reading, const struct pe_scheme *scheme,
                       struct facts *facts)
{
    const struct pe_params *params = pe_scheme_params(scheme);
    const int index = pe_params_find(params, "rope_type");
    const struct pe_config_source *source = pe_config_source_find(reading, "rope_type");

    if (index >= 0)
        pe_choice_name(&params->list[index], (size_t)params->values[index].number, facts->rope_type,
                       sizeof(facts->rope_type));
    snprintf(facts->key_text, sizeof(facts->key_text), "%s",
             source && source->key ? source->key : "");
    facts->base = number_of(params, "base");
    facts->factor = number_of(params, "factor");
    facts->original = number_of(params, original_key);
    facts->context = pe_config_context(reading);
}

static enum pe_status rotary_check(const struct pe_config_reading *reading, struct pe_error *err)
{
    const char *name = pe_config_encoding(reading);

    if (pe_config_is_weights(reading))
        return pe_fail(err, PE_UNSUPPORTED, "config",
                       "its positions are a learned table: a longer one needs other weights");
    return strcmp(name, "rope") == 0 || strcmp(name, "mrope") == 0
               ? PE_OK
               : pe_fail(err, PE_UNSUPPORTED, "config",
                         "its encoding is %s, and scaling is of rotary frequencies along one axis",
                         name);
}

/* *rotates false: no layer of the type does, and there are no facts. */
static enum pe_status facts_read(const struct pe_config *config, const char *type,
                                 struct facts *facts, bool *rotates, struct pe_error *err)
{
    struct pe_config_reading *reading = NULL;
    struct pe_scheme *scheme = NULL;
    struct pe_params params = {0};

    *facts = (struct facts){0};
    *rotates = true;
    if (!pe_config_read(&reading, config, type, false, err) && !rotary_check(reading, err) &&
        !pe_config_scheme(&scheme, reading, &params, err))
        facts_take(reading, scheme, facts);
    pe_params_free(&params);
    pe_scheme_free(scheme);
    pe_config_reading_free(reading);
    if (type && err->status == PE_UNSUPPORTED && strcmp(err->where, "parameter:layer_type") == 0) {
        *rotates = false;
        *err = (struct pe_error){0};
    }
    return err->status;
}

/* ---- the config as it is --------------------------------------------------------------------- */

static enum pe_status scaled_refuse(const struct facts *facts, struct pe_error *err)
{
    const bool has_key = *facts->key_text;

    return pe_fail(err, PE_CONFLICT, "config",
                   "the config is scaled already: its rope_type is %s%s%s%s%s", facts->rope_type,
                   has_key ? " (" : "", facts->key_text, has_key ? ")" : "",
                   has_key ? "" : ", which is that of the class of its model");
}

static enum pe_status type_add(struct making *making, const char *name)
{
    struct facts facts;
    struct type *type = &making->types[making->types_count];
    const char *read = pe_config_layer_type(making->extension->config, 0) ? name : NULL;
    bool rotates;

    if (making->types_count == TYPES_MAX)
        return pe_fail(making->err, PE_TOO_LARGE, "config", "more than %d types of layers",
                       TYPES_MAX);
    if (facts_read(making->extension->config, read, &facts, &rotates, making->err) || !rotates)
        return making->err->status;
    if (strcmp(facts.rope_type, "default") != 0)
        return scaled_refuse(&facts, making->err);
    *type = (struct type){name, true, facts.base};
    making->types_count++;
    making->extension->from = facts.context;
    return PE_OK;
}

/* The types of layers whose positions differ, or that have a rope object each in the code of the
 * model. */
static enum pe_status types_read(struct making *making)
{
    static const char *const both[] = {"full_attention", "sliding_attention", NULL};
    const struct pe_config *config = making->extension->config;
    const bool differ = making->scope.model && making->scope.model->sliding != PE_SLIDING_SAME;
    const char *name;

    making->is_by_type = differ || pe_config_layer_type(config, 0);
    for (size_t i = 0; (name = pe_config_layer_type(config, i)); i++)
        if (type_add(making, name))
            return making->err->status;
    for (size_t i = 0; differ && !pe_config_layer_type(config, 0) && both[i]; i++)
        if (type_add(making, both[i]))
            return making->err->status;
    if (!making->is_by_type && type_add(making, NULL))
        return making->err->status;
    return making->types_count > 0 ? PE_OK
                                   : pe_fail(making->err, PE_UNSUPPORTED, "config",
                                             "none of its layers has rotary positions");
}

/* Layers whose window is within the context never compare positions farther apart. */
static void windows_apply(struct making *making)
{
    for (size_t i = 0; i < making->types_count; i++)
        for (size_t j = 0; j < making->before.count; j++) {
            const struct pe_engine_layers *layers = &making->before.layers[j];
            const char *name = making->types[i].name;
            if (name && layers->layer_type && strcmp(name, layers->layer_type) == 0 &&
                layers->window > 0 && layers->window <= making->extension->from)
                making->types[i].is_scaled = false;
        }
}

static enum pe_status target_check(const struct making *making)
{
    const struct pe_extension *extension = making->extension;

    if (extension->from <= 0)
        return pe_fail(making->err, PE_MISSING, "config",
                       "the config has no context to extend: it lacks max_position_embeddings");
    return extension->to > extension->from && extension->to < (int64_t)1 << 53
               ? PE_OK
               : pe_fail(making->err, PE_OUT_OF_RANGE, "parameter:to",
                         "to must be longer than the config's context, %lld positions, and below "
                         "2^53, got %lld",
                         (long long)extension->from, (long long)extension->to);
}

static enum pe_status scaling_find(struct pe_extension *extension, const char *name,
                                   struct pe_error *err)
{
    static const char *const searched[] = {"longrope", "llama3", "proportional", "custom", NULL};

    name = name ? name : scalings[0].name;
    for (size_t i = 0; i < sizeof(scalings) / sizeof(scalings[0]); i++)
        if (strcmp(scalings[i].name, name) == 0) {
            extension->scaling = &scalings[i];
            return PE_OK;
        }
    if (pe_config_lists(searched, name))
        return pe_fail(err, PE_INVALID, "parameter:type",
                       "%s has more values than a factor, which are chosen by search or in "
                       "training: type is yarn, linear, dynamic or ntk",
                       name);
    return pe_fail(err, PE_INVALID, "parameter:type",
                   "type must be yarn, linear, dynamic or ntk, got '%.40s'", name);
}

/* ---- patches --------------------------------------------------------------------------------- */

/* The object of a patch in the place of one of the config; NULL: an error. */
static struct pe_config_node *place_make(struct pe_config *patch, const struct pe_config_node *node,
                                         struct pe_error *err)
{
    struct pe_config_node *parent, *made = NULL;
    const struct pe_config_member *known;

    if (!node->owner)
        return pe_config_top(patch);
    parent = place_make(patch, node->owner->in, err);
    if (!parent)
        return NULL;
    known = pe_config_member(parent, node->owner->name.text);
    if (known)
        return known->value.as.node;
    pe_config_set_object(parent, node->owner->name.text, &made, err);
    return made;
}

static enum pe_status whole_or_number_set(struct pe_config_node *into, const char *key,
                                          double number, struct pe_error *err)
{
    return floor(number) == number && fabs(number) < 0x1p53
               ? pe_config_set_integer(into, key, (int64_t)number, err)
               : pe_config_set_number(into, key, number, err);
}

/* Members of the config's own rope object that the change leaves, such as mrope_section. */
static enum pe_status others_copy(const struct pe_config_node *rope, const char *except,
                                  struct pe_config_node *into, struct pe_error *err)
{
    for (const struct pe_config_member *at = rope ? rope->first : NULL; at; at = at->next)
        if (!pe_config_lists(own_keys, at->name.text) && !pe_config_object(at) &&
            at->value.kind != PE_CONFIG_NULL && (!except || strcmp(except, at->name.text) != 0) &&
            pe_config_value_copy(&at->value, into, at->name.text, err))
            return err->status;
    return PE_OK;
}

static enum pe_status scaling_put(const struct pe_extension *extension, struct pe_config_node *into,
                                  struct pe_error *err)
{
    if (pe_config_set_text(into, "rope_type", extension->scaling->name, err) ||
        pe_config_set_number(into, "factor", extension->factor, err))
        return err->status;
    return extension->scaling->has_original
               ? pe_config_set_integer(into, original_key, extension->from, err)
               : PE_OK;
}

/* Sets each key of the context. */
static enum pe_status contexts_set(const struct making *making, struct pe_config *patch)
{
    const struct pe_extension *extension = making->extension;
    const struct pe_config_node *places[] = {making->scope.text, making->scope.top};
    const size_t count = places[0] == places[1] ? 1 : 2;

    for (size_t i = 0; i < count; i++)
        for (const char *const *key = pe_config_context_keys; *key; key++) {
            const struct pe_config_member *member = pe_config_member(places[i], *key);
            struct pe_config_node *into;
            if (!member || !pe_config_is_number(&member->value))
                continue;
            into = place_make(patch, places[i], making->err);
            if (!into || pe_config_set_integer(into, *key, extension->to, making->err))
                return making->err->status;
        }
    return PE_OK;
}

/* Sets each key of the context, and an original context beside it. */
static enum pe_status context_put(const struct making *making, struct pe_config *patch)
{
    const struct pe_extension *extension = making->extension;

    if (!extension->scaling->keeps_context && contexts_set(making, patch))
        return making->err->status;
    if (extension->scaling->has_original && pe_config_member(making->scope.text, original_key)) {
        struct pe_config_node *into = place_make(patch, making->scope.text, making->err);
        if (!into || pe_config_set_integer(into, original_key, extension->from, making->err))
            return making->err->status;
    }
    return PE_OK;
}

/* The object that has the rope object, or is to have it. */
static const struct pe_config_node *rope_place(const struct making *making)
{
    const struct pe_config_node *rope = making->scope.rope;

    return rope && rope->owner ? rope->owner->in : making->scope.text;
}

static bool is_rope_parameters(const struct pe_config_node *rope)
{
    return rope && rope->owner && strcmp(rope->owner->name.text, "rope_parameters") == 0;
}

/* rope_scaling; what rope_parameters had beside its scaling goes beside it. */
static enum pe_status old_form_put(const struct making *making, struct pe_config *patch)
{
    static const char part[] = "partial_rotary_factor";
    const struct pe_config_node *rope = making->scope.rope;
    const struct pe_config_member *member = pe_config_member(rope, part);
    const bool moves = is_rope_parameters(rope);
    struct pe_error *err = making->err;
    struct pe_config_node *into = place_make(patch, rope_place(making), err), *scaling;

    if (!into || pe_config_set_object(into, "rope_scaling", &scaling, err) ||
        others_copy(rope, moves ? part : NULL, scaling, err) ||
        scaling_put(making->extension, scaling, err))
        return err->status;
    if (!moves)
        return context_put(making, patch);
    if (pe_config_set_null(into, "rope_parameters", err) ||
        whole_or_number_set(into, "rope_theta", making->types[0].base, err) ||
        (member && pe_config_value_copy(&member->value, into, part, err)))
        return err->status;
    return context_put(making, patch);
}

/* One rope object of the form of transformers 5. */
static enum pe_status rope_put(const struct making *making, const struct type *type,
                               const struct pe_config_node *old, struct pe_config_node *into)
{
    static const char part[] = "partial_rotary_factor";
    const struct pe_config_member *beside = pe_config_member(making->scope.text, part);
    struct pe_error *err = making->err;

    if (others_copy(old, NULL, into, err) ||
        whole_or_number_set(into, "rope_theta", type->base, err) ||
        (type->is_scaled ? scaling_put(making->extension, into, err)
                         : pe_config_set_text(into, "rope_type", "default", err)))
        return err->status;
    return beside && beside->value.kind != PE_CONFIG_NULL && !pe_config_member(into, part)
               ? pe_config_value_copy(&beside->value, into, part, err)
               : PE_OK;
}

static enum pe_status ropes_put(const struct making *making, struct pe_config_node *into)
{
    const struct pe_config_node *rope = making->scope.rope;

    if (!making->is_by_type)
        return rope_put(making, &making->types[0], rope, into);
    if (others_copy(rope, NULL, into, making->err))
        return making->err->status;
    for (size_t i = 0; i < making->types_count; i++) {
        const struct type *type = &making->types[i];
        struct pe_config_node *inner;
        if (pe_config_set_object(into, type->name, &inner, making->err) ||
            rope_put(making, type, pe_config_object(pe_config_member(rope, type->name)), inner))
            return making->err->status;
    }
    return PE_OK;
}

/* vLLM's dynamic scaling is of all layers, and its yarn with mrope has another ramp. */
static bool has_override(const struct making *making)
{
    if (making->extension->scaling->keeps_context)
        return !making->is_by_type;
    return !making->extension->scaling->has_original ||
           !pe_config_member(making->scope.rope, "mrope_section");
}

/* What vLLM needs beside the rope object: a context that is not shorter than its --max-model-len,
 * for dynamic scaling too, and then the context before, by which it computes the base. */
static enum pe_status override_put(const struct making *making, struct pe_config *patch,
                                   struct pe_config_node *rope)
{
    const struct pe_extension *extension = making->extension;

    if (extension->scaling->keeps_context &&
        pe_config_set_integer(rope, "max_trained_positions", extension->from, making->err))
        return making->err->status;
    return contexts_set(making, patch);
}

static enum pe_status new_form_put(const struct making *making, struct pe_config *patch,
                                   bool is_override)
{
    const struct pe_config_node *place = rope_place(making);
    struct pe_config_node *into = place_make(patch, place, making->err), *rope;

    if (!into || pe_config_set_object(into, "rope_parameters", &rope, making->err) ||
        ropes_put(making, rope))
        return making->err->status;
    if (is_override)
        return override_put(making, patch, rope);
    if (pe_config_member(place, "rope_scaling") &&
        pe_config_set_null(into, "rope_scaling", making->err))
        return making->err->status;
    return context_put(making, patch);
}

/* ---- reading back ---------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static enum pe_status
reject(const struct making *making, struct form *form, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;

    va_start(args, format);
    pe_text_vprint(text, sizeof(text), format, args);
    va_end(args);
    form->reason = pe_config_copy(&making->extension->memory, text);
    return form->reason ? PE_OK : pe_no_memory(making->err, "the reason of an extension");
}

static enum pe_status error_reject(const struct making *making, struct form *form)
{
    char detail[sizeof(making->err->detail)];

    if (pe_work_failed(making->extension->memory.work, making->err))
        return making->err->status;
    snprintf(detail, sizeof(detail), "%s", making->err->detail);
    *making->err = (struct pe_error){0};
    return reject(making, form, "the patched config is refused: %s", detail);
}

/* Has each scaled type what was written? */
static enum pe_status type_check(const struct making *making, struct form *form, const char *type,
                                 size_t *scaled)
{
    const struct pe_extension *extension = making->extension;
    const struct scaling *scaling = extension->scaling;
    const double context = (double)(scaling->keeps_context ? extension->from : extension->to);
    struct facts facts;
    bool rotates;

    if (facts_read(form->changed, type, &facts, &rotates, making->err))
        return error_reject(making, form);
    if (!rotates || strcmp(facts.rope_type, "default") == 0)
        return PE_OK;
    if (strcmp(facts.rope_type, scaling->read) != 0 || facts.factor != extension->factor)
        return reject(making, form, "the patched config is read as %s with factor %g",
                      facts.rope_type, facts.factor);
    if (scaling->has_original && facts.original != (double)extension->from)
        return reject(making, form,
                      "the code of its model takes %g for original_max_position_embeddings, and "
                      "not the config's context, %lld",
                      facts.original, (long long)extension->from);
    if ((double)facts.context != context)
        return reject(making, form, "the context of the patched config is read as %lld",
                      (long long)facts.context);
    ++*scaled;
    return PE_OK;
}

static enum pe_status types_check(const struct making *making, struct form *form)
{
    const char *model = pe_config_model_type(&making->scope);
    size_t scaled = 0;
    const char *type = pe_config_layer_type(form->changed, 0);

    for (size_t i = 0; !i || type; type = pe_config_layer_type(form->changed, ++i))
        if (type_check(making, form, type, &scaled) || form->reason)
            return making->err->status;
    return scaled > 0 ? PE_OK
                      : reject(making, form, "the code of %s reads no scaling in this form",
                               model ? model : "its model");
}

/* Does a kind of layers differ in more than its frequencies and factor? */
static bool differs_otherwise(const struct pe_engine_layers *before,
                              const struct pe_engine_layers *after)
{
    const struct pe_engine_rotation *one = &before->rotations[0], *other = &after->rotations[0];

    if (before->rotates != after->rotates)
        return true;
    return before->rotates &&
           (one->pairs != other->pairs || one->base != other->base ||
            (one->layout && other->layout && strcmp(one->layout, other->layout) != 0));
}

static enum pe_status models_check(const struct making *making, struct form *form,
                                   const struct pe_engine_model *after)
{
    for (size_t i = 0; i < after->count; i++) {
        const struct pe_engine_layers *layers = &after->layers[i],
                                      *old = pe_engine_layers_match(layers, &making->before);
        if (old && differs_otherwise(old, layers))
            return reject(making, form,
                          "in this form the code of its model rotates %zu pairs with base %.10g, "
                          "and %zu with base %.10g before",
                          layers->rotations[0].pairs, layers->rotations[0].base,
                          old->rotations[0].pairs, old->rotations[0].base);
    }
    return PE_OK;
}

/* The last form whose rotation the others must have: that of the config itself. */
static enum pe_status forms_agree(struct making *making, size_t own)
{
    struct form *other = &making->extension->forms[!own];
    struct pe_engine_difference difference;

    if (!making->extension->forms[own].changed || !other->changed || other->reason ||
        making->extension->forms[own].reason)
        return PE_OK;
    for (size_t i = 0; i < making->after[own].count; i++) {
        const struct pe_engine_layers *layers = &making->after[own].layers[i],
                                      *match = pe_engine_layers_match(layers, &making->after[!own]);
        if (match && pe_engine_layers_differ(&making->after[own], layers, match, &difference))
            return reject(making, other,
                          "the layers of this form would rotate otherwise than "
                          "those of the config's own form");
    }
    return PE_OK;
}

static enum pe_status patch_make(const struct making *making, size_t form, struct pe_config *patch)
{
    return form == 0 ? old_form_put(making, patch) : new_form_put(making, patch, false);
}

static enum pe_status form_make(struct making *making, size_t number)
{
    struct pe_extension *extension = making->extension;
    struct form *form = &extension->forms[number];
    struct pe_error *err = making->err;

    if (number == 0 && making->is_by_type && is_rope_parameters(making->scope.rope))
        return reject(making, form, "transformers 4 has no rope object for each type of layers");
    if (pe_config_new(&form->patch, extension->memory.work, err) ||
        patch_make(making, number, form->patch) ||
        pe_config_new(&form->changed, extension->memory.work, err) ||
        pe_config_merge(extension->config->top, form->patch->top, form->changed->top, err))
        return err->status;
    if (types_check(making, form) || form->reason)
        return err->status;
    if (pe_engine_model_read(&making->after[number], form->changed, &making->before,
                             &extension->memory, err))
        return error_reject(making, form);
    return models_check(making, form, &making->after[number]);
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void pairs_compare(const struct pe_engine_rotation *before,
                          const struct pe_engine_rotation *after,
                          struct pe_extension_layers *layers)
{
    double worst = 0;

    for (size_t i = 0; i < after->pairs; i++) {
        const double change = fabs(after->frequencies[i] - before->frequencies[i]);
        if (change == 0)
            continue;
        if (layers->pairs++ == 0)
            layers->first = i;
        layers->last = i;
        worst = fmax(worst, change);
    }
    layers->of = after->pairs;
    layers->radians = worst * (double)layers->at;
    layers->factor_before = before->factor;
    layers->factor_after = after->factor;
    layers->cache = layers->pairs > 0                 ? PE_CACHE_VOID
                    : before->factor != after->factor ? PE_CACHE_SCALED
                                                      : PE_CACHE_VALID;
}

static enum pe_status layers_make(struct making *making, const struct pe_engine_model *after)
{
    struct pe_extension *extension = making->extension;

    extension->layers =
        pe_config_take(&extension->memory, (after->count + 1) * sizeof(*extension->layers));
    if (!extension->layers)
        return pe_no_memory(making->err, "the layers of an extension");
    for (size_t i = 0; i < after->count; i++) {
        const struct pe_engine_layers *layers = &after->layers[i],
                                      *old = pe_engine_layers_match(layers, &making->before);
        struct pe_extension_layers *row = &extension->layers[extension->layers_count++];
        *row = (struct pe_extension_layers){.count = layers->count,
                                            .rotates = layers->rotates,
                                            .at = extension->to - 1,
                                            .factor_before = 1,
                                            .factor_after = 1};
        row->layer_type =
            layers->layer_type ? pe_config_copy(&extension->memory, layers->layer_type) : NULL;
        if (layers->numbers) {
            size_t *numbers =
                pe_config_take(&extension->memory, (layers->count + 1) * sizeof(*numbers));
            if (!numbers)
                return pe_no_memory(making->err, "the layers of an extension");
            memcpy(numbers, layers->numbers, layers->count * sizeof(*numbers));
            row->numbers = numbers;
        }
        if (layers->layer_type && !row->layer_type)
            return pe_no_memory(making->err, "the layers of an extension");
        if (layers->rotates && old)
            pairs_compare(&old->rotations[0], &layers->rotations[0], row);
    }
    return PE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Refuses where no form is left. */
static enum pe_status forms_check(const struct making *making, size_t own)
{
    const struct form *forms = making->extension->forms;

    return !forms[0].reason || !forms[1].reason
               ? PE_OK
               : pe_fail(making->err, PE_UNSUPPORTED, "config", "%s", forms[own].reason);
}

static enum pe_status all_make(struct making *making)
{
    struct pe_extension *extension = making->extension;
    const struct pe_engine_model target = {.lengths = {extension->to, 0}, .lengths_count = 1};
    const size_t own = pe_engine_form_of(&making->scope) == 5;
    size_t form;

    if (types_read(making) || target_check(making) ||
        pe_engine_model_read(&making->before, extension->config, &target, &extension->memory,
                             making->err))
        return making->err->status;
    extension->factor = (double)extension->to / (double)extension->from;
    windows_apply(making);
    if (form_make(making, 0) || form_make(making, 1) || forms_agree(making, own) ||
        forms_check(making, own))
        return making->err->status;
    form = extension->forms[own].reason ? !own : own;
    if (!extension->forms[1].reason && has_override(making) &&
        (pe_config_new(&extension->override, extension->memory.work, making->err) ||
         new_form_put(making, extension->override, true)))
        return making->err->status;
    return layers_make(making, &making->after[form]);
}

enum pe_status pe_extension_new(struct pe_extension **out, const struct pe_config *config,
                                int64_t to, const char *rope_type, struct pe_work *work,
                                struct pe_error *err)
{
    struct making making = {.err = err};
    struct pe_extension *extension = *out = calloc(1, sizeof(*extension));

    if (!extension)
        return pe_no_memory(err, "an extension of a config");
    extension->memory.work = work;
    extension->config = config;
    extension->to = to;
    if (config->models)
        return pe_fail(err, PE_UNSUPPORTED, "config",
                       "a GGUF file is not patched: extend the config.json of its model");
    if (scaling_find(extension, rope_type, err))
        return err->status;
    making.extension = extension;
    making.scope = pe_config_scope_of(config);
    making.scope.rope = pe_config_rope(&making.scope);
    all_make(&making);
    pe_engine_model_release(&making.before);
    pe_engine_model_release(&making.after[0]);
    pe_engine_model_release(&making.after[1]);
    return err->status;
}

void pe_extension_free(struct pe_extension *extension)
{
    if (!extension)
        return;
    for (size_t i = 0; i < FORMS; i++) {
        pe_config_free(extension->forms[i].patch);
        pe_config_free(extension->forms[i].changed);
    }
    pe_config_free(extension->override);
    pe_config_memory_free(&extension->memory);
    free(extension);
}

double pe_extension_work(const struct pe_config *config)
{
    return READINGS * pe_config_read_work(config);
}

/* ---- the result ------------------------------------------------------------------------------ */

const char *pe_extension_type(const struct pe_extension *extension)
{
    return extension->scaling->name;
}

int64_t pe_extension_from(const struct pe_extension *extension)
{
    return extension->from;
}

double pe_extension_factor(const struct pe_extension *extension)
{
    return extension->factor;
}

/* NULL: there is no such form. */
static const struct form *form_at(const struct pe_extension *extension, int form)
{
    return form >= FIRST_FORM && form < FIRST_FORM + FORMS ? &extension->forms[form - FIRST_FORM]
                                                           : NULL;
}

const struct pe_config_node *pe_extension_patch(const struct pe_extension *extension, int form)
{
    const struct form *found = form_at(extension, form);

    return found && !found->reason ? found->patch->top : NULL;
}

const struct pe_config *pe_extension_config(const struct pe_extension *extension, int form)
{
    const struct form *found = form_at(extension, form);

    return found && !found->reason ? found->changed : NULL;
}

const char *pe_extension_reason(const struct pe_extension *extension, int form)
{
    const struct form *found = form_at(extension, form);

    return found ? found->reason : "the forms are 4 and 5";
}

const struct pe_extension_layers *pe_extension_layers(const struct pe_extension *extension,
                                                      size_t index)
{
    return index < extension->layers_count ? &extension->layers[index] : NULL;
}

const struct pe_config_node *pe_extension_override(const struct pe_extension *extension)
{
    return extension->override ? extension->override->top : NULL;
}
