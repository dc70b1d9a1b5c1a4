/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/params.h"
#include "core/config/reading.h"

/* Configs of diffusers: a class, named by _class_name, decides which axes rotate and which keys its
 * constructor reads. Every other key is unread. */

static const char class_key[] = "_class_name";

const struct pe_diffusers_class pe_diffusers_classes[] = {
#define DIFFUSERS_CLASS(id, ...) {.name = (id), __VA_ARGS__},
#include "core/config/diffusers.def"
    {0},
};

bool pe_config_is_diffusers(const struct pe_config_scope *scope)
{
    return pe_config_text(pe_config_member(scope->top, class_key)) != NULL;
}

/* The class of a config. For an older class name a key selects the class that from_config makes. */
static const char *class_meant(const struct pe_config_scope *scope)
{
    static const struct {
        const char *name, *key, *value, *meant;
    } remapped[] = {
        {"Transformer2DModel", "norm_type", "ada_norm_zero", "DiTTransformer2DModel"},
        {"Transformer2DModel", "norm_type", "ada_norm_single", "PixArtTransformer2DModel"},
    };
    const char *name = pe_config_text(pe_config_member(scope->top, class_key));

    for (size_t i = 0; i < sizeof(remapped) / sizeof(remapped[0]); i++) {
        const char *value = pe_config_text(pe_config_member(scope->top, remapped[i].key));
        if (strcmp(remapped[i].name, name) == 0 && value && strcmp(value, remapped[i].value) == 0)
            return remapped[i].meant;
    }
    return name;
}

const struct pe_diffusers_class *pe_config_diffusers_find(const struct pe_config_scope *scope)
{
    const struct pe_diffusers_class *row = pe_diffusers_classes;
    const char *name = class_meant(scope);

    while (row->name && strcmp(row->name, name) != 0)
        row++;
    return row->name ? row : NULL;
}

/* ---- the class ------------------------------------------------------------------------------- */

static bool is_true(const struct pe_config_member *member)
{
    return member && member->value.kind == PE_CONFIG_BOOL && member->value.as.truth;
}

static enum pe_status class_refuse(const struct pe_config_member *member, const char *name,
                                   const struct pe_diffusers_class *row, struct pe_error *err)
{
    if (!row)
        return pe_config_fail(member, PE_UNSUPPORTED, err,
                              "%.60s is no class of diffusers whose rotation is known here: post "
                              "the config.json of the transformer, or give an encoding (rope-nd) "
                              "and its parameters",
                              name);
    return pe_config_fail(member, PE_UNSUPPORTED, err, "%s: %s", name,
                          row->encoding ? row->otherwise : row->note);
}

/* Is the class one that rotates with this config? */
static bool is_rotating(struct pe_config_reading *reading)
{
    const struct pe_diffusers_class *row = reading->scope.diffusers;
    const struct pe_config_member *only =
        row->only.key ? pe_config_member(reading->scope.top, row->only.key) : NULL;
    const char *value = only ? pe_config_text(only) : row->only.absent;

    pe_config_note(reading, only);
    if (row->only.key && !(value && strcmp(value, row->only.value) == 0))
        return false;
    return !row->needs || is_true(pe_config_member(reading->scope.top, row->needs));
}

enum pe_status pe_config_diffusers_choose(struct pe_config_reading *reading, struct pe_error *err)
{
    const struct pe_config_node *top = reading->scope.top;
    const struct pe_config_member *member = pe_config_member(top, class_key);
    const char *name = pe_config_text(member);
    const struct pe_diffusers_class *row = reading->scope.diffusers;

    pe_config_note(reading, member);
    pe_config_note(reading, pe_config_member(top, "_diffusers_version"));
    if (!row || !row->encoding || !is_rotating(reading))
        return class_refuse(member, name, row, err);
    reading->family = reading->name = row->encoding;
    reading->layout = row->layout;
    if (row->layout)
        reading->layout_source = pe_config_source_make(reading, "layout", PE_CONFIG_KEY, class_key);
    if (row->needs)
        pe_config_note(reading, pe_config_member(top, row->needs));
    for (const char *const *key = row->harmless; key && *key; key++)
        pe_config_note_whole(reading, pe_config_member(top, *key));
    if (row->note)
        pe_config_warn(reading, "%s", row->note);
    return PE_OK;
}

/* ---- its parameters -------------------------------------------------------------------------- */

