/* SPDX-License-Identifier: MIT */
#include "api/request/parameters.h"

#include <stdio.h>
#include <string.h>

#include "api/base/names.h"
#include "api/numbers/print.h"

/* Where a name is looked up: sets of parameters in order, then names that the handler reads. */
struct binding {
    struct api_request *request;
    struct pe_params **sets;
    size_t sets_count;
    const char *handler_names;
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

/* Charges the lists and texts that a client sends to its request. A set that holds some already is
 * charged elsewhere, and stays so. */
static void sets_charge(const struct api_request *request, struct pe_params **sets, size_t count)
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

static bool is_handler_name(const struct binding *binding, const char *name)
{
    return api_names_have(binding->handler_names, " ", name, strlen(name));
}

/* Parameters of every request, which the pipeline reads. */
static bool is_common(const char *name)
{
    return strcmp(name, "format") == 0;
}

/* The parameter intended by an unknown name: one that differs in case, or by spellings.def; NULL:
 * none. */
static const char *intended_name(const struct binding *binding, const char *where, const char *name)
{
    if (api_parameter_errors_have(binding->request->parameter_errors, where))
        return NULL;
    return api_spelling_find(binding->request, binding->sets, binding->sets_count,
                             binding->handler_names, name);
}

static enum pe_status unknown_name(const struct binding *binding, const char *where,
                                   const char *name)
{
    return api_unknown_fail(binding->request, binding->sets, binding->sets_count,
                            binding->handler_names, where, name, binding->err);
}

/* ---- text: the query and metadata ------------------------------------------------------------ */

static enum pe_status text_bind(const struct binding *binding, struct api_pair *pair)
{
    char where[sizeof(binding->err->where)];
    struct pe_params *set;
    const char *intended;
    size_t index;

    if (is_handler_name(binding, pair->name))
        return PE_OK;
    set = set_find(binding, pair->name, &index);
    if (set)
        return pe_params_set_text(set, index, pair->value, binding->err);
    if (is_common(pair->name))
        return PE_OK;
    snprintf(where, sizeof(where), "parameter:%s", pair->name);
    intended = intended_name(binding, where, pair->name);
    if (!intended)
        return unknown_name(binding, where, pair->name);
    pair->name = intended; /* a known name */
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

/* Refuses a list for a parameter with one value, without reading its elements. */
static enum pe_status list_refuse(const struct binding *binding, const struct pe_param *param)
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

/* Binds an array of numbers; or of arrays of one length, if the parameter is nested. */
static enum pe_status array_bind(const struct binding *binding, struct pe_params *set, size_t index,
                                 const json_t *array)
{
    const char *name = set->list[index].name;
    const bool nested = set->list[index].nested && json_is_array(json_array_get(array, 0));
    const size_t rows = nested ? json_array_size(array) : 1;
    const size_t columns = json_array_size(nested ? json_array_get(array, 0) : array);
    struct api_arena *arena = binding->request->arena;
    double *list = NULL;

    if (list_refuse(binding, &set->list[index]))
        return binding->err->status;
    if (columns < SIZE_MAX / 16 / rows)
        list = (double *)(void *)api_arena_buffer(arena, (rows * columns + 1) * sizeof(*list));
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
    api_arena_buffer_drop(arena, (unsigned char *)list);
    return binding->err->status;
}

/* Binds a long list, which was read without the JSON library: request->json has [] in its place. It
 * lives as long as the request. */
static enum pe_status list_bind(const struct binding *binding, struct pe_params *set, size_t index,
                                const struct pe_tensor *list)
{
    if (list_refuse(binding, &set->list[index]))
        return binding->err->status;
    if (list->rank > 2 || (list->rank == 2 && !set->list[index].nested))
        return pe_fail(binding->err, PE_INVALID, "", "element 0 of %s is not a number",
                       set->list[index].name);
    return pe_params_lend_list(set, index, list->data, list->rank == 2 ? list->shape[0] : 0,
                               list->shape[list->rank - 1], binding->err);
}

/* Binds a JSON string. A number in a string is refused, as it is most often an error; the text of a
 * list of ranges ("0,7..9") is accepted. */
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

/* Prints a JSON pointer, with '~' and '/' of the name as ~0 and ~1. */
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

/* Members of larger objects are not renamed: renaming one takes time in proportion to the lists. */
enum { MEMBERS_MAX = 256 };

/* Renames members to the intended parameters. An object, and a member whose intended
 * name exists too, keep their names and are refused. */
static void members_rename(const struct binding *binding, json_t *object)
{
    struct api_request *request = binding->request;
    const char *name, *intended;
    json_t *value;
    size_t index;
    void *next;

    if (json_object_size(object) > MEMBERS_MAX)
        return;
    json_object_foreach_safe(object, next, name, value)
    {
        if (json_is_object(value) || is_handler_name(binding, name) ||
            set_find(binding, name, &index) || is_common(name) ||
            !(intended = intended_name(binding, "", name)) || json_object_get(object, intended) ||
            json_object_set(object, intended, value))
            continue;
        for (size_t i = 0; object == request->json && i < request->lists_count; i++)
            if (strcmp(request->lists[i].name, name) == 0)
                request->lists[i].name = intended;
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

        if (is_handler_name(binding, name))
            continue;
        set = set_find(binding, name, &index);
        if (!set && !*at && is_common(name))
            continue;
        pointer_print(where, sizeof(where), at, name);
        /* Only for known names: there may be many members and many lists. */
        list = set && !*at ? api_request_list(binding->request, name) : NULL;
        if (set ? !(list ? list_bind(binding, set, index, list)
                         : value_bind(binding, set, index, value))
                : !unknown_name(binding, where, name))
            continue;
        /* The core reports the parameter; in JSON the pointer is more useful. */
        snprintf(binding->err->where, sizeof(binding->err->where), "%s", where);
        if (api_parameter_error_note(binding->request, set ? set->list[index].name : NULL,
                                     binding->err))
            return binding->err->status;
    }
    return PE_OK;
}

enum pe_status api_bind_object(struct api_request *request, json_t *object, const char *at,
                               struct pe_params **sets, size_t sets_count,
                               const char *handler_names, struct pe_error *err)
{
    const struct binding binding = {request, sets, sets_count, handler_names, err};

    sets_charge(request, sets, sets_count);
    return object_bind(&binding, object, at);
}

/* ---- parameters that the handler reads itself ------------------------------------------------ */

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

/* Notes a conflict if the sources of a name give different values. */
static enum pe_status contradiction_note(struct api_request *request, const char *name,
                                         struct pe_error *err)
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
    return api_parameter_error_note(request, name, err);
}

/* Checks the names that the handler reads, and parameters of type text. */
static enum pe_status contradictions_note(const struct binding *binding)
{
    struct api_request *request = binding->request;
    const char *at = binding->handler_names;
    char name[64];

