/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/text.h"
#include "core/config/layers.h"

/* Lists the layers of a model one by one: their types by a list of the config, else by the rule of
 * the model's class, and which of them rotate. */

enum { LAYERS_MAX = 1 << 16 };

/* Keys of the number of layers, for models without a row in model_layers.def. */
static const char *const count_keys[] = {"num_hidden_layers",  "n_layer", "n_layers", "num_layers",
                                         "num_decoder_layers", NULL};

enum { TURNS_LIST, TURNS_INTERVAL, TURNS_AT_ALL, BASES };
const char *const pe_config_layer_keys[] = {[TURNS_LIST] = "no_rope_layers",
                                            [TURNS_INTERVAL] = "no_rope_layer_interval",
                                            [TURNS_AT_ALL] = "use_mem_rope",
                                            [BASES] = "layer_rope_theta",
                                            NULL};

/* Types of layers that are no attention. */
static const char without_attention[] =
    "linear_attention mamba mamba2 conv recurrent moe mlp rwkv lightning_attention short_conv";

static bool is(struct pe_name name, const char *text)
{
    return strlen(text) == name.size && memcmp(name.at, text, name.size) == 0;
}

static struct pe_name name_of(const char *text)
{
    return (struct pe_name){text, strlen(text)};
}

bool pe_config_is_type(const struct pe_config_layer *layer, const char *type)
{
    return is(layer->type, type);
}

static bool is_true(const struct pe_config_value *value)
{
    return pe_config_is_number(value)      ? pe_config_number(value) != 0
           : value->kind == PE_CONFIG_BOOL ? value->as.truth
                                           : value->kind != PE_CONFIG_NULL;
}

/* ---- how many -------------------------------------------------------------------------------- */

