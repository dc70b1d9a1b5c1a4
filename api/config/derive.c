/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "api/config/fill.h"

/* What a config says of a parameter without naming it. */

static const struct ratio {
    const char *encoding, *param, *over, *under;
} ratios[] = {
#define CONFIG_RATIO(encoding, param, over, under) {encoding, param, over, under},
#include "api/config/keys.def"
    {0},
};

static const struct times {
    const char *encoding, *param, *key;
} times[] = {
#define CONFIG_TIMES(encoding, param, key) {encoding, param, key},
#include "api/config/keys.def"
    {0},
};

/* "base=1000000 dim=256" of the model's class. */
static enum api_status model_fill(const struct api_filling *filling)
{
    const char *defaults = filling->config->model ? filling->config->model->defaults : "";
    char *rest = api_arena_copy(filling->config->arena, defaults);

    for (char *pair; rest && (pair = strtok_r(rest, " ", &rest));) {
        char *value = strchr(pair, '=');
        int index;
        *value++ = '\0';
        index = pe_params_find(filling->params, pair);
        if (!api_filling_open(filling, index) || (api_filling_given(filling, "rotary_dim") &&
                                                  strcmp(pair, "partial_rotary_factor") == 0))
            continue;
        if (pe_params_set_text(filling->params, (size_t)index, value, &filling->err->core))
            return api_failed(filling->err);
        api_filling_note(filling, (size_t)index, "model_type");
    }
    return API_OK;
}

static enum api_status ratios_fill(const struct api_filling *filling)
{
    struct api_config *config = filling->config;

    for (const struct ratio *at = ratios; at->encoding; at++) {
        const int index = pe_params_find(filling->params, at->param);
        const char *over_path = "", *under_path = "";
        const json_t *over, *under;
        double quotient;
        if (strcmp(at->encoding, config->family) != 0 || !api_filling_open(filling, index))
            continue;
        over = api_config_find(config, "text top", at->over, &over_path);
        under = api_config_find(config, "text top", at->under, &under_path);
        if (!over || !under)
            continue;
        quotient = json_number_value(over) / json_number_value(under);
        if (!json_is_number(over) || !json_is_number(under) || !isfinite(quotient) ||
            quotient != floor(quotient))
            return api_config_fail(config, API_INVALID, over_path, filling->err,
                                   "%s must be a whole multiple of %s, for %s is their quotient",
                                   over_path, under_path, at->param);
        if (pe_params_set_number(filling->params, (size_t)index, quotient, &filling->err->core))
            return api_failed(filling->err);
        api_filling_note(filling, (size_t)index,
                         api_arena_print(filling->config->arena, "%s / %s", over_path, under_path));
    }
    return API_OK;
}

static enum api_status times_fill(const struct api_filling *filling)
{
    struct api_config *config = filling->config;

    for (const struct times *at = times; at->encoding; at++) {
        const int index = pe_params_find(filling->params, at->param);
        const char *path = "";
        const json_t *value;
        double usual;
        if (strcmp(at->encoding, config->family) != 0 || !api_filling_open(filling, index))
            continue;
        value = api_config_find(config, "text top", at->key, &path);
        if (!value)
            continue;
        if (!json_is_number(value))
            return api_config_fail(config, API_INVALID, path, filling->err, "%s must be a number",
                                   path);
        usual = strtod(filling->params->list[index].fallback, NULL);
        if (pe_params_set_number(filling->params, (size_t)index, usual * json_number_value(value),
                                 &filling->err->core))
            return api_failed(filling->err);
        api_filling_note(filling, (size_t)index,
                         api_arena_print(config->arena, "%g * %s", usual, path));
    }
    return API_OK;
}

enum api_status api_config_derive(const struct api_filling *filling)
{
    return model_fill(filling) || ratios_fill(filling) || times_fill(filling)
               ? api_failed(filling->err)
               : API_OK;
}