    while (at && *at) {
        const size_t length = strcspn(at, " ");
        memcpy(name, at, length);
        name[length] = '\0';
        if (length > 0 && contradiction_note(request, name, binding->err))
            return binding->err->status;
        at += length + (at[length] != '\0');
    }
    for (size_t i = 0; i < binding->sets_count; i++)
        for (size_t j = 0; j < binding->sets[i]->count; j++) {
            const struct pe_param *param = &binding->sets[i]->list[j];
            if (param->type == PE_TEXT && contradiction_note(request, param->name, binding->err))
                return binding->err->status;
        }
    return PE_OK;
}

/* ---- all sources ----------------------------------------------------------------------------- */

static enum pe_status pairs_bind(const struct binding *binding, struct api_pair *pairs,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_bind(binding, &pairs[i]) &&
            api_parameter_error_note(binding->request, NULL, binding->err))
            return binding->err->status;
    return PE_OK;
}

/* Notes absent required parameters, if neither a body nor a config can have them. */
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
            if (api_parameter_error_note(request, param->name, binding->err))
                return binding->err->status;
        }
    return PE_OK;
}

enum pe_status api_bind(struct api_request *request, struct pe_params **sets, size_t sets_count,
                        const char *handler_names, struct pe_error *err)
{
    const struct binding binding = {request, sets, sets_count, handler_names, err};

    sets_charge(request, sets, sets_count);
    if (pairs_bind(&binding, request->query, request->query_count) ||
        (request->json && object_bind(&binding, request->json, "")) ||
        pairs_bind(&binding, request->metadata, request->metadata_count) ||
        contradictions_note(&binding) || missing_note(&binding))
        return err->status;
    return request->parameter_errors ? api_parameter_errors_fail(request->parameter_errors, err)
                                     : PE_OK;
}
