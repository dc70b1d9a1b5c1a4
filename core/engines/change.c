/* SPDX-License-Identifier: MIT */
#include "core/engines/change.h"

#include <string.h>

#include "core/base/errors.h"

int pe_engine_form_of(const struct pe_config_scope *scope)
{
    const struct pe_config_member *inner = pe_config_member(scope->text, "rope_parameters"),
                                  *outer = pe_config_member(scope->top, "rope_parameters");

    return pe_config_object(inner) || pe_config_object(outer) ? 5 : 4;
}

/* ---- places ---------------------------------------------------------------------------------- */

static const char rope_word[] = "rope";
static const char new_rope[] = "rope_scaling"; /* the object of a config that has none */

/* "rope", or the first of two keys; NULL: the path is a key of the part about text. */
static const char *inner_of(const char *path)
{
    const size_t size = strlen(rope_word);

    return strncmp(path, rope_word, size) == 0 && (path[size] == '.' || !path[size])
               ? path + size + (path[size] == '.')
               : NULL;
}

/* The name by which a config has a key: rope_type is also type. */
static const struct pe_config_member *named(const struct pe_config_node *object, const char *key)
{
    const struct pe_config_member *found = pe_config_member(object, key);

    return found || strcmp(key, "rope_type") != 0 ? found : pe_config_member(object, "type");
}

static struct pe_engine_place place_within(const struct pe_config_node *object, const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && object)
        object = pe_config_object(pe_config_member_at(object, path, (size_t)(dot - path)));
    return (struct pe_engine_place){object, dot ? dot + 1 : path,
                                    named(object, dot ? dot + 1 : path)};
}

struct pe_engine_place pe_engine_place_find(const struct pe_config_scope *scope,
                                            const struct pe_engine_change *change)
{
    const char *inner = inner_of(change->path);
    const struct pe_config_member *owner = scope->rope ? scope->rope->owner : NULL;

    if (!inner)
        return place_within(scope->text, change->path);
    if (!*inner)
        return (struct pe_engine_place){owner ? owner->in : NULL, rope_word, owner};
    return place_within(scope->rope, inner);
}

static struct pe_config_value value_of(const struct pe_engine_change *change,
                                       const struct pe_engine_place *place)
{
    const struct pe_config_member *beside;

    switch (change->kind) {
    case PE_CHANGE_NUMBER:
        return (struct pe_config_value){PE_CONFIG_NUMBER, {.number = change->number}};
    case PE_CHANGE_TRUTH:
        return (struct pe_config_value){PE_CONFIG_BOOL, {.truth = change->number != 0}};
    case PE_CHANGE_TEXT:
        return (struct pe_config_value){PE_CONFIG_TEXT, {.text = change->text}};
    case PE_CHANGE_COPY:
        beside = pe_config_member(place->object, change->text);
        if (beside)
            return beside->value;
        break;
    case PE_CHANGE_DROP:
        break;
    }
    return (struct pe_config_value){PE_CONFIG_NULL, {0}};
}

static bool is_equal(const struct pe_config_value *a, const struct pe_config_value *b)
{
    return pe_config_is_number(a) && pe_config_is_number(b)
               ? pe_config_number(a) == pe_config_number(b)
               : pe_config_equal(a, b);
}

bool pe_engine_change_matters(const struct pe_config_scope *scope,
                              const struct pe_engine_change *change)
{
    const struct pe_engine_place place = pe_engine_place_find(scope, change);
    const struct pe_config_value value = value_of(change, &place);

    if (change->kind == PE_CHANGE_DROP)
        return place.member && place.member->value.kind != PE_CONFIG_NULL;
    if (change->kind == PE_CHANGE_COPY && value.kind == PE_CONFIG_NULL)
        return false;
    return !place.member || !is_equal(&place.member->value, &value);
}

/* ---- a copy ---------------------------------------------------------------------------------- */

struct copy {
    const struct pe_config_scope *scope;
    const struct pe_engine_change *const *changes;
    size_t count, without;
    struct pe_error *err;
};

static enum pe_status value_copy(const struct copy *copy, const struct pe_config_value *value,
                                 struct pe_config_node *into, const char *key);

/* The change of a member; NULL: it stays. */
static const struct pe_engine_change *change_of(const struct copy *copy,
                                                const struct pe_config_member *member)
{
    for (size_t i = 0; i < copy->count; i++)
        if (i != copy->without &&
            pe_engine_place_find(copy->scope, copy->changes[i]).member == member)
            return copy->changes[i];
    return NULL;
}

