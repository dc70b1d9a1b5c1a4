/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/text.h"
#include "core/config/layers.h"

/* Tells the layers of a model one by one: their types by a list of the config, else by the rule of
 * the model's class, and which of them rotate. */

enum { LAYERS_MAX = 1 << 16 };

/* Names of a number of layers, as files of models without a row have it. */
static const char *const counts[] = {"num_hidden_layers",  "n_layer", "n_layers", "num_layers",
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
    const struct pe_config_told told = pe_config_tell(scope, key);
    const double count = pe_config_number(&told.value);

    return count >= 1 && count <= LAYERS_MAX ? (size_t)count : 0;
}

/* The first key of a model's row is that of its number of layers. */
static size_t count_of(const struct pe_config_scope *scope)
{
    const struct pe_config_layers *row = pe_config_layers_of(scope);
    const size_t size = row ? strcspn(row->keys, "= ") : 0;
    char key[64] = "";

    if (size > 0 && size < sizeof(key))
        return count_in(scope, memcpy(key, row->keys, size));
    for (const char *const *at = counts; *at; at++)
        if (count_in(scope, *at))
            return count_in(scope, *at);
    return 0;
}

/* A list of the config that has something in it; NULL: there is none. */
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

/* One of each so many layers, the last, has no positions. */
static void turning_by_interval(size_t interval, struct pe_config_layer_list *out)
{
    for (size_t i = 0; i < out->count && interval > 0; i++)
        out->layers[i].turns = (i + 1) % interval != 0;
}