static size_t count_in(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_effective told = pe_config_effective(scope, key);
    const double count = pe_config_number(&told.value);

    return count >= 1 && count <= LAYERS_MAX ? (size_t)count : 0;
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

/* A list of the config that is neither empty nor too long; NULL: there is none. */
static const struct pe_config_node *list_of(const struct pe_config_scope *scope, const char *key)
{
    const struct pe_config_member *member = pe_config_member(scope->text, key);
    const struct pe_config_node *list =
        member && member->value.kind == PE_CONFIG_LIST ? member->value.as.node : NULL;

    return list && list->count > 0 && list->count <= LAYERS_MAX ? list : NULL;
}

static const struct pe_config_node *types_of(const struct pe_config_scope *scope)
{
    const struct pe_config_node *types = list_of(scope, "layer_types");

    types = types ? types : list_of(scope, "layers_block_type");
    for (const struct pe_config_item *at = types ? types->first_item : NULL; at; at = at->next)
        if (at->value.kind != PE_CONFIG_TEXT)
            return NULL;
    return types;
}

/* ---- which of them rotate -------------------------------------------------------------------- */

static void turning_by_list(const struct pe_config_node *list, struct pe_config_layer_list *out)
{
    size_t at = 0;

    for (const struct pe_config_item *item = list->first_item; item && at < out->count;
         item = item->next)
        out->layers[at++].turns = is_true(&item->value);
}

/* The last of each `interval` layers has no positions. */
static void turning_by_interval(size_t interval, struct pe_config_layer_list *out)
{
    for (size_t i = 0; i < out->count && interval > 0; i++)
        out->layers[i].turns = (i + 1) % interval != 0;
}

static void turning_by_keys(const struct pe_config_scope *scope, struct pe_config_layer_list *out)
{
    const char *const *keys = pe_config_layer_keys;
    const struct pe_config_effective list = pe_config_effective(scope, keys[TURNS_LIST]),
                                     interval = pe_config_effective(scope, keys[TURNS_INTERVAL]),
                                     whether = pe_config_effective(scope, keys[TURNS_AT_ALL]),
                                     bases = pe_config_effective(scope, keys[BASES]);

    for (size_t i = 0; i < out->count && whether.value.kind == PE_CONFIG_BOOL; i++)
        out->layers[i].turns = whether.value.as.truth;
    if (bases.value.kind == PE_CONFIG_LIST)
        turning_by_list(bases.value.as.node, out);
    if (list.value.kind == PE_CONFIG_LIST && list.value.as.node->count > 0)
        turning_by_list(list.value.as.node, out);
    else if (pe_config_number(&interval.value) >= 1)
        turning_by_interval((size_t)pe_config_number(&interval.value), out);
}

/* A type whose member of the rope object is null has no positions. */
static bool is_null(const struct pe_config_scope *scope, struct pe_name type)
{
    const struct pe_config_member *member = pe_config_member_at(scope->rope, type.at, type.size);

    return member && member->value.kind == PE_CONFIG_NULL;
}

static bool is_rotating(const struct pe_config_layers *row, const struct pe_config_layer *layer)
{
    for (size_t i = 0; i < PE_ROTATING_TYPES_MAX && row->rotating[i]; i++)
        if (is(layer->type, row->rotating[i]))
            return true;
    return false;
}

/* In some models layers of certain types alone rotate. */
static void turning_by_type(const struct pe_config_scope *scope, struct pe_config_layer_list *out)
{
    const struct pe_config_layers *row = pe_config_class_of(scope);
    const struct pe_config_effective window = pe_config_effective(scope, "sliding_window");
    const bool by_type = row->rotating[0] &&
                         !(row->all_rotate_without_window && window.value.kind == PE_CONFIG_NULL);

    for (size_t i = 0; i < out->count; i++) {
        struct pe_config_layer *layer = &out->layers[i];
        if (layer->type.size == 0)
            continue;
        if (by_type)
            layer->turns = is_rotating(row, layer);
        layer->turns &= layer->attends && !is_null(scope, layer->type);
    }
}

/* ---- types by the rule of a class ------------------------------------------------------------ */

/* A rule of model_layers.def with the values that its keys have. */
struct rule {
    const struct pe_layer_rule *row;
    struct pe_name pattern; /* a period as text, "LLLG"; size 0: there is none */
    size_t period;          /* 0: there is none */
    struct pe_config_value from, until;
    bool off;
};

/* No layer comes twice in a period of more than LAYERS_MAX: longer ones are alike, whatever number
 * the config has. */
static void period_set(const struct pe_config_value *value, struct rule *rule)
{
    const double period = pe_config_number(value);

    if (value->kind == PE_CONFIG_TEXT)
        rule->pattern = name_of(value->as.text);
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
static bool is_other(const struct rule *rule, const struct pe_config_layer *layer, size_t i,
                     size_t count)
{
    if (rule->off ||
        (pe_config_is_number(&rule->until) && (double)i >= pe_config_number(&rule->until)))
        return false;
    if (rule->row->by_rotation)
        return !layer->turns;
    if (rule->row->last && i + 1 == count)
        return true;
    if (pe_config_is_number(&rule->from))
        return (double)i >= pe_config_number(&rule->from);
    if (rule->pattern.size > 0)
        return rule->pattern.at[i % rule->pattern.size] == 'G' || i + 1 == count;
    if (rule->period == 0)
        return false;
    return (i + (size_t)((long)rule->period - rule->row->at)) % rule->period == 0;
}

static void types_by_rule(const struct pe_config_scope *scope, const struct pe_layer_rule *row,
                          struct pe_config_layer_list *out)
{
    const struct rule rule = rule_of(scope, row);

    for (size_t i = 0; i < out->count; i++) {
        const bool other = row->other && is_other(&rule, &out->layers[i], i, out->count);
        out->layers[i].type = name_of(other ? row->other : row->usual);
    }
}

/* As many layers as the class has by itself, else the types are unknown. */
static void types_by_runs(const struct pe_layer_run *runs, struct pe_config_layer_list *out)
{
    size_t at = 0;

    for (const struct pe_layer_run *run = runs; run->type; run++)
        for (int left = run->count; left > 0; left--, at++)
            if (at < out->count)
                out->layers[at].type = name_of(run->type);
    out->types_unknown = at != out->count;
    for (size_t i = 0; i < out->count && out->types_unknown; i++)
        out->layers[i].type = (struct pe_name){0};
}

/* ---- windows --------------------------------------------------------------------------------- */

static bool slides(const struct pe_config_layer *layer)
{
    return is(layer->type, "sliding_attention");
}

/* The object of a layer in per_layer_config, whose key is the layer's number. */
static void window_put(const struct pe_config_member *of_layer, double usual,
                       struct pe_config_layer_list *out)
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

/* Windows of a model whose layers of sliding attention have several: by per_layer_config, else
 * every second one has the longer window of the class. */
static void windows_set(const struct pe_config_scope *scope, struct pe_config_layer_list *out)
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

/* ---- all of it ------------------------------------------------------------------------------- */

static void types_set(const struct pe_config_scope *scope, const struct pe_config_node *types,
                      struct pe_config_layer_list *out)
{
    const struct pe_layer_rule *rule = &pe_config_class_of(scope)->types;
    size_t at = 0;

    if (types)
        for (const struct pe_config_item *item = types->first_item; item && at < out->count;
             item = item->next)
            out->layers[at++].type = name_of(item->value.as.text);
    else if (rule->runs)
        types_by_runs(rule->runs, out);
    else if (rule->usual)
        types_by_rule(scope, rule, out);
    for (size_t i = 0; i < out->count; i++) {
        out->layers[i].attends = out->layers[i].type.size == 0 ||
                                 !pe_text_lists(without_attention, ' ', out->layers[i].type.at,
                                                out->layers[i].type.size);
        out->layers[i].turns &= out->layers[i].attends;
    }
}

enum pe_status pe_config_layers_list(const struct pe_config_scope *scope,
                                     struct pe_config_memory *memory,
                                     struct pe_config_layer_list *list, struct pe_error *err)
{
    const struct pe_config_node *types = types_of(scope);
    const size_t declared = count_of(scope);

    *list = (struct pe_config_layer_list){0};
    list->count = types && (declared == 0 || types->count < declared) ? types->count : declared;
    list->layers = pe_config_take(memory, (list->count + 1) * sizeof(*list->layers));
    if (!list->layers)
        return pe_no_memory(err, "the layers of a config");
    for (size_t i = 0; i < list->count; i++)
        list->layers[i] = (struct pe_config_layer){.turns = true};
    turning_by_keys(scope, list);
    types_set(scope, types, list);
    windows_set(scope, list);
    turning_by_type(scope, list);
    return PE_OK;
}
