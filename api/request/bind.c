/* SPDX-License-Identifier: MIT */
#include "api/request/parameters.h"

#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/numbers/print.h"

/* The places in which a name is looked up: sets of parameters in order, then names that the handler
 * reads by itself. */
struct binding {
    struct api_request *request;
    struct pe_params **sets;
    size_t sets_count;
    const char *own;
    struct pe_error *err;
};

static bool holds_nothing(const struct pe_params *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->values[i].list || set->values[i].text)
            return false;
    return true;
}

static void params_release(void *params)
{
    pe_params_free(params);
}

bool api_params_keep(struct api_arena *arena, struct pe_params *params)
{
    return api_arena_defer(arena, params_release, params);
}

void api_sets_charge(const struct api_request *request, struct pe_params **sets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!sets[i]->work && holds_nothing(sets[i]))
            sets[i]->work = request->work;
}

static struct pe_params *set_find(const struct binding *binding, const char *name, size_t *index)
{
    for (size_t i = 0; i < binding->sets_count; i++) {
        const int found = pe_params_find(binding->sets[i], name);
        if (found >= 0) {
            *index = (size_t)found;
            return binding->sets[i];
        }
    }
    return NULL;
}

static bool is_own(const struct binding *binding, const char *name)
{
    return api_names_have(binding->own, " ", name, strlen(name));
}

/* The pipeline reads these of every request. */
static bool is_of_all(const char *name)
{
    return strcmp(name, "format") == 0;
}

/* The parameter that an unknown name is in other letters, or stands for by spellings.def; NULL: it
 * means nothing here. */
static const char *name_meant(const struct binding *binding, const char *where, const char *name)
{
    if (api_mistakes_hold(binding->request->mistakes, where))
        return NULL;
    return api_spelling_find(binding->request, binding->sets, binding->sets_count, binding->own,
                             name);
}

static enum pe_status unknown_name(const struct binding *binding, const char *where,
                                   const char *name)
{
    return api_unknown_fail(binding->request, binding->sets, binding->sets_count, binding->own,
                            where, name, binding->err);
}

/* ---- text: the query and metadata ------------------------------------------------------------ */

static enum pe_status text_bind(const struct binding *binding, struct api_pair *pair)
{
    char where[sizeof(binding->err->where)];
    struct pe_params *set;
    const char *meant;
    size_t index;

    if (is_own(binding, pair->name))
        return PE_OK;
    set = set_find(binding, pair->name, &index);
    if (set)
        return pe_params_set_text(set, index, pair->value, binding->err);
    if (is_of_all(pair->name))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", pair->name);
    meant = name_meant(binding, where, pair->name);
    if (!meant)
        return unknown_name(binding, where, pair->name);
    pair->name = meant; /* is known */
    return text_bind(binding, pair);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static enum pe_status elements_read(const struct binding *binding, const char *name,
                                    const json_t *array, double *out)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *element = json_array_get(array, i);
        if (!json_is_number(element))
            return pe_fail(binding->err, PE_INVALID, "", "element %zu of %s is not a number", i,
                           name);
        out[i] = json_number_value(element);
    }
    return PE_OK;
}

/* Of a parameter with one value: its elements are not looked at. */
static enum pe_status single_refuse(const struct binding *binding, const struct pe_param *param)
{
    switch (param->type) {
    case PE_CHOICE:
        return pe_fail(binding->err, PE_INVALID, "", "%s must be one of %s, and not a list",
                       param->name, param->choices);
    case PE_TEXT:
        return pe_fail(binding->err, PE_INVALID, "", "%s must be text, and not a list",
                       param->name);
    case PE_BOOLEAN:
        return pe_fail(binding->err, PE_INVALID, "", "%s must be true or false, and not a list",
                       param->name);
    case PE_NUMBER:
    case PE_INTEGER:
        return pe_fail(binding->err, PE_INVALID, "", "%s must be a number, and not a list",
                       param->name);
    case PE_NUMBERS:
    case PE_RANGES:
        break;
    }
    return PE_OK;
}

