/* SPDX-License-Identifier: MIT */
#include "core/config/tree.h"

#include <search.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/errors.h"

/* A config as a tree of values. The members of an object are in a balanced tree (tsearch), so that
 * lookups stay fast for any choice of keys, and in a list, which keeps the order of the file. */

/* ---- memory ---------------------------------------------------------------------------------- */

/* Pieces hold pointers, integers, doubles and text. */
enum { ALIGNMENT = 8, CHUNK_MIN = 1 << 10, CHUNK_MAX = 1 << 16 };

struct pe_config_chunk {
    struct pe_config_chunk *older;
    size_t size;
    alignas(ALIGNMENT) char bytes[];
};

bool pe_config_charge(struct pe_config_memory *memory, size_t bytes)
{
    if (!pe_work_reserve(memory->work, bytes))
        return false;
    memory->charged += bytes;
    return true;
}

/* Each chunk is as large as all before it together, within limits: a small config takes little. */
static bool chunk_add(struct pe_config_memory *memory, size_t least)
{
    const size_t usual = memory->charged < CHUNK_MIN   ? CHUNK_MIN
                         : memory->charged > CHUNK_MAX ? CHUNK_MAX
                                                       : memory->charged;
    const size_t size = least > usual ? least : usual;
    struct pe_config_chunk *chunk;

    if (size > SIZE_MAX - sizeof(*chunk) || !pe_config_charge(memory, size + sizeof(*chunk)))
        return false;
    chunk = malloc(sizeof(*chunk) + size);
    if (!chunk)
        return false;
    chunk->older = memory->chunks;
    chunk->size = size;
    memory->chunks = chunk;
    memory->left = size;
    return true;
}

void *pe_config_take(struct pe_config_memory *memory, size_t size)
{
    const size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    char *end;

    if (rounded < size || (memory->left < rounded && !chunk_add(memory, rounded)))
        return NULL;
    end = memory->chunks->bytes + memory->chunks->size;
    memory->left -= rounded;
    return end - memory->left - rounded;
}

char *pe_config_copy(struct pe_config_memory *memory, const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = pe_config_take(memory, size);

    return copy ? memcpy(copy, text, size) : NULL;
}

void pe_config_memory_free(struct pe_config_memory *memory)
{
    for (struct pe_config_chunk *chunk = memory->chunks, *older; chunk; chunk = older) {
        older = chunk->older;
        free(chunk);
    }
    pe_work_release(memory->work, memory->charged);
    *memory = (struct pe_config_memory){.work = memory->work};
}

/* ---- making ---------------------------------------------------------------------------------- */

/* Approximate nanoseconds to add, read and free a value, and more for a list or an object. */
enum { VALUE_COST = 150, NODE_COST = 150 };

/* Bytes of a tsearch node, with the overhead of malloc. */
enum { NAME_SIZE = 48 };

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

/* Members are freed with the config's memory. */
static void member_ignore(void *member)
{
    (void)member;
}

void pe_config_free(struct pe_config *config)
{
    if (!config)
        return;
    for (const struct pe_config_node *node = config->nodes; node; node = node->older)
        if (!node->is_list)
            tdestroy(node->names, member_ignore);
    pe_config_memory_free(&config->memory);
    free(config);
}

struct pe_config_node *pe_config_top(struct pe_config *config)
{
    return config->top;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* Orders struct pe_config_name. */
static int names_compare(const void *a, const void *b)
{
    const struct pe_config_name *one = a, *other = b;
    const size_t least = one->size < other->size ? one->size : other->size;
    const int order = memcmp(one->text, other->text, least);

    return order ? order : (one->size > other->size) - (one->size < other->size);
}

static enum pe_status duplicate_refuse(const struct pe_config_member *member, struct pe_error *err)
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

    if (!member || !name || !pe_config_charge(&config->memory, NAME_SIZE))
        return no_memory(err);
    *member = (struct pe_config_member){
        .name = {name, strlen(name)}, .value = *value, .in = object, .number = config->members};
    found = tsearch(member, &object->names, names_compare);
    if (!found)
        return no_memory(err);
    if (*found != member)
        return duplicate_refuse(*found, err);
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
    if (place_check(node, key, err) || pe_work_spend(node->config->memory.work, VALUE_COST, err))
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

enum pe_status pe_config_scalar_set(struct pe_config_node *into, const char *key,
                                    const struct pe_config_value *value, struct pe_error *err)
{
    return value->kind == PE_CONFIG_TEXT ? pe_config_set_text(into, key, value->as.text, err)
                                         : add(into, key, value, err);
}

static enum pe_status node_add(struct pe_config_node *node, const char *key, bool is_list,
                               struct pe_config_node **out, struct pe_error *err)
{
    struct pe_config_value value = {.kind = is_list ? PE_CONFIG_LIST : PE_CONFIG_OBJECT};

    *out = NULL;
    if (place_check(node, key, err) || pe_work_spend(node->config->memory.work, NODE_COST, err))
        return err->status;
    if (node->depth + 1 >= PE_CONFIG_DEPTH_MAX)
        return pe_fail(err, PE_TOO_LARGE, "config", "the config is more than %d levels deep",
                       PE_CONFIG_DEPTH_MAX);
    value.as.node = node_new(node->config, is_list);
    if (!value.as.node)
        return no_memory(err);
    value.as.node->depth = node->depth + 1;
    if (add(node, key, &value, err)) /* the node stays in the config's memory, unreachable */
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

/* ---- in order -------------------------------------------------------------------------------- */

static void entry_set(struct pe_config_entry *entry, const struct pe_config_value *value)
{
    entry->kind = (enum pe_config_entry_kind)value->kind;
    entry->truth = value->kind == PE_CONFIG_BOOL && value->as.truth;
    entry->integer = value->kind == PE_CONFIG_INTEGER ? value->as.integer : 0;
    entry->number = pe_config_number(value);
    entry->text = value->kind == PE_CONFIG_TEXT ? value->as.text : NULL;
    entry->node = value->kind >= PE_CONFIG_OBJECT ? value->as.node : NULL;
}

bool pe_config_next(const struct pe_config_node *node, struct pe_config_entry *entry)
{
    const struct pe_config_item *item = entry->at;
    const struct pe_config_member *member = entry->at;

    if (node->is_list) {
        item = item ? item->next : node->first_item;
        entry->at = item;
        entry->key = NULL;
        if (item)
            entry_set(entry, &item->value);
        return item;
    }
    member = member ? member->next : node->first;
    entry->at = member;
    entry->key = member ? member->name.text : NULL;
    if (member)
        entry_set(entry, &member->value);
    return member;
}

/* ---- finding --------------------------------------------------------------------------------- */

static const struct pe_config_member *member_find(const struct pe_config_node *object,
                                                  struct pe_config_name name)
{
    struct pe_config_member *const *found =
        object ? tfind(&name, &object->names, names_compare) : NULL;

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
    /* A path may come from a config and be arbitrarily long. */
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

/* Prints up to size - 1 bytes; returns how many. */
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
