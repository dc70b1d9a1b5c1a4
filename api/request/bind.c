/* SPDX-License-Identifier: MIT */
#include "api/request/bind.h"

#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/numbers/print.h"
#include "api/request/nearest.h"

/* The places in which a name is looked up: sets of parameters in order, then names that the handler
 * reads by itself. */
struct binding {
    struct api_request *request;
    struct pe_params **sets;
    size_t sets_count;
    const char *own;
    struct api_error *err;
};

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

static void list_offer(struct api_nearest *nearest, const char *list, const char *separator)
{
    while (list && *list) {
        const size_t length = strcspn(list, separator);
        api_nearest_offer(nearest, list, length);
        list += length + (list[length] != '\0');
    }
}

/* Without a near name the list of all helps. */
static void known_print(const struct binding *binding, char *out, size_t size)
{
    static const char begin[] = "; known:";
    size_t used = (size_t)snprintf(out, size, "%s", begin);

    for (size_t i = 0; i < binding->sets_count; i++)
        for (size_t j = 0; j < binding->sets[i]->count && used < size; j++)
            used +=
                (size_t)snprintf(out + used, size - used, " %s", binding->sets[i]->list[j].name);
    if (binding->own && *binding->own && used < size)
        used += (size_t)snprintf(out + used, size - used, " %s", binding->own);
    if (used == sizeof(begin) - 1)
        snprintf(out, size, "; this resource takes none");
}

static enum api_status unknown_name(const struct binding *binding, const char *where,
                                    const char *name)
{
    struct api_nearest nearest = {.word = name};
    char text[240];

    for (size_t i = 0; i < binding->sets_count; i++)
        for (size_t j = 0; j < binding->sets[i]->count; j++) {
            const struct pe_param *param = &binding->sets[i]->list[j];
            api_nearest_offer(&nearest, param->name, strlen(param->name));
            list_offer(&nearest, param->aliases, ",");
        }
    list_offer(&nearest, binding->own, " ");
    if (nearest.count > 0)
        api_nearest_print(&nearest, text, sizeof(text));
    else
        known_print(binding, text, sizeof(text));
    return api_fail(binding->err, API_UNKNOWN_PARAMETER, where, "there is no parameter '%.60s'%s",
                    name, text);
}

/* ---- text: the query and metadata ----------------------------------------------------------- */

static enum api_status text_bind(const struct binding *binding, const struct api_pair *pair)
{
    char where[sizeof(binding->err->where)];
    struct pe_params *set;
    size_t index;

    if (is_own(binding, pair->name))
        return API_OK;
    set = set_find(binding, pair->name, &index);
    if (set)
        return api_core(binding->err,
                        pe_params_set_text(set, index, pair->value, &binding->err->core));
    snprintf(where, sizeof(where), "parameter:%s", pair->name);
    return unknown_name(binding, where, pair->name);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static enum api_status elements_read(const struct binding *binding, const char *name,
                                     const json_t *array, double *out)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *element = json_array_get(array, i);
        if (!json_is_number(element))
            return api_fail(binding->err, API_INVALID, "", "element %zu of %s is not a number", i,
                            name);
        out[i] = json_number_value(element);
    }
    return API_OK;
}

/* An array of numbers; or of arrays of one length, where the parameter may be that. */
static enum api_status array_bind(const struct binding *binding, struct pe_params *set,
                                  size_t index, const json_t *array)
{
    const char *name = set->list[index].name;
    const bool nested = set->list[index].nested && json_is_array(json_array_get(array, 0));
    const size_t rows = nested ? json_array_size(array) : 1;
    const size_t columns = json_array_size(nested ? json_array_get(array, 0) : array);
    struct api_arena *arena = binding->request->arena;
    double *list =
        columns < SIZE_MAX / 16 / rows
            ? (double *)(void *)api_arena_room(arena, (rows * columns + 1) * sizeof(*list))
            : NULL;

    if (!list)
        return api_fail(binding->err, API_OUT_OF_MEMORY, "", "no memory for the elements of %s",
                        name);
    for (size_t i = 0; i < rows && !api_failed(binding->err); i++) {
        const json_t *row = nested ? json_array_get(array, i) : array;
        if (json_array_size(row) != columns)
            api_fail(binding->err, API_SHAPE_MISMATCH, "", "%s must have rows of one length", name);
        else
            elements_read(binding, name, row, list + i * columns);
    }
    if (!api_failed(binding->err))
        nested ? pe_params_set_rows(set, index, list, rows, columns, &binding->err->core)
               : pe_params_set_list(set, index, list, columns, &binding->err->core);
    api_arena_room_drop(arena, (unsigned char *)list);
    return api_failed(binding->err);
}

/* A long list, which was read beside the JSON library: json has [] in its place. It lasts as long
 * as the request. */
static enum api_status list_bind(const struct binding *binding, struct pe_params *set, size_t index,
                                 const struct pe_tensor *list)
{
    if (list->rank > 2 || (list->rank == 2 && !set->list[index].nested))
        return api_fail(binding->err, API_INVALID, "", "element 0 of %s is not a number",
                        set->list[index].name);
    return api_core(binding->err, pe_params_lend_list(
                                      set, index, list->data, list->rank == 2 ? list->shape[0] : 0,
                                      list->shape[list->rank - 1], &binding->err->core));
}

/* A number in a string is refused: it is most often a slip that some other reader would not
 * forgive. The text of a list of ranges ("0,7..9") is one, and so is everything in a query. */
