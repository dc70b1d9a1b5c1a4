/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/sanitizer.h"
#include "core/config/reading.h"

/* The layers of a model: one by one, with their types (by a list of the config, else by the rule of
 * the model's class) and which of them rotate; the rope object of those that are described; and the
 * kinds of layers. */

enum { LAYERS_MAX = 1 << 16 };

/* Keys of the number of layers, for models without a row in model_layers.def. */
static const char *const count_keys[] = {"num_hidden_layers",  "n_layer", "n_layers", "num_layers",
                                         "num_decoder_layers", NULL};

/* Keys by which the code of a model chooses the layers that rotate. */
static const char rotating_list_key[] = "no_rope_layers";
static const char rotating_interval_key[] = "no_rope_layer_interval";
static const char rotating_switch_key[] = "use_mem_rope";
static const char bases_key[] = "layer_rope_theta";

/* Keys of lists of the types of layers. */
static const char *const types_keys[] = {"layer_types", "layers_block_type"};

/* Types of layers without attention. */
static const char *const without_attention[] = {
    "linear_attention",    "mamba",      "mamba2", "conv", "recurrent", "moe", "mlp", "rwkv",
    "lightning_attention", "short_conv", NULL};

static const char full_attention[] = "full_attention";
static const char sliding_attention[] = "sliding_attention";

struct layer {
    const char *type; /* "full_attention"; NULL: the layers have no types */
    bool attends, rotates;
    int64_t window; /* where layers of its type have several; 0: that of its type */
};

struct layer_list {
    struct layer *layers; /* in the memory */
    size_t count;         /* 0: unknown */
    bool types_unknown;   /* the layers have types, but which is unknown */
};