/* An array of numbers; or of arrays of one length, where the parameter may be that. */
static enum pe_status array_bind(const struct binding *binding, struct pe_params *set, size_t index,
                                 const json_t *array)
{
    const char *name = set->list[index].name;
    const bool nested = set->list[index].nested && json_is_array(json_array_get(array, 0));
    const size_t rows = nested ? json_array_size(array) : 1;
    const size_t columns = json_array_size(nested ? json_array_get(array, 0) : array);
    struct api_arena *arena = binding->request->arena;
    double *list = NULL;

    if (single_refuse(binding, &set->list[index]))
        return binding->err->status;
    if (columns < SIZE_MAX / 16 / rows)
        list = (double *)(void *)api_arena_room(arena, (rows * columns + 1) * sizeof(*list));
    if (!list)
        return pe_fail(binding->err, PE_OUT_OF_MEMORY, "", "no memory for the elements of %s",
                       name);
    for (size_t i = 0; i < rows && !binding->err->status; i++) {
        const json_t *row = nested ? json_array_get(array, i) : array;
        if (json_array_size(row) != columns)
            pe_fail(binding->err, PE_SHAPE_MISMATCH, "", "%s must have rows of one length", name);
        else
            elements_read(binding, name, row, list + i * columns);
    }
    if (!binding->err->status)
        nested ? pe_params_set_rows(set, index, list, rows, columns, binding->err)
               : pe_params_set_list(set, index, list, columns, binding->err);
    api_arena_room_drop(arena, (unsigned char *)list);
    return binding->err->status;
}

/* A long list, which was read beside the JSON library: json has [] in its place. It lasts as long
 * as the request. */
static enum pe_status list_bind(const struct binding *binding, struct pe_params *set, size_t index,
                                const struct pe_tensor *list)
{
    if (single_refuse(binding, &set->list[index]))
        return binding->err->status;
    if (list->rank > 2 || (list->rank == 2 && !set->list[index].nested))
        return pe_fail(binding->err, PE_INVALID, "", "element 0 of %s is not a number",
                       set->list[index].name);
    return pe_params_lend_list(set, index, list->data, list->rank == 2 ? list->shape[0] : 0,
                               list->shape[list->rank - 1], binding->err);
}

/* A number in a string is refused: it is most often a slip that some other reader would not
 * forgive. The text of a list of ranges ("0,7..9") is one, and so is everything in a query. */
static enum pe_status string_bind(const struct binding *binding, struct pe_params *set,
                                  size_t index, const char *text)
{
    switch (set->list[index].type) {
    case PE_CHOICE:
    case PE_TEXT:
    case PE_RANGES:
        return pe_params_set_text(set, index, text, binding->err);
    case PE_NUMBER:
    case PE_INTEGER:
    case PE_NUMBERS:
    case PE_BOOLEAN:
        return pe_fail(binding->err, PE_INVALID, "", "%s must not be a string, got \"%.60s\"",
                       set->list[index].name, text);
    }
    return PE_OK;
}

static enum pe_status value_bind(const struct binding *binding, struct pe_params *set, size_t index,
                                 const json_t *value)
{
    const struct pe_param *param = &set->list[index];

    switch (json_typeof(value)) {
    case JSON_NULL:
        return PE_OK;
    case JSON_INTEGER:
    case JSON_REAL:
        return pe_params_set_number(set, index, json_number_value(value), binding->err);
    case JSON_STRING:
        return string_bind(binding, set, index, json_string_value(value));
    case JSON_ARRAY:
        return array_bind(binding, set, index, value);
    case JSON_TRUE:
    case JSON_FALSE:
        if (param->type == PE_BOOLEAN)
            return pe_params_set_text(set, index, json_is_true(value) ? "true" : "false",
                                      binding->err);
        return pe_fail(binding->err, PE_INVALID, "", "%s must not be true or false", param->name);
    case JSON_OBJECT:
        return pe_fail(binding->err, PE_INVALID, "", "%s must not be an object", param->name);
    }
    return PE_OK;
}

