/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/config/reading.h"

/* Sets parameters that no key of a config names: by the model's class, as a quotient of two keys,
 * as a multiple of the usual value. */

static const struct ratio {
    const char *encoding, *param, *over, *under;
} ratios[] = {
#define CONFIG_RATIO(encoding, param, over, under) {encoding, param, over, under},
#include "core/config/keys.def"
    {0},
};

static const struct times {
    const char *encoding, *param, *key;
} times[] = {
#define CONFIG_TIMES(encoding, param, key) {encoding, param, key},
#include "core/config/keys.def"
    {0},
};

static bool is_given(const struct pe_params *params, const char *name)
{
    const int index = pe_params_find(params, name);

    return index >= 0 && params->values[index].given;
}

/* One "base=1000000" of the model's class. */
static enum pe_status pair_fill(const struct pe_config_filling *filling, const char *pair,
                                size_t size)
{
    char name[64], *value;
    int index;

    snprintf(name, sizeof(name), "%.*s", (int)size, pair);
    value = strchr(name, '=');
    *value++ = '\0';
    index = pe_params_find(filling->params, name);
    if (!pe_config_is_open(filling, index) ||
        (strcmp(name, "partial_rotary_factor") == 0 && is_given(filling->params, "rotary_dim")))
        return PE_OK;
    if (pe_params_set_text(filling->params, (size_t)index, value, filling->err))
        return filling->err->status;
    pe_config_source_set(filling->reading, filling->params->list[index].name, PE_CONFIG_MODEL,
                         NULL);
    return PE_OK;
}

static enum pe_status model_fill(const struct pe_config_filling *filling)
{
    const struct pe_config_model *model = filling->reading->model;

    for (const char *at = model ? model->defaults : ""; *at; at += strspn(at, " ")) {
        const size_t size = strcspn(at, " ");
        if (pair_fill(filling, at, size))
            return filling->err->status;
        at += size;
    }
    return PE_OK;
}

/* Is a parameter of an encoding to be set? *index is where it stands. */
static bool is_wanted(const struct pe_config_filling *filling, const char *encoding,
                      const char *param, int *index)
{
    *index = pe_params_find(filling->params, param);
    return strcmp(encoding, filling->reading->family) == 0 && pe_config_is_open(filling, *index);
}

static enum pe_status ratio_fill(const struct pe_config_filling *filling, const struct ratio *ratio)
{
    struct pe_config_reading *reading = filling->reading;
    char over_path[PE_CONFIG_PATH_SIZE], under_path[PE_CONFIG_PATH_SIZE];
    char both[2 * PE_CONFIG_PATH_SIZE + 4];
    const struct pe_config_member *over, *under;
    double quotient;
    int index;

    if (!is_wanted(filling, ratio->encoding, ratio->param, &index))
        return PE_OK;
    over = pe_config_find(reading, "text top", ratio->over);
    under = pe_config_find(reading, "text top", ratio->under);
    if (!over || !under)
        return PE_OK;
    pe_config_path(over, over_path, sizeof(over_path));
    pe_config_path(under, under_path, sizeof(under_path));
    quotient = pe_config_number(&over->value) / pe_config_number(&under->value);
    if (!pe_config_is_number(&over->value) || !pe_config_is_number(&under->value) ||
        !isfinite(quotient) || quotient != floor(quotient))
        return pe_config_fail(over, PE_INVALID, filling->err,
                              "%s must be a whole multiple of %s, for %s is their quotient",
                              over_path, under_path, ratio->param);
    if (pe_params_set_number(filling->params, (size_t)index, quotient, filling->err))
        return filling->err->status;
    snprintf(both, sizeof(both), "%s / %s", over_path, under_path);
    pe_config_source_set(reading, ratio->param, PE_CONFIG_DERIVED, both);
    return PE_OK;
}

static enum pe_status times_fill(const struct pe_config_filling *filling, const struct times *row)
{
    char path[PE_CONFIG_PATH_SIZE], product[PE_CONFIG_PATH_SIZE + 40];
    const struct pe_config_member *found;
    double usual;
    int index;

    if (!is_wanted(filling, row->encoding, row->param, &index))
        return PE_OK;
    found = pe_config_find(filling->reading, "text top", row->key);
    if (!found)
        return PE_OK;
    pe_config_path(found, path, sizeof(path));
    if (!pe_config_is_number(&found->value))
        return pe_config_fail(found, PE_INVALID, filling->err, "%s must be a number", path);
    usual = strtod_l(filling->params->list[index].fallback, NULL, pe_locale());
    if (pe_params_set_number(filling->params, (size_t)index,
                             usual * pe_config_number(&found->value), filling->err))
        return filling->err->status;
    snprintf(product, sizeof(product), "%g * %s", usual, path);
    pe_config_source_set(filling->reading, row->param, PE_CONFIG_DERIVED, product);
    return PE_OK;
}

enum pe_status pe_config_derive(const struct pe_config_filling *filling)
{
    if (model_fill(filling))
        return filling->err->status;
    for (const struct ratio *at = ratios; at->encoding; at++)
        if (ratio_fill(filling, at))
            return filling->err->status;
    for (const struct times *at = times; at->encoding; at++)
        if (times_fill(filling, at))
            return filling->err->status;
    return PE_OK;
}