/* A member that the constructor reads; NULL: the config has none. */
static const struct pe_config_member *read_member(const struct pe_config_filling *filling,
                                                  const char *key)
{
    const struct pe_config_reading *reading = filling->reading;
    const struct pe_config_member *found =
        key ? pe_config_member_at(reading->scope.top, key, strlen(key)) : NULL;

    pe_config_note(filling->reading, found);
    return found && found->value.kind == PE_CONFIG_NULL && reading->scope.diffusers->null_is_absent
               ? NULL
               : found;
}

/* A whole number above 0, of the config or the constructor. */
enum pe_status pe_config_diffusers_size(const struct pe_config_filling *filling, const char *key,
                                        double fallback, double *size)
{
    const struct pe_config_member *found = read_member(filling, key);

    *size = fallback;
    if (!found)
        return PE_OK;
    *size = pe_config_number(&found->value);
    if (!pe_config_is_number(&found->value) || !(*size >= 1 && *size <= 1 << 30) ||
        *size != floor(*size))
        return pe_config_fail(found, PE_INVALID, filling->err, "%s must be a whole number above 0",
                              key);
    return PE_OK;
}

/* The width of a head; 0: the class has no key of it. */
static enum pe_status width_read(const struct pe_config_filling *filling, double *width)
{
    const struct pe_diffusers_class *row = filling->reading->scope.diffusers;
    double over, under = 1;

    *width = 0;
    if (!row->width[0])
        return PE_OK;
    if (pe_config_diffusers_size(filling, row->width[0], row->fallback[0], &over) ||
        (row->width[1] &&
         pe_config_diffusers_size(filling, row->width[1], row->fallback[1], &under)))
        return filling->err->status;
    *width = row->together ? over * under : floor(over / under);
    return PE_OK;
}

/* The key of a width, or both, as a source. */
static void width_source(struct pe_config_reading *reading, const char *param)
{
    const struct pe_diffusers_class *row = reading->scope.diffusers;
    const struct pe_config_node *top = reading->scope.top;
    const char *first = row->pairs.key ?: row->width[0];
    char both[80];

    snprintf(both, sizeof(both), "%s%s%s", first,
             row->pairs.key || !row->width[1] ? ""
             : row->together                  ? " * "
                                              : " / ",
             row->pairs.key || !row->width[1] ? "" : row->width[1]);
    if (!pe_config_member(top, first))
        pe_config_source_set(reading, param, PE_CONFIG_KEY, class_key);
    else
        pe_config_source_set(reading, param, PE_CONFIG_DERIVED, both);
}

/* The widths of axes that are shares of a head. */
static size_t split(const struct pe_diffusers_class *row, double width, double pairs, double out[3])
{
    const double sixth = 2 * floor(width / 6), eighths = 3 * floor(width / 8);

    switch (row->split) {
    case PE_SPLIT_SIXTHS:
        out[0] = width - 2 * sixth, out[1] = out[2] = sixth;
        return 3;
    case PE_SPLIT_EIGHTHS:
        out[0] = floor(width / 4), out[1] = out[2] = eighths;
        return 3;
    case PE_SPLIT_THIRDS:
        out[0] = out[1] = out[2] = sixth;
        return 3;
    case PE_SPLIT_HALVES:
        out[0] = out[1] = floor(width / 2);
        return 2;
    case PE_SPLIT_ALIKE:
        out[0] = out[1] = out[2] = 2 * pairs;
        return 3;
    case PE_SPLIT_NONE:
        break;
    }
    return 0;
}

static enum pe_status split_fill(const struct pe_config_filling *filling, double width)
{
    const struct pe_diffusers_class *row = filling->reading->scope.diffusers;
    const int index = pe_params_find(filling->params, "axes_dim");
    double widths[3], pairs = 0;

    if (row->split == PE_SPLIT_NONE)
        return PE_OK;
    if (row->pairs.key &&
        pe_config_diffusers_size(filling, row->pairs.key, row->pairs.fallback, &pairs))
        return filling->err->status;
    const size_t count = split(row, width, pairs, widths);
    if (!pe_config_is_open(filling, index))
        return PE_OK;
    if (pe_params_set_list(filling->params, (size_t)index, widths, count, filling->err))
        return filling->err->status;
    width_source(filling->reading, "axes_dim");
    return PE_OK;
}

static enum pe_status sets_fill(const struct pe_config_filling *filling)
{
    const struct pe_diffusers_class *row = filling->reading->scope.diffusers;

    for (size_t i = 0; i < PE_DIFFUSERS_SETS && row->sets[i].param; i++) {
        const int index = pe_params_find(filling->params, row->sets[i].param);
        const struct pe_config_member *found = read_member(filling, row->sets[i].key);
        if (!pe_config_is_open(filling, index) || (!found && !row->sets[i].value))
            continue;
        if (found ? pe_config_member_fill(filling, (size_t)index, found)
                  : pe_params_set_text(filling->params, (size_t)index, row->sets[i].value,
                                       filling->err))
            return filling->err->status;
        if (!found)
            pe_config_source_set(filling->reading, row->sets[i].param, PE_CONFIG_KEY, class_key);
    }
    return PE_OK;
}