/* Compares names of types; NULL is a name too. */
static bool same_type(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool is_true(const struct pe_config_value *value)
{
    return pe_config_is_number(value)      ? pe_config_number(value) != 0
           : value->kind == PE_CONFIG_BOOL ? value->as.truth
                                           : value->kind != PE_CONFIG_NULL;
}

static bool is_whole(const struct pe_config_value *value)
{
    const double number = pe_config_number(value);

    return pe_config_is_number(value) && number >= 0 && floor(number) == number;
}

/* ---- the number of layers, and their types as the config lists them -------------------------- */

static bool is_count(const struct pe_config_value *value)
{
    const double number = pe_config_number(value);

    return is_whole(value) && number >= 1 && number <= LAYERS_MAX;
}

static size_t count_in(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_effective found = pe_config_effective(scope, key);

    return is_count(&found.value) ? (size_t)pe_config_number(&found.value) : 0;
}

static size_t count_of(const struct pe_config_scope *scope)
{
    const struct pe_config_layers *row = pe_config_layers_of(scope);

    if (row)
        return count_in(scope, row->count_key);
    for (const char *const *at = count_keys; *at; at++)
        if (count_in(scope, *at))
            return count_in(scope, *at);
    return 0;
}

/* A list of the config that is neither empty nor too long; NULL: none. */
static const struct pe_config_node *list_of(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_member *member = pe_config_member(scope->text, key);
    const struct pe_config_node *list =
        member && member->value.kind == PE_CONFIG_LIST ? member->value.as.node : NULL;

    return list && list->count > 0 && list->count <= LAYERS_MAX ? list : NULL;
}

static bool are_names(const struct pe_config_node *list)
{
    for (const struct pe_config_item *at = list->first_item; at; at = at->next)
        if (at->value.kind != PE_CONFIG_TEXT)
            return false;
    return true;
}

/* The key of the list of types that is read. */
static const char *types_key(const struct pe_config_scope *scope)
{
    return types_keys[list_of(scope, types_keys[0]) ? 0 : 1];
}

static const struct pe_config_node *types_of(const struct pe_config_scope *scope)
{
    const struct pe_config_node *types = list_of(scope, types_key(scope));

    return types && are_names(types) ? types : NULL;
}

/* ---- the layers that rotate ------------------------------------------------------------------ */

static void rotating_by_list(const struct pe_config_node *list, struct layer_list *out)
{
    size_t at = 0;

    for (const struct pe_config_item *item = list->first_item; item && at < out->count;
         item = item->next)
        out->layers[at++].rotates = is_true(&item->value);
}

/* The last of each `interval` layers has no positions. */
static void rotating_by_interval(size_t interval, struct layer_list *out)
{
    for (size_t i = 0; i < out->count && interval > 0; i++)
        out->layers[i].rotates = (i + 1) % interval != 0;
}

static void rotating_by_keys(const struct pe_config_scope *scope, struct layer_list *out)
{
    const struct pe_config_effective list = pe_config_effective(scope, rotating_list_key),
                                     whether = pe_config_effective(scope, rotating_switch_key),
                                     bases = pe_config_effective(scope, bases_key);
    const struct pe_config_effective interval = pe_config_effective(scope, rotating_interval_key);

    for (size_t i = 0; i < out->count && whether.value.kind == PE_CONFIG_BOOL; i++)
        out->layers[i].rotates = whether.value.as.truth;
    if (bases.value.kind == PE_CONFIG_LIST)
        rotating_by_list(bases.value.as.node, out);
    if (list.value.kind == PE_CONFIG_LIST && list.value.as.node->count > 0)
        rotating_by_list(list.value.as.node, out);
    else if (is_count(&interval.value))
        rotating_by_interval((size_t)pe_config_number(&interval.value), out);
}

/* A type whose member of the rope object is null has no positions. */
static bool is_null(const struct pe_config_scope *scope, const char *type)
{
    const struct pe_config_member *member = pe_config_member_at(scope->rope, type, strlen(type));

    return member && member->value.kind == PE_CONFIG_NULL;
}

static bool is_rotating(const struct pe_config_layers *row, const char *type)
{
    for (size_t i = 0; i < PE_ROTATING_TYPES_MAX && row->rotating[i]; i++)
        if (strcmp(type, row->rotating[i]) == 0)
            return true;
    return false;
}

/* In some models only layers of certain types rotate. */
static void rotating_by_type(const struct pe_config_scope *scope, struct layer_list *out)
{
    const struct pe_config_layers *row = pe_config_class_of(scope);
    const struct pe_config_effective window = pe_config_effective(scope, "sliding_window");
    const bool by_type = row->rotating[0] &&
                         !(row->all_rotate_without_window && window.value.kind == PE_CONFIG_NULL);

    for (size_t i = 0; i < out->count; i++) {
        struct layer *layer = &out->layers[i];
        if (!layer->type)
            continue;
        if (by_type)
            layer->rotates = is_rotating(row, layer->type);
        layer->rotates &= layer->attends && !is_null(scope, layer->type);
    }
}

/* ---- types by the rule of a class ------------------------------------------------------------ */

/* A rule of model_layers.def with the values that its keys have. */
struct rule {
    const struct pe_layer_rule *row;
    const char *pattern; /* a period as text, "LLLG"; "": none */
    size_t pattern_size;
    size_t period; /* 0: none */
    struct pe_config_value from, until;
    bool off;
};

/* A whole number, or a text that has a letter for each layer of a period. */
static bool is_period(const struct pe_config_value *value)
{
    return is_whole(value) || (value->kind == PE_CONFIG_TEXT && *value->as.text &&
                               strspn(value->as.text, "LG") == strlen(value->as.text));
}

/* No period above LAYERS_MAX repeats within the layers. */
static void period_set(const struct pe_config_value *value, struct rule *rule)
{
    const double period = pe_config_number(value);

    if (!is_period(value))
        return;
    if (value->kind == PE_CONFIG_TEXT) {
        rule->pattern = value->as.text;
        rule->pattern_size = strlen(value->as.text);
    }
    if (period >= 1)
        rule->period = period < 2 * LAYERS_MAX ? (size_t)period : 2 * LAYERS_MAX;
}

static struct rule rule_of(const struct pe_config_scope *scope, const struct pe_layer_rule *row)
{
    struct rule rule = {.row = row, .period = (size_t)row->period};
    struct pe_config_effective found;

    if (row->period_key) {
        found = pe_config_effective(scope, row->period_key);
        period_set(&found.value, &rule);
    }
    if (row->from_key)
        rule.from = pe_config_effective(scope, row->from_key).value;
    if (row->until_key)
        rule.until = pe_config_effective(scope, row->until_key).value;
    if (row->switch_key) {
        found = pe_config_effective(scope, row->switch_key);
        rule.off = !is_true(&found.value);
    }
    return rule;
}

/* Is layer i of the other type? */
static bool is_other(const struct rule *rule, const struct layer *layer, size_t i, size_t count)
{
    if (rule->off ||
        (pe_config_is_number(&rule->until) && (double)i >= pe_config_number(&rule->until)))
        return false;
    if (rule->row->by_rotation)
        return !layer->rotates;
    if (rule->row->last && i + 1 == count)
        return true;
    if (pe_config_is_number(&rule->from))
        return (double)i >= pe_config_number(&rule->from);
    if (rule->pattern_size > 0)
        return rule->pattern[i % rule->pattern_size] == 'G' || i + 1 == count;
    if (rule->period == 0)
        return false;
    return (i + (size_t)((long)rule->period - rule->row->at)) % rule->period == 0;
}

static void types_by_rule(const struct pe_config_scope *scope, const struct pe_layer_rule *row,
                          struct layer_list *out)
{
    const struct rule rule = rule_of(scope, row);

    for (size_t i = 0; i < out->count; i++) {
        const bool other = row->other && is_other(&rule, &out->layers[i], i, out->count);
        out->layers[i].type = other ? row->other : row->usual;
    }
}

/* The types are unknown where the config has another number of layers than the class. */
static void types_by_runs(const struct pe_layer_run *runs, struct layer_list *out)
{
    size_t at = 0;

    for (const struct pe_layer_run *run = runs; run->type; run++)
        for (int left = run->count; left > 0; left--, at++)
            if (at < out->count)
                out->layers[at].type = run->type;
    out->types_unknown = at != out->count;
    for (size_t i = 0; i < out->count && out->types_unknown; i++)
        out->layers[i].type = NULL;
}

/* ---- windows --------------------------------------------------------------------------------- */

static bool slides(const struct layer *layer)
{
    return same_type(layer->type, sliding_attention);
}

/* Reads the object of a layer in per_layer_config, whose key is the layer's number. */
static void window_put(const struct pe_config_member *of_layer, double usual,
                       struct layer_list *out)
{
    const struct pe_config_member *own =
        pe_config_member(pe_config_object(of_layer), "sliding_window");
    const double window = own ? pe_config_number(&own->value) : 0;
    char *end;
    const unsigned long long layer = strtoull(of_layer->name.text, &end, 10);

    if (end != of_layer->name.text && !*end && layer < out->count && slides(&out->layers[layer]) &&
        window >= 1 && window < 0x1p53 && window != usual)
        out->layers[layer].window = (int64_t)window;
}

/* Sets the windows where layers of sliding attention have several: by per_layer_config, else every
 * second one has the longer window of the class. */
static void windows_set(const struct pe_config_scope *scope, struct layer_list *out)
{
    const int64_t long_window = pe_config_class_of(scope)->long_window;
    const struct pe_config_effective usual = pe_config_effective(scope, "sliding_window");
    const struct pe_config_node *each =
        pe_config_object(pe_config_member(scope->text, "per_layer_config"));
    size_t sliding = 0;

    if (long_window == 0)
        return;
    for (const struct pe_config_member *at = each ? each->first : NULL; at; at = at->next)
        window_put(at, pe_config_number(&usual.value), out);
    for (size_t i = 0; i < out->count && !each; i++)
        if (slides(&out->layers[i]) && sliding++ % 2 == 1)
            out->layers[i].window = long_window;
}

/* ---- the list -------------------------------------------------------------------------------- */

static void types_set(const struct pe_config_scope *scope, const struct pe_config_node *types,
                      struct layer_list *out)
{
    const struct pe_layer_rule *rule = &pe_config_class_of(scope)->types;
    size_t at = 0;

    if (types)
        for (const struct pe_config_item *item = types->first_item; item && at < out->count;
             item = item->next)
            out->layers[at++].type = *item->value.as.text ? item->value.as.text : NULL;
    else if (rule->runs)
        types_by_runs(rule->runs, out);
    else if (rule->usual)
        types_by_rule(scope, rule, out);
    for (size_t i = 0; i < out->count; i++) {
        const char *type = out->layers[i].type;
        out->layers[i].attends = !type || !pe_config_lists(without_attention, type);
        out->layers[i].rotates &= out->layers[i].attends;
    }
}

/* PE_OUT_OF_MEMORY. */
static enum pe_status layers_list(const struct pe_config_scope *scope,
                                  struct pe_config_memory *memory, struct layer_list *list,
                                  struct pe_error *err)
{
    const struct pe_config_node *types = types_of(scope);
    const size_t declared = count_of(scope);

    *list = (struct layer_list){0};
    list->count = types && (declared == 0 || types->count < declared) ? types->count : declared;
    list->layers = pe_config_take(memory, (list->count + 1) * sizeof(*list->layers));
    if (!list->layers)
        return pe_no_memory(err, "the layers of a config");
    for (size_t i = 0; i < list->count; i++)
        list->layers[i] = (struct layer){.rotates = true};
    rotating_by_keys(scope, list);
    types_set(scope, types, list);
    windows_set(scope, list);
    rotating_by_type(scope, list);
    return PE_OK;
}

/* ---- the rope object ------------------------------------------------------------------------- */

/* Positions differ between layers in one of two ways: the rope object has an object for each type
 * of layer; or layers of sliding attention have another base or no scaling, by a key or by the
 * model's class. */

static const struct variant_key {
    const char *key, *encoding;
} variant_keys[] = {
#define CONFIG_VARIANT_KEY(key, encoding) {key, encoding},
#include "core/config/keys.def"
    {0},
};

static const struct named_rope {
    const char *key, *rope_type;
} named_ropes[] = {
#define CONFIG_NAMED_ROPE(key, rope_type) {key, rope_type},
#include "core/config/keys.def"
    {0},
};

static const char *const sliding_layers[] = {full_attention, sliding_attention};
static const char *const sliding_keys[] = {"rope_local_base_freq", "local_rope_theta", NULL};
static const char *const other_rope_keys[] = {"attn_config.rope_hf_config", NULL};

/* Models whose code reads no rope object. */
static const char *const *const without_rope =
#define CONFIG_NO_ROPE(models) models
#include "core/config/keys.def"
    ;

static const struct type_label {
    const char *model_type, *layer_type, *label;
} type_labels[] = {
#define CONFIG_TYPE_LABEL(model_type, layer_type, label) {model_type, layer_type, label},
#include "core/config/keys.def"
    {0},
};

static const struct part_rope {
    const char *model_type;
    bool own_rope;
} part_ropes[] = {
#define CONFIG_PART_ROPE(model_type, base, own_rope) {model_type, own_rope},
#include "core/config/keys.def"
    {0},
};

const char *pe_config_named_type(const struct pe_config_node *rope)
{
    for (const struct named_rope *at = named_ropes; at->key && rope && rope->owner; at++)
        if (strcmp(at->key, rope->owner->name.text) == 0)
            return at->rope_type;
    return NULL;
}

/* The rope object of a config that has none of the usual names; NULL: none. */
static const struct pe_config_node *named_find(const struct pe_config_scope *scope)
{
    for (const struct named_rope *at = named_ropes; at->key; at++) {
        const struct pe_config_node *object =
            pe_config_object(pe_config_member(scope->text, at->key));
        if (object)
            return object;
    }
    return NULL;
}

static bool has_objects(const struct pe_config_node *rope)
{
    for (const struct pe_config_member *at = rope ? rope->first : NULL; at; at = at->next)
        if (pe_config_object(at))
            return true;
    return false;
}

/* Has a class of CONFIG_REBUILT_ROPE no use for this object? */
static bool is_dropped(const struct pe_config_scope *scope, const struct pe_config_node *parameters)
{
    const struct pe_config_node *types = types_of(scope);

    if (!parameters || !pe_config_rebuilds_rope(scope))
        return false;
    if (!types)
        return !pe_config_object(pe_config_member(parameters, full_attention));
    for (const struct pe_config_item *at = types->first_item; at; at = at->next)
        if (!pe_config_object(pe_config_member(parameters, at->value.as.text)))
            return true;
    return false;
}

/* The member that is the rope object, as transformers 5.23 chooses it: a rope_scaling that is not
 * empty stands above a rope_parameters without objects of types of layers. *other: the one of these
 * two that is not read; NULL: none. */
static const struct pe_config_member *rope_member(const struct pe_config_scope *scope,
                                                  const struct pe_config_member **other)
{
    const struct pe_config_member *parameters =
        pe_config_first(scope, pe_in_text_outer, NAMES("rope_parameters"));
    const struct pe_config_member *scaling =
        pe_config_first(scope, pe_in_text_outer, NAMES("rope_scaling"));
    const struct pe_config_node *scaled = scaling ? pe_config_object(scaling) : NULL;
    const bool empty = scaled && !scaled->first;

    if (pe_config_is_among(scope, without_rope)) {
        *other = parameters ? parameters : scaling;
        return NULL;
    }
    if (parameters && is_dropped(scope, pe_config_object(parameters))) {
        *other = NULL; /* warn_rope_parameters_not_per_type warns of it */
        return empty ? NULL : scaling;
    }
    if (!parameters && !scaling)
        return *other = NULL, pe_config_first(scope, pe_in_text_outer, other_rope_keys);
    if (!scaling || empty || (parameters && has_objects(pe_config_object(parameters)))) {
        *other = scaling;
        return parameters;
    }
    *other = parameters;
    return scaling;
}

/* Warns of the rope object that is not read. */
static void other_rope_warn(struct pe_config_reading *reading, const struct pe_config_member *read,
                            const struct pe_config_member *other)
{
    const struct pe_config_node *object = other ? pe_config_object(other) : NULL;
    char path[PE_CONFIG_PATH_SIZE], behind[PE_CONFIG_PATH_SIZE];

    if (!other)
        return;
    pe_config_note_whole(reading, other);
    if (object && !object->first)
        return;
    pe_config_path(other, behind, sizeof(behind));
    if (read)
        pe_config_warn(reading, "%s and %s are both there; the first is read",
                       pe_config_path(read, path, sizeof(path)), behind);
    else
        pe_config_warn(reading, "%s is not read: the code of %s has no rope object", behind,
                       reading->model_type);
}

/* Does the class of the model, or of a model that contains the part about text, have a rope object
 * of its own in place of the absent one? */
static bool class_rope_holds(const struct pe_config_scope *scope)
{
    const char *top = pe_config_text(pe_config_member(scope->top, "model_type"));

    if (scope->rope || scope->top->config->models)
        return false;
    for (const struct part_rope *at = part_ropes; top && at->model_type; at++)
        if (scope->text != scope->top && at->own_rope && strcmp(at->model_type, top) == 0)
            return !pe_config_member(scope->text, "rope_parameters");
    return scope->model && scope->model->own_rope;
}

static enum pe_status rope_find(struct pe_config_reading *reading, struct pe_error *err)
{
    const struct pe_config_member *other, *found = rope_member(&reading->scope, &other);
    char path[PE_CONFIG_PATH_SIZE];

    other_rope_warn(reading, found, other);
    if (found)
        pe_config_find(reading, pe_in_text_outer, NAMES(found->name.text));
    if (found && !pe_config_object(found))
        return pe_config_fail(found, PE_INVALID, err, "%s must be an object",
                              pe_config_path(found, path, sizeof(path)));
    reading->scope.rope = found ? pe_config_object(found) : named_find(&reading->scope);
    pe_config_note(reading, reading->scope.rope ? reading->scope.rope->owner : NULL);
    reading->scope.class_rope = class_rope_holds(&reading->scope);
    return PE_OK;
}

/* ---- types of layers ------------------------------------------------------------------------- */

/* The member of the rope object that is the index-th object among them. */
PE_WRAPS("counts down past 0")
static const char *layer_within(const struct pe_config_scope *scope, size_t index)
{
    if (!scope->rope)
        return NULL;
    for (const struct pe_config_member *at = scope->rope->first; at; at = at->next)
        if (pe_config_object(at) && index-- == 0)
            return at->name.text;
    return NULL;
}

static enum pe_sliding sliding_of(const struct pe_config_model *model)
{
    return model ? model->sliding : PE_SLIDING_SAME;
}

/* Do layers of sliding attention differ from the others? */
static bool sliding_differs(const struct pe_config_scope *scope)
{
    const enum pe_sliding sliding = sliding_of(scope->model);
    const struct pe_config_member *base = pe_config_member(scope->text, "rope_theta");

    if (sliding == PE_SLIDING_BASE && scope->model->sliding_note) /* else it is that of the class */
        return scope->rope ||
               (base && pe_config_number(&base->value) != scope->model->sliding_base);
    return pe_config_first(scope, pe_in_text_outer, sliding_keys) || sliding == PE_SLIDING_BASE ||
           (sliding == PE_SLIDING_UNSCALED && scope->rope);
}

const struct pe_config_node *pe_config_rope(const struct pe_config_scope *scope)
{
    const struct pe_config_member *other, *found = rope_member(scope, &other);

    if (pe_config_is_diffusers(scope) || pe_config_is_timm(scope))
        return NULL;
    return found ? pe_config_object(found) : named_find(scope);
}

const char *pe_config_layer_type(const struct pe_config *config, size_t index)
{
    struct pe_config_scope scope = pe_config_scope_of(config);
    const char *name;

    scope.rope = pe_config_rope(&scope);
    name = layer_within(&scope, index);
    if (name || layer_within(&scope, 0))
        return name;
    return index < 2 && sliding_differs(&scope) ? sliding_layers[index] : NULL;
}

static enum pe_status layer_unknown(const struct pe_config *config, const char *wanted,
                                    struct pe_error *err)
{
    char names[200] = "";
    size_t used = 0;
    const char *name;

    for (size_t i = 0; used < sizeof(names) && (name = pe_config_layer_type(config, i)); i++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.60s", i > 0 ? ", " : "",
                                 name);
    if (!wanted)
        return pe_fail(err, PE_MISSING, "parameter:layer_type",
                       "layer_type is required, the layers of this config differ: %s", names);
    return pe_fail(err, PE_INVALID, "parameter:layer_type",
                   "this config has no layer_type '%.60s'; it has %s", wanted, names);
}

/* Has the model layers of this type, and do any rotate? */
static enum pe_status type_find(const struct pe_config *config, const char *type, bool *known,
                                bool *rotates, struct pe_error *err)
{
    struct pe_config_memory memory = {.work = config->memory.work};
    struct pe_config_scope scope = pe_config_scope_of(config);
    struct layer_list list;

    scope.rope = pe_config_rope(&scope);
    *known = *rotates = false;
    if (layers_list(&scope, &memory, &list, err) == PE_OK)
        for (size_t i = 0; i < list.count; i++)
            if (same_type(list.layers[i].type, *type ? type : NULL)) {
                *known = true;
                *rotates |= list.layers[i].rotates;
            }
    pe_config_memory_free(&memory);
    return err->status;
}

/* Fails where no layer of the type rotates. */
static enum pe_status reject_nope_layers(const struct pe_config_reading *reading,
                                         const char *wanted, struct pe_error *err)
{
    bool known, rotates;

    if (!wanted || type_find(reading->config, wanted, &known, &rotates, err))
        return wanted ? err->status : PE_OK;
    return known && !rotates
               ? pe_fail(err, PE_UNSUPPORTED, "parameter:layer_type",
                         "layers of type %.60s have no positions in this model", wanted)
               : PE_OK;
}

/* Sets the base of layers of sliding attention, which a base of their rope object replaces. base:
 * the key that has it; NULL: none. */
static void sliding_base_set(struct pe_config_reading *reading, const struct pe_config_member *base)
{
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_member *usual = pe_config_member(scope->text, "rope_theta");
    const struct pe_config_model *model = reading->model;

    if (pe_config_first(scope, pe_in_rope, NAMES("rope_theta")))
        return;
    reading->sliding_member = base;
    if (base)
        reading->sliding_base = base->value;
    else if (sliding_of(model) == PE_SLIDING_BASE)
        reading->sliding_base =
            (struct pe_config_value){PE_CONFIG_INTEGER, {.integer = model->sliding_base}};
    if (!base && usual && model && model->sliding_note &&
        pe_config_number(&usual->value) != model->sliding_base)
        pe_config_warn(reading, "%s", model->sliding_note);
}

/* The name of the object of a type of layers in the rope object; NULL: that of the type. */
static const char *label_of(const struct pe_config_reading *reading, const char *layer_type)
{
    for (const struct type_label *at = type_labels; layer_type && at->model_type; at++)
        if (strcmp(at->layer_type, layer_type) == 0 &&
            pe_config_is_among(&reading->scope, NAMES(at->model_type)))
            return at->label;
    return NULL;
}

/* Selects the rope object of a layer type; if there is only one type, it is the default. */
static enum pe_status layer_enter(struct pe_config_reading *reading, const char *wanted,
                                  struct pe_error *err)
{
    const char *name = wanted                             ? wanted
                       : layer_within(&reading->scope, 1) ? NULL
                                                          : layer_within(&reading->scope, 0);
    const struct pe_config_node *layer =
        name ? pe_config_object(pe_config_member(reading->scope.rope, name)) : NULL;

    if (!layer && label_of(reading, name))
        layer = pe_config_object(pe_config_member(reading->scope.rope, label_of(reading, name)));

    if (!layer)
        return layer_unknown(reading->config, wanted, err);
    reading->scope.rope_by_layer_type = reading->scope.rope;
    reading->scope.rope = layer;
    if (strcmp(name, sliding_attention) == 0)
        sliding_base_set(reading, pe_config_find(reading, pe_in_text_outer, sliding_keys));
    return PE_OK;
}

static void sliding_enter(struct pe_config_reading *reading, const struct pe_config_member *base)
{
    if (!reading->model || reading->model->spread != PE_SPREAD_ALL) {
        if (reading->scope.rope) /* it is of the other layers */
            pe_config_note_whole(reading, reading->scope.rope->owner);
        reading->scope.rope = NULL;
    }
    sliding_base_set(reading, base);
}

/* A type of layer where all layers have the same positions. */
static enum pe_status same_type_check(const struct pe_config *config, const char *type,
                                      struct pe_error *err)
{
    struct pe_error fault = {0};
    bool known, rotates;
    const enum pe_status status = type_find(config, type, &known, &rotates, &fault);

    if (status == PE_OUT_OF_MEMORY)
        return pe_fail(err, status, "", "%s", fault.detail);
    return status == PE_OK && known
               ? PE_OK
               : pe_fail(err, PE_CONFLICT, "parameter:layer_type",
                         "all layers of this config have the same positions; leave "
                         "layer_type out");
}

/* Models with per-layer-type RoPE ignore a flat rope_parameters; warn about it. */
static void warn_rope_parameters_not_per_type(struct pe_config_reading *reading)
{
    const struct pe_config_member *found =
        pe_config_find(reading, pe_in_text_outer, NAMES("rope_parameters"));
    const struct pe_config_node *flat = pe_config_object(found);

    if (flat && flat->first && sliding_of(reading->model) != PE_SLIDING_SAME)
        pe_config_warn(reading,
                       "rope_parameters has no object for each type of layer, and the code of %s "
                       "reads nothing else there: it uses its default RoPE parameters",
                       reading->model_type);
    if (is_dropped(&reading->scope, flat))
        pe_config_note_whole(reading, found);
    if (flat && reading->model && reading->model->spread != PE_SPREAD_NONE &&
        reading->scope.rope == flat) {
        pe_config_note_whole(reading, found);
        reading->scope.rope = NULL;
    }
}

/* A rope object that the class puts into those of the types of layers is read as one of these is.
 * They have rope_type "default" before, so that its name `type` is dead. */
static void rope_spread(struct pe_config_reading *reading)
{
    static const struct pe_config_node none = {0};
    struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_member *type = pe_config_member(scope->rope, "type");
    char path[PE_CONFIG_PATH_SIZE];

    if (!scope->rope || !reading->model || reading->model->spread == PE_SPREAD_NONE ||
        !scope->rope->owner || strcmp(scope->rope->owner->name.text, "rope_scaling") != 0)
        return;
    scope->rope_by_layer_type = &none;
    if (!type || pe_config_member(scope->rope, "rope_type"))
        return;
    pe_config_warn(reading,
                   "%s is not read: the code of %s reads rope_type, and nothing scales without it",
                   pe_config_path(type, path, sizeof(path)), reading->model_type);
    pe_config_note_whole(reading, scope->rope->owner);
    scope->rope = NULL;
}

static enum pe_status sliding_choose(struct pe_config_reading *reading, const char *wanted,
                                     struct pe_error *err)
{
    const struct pe_config_member *base = pe_config_find(reading, pe_in_text_outer, sliding_keys);

    warn_rope_parameters_not_per_type(reading);
    if (!base && sliding_of(reading->model) == PE_SLIDING_BY_TYPE)
        return pe_config_fail(NULL, PE_UNSUPPORTED, err,
                              "the layers of %s differ, and this config does not say how: it has "
                              "no rope_parameters with an object for each type of layer",
                              reading->model_type);
    if (!sliding_differs(&reading->scope))
        return wanted ? same_type_check(reading->config, wanted, err) : PE_OK;
    rope_spread(reading);
    if (wanted && strcmp(wanted, sliding_attention) == 0)
        sliding_enter(reading, base);
    else if (!wanted || strcmp(wanted, full_attention) != 0)
        return layer_unknown(reading->config, wanted, err);
    return PE_OK;
}

static long layer_first(const struct pe_config_node *types, const char *layer_type)
{
    long index = 0;

    for (const struct pe_config_item *at = types->first_item; at; at = at->next, index++)
        if (at->value.kind == PE_CONFIG_TEXT && strcmp(at->value.as.text, layer_type) == 0)
            return index;
    return -1;
}

/* Finds the object of per_layer_config about the first layer of the type described. Its keys are
 * numbers of layers, which transformers writes as "05". */
static void layer_find(struct pe_config_reading *reading)
{
    const struct pe_config_node *text = reading->scope.text;
    const struct pe_config_member *types = pe_config_member(text, "layer_types");
    const struct pe_config_node *each =
        pe_config_object(pe_config_member(text, "per_layer_config"));
    long first;

    if (!each || !reading->layer_type || !types || types->value.kind != PE_CONFIG_LIST)
        return;
    first = layer_first(types->value.as.node, reading->layer_type);
    for (const struct pe_config_member *at = each->first; at; at = at->next) {
        char *end;
        if (strtol(at->name.text, &end, 10) == first && !*end && first >= 0)
            reading->scope.layer = pe_config_object(at);
    }
}

enum pe_status pe_config_layers_choose(struct pe_config_reading *reading, const char *layer_type,
                                       struct pe_error *err)
{
    if (reading->scope.diffusers || reading->scope.timm)
        return layer_type ? same_type_check(reading->config, layer_type, err) : PE_OK;
    if (rope_find(reading, err) ||
        (layer_within(&reading->scope, 0) ? layer_enter(reading, layer_type, err)
                                          : sliding_choose(reading, layer_type, err)) ||
        reject_nope_layers(reading, layer_type, err))
        return err->status;
    reading->layer_type = layer_type;
    layer_find(reading);
    for (const struct variant_key *at = variant_keys;
         at->key && strcmp(reading->family, "rope") == 0; at++)
        if (pe_config_member(reading->scope.rope, at->key) ||
            pe_config_class_default(reading->model, at->key))
            reading->name = at->encoding;
    return PE_OK;
}

static void text_key_note(struct pe_config_reading *reading, const char *key)
{
    pe_config_note(reading, pe_config_member_at(reading->scope.text, key, strlen(key)));
}

void pe_config_layer_keys_note(struct pe_config_reading *reading)
{
    static const char *const rotating_keys[] = {rotating_list_key, rotating_interval_key,
                                                rotating_switch_key, bases_key, NULL};
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_layers *row = pe_config_layers_of(scope);
    const char *trait;

    for (const char *const *key = rotating_keys; *key; key++)
        pe_config_note(reading, pe_config_effective(scope, *key).member);
    for (size_t i = 0; (trait = pe_config_trait_key(i)); i++)
        pe_config_note(reading, pe_config_effective(scope, trait).member);
    pe_config_note(reading, pe_config_member(scope->text, "layer_types"));
    pe_config_note(reading, pe_config_member(scope->text, "layers_block_type"));
    if (row)
        text_key_note(reading, row->count_key);
    for (const struct pe_class_key *at = row ? row->keys : NULL; at && at->key; at++)
        text_key_note(reading, at->key);
}

/* ---- values of another kind than their keys have --------------------------------------------- */

static bool is_list(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_LIST;
}

static bool is_list_of_names(const struct pe_config_value *value)
{
    return is_list(value) && are_names(value->as.node);
}

static bool is_truth(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_BOOL;
}

/* Warns of a value that is given and has another kind. Does the config give one? */
static bool kind_check(struct pe_config_reading *reading, const struct pe_config_member *member,
                       bool (*is_kind)(const struct pe_config_value *value), const char *kind)
{
    char path[PE_CONFIG_PATH_SIZE];

    if (!member || member->value.kind == PE_CONFIG_NULL)
        return false;
    if (!is_kind(&member->value))
        pe_config_warn(reading, "%s is not %s, and is not read",
                       pe_config_path(member, path, sizeof(path)), kind);
    return true;
}

static void count_check(struct pe_config_reading *reading)
{
    static const char kind[] = "a whole number of layers from 1 to 65536";
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_layers *row = pe_config_layers_of(scope);

    _Static_assert(LAYERS_MAX == 65536, "the text has the bound");
    if (row)
        kind_check(reading, pe_config_effective(scope, row->count_key).member, is_count, kind);
    for (const char *const *at = count_keys; !row && *at; at++)
        if (kind_check(reading, pe_config_effective(scope, *at).member, is_count, kind) &&
            count_in(scope, *at))
            return;
}

/* Warns of a list with more or fewer entries than there are layers. rest: what happens to layers
 * without an entry. */
static void entries_check(struct pe_config_reading *reading, const struct pe_config_member *member,
                          const char *rest)
{
    const size_t layers = count_of(&reading->scope);
    const size_t entries =
        member && is_list(&member->value) ? member->value.as.node->count : layers;
    char path[PE_CONFIG_PATH_SIZE];

    if (entries == 0 || layers == 0 || entries == layers)
        return;
    pe_config_path(member, path, sizeof(path));
    if (entries > layers)
        pe_config_warn(reading, "%s has %zu entries for %zu layers: the first %zu are read", path,
                       entries, layers, layers);
    else
        pe_config_warn(reading, "%s has entries for %zu of %zu layers: the others %s", path,
                       entries, layers, rest);
}

void pe_config_layer_kinds_warn(struct pe_config_reading *reading)
{
    static const struct {
        const char *key;
        bool (*is_kind)(const struct pe_config_value *value);
        const char *kind;
    } rows[] = {
        {rotating_list_key, is_list, "a list"},
        {bases_key, is_list, "a list"},
        {rotating_interval_key, is_whole, "a whole number"},
        {rotating_switch_key, is_truth, "a boolean"},
    };
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_layer_rule *rule = &pe_config_class_of(scope)->types;
    const char *const bounds[] = {rule->from_key, rule->until_key};

    count_check(reading);
    for (size_t i = 0; i < sizeof(types_keys) / sizeof(types_keys[0]); i++)
        kind_check(reading, pe_config_member(scope->text, types_keys[i]), is_list_of_names,
                   "a list of names");
    if (types_of(scope))
        entries_check(reading, pe_config_member(scope->text, types_key(scope)), "are left out");
    entries_check(reading, pe_config_effective(scope, rotating_list_key).member, "rotate");
    entries_check(reading, pe_config_effective(scope, bases_key).member, "rotate");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        kind_check(reading, pe_config_effective(scope, rows[i].key).member, rows[i].is_kind,
                   rows[i].kind);
    if (rule->period_key)
        kind_check(reading, pe_config_effective(scope, rule->period_key).member, is_period,
                   "a period of layers");
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (bounds[i])
            kind_check(reading, pe_config_effective(scope, bounds[i]).member, pe_config_is_number,
                       "a number");
}

/* ---- kinds of layers ------------------------------------------------------------------------- */

enum { KINDS_MAX = 64, CHECK_LAYERS = 1 << 12 };

struct pe_config_kinds {
    struct pe_config_memory memory;
    struct pe_config_kind list[KINDS_MAX];
    size_t count, usual;
};

static bool is_kind(const struct pe_config_kind *kind, const struct layer *layer)
{
    return same_type(kind->layer_type, layer->type) && kind->attends == layer->attends &&
           kind->turns == layer->rotates && kind->window == layer->window;
}

static enum pe_status kind_add(struct pe_config_kinds *kinds, const struct layer *layer,
                               struct pe_error *err)
{
    struct pe_config_kind *kind = &kinds->list[kinds->count];

    if (kinds->count == KINDS_MAX)
        return pe_fail(err, PE_TOO_LARGE, "config", "the layers have more than %d types",
                       KINDS_MAX);
    *kind = (struct pe_config_kind){
        .attends = layer->attends, .turns = layer->rotates, .window = layer->window};
    if (layer->type && !(kind->layer_type = pe_config_copy(&kinds->memory, layer->type)))
        return pe_no_memory(err, "the layers of a config");
    kinds->count++;
    return PE_OK;
}

static enum pe_status kinds_find(struct pe_config_kinds *kinds, const struct layer_list *list,
                                 struct pe_error *err)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t at = 0;
        if (i % CHECK_LAYERS == 0 && pe_work_check(kinds->memory.work, err))
            return err->status;
        while (at < kinds->count && !is_kind(&kinds->list[at], &list->layers[i]))
            at++;
        if (at == kinds->count && kind_add(kinds, &list->layers[i], err))
            return err->status;
    }
    return PE_OK;
}