static void turning_by_keys(const struct pe_config_scope *scope, struct pe_config_layer_list *out)
{
    const char *const *keys = pe_config_layer_keys;
    const struct pe_config_told list = pe_config_tell(scope, keys[TURNS_LIST]),
                                interval = pe_config_tell(scope, keys[TURNS_INTERVAL]),
                                whether = pe_config_tell(scope, keys[TURNS_AT_ALL]),
                                bases = pe_config_tell(scope, keys[BASES]);

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

/* Of some models layers of certain types alone rotate; without a window, in some of these all. */
static void turning_by_type(const struct pe_config_scope *scope, const char *turning,
                            struct pe_config_layer_list *out)
{
    const struct pe_config_told window = pe_config_tell(scope, "sliding_window");
    const bool all =
        pe_text_lists(turning, ' ', "or-without-window", 17) && window.value.kind == PE_CONFIG_NULL;

    for (size_t i = 0; i < out->count; i++) {
        struct pe_config_layer *layer = &out->layers[i];
        if (layer->type.size == 0)
            continue;
        if (*turning && !all)
            layer->turns = pe_text_lists(turning, ' ', layer->type.at, layer->type.size);
        layer->turns &= layer->attends && !is_null(scope, layer->type);
    }
}

/* ---- types by the rule of a class ------------------------------------------------------------ */

/* "full_attention sliding_attention period=KEY at=-1 last switch=KEY": see model_layers.def. */
struct rule {
    struct pe_name usual, other, pattern; /* pattern: a period as text, "LLLG" */
    struct pe_config_value from, until;
    size_t period; /* 0: there is none */
    long at;
    bool last, by_turning, off;
};

static struct pe_config_value key_value(const struct pe_config_scope *scope, struct pe_name text)
{
    char key[64];
    char *end;
    double number;

    if (text.size >= sizeof(key))
        return (struct pe_config_value){0};
    memcpy(key, text.at, text.size);
    key[text.size] = '\0';
    number = strtod_l(key, &end, pe_locale());
    if (!*end)
        return (struct pe_config_value){PE_CONFIG_NUMBER, {.number = number}};
    return pe_config_tell(scope, key).value;
}

/* No layer comes twice in a period of more than LAYERS_MAX: longer ones are alike, whatever number
 * the config has. */
static void period_take(const struct pe_config_value *value, struct rule *rule)
{
    const double period = pe_config_number(value);

    if (value->kind == PE_CONFIG_TEXT)
        rule->pattern = name_of(value->as.text);
    if (period >= 1)
        rule->period = period < 2 * LAYERS_MAX ? (size_t)period : 2 * LAYERS_MAX;
}

static void word_take(const struct pe_config_scope *scope, struct pe_name word, struct rule *rule)
{
    const char *sign = memchr(word.at, '=', word.size);
    const struct pe_name key = {word.at, sign ? (size_t)(sign - word.at) : word.size};
    const struct pe_name text = {sign ? sign + 1 : "", sign ? word.size - key.size - 1 : 0};

    if (is(key, "period"))
        period_take(&(struct pe_config_value[]){key_value(scope, text)}[0], rule);
    else if (is(key, "from"))
        rule->from = key_value(scope, text);
    else if (is(key, "until"))
        rule->until = key_value(scope, text);
    else if (is(key, "at"))
        rule->at = strtol(text.at, NULL, 10);
    else if (is(key, "switch"))
        rule->off |= !is_true(&(struct pe_config_value[]){key_value(scope, text)}[0]);
    else if (is(key, "last"))
        rule->last = true;
    else if (is(key, "by-turning"))
        rule->by_turning = true;
    else
        *(rule->usual.size == 0 ? &rule->usual : &rule->other) = word;
}

/* Is layer i of the other type? A pattern names each: G is the other one. */
static bool is_other(const struct rule *rule, const struct pe_config_layer *layer, size_t i,
                     size_t count)
{
    if (rule->off ||
        (pe_config_is_number(&rule->until) && (double)i >= pe_config_number(&rule->until)))
        return false;
    if (rule->by_turning)
        return !layer->turns;
    if (rule->last && i + 1 == count)
        return true;
    if (pe_config_is_number(&rule->from))
        return (double)i >= pe_config_number(&rule->from);
    if (rule->pattern.size > 0)
        return rule->pattern.at[i % rule->pattern.size] == 'G' || i + 1 == count;
    if (rule->period == 0)
        return false;
    return (i + (size_t)((long)rule->period - rule->at)) % rule->period == 0;
}

static void types_by_rule(const struct pe_config_scope *scope, const char *words,
                          struct pe_config_layer_list *out)
{
    struct rule rule = {0};
    struct pe_name word;

    while (pe_text_next(&words, ' ', &word))
        word_take(scope, word, &rule);
    for (size_t i = 0; i < out->count; i++)
        out->layers[i].type =
            is_other(&rule, &out->layers[i], i, out->count) ? rule.other : rule.usual;
}

/* "=full_attention*2 sliding_attention*3 ...": of as many layers as the class has by itself. */
static void types_by_list(const char *words, struct pe_config_layer_list *out)
{
    struct pe_name word;
    size_t at = 0;

    while (pe_text_next(&words, ' ', &word)) {
        const char *sign = memchr(word.at, '*', word.size);
        const struct pe_name type = {word.at, (size_t)(sign - word.at)};
        for (long left = strtol(sign + 1, NULL, 10); left > 0; left--, at++)
            if (at < out->count)
                out->layers[at].type = type;
    }
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
    const struct pe_config_told other = pe_config_trait(scope, "long_window"),
                                usual = pe_config_tell(scope, "sliding_window");
    const struct pe_config_node *each =
        pe_config_object(pe_config_member(scope->text, "per_layer_config"));
    size_t sliding = 0;

    if (!pe_config_is_number(&other.value))
        return;
    for (const struct pe_config_member *at = each ? each->first : NULL; at; at = at->next)
        window_put(at, pe_config_number(&usual.value), out);
    for (size_t i = 0; i < out->count && !each; i++)
        if (slides(&out->layers[i]) && sliding++ % 2 == 1)
            out->layers[i].window = (int64_t)pe_config_number(&other.value);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void types_set(const struct pe_config_scope *scope, const struct pe_config_node *types,
                      struct pe_config_layer_list *out)
{
    const struct pe_config_layers *row = pe_config_layers_of(scope);
    size_t at = 0;

    if (types)
        for (const struct pe_config_item *item = types->first_item; item && at < out->count;
             item = item->next)
            out->layers[at++].type = name_of(item->value.as.text);
    else if (row && *row->layers == '=')
        types_by_list(row->layers + 1, out);
    else if (row && *row->layers)
        types_by_rule(scope, row->layers, out);
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
    const struct pe_config_layers *row = pe_config_layers_of(scope);
    const size_t told = count_of(scope);

    *list = (struct pe_config_layer_list){0};
    list->count = types && (told == 0 || types->count < told) ? types->count : told;
    list->layers = pe_config_take(memory, (list->count + 1) * sizeof(*list->layers));
    if (!list->layers)
        return pe_no_memory(err, "the layers of a config");
    for (size_t i = 0; i < list->count; i++)
        list->layers[i] = (struct pe_config_layer){.turns = true};
    turning_by_keys(scope, list);
    types_set(scope, types, list);
    windows_set(scope, list);
    turning_by_type(scope, row ? row->turning : "", list);
    return PE_OK;
}
