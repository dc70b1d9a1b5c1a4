/* SPDX-License-Identifier: MIT */
#include "core/config/tree.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fail.h"

/* Takes in the values of a config. Members of an object stand in a balanced tree (tsearch), so that
 * no choice of keys makes finding them slow, and in a list, so that they come out in the order in
 * which they came. */

/* Nanoseconds of a value that is taken in, looked at by the rules and given back, about; and of
 * a list or an object beside that. */
enum { VALUE_WORK = 150, NODE_WORK = 150 };

/* A node of tsearch's, with the overhead of malloc. */
enum { NAME_COST = 48 };

static enum pe_status no_memory(struct pe_error *err)
{
    return pe_no_memory(err, "the config");
}

static struct pe_config_node *node_new(struct pe_config *config, bool is_list)
{
    struct pe_config_node *node = pe_config_take(&config->memory, sizeof(*node));

    if (!node)
        return NULL;
    *node = (struct pe_config_node){.config = config, .older = config->nodes, .is_list = is_list};
    config->nodes = node;
    return node;
}

enum pe_status pe_config_new(struct pe_config **out, struct pe_work *work, struct pe_error *err)
{
    struct pe_config *config = calloc(1, sizeof(*config));

    *out = NULL;
    if (!config)
        return no_memory(err);
    config->memory.work = work;
    config->top = node_new(config, false);
    if (!config->top) {
        pe_config_free(config);
        return no_memory(err);
    }
    *out = config;
    return PE_OK;
}

/* Members lie in the config's memory. */
static void member_leave(void *member)
{
    (void)member;
}

void pe_config_free(struct pe_config *config)
{
    if (!config)
        return;
    for (const struct pe_config_node *node = config->nodes; node; node = node->older)
        if (!node->is_list)
            tdestroy(node->names, member_leave);
    pe_config_memory_free(&config->memory);
    free(config);
}

struct pe_config_node *pe_config_top(struct pe_config *config)
{
    return config->top;
}

/* ---- adding ---------------------------------------------------------------------------------- */

static enum pe_status twice(const struct pe_config_member *member, struct pe_error *err)
{
    char where[sizeof(err->where)] = "key:";
    const size_t prefix = strlen(where);

    pe_config_path(member, where + prefix, sizeof(where) - prefix);
    return pe_fail(err, PE_CONFLICT, where, "%s is given twice", where + prefix);
}

static enum pe_status member_add(struct pe_config_node *object, const char *key,
                                 const struct pe_config_value *value, struct pe_error *err)
{
    struct pe_config *config = object->config;
    struct pe_config_member *member = pe_config_take(&config->memory, sizeof(*member));
    const char *name = pe_config_copy(&config->memory, key);
    struct pe_config_member **found;

    if (!member || !name || !pe_config_charge(&config->memory, NAME_COST))
        return no_memory(err);
    *member = (struct pe_config_member){
        .name = {name, strlen(name)}, .value = *value, .in = object, .number = config->members};
    found = tsearch(member, &object->names, pe_config_names_compare);
    if (!found)
        return no_memory(err);
    if (*found != member)
        return twice(*found, err);
    *(object->last ? &object->last->next : &object->first) = member;
    object->last = member;
    object->count++;
    config->members++;
    if (value->kind >= PE_CONFIG_OBJECT)
        value->as.node->owner = member;
    return PE_OK;
}

static enum pe_status item_add(struct pe_config_node *list, const struct pe_config_value *value,
                               struct pe_error *err)
{
    struct pe_config_item *item = pe_config_take(&list->config->memory, sizeof(*item));

    if (!item)
        return no_memory(err);
    *item = (struct pe_config_item){.value = *value};
    *(list->last_item ? &list->last_item->next : &list->first_item) = item;
    list->last_item = item;
    list->count++;
    return PE_OK;
}

static enum pe_status place_check(const struct pe_config_node *node, const char *key,
                                  struct pe_error *err)
{
    if (node && (node->is_list || key))
        return PE_OK;
    return pe_fail(err, PE_INVALID, "config",
                   node ? "a value of an object needs a key" : "a value must lie in an object");
}

static enum pe_status add(struct pe_config_node *node, const char *key,
                          const struct pe_config_value *value, struct pe_error *err)
{
    if (place_check(node, key, err) || pe_work_spend(node->config->memory.work, VALUE_WORK, err))
        return err->status;
    return node->is_list ? item_add(node, value, err) : member_add(node, key, value, err);
}

enum pe_status pe_config_set_null(struct pe_config_node *node, const char *key,
                                  struct pe_error *err)
{
    return add(node, key, &(struct pe_config_value){.kind = PE_CONFIG_NULL}, err);
}

enum pe_status pe_config_set_bool(struct pe_config_node *node, const char *key, bool value,
                                  struct pe_error *err)
{
    return add(node, key, &(struct pe_config_value){PE_CONFIG_BOOL, {.truth = value}}, err);
}

enum pe_status pe_config_set_integer(struct pe_config_node *node, const char *key, int64_t value,
                                     struct pe_error *err)
{
    return add(node, key, &(struct pe_config_value){PE_CONFIG_INTEGER, {.integer = value}}, err);
}

enum pe_status pe_config_set_number(struct pe_config_node *node, const char *key, double value,
                                    struct pe_error *err)
{
    return add(node, key, &(struct pe_config_value){PE_CONFIG_NUMBER, {.number = value}}, err);
}

enum pe_status pe_config_set_text(struct pe_config_node *node, const char *key, const char *value,
                                  struct pe_error *err)
{
    struct pe_config_value text = {.kind = PE_CONFIG_TEXT};

    if (place_check(node, key, err))
        return err->status;
    if (!value)
        return pe_fail(err, PE_INVALID, "config", "there is no text");
    text.as.text = pe_config_copy(&node->config->memory, value);
    return text.as.text ? add(node, key, &text, err) : no_memory(err);
}

static enum pe_status node_add(struct pe_config_node *node, const char *key, bool is_list,
                               struct pe_config_node **out, struct pe_error *err)
{
    struct pe_config_value value = {.kind = is_list ? PE_CONFIG_LIST : PE_CONFIG_OBJECT};

    *out = NULL;
    if (place_check(node, key, err) || pe_work_spend(node->config->memory.work, NODE_WORK, err))
        return err->status;
    if (node->depth + 1 >= PE_CONFIG_DEPTH_MAX)
        return pe_fail(err, PE_TOO_LARGE, "config", "the config is more than %d levels deep",
                       PE_CONFIG_DEPTH_MAX);
    value.as.node = node_new(node->config, is_list);
    if (!value.as.node)
        return no_memory(err);
    value.as.node->depth = node->depth + 1;
    if (add(node, key, &value, err)) /* the config keeps the node, and nothing leads to it */
        return err->status;
    *out = value.as.node;
    return PE_OK;
}

enum pe_status pe_config_set_object(struct pe_config_node *node, const char *key,
                                    struct pe_config_node **object, struct pe_error *err)
{
    return node_add(node, key, false, object, err);
}

enum pe_status pe_config_set_list(struct pe_config_node *node, const char *key,
                                  struct pe_config_node **list, struct pe_error *err)
{
    return node_add(node, key, true, list, err);
}

enum pe_status pe_config_set_numbers(struct pe_config_node *node, const char *key,
                                     const double *values, size_t count, struct pe_error *err)
{
    struct pe_config_node *list;

    if (pe_config_set_list(node, key, &list, err))
        return err->status;
    for (size_t i = 0; i < count; i++)
        if (pe_config_set_number(list, NULL, values[i], err))
            return err->status;
    return PE_OK;
}
