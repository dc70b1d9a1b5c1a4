/* SPDX-License-Identifier: MIT */
#include "api/arguments/arguments.h"

#include <stdio.h>
#include <string.h>

#include "api/request/parameters.h"
#include "api/request/request.h"

/* Learned tables in requests: stored ones, by name, and posted ones. */

static const char posted[] = "tensor:";

const struct pe_encoding *api_stored_encoding(void)
{
    return pe_encoding_find("learned");
}

static bool is_stored_name(const char *name)
{
    const struct pe_encoding *encoding = pe_encoding_find(name);

    return !encoding || pe_encoding_has(encoding, PE_KIND_LEARNED);
}

bool api_stored_is_named(const struct api_request *request)
{
    if (request->name && is_stored_name(request->name))
        return true;
    for (size_t i = 0; i < request->query_count; i++) {
        const struct api_pair *pair = &request->query[i];
        if (strcmp(pair->name, "tables") == 0 ||
            (strcmp(pair->name, "encoding") == 0 && is_stored_name(pair->value)))
            return true;
    }
    return false;
}

enum pe_status api_stored_name_set(struct pe_params *params, const char *stored,
                                   struct pe_error *err)
{
    if (!stored)
        return PE_OK;
    return pe_params_set_text(params, (size_t)pe_params_find(params, "table"), stored, err);
}

bool api_table_is_posted(const struct pe_params *params, const char *tensor)
{
    const int index = pe_params_find(params, "table");
    const char *text = index >= 0 ? params->values[index].text : NULL;

    return text && strncmp(text, posted, strlen(posted)) == 0 &&
           strcmp(text + strlen(posted), tensor) == 0;
}

static enum pe_status posted_give(struct api_request *request, struct pe_scheme *scheme,
                                  const char *name, struct pe_error *err)
{
    const struct api_tensor *tensor = api_request_tensor(request, name);
    char where[sizeof(err->where)];

    if (pe_param_given(pe_scheme_params(scheme), "version"))
        return pe_fail(err, PE_CONFLICT, "parameter:version",
                       "version is that of a stored table, and %.60s is posted", name);
    if (!tensor)
        return pe_fail(err, PE_MISSING, "parameter:table",
                       "table names the tensor '%.60s', which is not in the request", name);
    snprintf(where, sizeof(where), "tensor:%.80s", name);
    return pe_table_check(&tensor->tensor, where, request->work, err)
               ? err->status
               : pe_scheme_give(scheme, "table", &tensor->tensor, request->work, err);
}

static void table_release(void *table)
{
    api_stored_table_drop(table);
}

static enum pe_status stored_take(struct api_request *request, const char *name, uint64_t version,
                                  const struct api_stored_table **table, struct pe_error *err)
{
    if (api_store_take(api_store_of(request), name, version, table, err))
        return err->status;
    if (!api_arena_defer(request->arena, table_release, (void *)*table))
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the table %s", name);
    return PE_OK;
}

enum pe_status api_table_give(struct api_request *request, struct pe_scheme *scheme,
                              const struct api_stored_table **table, struct pe_error *err)
{
    const struct pe_params *params = pe_scheme_params(scheme);
    const char *name;
    const struct pe_value *version;

    *table = NULL;
    if (!pe_encoding_has(pe_scheme_encoding(scheme), PE_KIND_LEARNED))
        return PE_OK;
    name = pe_param_text(params, "table");
    if (strncmp(name, posted, strlen(posted)) == 0)
        return posted_give(request, scheme, name + strlen(posted), err);
    version = pe_param_value(params, "version");
    if (stored_take(request, name, version->present ? (uint64_t)version->number : 0, table, err) ||
        pe_scheme_give(scheme, "table", &(*table)->tensor, request->work, err) ||
        pe_scheme_resolve(scheme, "version", (double)(*table)->version, err))
        return err->status;
    return PE_OK;
}

/* ---- tables= -------------------------------------------------------------------------------- */

static enum pe_status stored_add(struct api_request *request, const char *tensor, const char *name,
                                 struct api_tensor *out, struct pe_error *err)
{
    const struct api_stored_table *table;

    if (api_request_tensor(request, tensor))
        return pe_fail(err, PE_CONFLICT, "parameter:tables",
                       "tensor %.40s is posted, and tables names a stored one", tensor);
    if (stored_take(request, name, 0, &table, err))
        return err->status;
    out->name = tensor;
    out->tensor = table->tensor;
    out->tensor.data = api_arena_buffer(request->arena, table->size);
    if (!out->tensor.data)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the table %.64s", name);
    memcpy(out->tensor.data, table->tensor.data, table->size);
    request->tensors_count++;
    return PE_OK;
}

/* Copies, because functions may work on their tensors in place. */
enum pe_status api_tables_add(struct api_request *request, struct pe_error *err)
{
    const size_t most = request->settings->limits.tensors_max;
    struct api_tensor *tensors;
    size_t count = 1;
    const char *text;
    char *rest;

    if (api_request_scalar(request, "tables", &text, err) || !text)
        return err->status;
    for (const char *at = text; *at; at++)
        count += *at == ',';
    if (count > most || request->tensors_count > most - count)
        return pe_fail(err, PE_TOO_LARGE, "parameter:tables",
                       "a request has at most %zu tensors, the value of --tensors-max", most);
    tensors = api_arena_take(request->arena, (request->tensors_count + count) * sizeof(*tensors));
    rest = api_arena_copy(request->arena, text);
    if (!tensors || !rest)
        return pe_fail(err, PE_OUT_OF_MEMORY, "", "no memory for the tables");
    if (request->tensors_count > 0)
        memcpy(tensors, request->tensors, request->tensors_count * sizeof(*tensors));
    request->tensors = tensors;
    for (char *pair; (pair = strsep(&rest, ","));) {
        char *name = strchr(pair, ':');
        if (!name || name == pair)
            return pe_fail(err, PE_INVALID, "parameter:tables",
                           "tables must be TENSOR:NAME, separated by commas; got '%.60s'", pair);
        *name++ = '\0';
        if (stored_add(request, pair, name, &tensors[request->tensors_count], err))
            return err->status;
    }
    return PE_OK;
}