static enum api_status string_bind(const struct binding *binding, struct pe_params *set,
                                   size_t index, const char *text)
{
    switch (set->list[index].type) {
    case PE_CHOICE:
    case PE_TEXT:
    case PE_RANGES:
        return api_core(binding->err, pe_params_set_text(set, index, text, &binding->err->core));
    case PE_NUMBER:
    case PE_INTEGER:
    case PE_NUMBERS:
    case PE_BOOLEAN:
        return api_fail(binding->err, API_INVALID, "", "%s must not be a string, got \"%.60s\"",
                        set->list[index].name, text);
    }
    return API_OK;
}

static enum api_status value_bind(const struct binding *binding, struct pe_params *set,
                                  size_t index, const json_t *value)
{
    const struct pe_param *param = &set->list[index];

    switch (json_typeof(value)) {
    case JSON_NULL:
        return API_OK;
    case JSON_INTEGER:
    case JSON_REAL:
        return api_core(binding->err, pe_params_set_number(set, index, json_number_value(value),
                                                           &binding->err->core));
    case JSON_STRING:
        return string_bind(binding, set, index, json_string_value(value));
    case JSON_ARRAY:
        return array_bind(binding, set, index, value);
    case JSON_TRUE:
    case JSON_FALSE:
        if (param->type == PE_BOOLEAN)
            return api_core(binding->err,
                            pe_params_set_text(set, index, json_is_true(value) ? "true" : "false",
                                               &binding->err->core));
        return api_fail(binding->err, API_INVALID, "", "%s must not be true or false", param->name);
    case JSON_OBJECT:
        return api_fail(binding->err, API_INVALID, "", "%s must not be an object", param->name);
    }
    return API_OK;
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

static enum api_status object_bind(const struct binding *binding, json_t *object, const char *at)
{
    char where[sizeof(binding->err->where)];
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        const struct pe_tensor *list = *at ? NULL : api_request_list(binding->request, name);
        struct pe_params *set;
        size_t index = 0;

        if (is_own(binding, name))
            continue;
        set = set_find(binding, name, &index);
        pointer_print(where, sizeof(where), at, name);
        if (!set)
            return unknown_name(binding, where, name);
        if (list ? list_bind(binding, set, index, list) : value_bind(binding, set, index, value)) {
            /* The core names the parameter; whoever wrote JSON looks for a place in it. */
            snprintf(binding->err->where, sizeof(binding->err->where), "%s", where);
            return api_failed(binding->err);
        }
    }
    return API_OK;
}

enum api_status api_bind_object(struct api_request *request, json_t *object, const char *at,
                                struct pe_params **sets, size_t sets_count, const char *own,
                                struct api_error *err)
{
    const struct binding binding = {request, sets, sets_count, own, err};

    api_sets_charge(request, sets, sets_count);
    return object_bind(&binding, object, at);
}

/* ---- values that the handler reads by itself ------------------------------------------------ */

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

enum api_status api_request_scalar(const struct api_request *request, const char *name,
                                   const char **text, struct api_error *err)
{
    const json_t *value = json_object_get(request->json, name);
    char where[sizeof(err->where)];

    *text = api_request_text(request, name);
    if (!api_request_list(request, name) &&
        (json_is_null(value) || !value || json_text(request, name)))
        return API_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return api_fail(err, API_INVALID, where, "%s must be text, not a list or an object", name);
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
static enum api_status own_check(const struct binding *binding, const char *name)
{
    const struct api_request *request = binding->request;
    const char *first = api_request_text(request, name);
    const char *others[] = {json_text(request, name),
                            pair_find(request->metadata, request->metadata_count, name)};
    char where[sizeof(binding->err->where)];
    const char *other = NULL;

    for (size_t i = 0; i < 2; i++)
        if (others[i] && strcmp(others[i], first) != 0)
            other = others[i];
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, name) == 0 &&
            strcmp(request->query[i].value, first) != 0)
            other = request->query[i].value;
    if (!other)
        return API_OK;
    snprintf(where, sizeof(where), "parameter:%s", name);
    return api_fail(binding->err, API_CONFLICT, where, "%s is given twice: %.40s and %.40s", name,
                    first, other);
}

static enum api_status own_all_check(const struct binding *binding)
{
    const char *list = binding->own;
    char name[64];

    while (list && *list) {
        const size_t length = strcspn(list, " ");
        memcpy(name, list, length);
        name[length] = '\0';
        if (own_check(binding, name))
            return api_failed(binding->err);
        list += length + (list[length] != '\0');
    }
    for (size_t i = 0; i < binding->sets_count; i++)
        for (size_t j = 0; j < binding->sets[i]->count; j++)
            if (binding->sets[i]->list[j].type == PE_TEXT &&
                own_check(binding, binding->sets[i]->list[j].name))
                return api_failed(binding->err);
    return API_OK;
}

enum api_status api_bind(struct api_request *request, struct pe_params **sets, size_t sets_count,
                         const char *own, struct api_error *err)
{
    const struct binding binding = {request, sets, sets_count, own, err};

    api_sets_charge(request, sets, sets_count);
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, "format") != 0 &&
            text_bind(&binding, &request->query[i]))
            return api_failed(err);
    if (request->json && object_bind(&binding, request->json, ""))
        return api_failed(err);
    for (size_t i = 0; i < request->metadata_count; i++)
        if (text_bind(&binding, &request->metadata[i]))
            return api_failed(err);
    return own_all_check(&binding);
}
