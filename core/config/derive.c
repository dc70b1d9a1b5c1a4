/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/config/layers.h"

/* Sets parameters that no key of a config names: by the model's class, as a quotient of two keys,
 * as a multiple of the usual value. */

static const struct ratio {
    const char *encoding, *param, *over, *under;
} ratios[] = {
#define CONFIG_RATIO(encoding, param, over, under) {encoding, param, over, under},
#include "core/config/keys.def"
    {0},
};

static const char of_quotient[] =
#define CONFIG_HEADS(models) models
#include "core/config/keys.def"
    ;

static const struct width {
    const char *models;
    bool reads_head;
    const char *beside;
} widths[] = {
#define CONFIG_WIDTH(models, reads_head, beside) {models, reads_head, beside},
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

static const struct by_length {
    const char *encoding, *param, *within, *beyond, *differs;
} by_lengths[] = {
#define CONFIG_BY_LENGTH(encoding, param, within, beyond, differs)                                 \
    {encoding, param, within, beyond, differs},
#include "core/config/keys.def"
    {0},
};

static const struct alias {
    const char *object, *key, *param, *unless;
} aliases[] = {
#define CONFIG_ALIAS(object, key, param, unless) {object, key, param, unless},
#include "core/config/keys.def"
    {0},
};

static bool is_given(const struct pe_params *params, const char *name)
{
    const int index = pe_params_find(params, name);

    return index >= 0 && params->values[index].given;
}

/* A rope object replaces the whole scaling of the model's class; only these it need not tell. */
static bool is_replaced(const struct pe_config_reading *reading, const char *name)
{
    static const char kept[] =
        "dim base rotary_dim partial_rotary_factor mrope_section mrope_interleaved mrope_type "
        "variant";

    return reading->scope.rope && !pe_text_lists(kept, ' ', name, strlen(name));
}

/* One "base=1000000" of the model's class. Its sizes are no parameters. */
static enum pe_status pair_fill(const struct pe_config_filling *filling, const char *pair,
                                size_t size)
{
    char name[64], *value;
    int index;

    snprintf(name, sizeof(name), "%.*s", (int)size, pair);
    value = strchr(name, '=');
    *value++ = '\0';
    index = pe_params_find(filling->params, name);
    if (!pe_config_is_open(filling, index) || is_replaced(filling->reading, name) ||
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

/* The number that a text begins with; 0: there is none. */
static double number_read(const char *text)
{
    double number = 0;

    return pe_text_number(&text, &number) ? number : 0;
}

/* A size of the model's class, "hidden_size=4096" among its defaults; 0: not told. */
static double class_size(const struct pe_config_reading *reading, const char *keys)
{
    struct pe_name name, key;

    for (const char *at = reading->model ? reading->model->defaults : "";
         pe_text_next(&at, ' ', &name);) {
        const char *sign = memchr(name.at, '=', name.size), *rest = keys;
        while (sign && pe_text_next(&rest, ' ', &key))
            if (key.size == (size_t)(sign - name.at) && memcmp(key.at, name.at, key.size) == 0)
                return number_read(sign + 1);
    }
    return 0;
}

/* A size by a key, else by the model's class. False: neither tells it. */
static bool size_find(struct pe_config_reading *reading, const char *keys, double *number,
                      const struct pe_config_member **found, char *path)
{
    *found = pe_config_find(reading, "text top", keys);
    *number = *found && pe_config_is_number(&(*found)->value) ? pe_config_number(&(*found)->value)
              : *found                                        ? NAN
                                                              : class_size(reading, keys);
    if (*found)
        pe_config_path(*found, path, PE_CONFIG_PATH_SIZE);
    else
        snprintf(path, PE_CONFIG_PATH_SIZE, "the %.*s of the class", (int)strcspn(keys, " "), keys);
    return *found || *number > 0;
}

/* One side of a quotient: one of the keys, or the product of two, "a*b". */
static bool side_find(struct pe_config_reading *reading, const char *keys, double *number,
                      const struct pe_config_member **found, char *path)
{
    const char *sign = strchr(keys, '*');
    char first[64], one[PE_CONFIG_PATH_SIZE];
    double other;

    if (!sign)
        return size_find(reading, keys, number, found, path);
    snprintf(first, sizeof(first), "%.*s", (int)(sign - keys), keys);
    if (!size_find(reading, first, &other, found, one) ||
        !size_find(reading, sign + 1, number, found, path))
        return false;
    snprintf(first, sizeof(first), "%.60s", path);
    snprintf(path, PE_CONFIG_PATH_SIZE, "%.100s / %s", one, first);
    *number *= other;
    return true;
}

static enum pe_status ratio_fill(const struct pe_config_filling *filling, const struct ratio *ratio)
{
    struct pe_config_reading *reading = filling->reading;
    char over_path[PE_CONFIG_PATH_SIZE], under_path[PE_CONFIG_PATH_SIZE];
    char both[2 * PE_CONFIG_PATH_SIZE + 4];
    const struct pe_config_member *over, *under;
    double above, below, quotient;
    int index;

    if (!is_wanted(filling, ratio->encoding, ratio->param, &index) ||
        !side_find(reading, ratio->over, &above, &over, over_path) ||
        !side_find(reading, ratio->under, &below, &under, under_path))
        return PE_OK;
    if (isnan(above) || isnan(below))
        return pe_config_fail(isnan(above) ? over : under, PE_INVALID, filling->err,
                              "%s must be a number, without quotes",
                              isnan(above) ? over_path : under_path);
    quotient = above / below;
    if (!isfinite(quotient) || quotient != floor(quotient))
        return pe_config_fail(over, PE_INVALID, filling->err,
                              "%s must be a whole multiple of %s, for %s is their quotient",
                              over_path, under_path, ratio->param);
    if (pe_params_set_number(filling->params, (size_t)index, quotient, filling->err))
        return filling->err->status;
    snprintf(both, sizeof(both), "%s / %s", over_path, under_path);
    pe_config_source_set(reading, ratio->param, over || under ? PE_CONFIG_DERIVED : PE_CONFIG_MODEL,
                         over || under ? both : NULL);
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
    usual = number_read(filling->params->list[index].fallback);
    if (pe_params_set_number(filling->params, (size_t)index,
                             usual * pe_config_number(&found->value), filling->err))
        return filling->err->status;
    pe_text_print(product, sizeof(product), "%g * %s", usual, path);
    pe_config_source_set(filling->reading, row->param, PE_CONFIG_DERIVED, product);
    return PE_OK;
}

/* A switch says that a parameter has a value of its own, or that it is left open. */
static enum pe_status switch_fill(const struct pe_config_filling *filling, const struct alias *row,
                                  size_t index, const struct pe_config_member *found)
{
    char path[PE_CONFIG_PATH_SIZE];

    pe_config_path(found, path, sizeof(path));
    if (found->value.kind != PE_CONFIG_BOOL)
        return pe_config_fail(found, PE_INVALID, filling->err, "%s must be true or false", path);
    if (found->value.as.truth)
        return PE_OK;
    pe_config_source_set(filling->reading, row->param, PE_CONFIG_KEY, path);
    return pe_params_set_text(filling->params, index, row->unless, filling->err);
}

static enum pe_status alias_fill(const struct pe_config_filling *filling, const struct alias *row)
{
    const struct pe_config_node *rope = filling->reading->scope.rope;
    const struct pe_config_member *found = pe_config_member(rope, row->key);
    const int index = pe_params_find(filling->params, row->param);

    if (!found || strcmp(rope->owner->name.text, row->object) != 0)
        return PE_OK;
    pe_config_note(filling->reading, found);
    if (found->value.kind == PE_CONFIG_NULL || !pe_config_is_open(filling, index))
        return PE_OK;
    return *row->unless ? switch_fill(filling, row, (size_t)index, found)
                        : pe_config_member_fill(filling, (size_t)index, found);
}

enum pe_status pe_config_named_fill(const struct pe_config_filling *filling)
{
    const struct pe_config_node *rope = filling->reading->scope.rope;
    const char *type = pe_config_named_type(rope);
    const int index = pe_params_find(filling->params, "rope_type");
    char path[PE_CONFIG_PATH_SIZE];

    if (!type || index < 0)
        return PE_OK;
    if (!filling->params->values[index].given) {
        if (pe_params_set_text(filling->params, (size_t)index, type, filling->err))
            return filling->err->status;
        pe_config_source_set(filling->reading, "rope_type", PE_CONFIG_KEY,
                             pe_config_path(rope->owner, path, sizeof(path)));
    }
    for (const struct alias *at = aliases; at->object; at++)
        if (alias_fill(filling, at))
            return filling->err->status;
    return PE_OK;
}

static double number_of(const struct pe_params *params, const char *name)
{
    const int index = pe_params_find(params, name);

    return index >= 0 && params->values[index].given ? params->values[index].number : 0;
}

static enum pe_status by_length_fill(const struct pe_config_filling *filling,
                                     const struct by_length *row)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_member *within, *beyond, *found;
    char path[PE_CONFIG_PATH_SIZE];
    int index;

    within = pe_config_member(reading->scope.rope, row->within);
    beyond = pe_config_member(reading->scope.rope, row->beyond);
    if (!within || !beyond || !is_wanted(filling, row->encoding, row->param, &index))
        return PE_OK;
    pe_config_note(reading, within);
    pe_config_note(reading, beyond);
    found = number_of(filling->params, "seq_len") >
                    number_of(filling->params, "original_max_position_embeddings")
                ? beyond
                : within;
    pe_config_path(found, path, sizeof(path));
    if (!pe_config_is_number(&found->value))
        return pe_config_fail(found, PE_INVALID, filling->err, "%s must be a number", path);
    if (pe_params_set_number(filling->params, (size_t)index, pe_config_number(&found->value),
                             filling->err))
        return filling->err->status;
    pe_config_source_set(reading, row->param, PE_CONFIG_KEY, path);
    if (found == beyond)
        pe_config_warn(reading, "%s", row->differs);
    return PE_OK;
}

enum pe_status pe_config_by_length(const struct pe_config_filling *filling)
{
    for (const struct by_length *at = by_lengths; at->encoding; at++)
        if (by_length_fill(filling, at))
            return filling->err->status;
    return PE_OK;
}

enum pe_status pe_config_bases(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_effective told =
        pe_config_effective(&reading->scope, "layer_rope_theta");
    const int index = pe_params_find(filling->params, "base");
    char path[PE_CONFIG_PATH_SIZE];
    double base = 0;

    if (!told.member || told.value.kind != PE_CONFIG_LIST || !pe_config_is_open(filling, index))
        return PE_OK;
    for (const struct pe_config_item *at = told.value.as.node->first_item; at; at = at->next) {
        const double own = pe_config_number(&at->value);
        if (own != 0 && base != 0 && own != base)
            return PE_OK; /* which is warned of where layers are told */
        base = own != 0 ? own : base;
    }
    if (base == 0)
        return PE_OK;
    if (pe_params_set_number(filling->params, (size_t)index, base, filling->err))
        return filling->err->status;
    pe_config_source_set(reading, "base", PE_CONFIG_KEY,
                         pe_config_path(told.member, path, sizeof(path)));
    return PE_OK;
}

/* Heads of which a config has two widths, one for frequencies alone. */
static enum pe_status heads_check(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_source *source = pe_config_source_find(reading, "dim");
    const struct pe_config_member *found = pe_config_first(scope, "text", "head_dim"), *over,
                                  *under;
    char over_path[PE_CONFIG_PATH_SIZE], under_path[PE_CONFIG_PATH_SIZE];
    double above, below;

    if (!pe_config_is_among(scope, of_quotient) || !found || !source ||
        source->from == PE_CONFIG_GIVEN ||
        !side_find(reading, ratios[0].over, &above, &over, over_path) ||
        !side_find(reading, ratios[0].under, &below, &under, under_path) ||
        !(fabs(floor(above / below) - pe_config_number(&found->value)) > 0))
        return PE_OK;
    return pe_config_fail(found, PE_UNSUPPORTED, filling->err,
                          "heads of %s are %s / %s wide, and its code makes frequencies alone for "
                          "head_dim, which is another width here: give encoding, dim and "
                          "rotary_dim in place of the config",
                          scope->model->model_type, over_path, under_path);
}

/* Of heads whose pairs turn with three coordinates, a third each: as many as go into whole pairs,
 * and the rest stands still. */
static enum pe_status thirds_fill(const struct pe_config_filling *filling)
{
    const double third = floor(floor(number_of(filling->params, "dim") / 3) / 2);
    const int sections = pe_params_find(filling->params, "mrope_section"),
              rotary = pe_params_find(filling->params, "rotary_dim");

    if (strcmp(filling->reading->family, "mrope") != 0 || third < 1 ||
        !pe_config_is_open(filling, sections) || !pe_config_is_open(filling, rotary))
        return PE_OK;
    if (pe_params_set_list(filling->params, (size_t)sections, (double[]){third, third, third}, 3,
                           filling->err) ||
        pe_params_set_number(filling->params, (size_t)rotary, 6 * third, filling->err))
        return filling->err->status;
    pe_config_source_set(filling->reading, "mrope_section", PE_CONFIG_DERIVED, "dim / 6");
    pe_config_source_set(filling->reading, "rotary_dim", PE_CONFIG_DERIVED, "dim / 6");
    return PE_OK;
}

enum pe_status pe_config_derive(const struct pe_config_filling *filling)
{
    if (heads_check(filling) || model_fill(filling))
        return filling->err->status;
    for (const struct ratio *at = ratios; at->encoding; at++)
        if (ratio_fill(filling, at))
            return filling->err->status;
    for (const struct times *at = times; at->encoding; at++)
        if (times_fill(filling, at))
            return filling->err->status;
    return thirds_fill(filling);
}

/* A number above 0 of the part about text; 0: there is none. */
static double size_of(const struct pe_config_reading *reading, const char *key)
{
    const struct pe_config_member *found = pe_config_member(reading->scope.text, key);

    return found ? fmax(pe_config_number(&found->value), 0) : 0;
}

/* Columns of frequencies that the class makes. */
static double width_made(const struct pe_config_filling *filling, const struct width *row,
                         double turning)
{
    const struct pe_config_reading *reading = filling->reading;
    const struct pe_config_effective beside = pe_config_effective(&reading->scope, row->beside);
    const struct pe_config_member *part =
        pe_config_first(&reading->scope, "rope text", "partial_rotary_factor");
    const bool parted = pe_param_number(filling->params, "rope_type") > 0 ||
                        !pe_config_class_has(reading->model, "whole");
    const double own = row->reads_head ? size_of(reading, "head_dim") : 0;
    const double both = turning + (*row->beside ? pe_config_number(&beside.value) : 0);
    const double share = part ? pe_config_number(&part->value) : turning / both;

    return floor((own > 0 ? own : both) * (parted ? share : 1));
}

void pe_config_width_check(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_source *source = pe_config_source_find(reading, "dim");
    const double turning = pe_param_number(filling->params, "dim");

    if (!source || source->from == PE_CONFIG_GIVEN || !(turning > 0))
        return;
    for (const struct width *row = widths; row->models; row++) {
        const double made = pe_config_is_among(&reading->scope, row->models)
                                ? width_made(filling, row, turning)
                                : turning;
        if (made == turning)
            continue;
        pe_config_warn(reading,
                       "%g elements turn, and the class of %s makes frequencies for %g of "
                       "head_dim and partial_rotary_factor: transformers 5.23 fails there",
                       turning, reading->model->model_type, made);
    }
}

/* Has the config a size that the width of a head could come from? */
static bool has_size(const struct pe_config_reading *reading)
{
    for (const struct ratio *at = ratios; at->encoding; at++)
        if (strcmp(at->encoding, reading->family) == 0 &&
            (pe_config_first(&reading->scope, "text top", at->over) ||
             pe_config_first(&reading->scope, "text top", at->under)))
            return true;
    return false;
}

void pe_config_defaults_warn(struct pe_config_reading *reading)
{
    const struct pe_config_source *source = pe_config_source_find(reading, "dim");

    if (!source || !reading->model)
        return;
    if (source->from == PE_CONFIG_MODEL && !has_size(reading))
        pe_config_warn(reading,
                       "the config has no key of a width: dim is the default of the class of %s",
                       reading->model->model_type);
    else if (source->from == PE_CONFIG_DERIVED && strstr(source->key, "of the class"))
        pe_config_warn(reading, "dim is %s: the config has one of the two sizes alone",
                       source->key);
}