/* '~' and '/' of a name are written ~0 and ~1 in a JSON pointer. */
static void pointer_print(char *out, size_t size, const char *at, const char *name)
{
    size_t used = (size_t)snprintf(out, size, "pointer:%s/", at);

    for (; *name && used + 2 < size; name++) {
        if (*name == '~' || *name == '/') {
            out[used++] = '~';
            out[used++] = *name == '~' ? '0' : '1';
        } else {
            out[used++] = *name;
        }
    }
    if (used < size)
        out[used] = '\0';
}

/* An object of more members than there are parameters keeps its names: to rename a member takes
 * time in proportion to its lists. */
enum { MEMBERS_MAX = 256 };

/* Gives members the names of the parameters that they mean. A member whose right name is there too
 * keeps its own and is refused by it; so does an object. */
static void members_rename(const struct binding *binding, json_t *object)
{
    struct api_request *request = binding->request;
    const char *name, *meant;
    json_t *value;
    size_t index;
    void *next;

    if (json_object_size(object) > MEMBERS_MAX)
        return;
    json_object_foreach_safe(object, next, name, value)
    {
        if (json_is_object(value) || is_own(binding, name) || set_find(binding, name, &index) ||
            is_of_all(name) || !(meant = name_meant(binding, "", name)) ||
            json_object_get(object, meant) || json_object_set(object, meant, value))
            continue;
        for (size_t i = 0; object == request->json && i < request->lists_count; i++)
            if (strcmp(request->lists[i].name, name) == 0)
                request->lists[i].name = meant;
        json_object_del(object, name);
    }
}

static enum pe_status object_bind(const struct binding *binding, json_t *object, const char *at)
{
    char where[sizeof(binding->err->where)];
    const char *name;
    json_t *value;

    members_rename(binding, object);
    json_object_foreach(object, name, value)
    {
        const struct pe_tensor *list;
        struct pe_params *set;
        size_t index = 0;

        if (is_own(binding, name))
            continue;
        set = set_find(binding, name, &index);
        if (!set && !*at && is_of_all(name))
            continue;
        pointer_print(where, sizeof(where), at, name);
        /* Looked up for known names alone: there may be many of each. */
        list = set && !*at ? api_request_list(binding->request, name) : NULL;
        if (set ? !(list ? list_bind(binding, set, index, list)
                         : value_bind(binding, set, index, value))
                : !unknown_name(binding, where, name))
            continue;
        /* The core names the parameter; whoever wrote JSON looks for a place in it. */
        snprintf(binding->err->where, sizeof(binding->err->where), "%s", where);
        if (api_mistake_note(binding->request, set ? set->list[index].name : NULL, binding->err))
            return binding->err->status;
    }
    return PE_OK;
}

enum pe_status api_bind_object(struct api_request *request, json_t *object, const char *at,
                               struct pe_params **sets, size_t sets_count, const char *own,
                               struct pe_error *err)
{
    const struct binding binding = {request, sets, sets_count, own, err};

    api_sets_charge(request, sets, sets_count);
    return object_bind(&binding, object, at);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static enum pe_status pairs_bind(const struct binding *binding, struct api_pair *pairs,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_bind(binding, &pairs[i]) && api_mistake_note(binding->request, NULL, binding->err))
            return binding->err->status;
    return PE_OK;
}

/* Required parameters that are absent are missing where neither a body nor a config can hold them.
 */
static enum pe_status missing_note(const struct binding *binding)
{
    struct api_request *request = binding->request;

    if (request->body_size > 0 || request->config)
        return PE_OK;
    for (size_t i = 0; i < binding->sets_count; i++)
        for (size_t j = 0; j < binding->sets[i]->count; j++) {
            const struct pe_param *param = &binding->sets[i]->list[j];
            struct pe_params absent;
            if (!param->required || binding->sets[i]->values[j].present)
                continue;
            pe_params_init(&absent, param, 1);
            pe_params_finish(&absent, binding->err);
            if (api_mistake_note(request, param->name, binding->err))
                return binding->err->status;
        }
    return PE_OK;
}