/* The key of a rope object that a change adds to a config without one; NULL: none. */
static const char *new_rope_key(const struct copy *copy, size_t index)
{
    const char *inner = inner_of(copy->changes[index]->path);

    return !copy->scope->rope && index != copy->without && inner && *inner &&
                   copy->changes[index]->kind != PE_CHANGE_DROP
               ? inner
               : NULL;
}

static bool has_new_rope(const struct copy *copy)
{
    for (size_t i = 0; i < copy->count; i++)
        if (new_rope_key(copy, i))
            return true;
    return false;
}

static enum pe_status member_copy(const struct copy *copy, const struct pe_config_member *member,
                                  struct pe_config_node *into)
{
    const struct pe_engine_change *change = change_of(copy, member);
    struct pe_engine_place place;
    struct pe_config_value value = member->value;

    if (member->in == copy->scope->text && strcmp(member->name.text, new_rope) == 0 &&
        has_new_rope(copy))
        return PE_OK;
    if (change && change->kind == PE_CHANGE_DROP)
        return PE_OK;
    if (change) {
        place = pe_engine_place_find(copy->scope, change);
        value = value_of(change, &place);
    }
    return value_copy(copy, &value, into, member->name.text);
}

/* Adds the keys that the object lacks and the changes give it. */
static enum pe_status absent_add(const struct copy *copy, const struct pe_config_node *object,
                                 struct pe_config_node *into)
{
    for (size_t i = 0; i < copy->count; i++) {
        const struct pe_engine_place place = pe_engine_place_find(copy->scope, copy->changes[i]);
        const struct pe_config_value value = value_of(copy->changes[i], &place);
        if (i != copy->without && place.object == object && !place.member &&
            !pe_config_member(into, place.key) && value.kind != PE_CONFIG_NULL &&
            value_copy(copy, &value, into, place.key))
            return copy->err->status;
    }
    return PE_OK;
}

static enum pe_status rope_add(const struct copy *copy, struct pe_config_node *text)
{
    struct pe_config_node *rope;

    if (pe_config_set_object(text, new_rope, &rope, copy->err))
        return copy->err->status;
    for (size_t i = 0; i < copy->count; i++) {
        const char *key = new_rope_key(copy, i);
        const struct pe_engine_place place = {NULL, key, NULL};
        const struct pe_config_value value = value_of(copy->changes[i], &place);
        if (key && pe_config_scalar_set(rope, key, &value, copy->err))
            return copy->err->status;
    }
    return PE_OK;
}

static enum pe_status node_copy(const struct copy *copy, const struct pe_config_node *from,
                                struct pe_config_node *into)
{
    if (from->is_list) {
        for (const struct pe_config_item *at = from->first_item; at; at = at->next)
            if (value_copy(copy, &at->value, into, NULL))
                return copy->err->status;
        return PE_OK;
    }
    for (const struct pe_config_member *at = from->first; at; at = at->next)
        if (member_copy(copy, at, into))
            return copy->err->status;
    if (from == copy->scope->text && has_new_rope(copy) && rope_add(copy, into))
        return copy->err->status;
    return absent_add(copy, from, into);
}

static enum pe_status value_copy(const struct copy *copy, const struct pe_config_value *value,
                                 struct pe_config_node *into, const char *key)
{
    struct pe_config_node *inner;

    if (value->kind < PE_CONFIG_OBJECT)
        return pe_config_scalar_set(into, key, value, copy->err);
    if (value->kind == PE_CONFIG_OBJECT ? pe_config_set_object(into, key, &inner, copy->err)
                                        : pe_config_set_list(into, key, &inner, copy->err))
        return copy->err->status;
    return node_copy(copy, value->as.node, inner);
}

enum pe_status pe_engine_change_apply(struct pe_config **changed, const struct pe_config *config,
                                      const struct pe_config_scope *scope,
                                      const struct pe_engine_change *const *changes, size_t count,
                                      size_t without, struct pe_work *work, struct pe_error *err)
{
    const struct copy copy = {scope, changes, count, without, err};

    if (pe_config_new(changed, work, err))
        return err->status;
    if (node_copy(&copy, config->top, pe_config_top(*changed))) {
        pe_config_free(*changed);
        *changed = NULL;
    }
    return err->status;
}
