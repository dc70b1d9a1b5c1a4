/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "core/base/params.h"
#include "core/config/layers.h"

/* Gathers the layers of a config that are alike. */

enum { KINDS_MAX = 64, CHECK_LAYERS = 1 << 12 };

struct pe_config_kinds {
    struct pe_config_memory memory;
    struct pe_config_kind list[KINDS_MAX];
    size_t count, usual;
};

static bool is_type(const char *type, struct pe_name name)
{
    return type ? strlen(type) == name.size && memcmp(type, name.at, name.size) == 0
                : name.size == 0;
}

static bool is_kind(const struct pe_config_kind *kind, const struct pe_config_layer *layer)
{
    return is_type(kind->layer_type, layer->type) && kind->attends == layer->attends &&
           kind->turns == layer->turns && kind->window == layer->window;
}

static const char *type_copy(struct pe_config_kinds *kinds, struct pe_name name)
{
    char *copy = pe_config_take(&kinds->memory, name.size + 1);

    if (!copy)
        return NULL;
    memcpy(copy, name.at, name.size);
    copy[name.size] = '\0';
    return copy;
}

static enum pe_status kind_add(struct pe_config_kinds *kinds, const struct pe_config_layer *layer,
                               struct pe_error *err)
{
    struct pe_config_kind *kind = &kinds->list[kinds->count];

    if (kinds->count == KINDS_MAX)
        return pe_fail(err, PE_TOO_LARGE, "config", "the layers have more than %d types",
                       KINDS_MAX);
    *kind = (struct pe_config_kind){
        .attends = layer->attends, .turns = layer->turns, .window = layer->window};
    if (layer->type.size > 0 && !(kind->layer_type = type_copy(kinds, layer->type)))
        return pe_no_memory(err, "the layers of a config");
    kinds->count++;
    return PE_OK;
}

static enum pe_status kinds_find(struct pe_config_kinds *kinds,
                                 const struct pe_config_layer_list *list, struct pe_error *err)
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

static enum pe_status layers_set(struct pe_config_kinds *kinds,
                                 const struct pe_config_layer_list *list, struct pe_error *err)
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

/* Types of layers that a config tells without telling which layers they are. */
static enum pe_status named_add(struct pe_config_kinds *kinds, const struct pe_config *config,
                                struct pe_error *err)
{
    const char *name;

    for (size_t i = 0; (name = pe_config_layer_type(config, i)); i++) {
        const struct pe_config_layer layer = {
            .type = {name, strlen(name)}, .attends = true, .turns = true};
        if (pe_work_check(kinds->memory.work, err) || kind_add(kinds, &layer, err))
            return err->status;
    }
    return kinds->count > 0
               ? PE_OK
               : kind_add(kinds, &(struct pe_config_layer){.attends = true, .turns = true}, err);
}

static bool is_full(const struct pe_config_kind *kind)
{
    return kind->turns && kind->layer_type && strcmp(kind->layer_type, "full_attention") == 0;
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
    struct pe_config_layer_list list;
    bool named;

    scope.rope = pe_config_rope(&scope);
    if (pe_config_layers_list(&scope, &kinds->memory, &list, err))
        return err->status;
    named = list.count > 0 && list.layers[0].type.size > 0;
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
