/* SPDX-License-Identifier: MIT */
#include <search.h>
#include <stdio.h>
#include <string.h>

#include "core/config/tree.h"

/* Finds the values of a config again, and tells what they are. */

int pe_config_names_compare(const void *a, const void *b)
{
    const struct pe_config_name *one = a, *other = b;
    const size_t least = one->size < other->size ? one->size : other->size;
    const int order = memcmp(one->text, other->text, least);

    return order ? order : (one->size > other->size) - (one->size < other->size);
}

static const struct pe_config_member *member_find(const struct pe_config_node *object,
                                                  struct pe_config_name name)
{
    struct pe_config_member *const *found =
        object ? tfind(&name, &object->names, pe_config_names_compare) : NULL;

    return found ? *found : NULL;
}

const struct pe_config_member *pe_config_member(const struct pe_config_node *object,
                                                const char *key)
{
    return member_find(object, (struct pe_config_name){key, strlen(key)});
}

const struct pe_config_member *pe_config_member_at(const struct pe_config_node *object,
                                                   const char *keys, size_t size)
{
    /* A path may come from a config, and be as long as it. */
    for (const char *dot; object && (dot = memchr(keys, '.', size)); keys = dot + 1) {
        const size_t length = (size_t)(dot - keys);
        object = pe_config_object(member_find(object, (struct pe_config_name){keys, length}));
        size -= length + 1;
    }
    return member_find(object, (struct pe_config_name){keys, size});
}

const struct pe_config_node *pe_config_object(const struct pe_config_member *member)
{
    return member && member->value.kind == PE_CONFIG_OBJECT ? member->value.as.node : NULL;
}

const char *pe_config_text(const struct pe_config_member *member)
{
    return member && member->value.kind == PE_CONFIG_TEXT ? member->value.as.text : NULL;
}

bool pe_config_is_number(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_INTEGER || value->kind == PE_CONFIG_NUMBER;
}

double pe_config_number(const struct pe_config_value *value)
{
    return value->kind == PE_CONFIG_INTEGER  ? (double)value->as.integer
           : value->kind == PE_CONFIG_NUMBER ? value->as.number
                                             : 0;
}

static bool lists_equal(const struct pe_config_node *a, const struct pe_config_node *b)
{
    const struct pe_config_item *other = b->first_item;

    if (a->count != b->count)
        return false;
    for (const struct pe_config_item *at = a->first_item; at; at = at->next, other = other->next)
        if (!pe_config_equal(&at->value, &other->value))
            return false;
    return true;
}

static bool objects_equal(const struct pe_config_node *a, const struct pe_config_node *b)
{
    if (a->count != b->count)
        return false;
    for (const struct pe_config_member *at = a->first; at; at = at->next) {
        const struct pe_config_member *other = member_find(b, at->name);
        if (!other || !pe_config_equal(&at->value, &other->value))
            return false;
    }
    return true;
}

bool pe_config_equal(const struct pe_config_value *a, const struct pe_config_value *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case PE_CONFIG_NULL:
        return true;
    case PE_CONFIG_BOOL:
        return a->as.truth == b->as.truth;
    case PE_CONFIG_INTEGER:
        return a->as.integer == b->as.integer;
    case PE_CONFIG_NUMBER:
        return a->as.number == b->as.number;
    case PE_CONFIG_TEXT:
        return strcmp(a->as.text, b->as.text) == 0;
    case PE_CONFIG_OBJECT:
        return objects_equal(a->as.node, b->as.node);
    case PE_CONFIG_LIST:
        return lists_equal(a->as.node, b->as.node);
    }
    return false;
}

static size_t path_put(const struct pe_config_member *member, char *out, size_t size)
{
    size_t used = 0;

    if (member->shown) {
        used = (size_t)snprintf(out, size, "%s", member->shown);
        return used < size ? used : size - 1;
    }
    if (member->in->owner) {
        used = path_put(member->in->owner, out, size);
        used += (size_t)snprintf(out + used, size - used, ".");
        used = used < size ? used : size - 1;
    }
    used += (size_t)snprintf(out + used, size - used, "%s", member->name.text);
    return used < size ? used : size - 1;
}

const char *pe_config_path(const struct pe_config_member *member, char *out, size_t size)
{
    path_put(member, out, size);
    return out;
}
