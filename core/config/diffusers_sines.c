/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/params.h"
#include "core/config/reading.h"

/* Classes of diffusers that add sines over a grid: PatchEmbed scales the grid to sample_size in
 * patches, and crops it from a larger one where the class has pos_embed_max_size. Rows and columns
 * are those of the latents, which no config has. */

static const char class_key[] = "_class_name", max_key[] = "pos_embed_max_size",
                  scale_key[] = "interpolation_scale";

static const struct pe_diffusers_class *row_of(const struct pe_config_filling *filling)
{
    return filling->reading->scope.diffusers;
}

static const struct pe_config_member *member(const struct pe_config_filling *filling,
                                             const char *key)
{
    const struct pe_config_member *found = pe_config_member(filling->reading->scope.top, key);

    pe_config_note(filling->reading, found);
    return found;
}

static bool is_null(const struct pe_config_member *found)
{
    return found && found->value.kind == PE_CONFIG_NULL;
}

/* Sets an open parameter to a number that the class makes of a key, or of its default. */
static enum pe_status number_fill(const struct pe_config_filling *filling, const char *param,
                                  double number, const char *key)
{
    const int index = pe_params_find(filling->params, param);

    if (!pe_config_is_open(filling, index))
        return PE_OK;
    if (pe_params_set_number(filling->params, (size_t)index, number, filling->err))
        return filling->err->status;
    if (pe_config_member(filling->reading->scope.top, key))
        pe_config_source_set(filling->reading, param, PE_CONFIG_DERIVED, key);
    else
        pe_config_source_set(filling->reading, param, PE_CONFIG_KEY, class_key);
    return PE_OK;
}

/* A class may be told to add nothing: its pos_embed_type is null, use_pos_embed false. */
static enum pe_status added_check(const struct pe_config_filling *filling)
{
    const struct pe_config_member *type, *used, *scale;

    if (!row_of(filling)->sines.optional)
        return PE_OK;
    if (row_of(filling)->sines.scale == PE_SINES_SCALE_NEEDED) {
        scale = member(filling, scale_key);
        return scale && !is_null(scale)
                   ? PE_OK
                   : pe_config_fail(scale, PE_UNSUPPORTED, filling->err,
                                    "%s adds no positions where interpolation_scale is null",
                                    row_of(filling)->name);
    }
    type = member(filling, "pos_embed_type");
    used = member(filling, "use_pos_embed");
    if (type && !(pe_config_text(type) && strcmp(pe_config_text(type), "sincos") == 0))
        return pe_config_fail(type, PE_UNSUPPORTED, filling->err,
                              "%s has sines where pos_embed_type is sincos, and else none",
                              row_of(filling)->name);
    if (used && !(used->value.kind == PE_CONFIG_BOOL && used->value.as.truth))
        return pe_config_fail(used, PE_UNSUPPORTED, filling->err,
                              "%s adds no positions unless use_pos_embed is true",
                              row_of(filling)->name);
    return PE_OK;
}

static enum pe_status scale_fill(const struct pe_config_filling *filling, double sample)
{
    const struct pe_diffusers_class *row = row_of(filling);
    const int index = pe_params_find(filling->params, scale_key);
    const struct pe_config_member *found =
        row->sines.scale == PE_SINES_SCALE_NONE || row->sines.scale == PE_SINES_SCALE_BY_SIZE
            ? NULL
            : member(filling, scale_key);

    if (row->sines.scale == PE_SINES_SCALE_NONE)
        return PE_OK;
    if (found && !is_null(found))
        return pe_config_is_open(filling, index)
                   ? pe_config_member_fill(filling, (size_t)index, found)
                   : PE_OK;
    return number_fill(filling, scale_key, fmax(floor(sample / 64), 1), "sample_size");
}

/* The grid that is cropped, or whose first rows and columns are taken. */
static enum pe_status max_fill(const struct pe_config_filling *filling)
{
    const struct pe_diffusers_class *row = row_of(filling);
    double most;

    if (row->sines.max == 0)
        return PE_OK;
    if (!row->sines.uncropped && is_null(member(filling, max_key)))
        return PE_OK;
    if (pe_config_diffusers_size(filling, max_key, row->sines.max, &most))
        return filling->err->status;
    if (!row->sines.uncropped)
        return number_fill(filling, "max_size", most, max_key);
    for (size_t i = 0; i < 2; i++) {
        const char *side = i == 0 ? "height" : "width";
        if (pe_param_number(filling->params, side) > most)
            return pe_config_fail(member(filling, max_key), PE_OUT_OF_RANGE, filling->err,
                                  "%s=%.0f is above pos_embed_max_size, %.0f: the code of %s fails",
                                  side, pe_param_number(filling->params, side), most, row->name);
    }
    return PE_OK;
}

static enum pe_status base_fill(const struct pe_config_filling *filling)
{
    const struct pe_diffusers_class *row = row_of(filling);
    double sample, patch;

    if (row->sines.uncropped) {
        pe_config_note(filling->reading, member(filling, "sample_size"));
        return PE_OK;
    }
    if (row->sines.patch == 0 && !member(filling, "patch_size"))
        return pe_config_fail(NULL, PE_UNSUPPORTED, filling->err,
                              "%s has no patch_size unless its config has one: its code fails",
                              row->name);
    if (pe_config_diffusers_size(filling, "sample_size", row->sines.sample, &sample) ||
        pe_config_diffusers_size(filling, "patch_size", row->sines.patch, &patch) ||
        scale_fill(filling, sample))
        return filling->err->status;
    if (floor(sample / patch) < 1)
        return pe_config_fail(NULL, PE_UNSUPPORTED, filling->err,
                              "patch_size is above sample_size: %s has a base grid of no patches",
                              row->name);
    return number_fill(filling, "base_size", floor(sample / patch), "sample_size");
}

static enum pe_status latents_check(const struct pe_config_filling *filling)
{
    static const char *const sides[] = {"height", "width"};
    char where[32];

    for (size_t i = 0; i < 2; i++) {
        if (pe_param_value(filling->params, sides[i])->given)
            continue;
        snprintf(where, sizeof(where), "parameter:%s", sides[i]);
        return pe_fail(filling->err, PE_MISSING, where,
                       "%s is required: height and width of the latents divided by patch_size, "
                       "which no config has, here of %s",
                       sides[i], row_of(filling)->name);
    }
    return PE_OK;
}

enum pe_status pe_config_diffusers_sines(const struct pe_config_filling *filling)
{
    const struct pe_diffusers_class *row = row_of(filling);
    const int variant = pe_params_find(filling->params, "variant");
    double heads, width;

    if (added_check(filling) || latents_check(filling) ||
        pe_config_diffusers_size(filling, row->width[0], row->fallback[0], &heads) ||
        pe_config_diffusers_size(filling, row->width[1], row->fallback[1], &width) ||
        number_fill(filling, "dim", heads * width, row->width[0]) || base_fill(filling) ||
        max_fill(filling))
        return filling->err->status;
    if (!pe_config_is_open(filling, variant))
        return PE_OK;
    if (pe_params_set_text(filling->params, (size_t)variant, "mae", filling->err))
        return filling->err->status;
    pe_config_source_set(filling->reading, "variant", PE_CONFIG_KEY, class_key);
    return PE_OK;
}
