/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "api/arguments/arguments.h"
#include "api/request/parameters.h"

/* The begin of every function over posted tensors. */

bool api_function_posted(const struct api_request *request, const char *name)
{
    for (size_t i = 0; i < request->tensors_count; i++)
        if (strcmp(request->tensors[i].name, name) == 0)
            return true;
    return json_object_get(request->json, name) || api_request_text(request, name);
}

enum pe_status api_function_refuse(struct api_request *request, const char *names,
                                   struct pe_error *err)
{
    char name[64], where[sizeof(err->where)];

    while (*names) {
        const size_t length = strcspn(names, " ");
        memcpy(name, names, length);
        name[length] = '\0';
        if (api_function_posted(request, name)) {
            snprintf(where, sizeof(where), "parameter:%s", name);
            return pe_fail(err, PE_UNKNOWN_PARAMETER, where,
                           "%s is not offered by this version; leave it out", name);
        }
        names += length + (names[length] != '\0');
    }
    return PE_OK;
}

enum pe_status api_function_start(struct api_request *request, const char *names,
                                  struct pe_error *err)
{
    if (api_function_refuse(request, names, err))
        return err->status;
    if (api_tables_add(request, err))
        return err->status;
    if (request->body_size == 0)
        return pe_fail(err, PE_MALFORMED, "",
                       "the body is empty; send tensors as JSON, npy, safetensors or raw bytes");
    if (request->tensors_count > 0)
        return PE_OK;
    pe_fail(err, PE_MISSING, "parameter:tensors",
            "tensors is required: {\"q\": {\"dtype\": \"f32\", \"data\": [...]}}");
    return api_parameter_error_note(request, "tensors", err);
}