/* The sizes of a base grid. */
static enum pe_status sizes_fill(const struct pe_config_filling *filling)
{
    const struct pe_diffusers_class *row = filling->reading->scope.diffusers;
    const int index = pe_params_find(filling->params, "axes_size");
    double sizes[3];
    bool any = false;

    if (!row->sizes[0].key)
        return PE_OK;
    for (size_t i = 0; i < 3; i++) {
        any |= pe_config_member(filling->reading->scope.top, row->sizes[i].key) != NULL;
        if (pe_config_diffusers_size(filling, row->sizes[i].key, row->sizes[i].fallback, &sizes[i]))
            return filling->err->status;
    }
    if (!pe_config_is_open(filling, index))
        return PE_OK;
    if (pe_params_set_list(filling->params, (size_t)index, sizes, 3, filling->err))
        return filling->err->status;
    pe_config_source_set(filling->reading, "axes_size", any ? PE_CONFIG_DERIVED : PE_CONFIG_KEY,
                         any ? row->sizes[0].key : class_key);
    return PE_OK;
}

/* Frames by their rate, which no config has: axes_size, where the caller gives it. */
static enum pe_status rate_fill(const struct pe_config_filling *filling)
{
    const struct pe_diffusers_class *row = filling->reading->scope.diffusers;
    const double reference[3] = {row->rate, 1, 1};
    const int coordinates = pe_params_find(filling->params, "axes_coordinates"),
              index = pe_params_find(filling->params, "axes_reference");

    if (row->rate == 0 || !pe_param_value(filling->params, "axes_size")->given ||
        !pe_config_is_open(filling, coordinates) || !pe_config_is_open(filling, index))
        return PE_OK;
    if (pe_params_set_text(filling->params, (size_t)coordinates, "ratio", filling->err) ||
        pe_params_set_list(filling->params, (size_t)index, reference, 3, filling->err))
        return filling->err->status;
    pe_config_source_set(filling->reading, "axes_coordinates", PE_CONFIG_KEY, class_key);
    pe_config_source_set(filling->reading, "axes_reference", PE_CONFIG_KEY, class_key);
    return PE_OK;
}

/* The code of most classes fails where its axes do not fill the heads. */
static enum pe_status sum_check(const struct pe_config_filling *filling, double width)
{
    const struct pe_diffusers_class *row = filling->reading->scope.diffusers;
    const struct pe_value *widths = pe_param_value(filling->params, "axes_dim");
    const struct pe_config_source *source = pe_config_source_find(filling->reading, "axes_dim");
    double sum = 0;

    if (!widths || width == 0 || !source || source->from == PE_CONFIG_GIVEN)
        return PE_OK;
    for (size_t i = 0; i < widths->list_count; i++)
        sum += widths->list[i];
    if (sum == width || (row->partial == PE_AXES_FIT && sum < width) ||
        (row->partial == PE_AXES_HALVE && 2 * sum == width))
        return PE_OK;
    return pe_config_fail(NULL, PE_UNSUPPORTED, filling->err,
                          "the axes of %s have %g elements together and its heads %g: its code "
                          "fails",
                          row->name, sum, width);
}

enum pe_status pe_config_diffusers_fill(const struct pe_config_filling *filling)
{
    const int dim = pe_params_find(filling->params, "dim");
    double width;

    if (filling->reading->scope.diffusers->sines.sample > 0)
        return pe_config_diffusers_sines(filling);
    if (width_read(filling, &width) || split_fill(filling, width) || sets_fill(filling) ||
        sizes_fill(filling) || rate_fill(filling) || sum_check(filling, width))
        return filling->err->status;
    if (width == 0 || !pe_config_is_open(filling, dim))
        return PE_OK;
    if (pe_params_set_number(filling->params, (size_t)dim, width, filling->err))
        return filling->err->status;
    if (pe_config_member(filling->reading->scope.top, filling->reading->scope.diffusers->width[0]))
        pe_config_source_set(filling->reading, "dim",
                             filling->reading->scope.diffusers->width[1] ? PE_CONFIG_DERIVED
                                                                         : PE_CONFIG_KEY,
                             filling->reading->scope.diffusers->width[0]);
    else
        pe_config_source_set(filling->reading, "dim", PE_CONFIG_KEY, class_key);
    return PE_OK;
}
