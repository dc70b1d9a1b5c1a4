/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/heads.h"

#include <math.h>
#include <stdio.h>

size_t pe_heads_count(const struct pe_scheme *scheme)
{
    return (size_t)pe_param_number(&scheme->params, "heads");
}

enum pe_status pe_heads_check(const struct pe_scheme *scheme, const char *const *lists,
                              struct pe_error *err)
{
    const size_t heads = pe_heads_count(scheme);
    char where[sizeof(err->where)];

    for (; *lists; lists++) {
        const struct pe_value *list = pe_param_value(&scheme->params, *lists);
        if (!list->present || list->list_count == 1 || list->list_count == heads)
            continue;
        snprintf(where, sizeof(where), "parameter:%s", *lists);
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu elements, heads is %zu; give one for all or one for each",
                       *lists, list->list_count, heads);
    }
    return PE_OK;
}

double pe_head_number(const struct pe_scheme *scheme, const char *name, size_t head)
{
    const struct pe_value *list = pe_param_value(&scheme->params, name);

    if (!list->present)
        return NAN;
    return list->list[list->list_count == 1 ? 0 : head];
}