static enum pe_status layers_set(struct pe_config_kinds *kinds, const struct layer_list *list,
                                 struct pe_error *err)
{
    for (size_t at = 0; at < kinds->count; at++) {
        struct pe_config_kind *kind = &kinds->list[at];
        size_t *numbers = pe_config_take(&kinds->memory, (list->count + 1) * sizeof(*numbers));
        if (!numbers)
            return pe_no_memory(err, "the layers of a config");
        if (pe_work_check(kinds->memory.work, err))
            return err->status;
        for (size_t i = 0; i < list->count; i++)
            if (is_kind(kind, &list->layers[i]))
                numbers[kind->count++] = i;
        kind->layers = numbers;
    }
    return PE_OK;
}

/* Adds the types of layers of a config that does not say which layers they are. */
static enum pe_status named_add(struct pe_config_kinds *kinds, const struct pe_config *config,
                                struct pe_error *err)
{
    const char *name;

    for (size_t i = 0; (name = pe_config_layer_type(config, i)); i++) {
        const struct layer layer = {.type = name, .attends = true, .rotates = true};
        if (pe_work_check(kinds->memory.work, err) || kind_add(kinds, &layer, err))
            return err->status;
    }
    return kinds->count > 0
               ? PE_OK
               : kind_add(kinds, &(struct layer){.attends = true, .rotates = true}, err);
}

