/* SPDX-License-Identifier: MIT */
#include "core/encodings/parts/heads.h"
#include "core/base/fail.h"

#include <math.h>
#include <stdio.h>

enum pe_status pe_heads_check(struct pe_scheme *scheme, const char *const *lists,
                              struct pe_error *err)
{
    char where[sizeof(err->where)];

    scheme->heads = (size_t)pe_param_number(&scheme->params, "heads");
    for (; *lists; lists++) {
        const struct pe_value *list = pe_param_value(&scheme->params, *lists);
        if (!list->present || list->list_count == 1 || list->list_count == scheme->heads)
            continue;
        snprintf(where, sizeof(where), "parameter:%s", *lists);
        return pe_fail(err, PE_SHAPE_MISMATCH, where,
                       "%s has %zu elements, heads is %zu; give one for all or one for each",
                       *lists, list->list_count, scheme->heads);
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
