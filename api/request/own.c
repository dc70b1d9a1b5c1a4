/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/numbers/print.h"
#include "api/request/bind.h"
#include "api/request/mistakes.h"

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
