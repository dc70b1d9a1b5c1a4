/* SPDX-License-Identifier: MIT */
#include "api/request/bind.h"

static bool holds_nothing(const struct pe_params *set)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->values[i].list || set->values[i].text)
            return false;
    return true;
}

void api_sets_charge(const struct api_request *request, struct pe_params **sets, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!sets[i]->work && holds_nothing(sets[i]))
            sets[i]->work = request->work;
}