static bool is_full(const struct pe_config_kind *kind)
{
    return kind->turns && same_type(kind->layer_type, full_attention);
}

static size_t usual_find(const struct pe_config_kinds *kinds)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (is_full(&kinds->list[i]))
            return i;
    for (size_t i = 0; i < kinds->count; i++)
        if (kinds->list[i].turns)
            return i;
    return 0;
}

static enum pe_status kinds_fill(struct pe_config_kinds *kinds, const struct pe_config *config,
                                 struct pe_error *err)
{
    struct pe_config_scope scope = pe_config_scope_of(config);
    struct layer_list list;
    bool named;

    scope.rope = pe_config_rope(&scope);
    if (layers_list(&scope, &kinds->memory, &list, err))
        return err->status;
    named = list.count > 0 && list.layers[0].type;
    if (list.count == 0 || (!named && (list.types_unknown || pe_config_layer_type(config, 0))))
        return named_add(kinds, config, err);
    return kinds_find(kinds, &list, err) || layers_set(kinds, &list, err) ? err->status : PE_OK;
}

enum pe_status pe_config_kinds_new(struct pe_config_kinds **out, const struct pe_config *config,
                                   struct pe_error *err)
{
    struct pe_config_kinds *kinds = calloc(1, sizeof(*kinds));

    *out = NULL;
    if (!kinds)
        return pe_no_memory(err, "the layers of a config");
    kinds->memory.work = config->memory.work;
    if (kinds_fill(kinds, config, err)) {
        pe_config_kinds_free(kinds);
        return err->status;
    }
    kinds->usual = usual_find(kinds);
    *out = kinds;
    return PE_OK;
}

void pe_config_kinds_free(struct pe_config_kinds *kinds)
{
    if (!kinds)
        return;
    pe_config_memory_free(&kinds->memory);
    free(kinds);
}

const struct pe_config_kind *pe_config_kind(const struct pe_config_kinds *kinds, size_t index)
{
    return index < kinds->count ? &kinds->list[index] : NULL;
}

size_t pe_config_kinds_usual(const struct pe_config_kinds *kinds)
{
    return kinds->usual;
}