enum pe_status api_bind(struct api_request *request, struct pe_params **sets, size_t sets_count,
                        const char *own, struct pe_error *err)
{
    const struct binding binding = {request, sets, sets_count, own, err};

    api_sets_charge(request, sets, sets_count);
    if (pairs_bind(&binding, request->query, request->query_count) ||
        (request->json && object_bind(&binding, request->json, "")) ||
        pairs_bind(&binding, request->metadata, request->metadata_count) ||
        api_own_check(request, sets, sets_count, own, err) || missing_note(&binding))
        return err->status;
    return request->mistakes ? api_mistakes_fail(request->mistakes, err) : PE_OK;
}

/* ---- parameters that the handler reads itself ------------------------------------------------ */

/* Values that the handler reads by itself. */

static const char *pair_find(const struct api_pair *pairs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(pairs[i].name, name) == 0)
            return pairs[i].value;
    return NULL;
}

static const char *json_text(const struct api_request *request, const char *name)
{
    const json_t *value = json_object_get(request->json, name);
    char *number;

    if (json_is_string(value))
        return json_string_value(value);
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    if (json_is_integer(value))
        return api_arena_print(request->arena, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (!json_is_real(value))
        return NULL;
    number = api_arena_take(request->arena, API_NUMBER_MAX);
    if (number)
        api_double_print(number, json_real_value(value));
    return number;
}

const char *api_request_text(const struct api_request *request, const char *name)
{
    const char *text = pair_find(request->query, request->query_count, name);

    if (!text)
        text = json_text(request, name);
    return text ? text : pair_find(request->metadata, request->metadata_count, name);
}

enum pe_status api_request_scalar(const struct api_request *request, const char *name,
                                  const char **text, struct pe_error *err)
{
    const json_t *value = json_object_get(request->json, name);
    char where[sizeof(err->where)];

    *text = api_request_text(request, name);
    if (!api_request_list(request, name) &&
        (json_is_null(value) || !value || json_text(request, name)))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return pe_fail(err, PE_INVALID, where, "%s must be text, not a list or an object", name);
}

const struct pe_tensor *api_request_list(const struct api_request *request, const char *name)
{
    for (size_t i = 0; i < request->lists_count; i++)
        if (strcmp(request->lists[i].name, name) == 0)
            return &request->lists[i].tensor;
    return NULL;
}

struct api_tensor *api_request_tensor(struct api_request *request, const char *name)
{
    for (size_t i = 0; i < request->tensors_count; i++)
        if (strcmp(request->tensors[i].name, name) == 0)
            return &request->tensors[i];
    return NULL;
}

/* A name that no set holds must not contradict itself either: its sources agree, or are silent. */
static enum pe_status own_check(struct api_request *request, const char *name, struct pe_error *err)
{
    const char *first = api_request_text(request, name);
    const char *others[] = {json_text(request, name),
                            pair_find(request->metadata, request->metadata_count, name)};
    char where[sizeof(err->where)];
    const char *other = NULL;

    for (size_t i = 0; i < 2; i++)
        if (others[i] && strcmp(others[i], first) != 0)
            other = others[i];
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, name) == 0 &&
            strcmp(request->query[i].value, first) != 0)
            other = request->query[i].value;
    if (!other)
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    pe_fail(err, PE_CONFLICT, where, "%s is given twice: %.40s and %.40s", name, first, other);
    return api_mistake_note(request, name, err);
}

enum pe_status api_own_check(struct api_request *request, struct pe_params **sets,
                             size_t sets_count, const char *own, struct pe_error *err)
{
    char name[64];

    while (own && *own) {
        const size_t length = strcspn(own, " ");
        memcpy(name, own, length);
        name[length] = '\0';
        if (length > 0 && own_check(request, name, err))
            return err->status;
        own += length + (own[length] != '\0');
    }
    for (size_t i = 0; i < sets_count; i++)
        for (size_t j = 0; j < sets[i]->count; j++)
            if (sets[i]->list[j].type == PE_TEXT && own_check(request, sets[i]->list[j].name, err))
                return err->status;
    return PE_OK;
}
