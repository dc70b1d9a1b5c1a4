/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/params.h"
#include "core/config/reading.h"
#include "core/exact/correct_rounding.h"
#include "core/exact/wide.h"

/* Sets parameters that no key of a config holds: by the model's class, as a quotient of two keys,
 * as a multiple of the default. */

static const struct ratio {
    const char *encoding, *param;
    const char *const *over, *const *under;
    const char *factor; /* of under; NULL: none */
} ratios[] = {
#define CONFIG_RATIO(encoding, param, over, under, factor) {encoding, param, over, under, factor},
#include "core/config/keys.def"
    {0},
};

static const struct multiplier {
    const char *encoding, *param, *key;
} multipliers[] = {
#define CONFIG_MULTIPLIER(encoding, param, key) {encoding, param, key},
#include "core/config/keys.def"
    {0},
};

static const struct frequency_width {
    const char *const *models;
    bool reads_head;
    const char *beside;
} frequency_widths[] = {
#define CONFIG_FREQUENCY_WIDTH(models, reads_head, beside) {models, reads_head, beside},
#include "core/config/keys.def"
    {0},
};

static const char *const *const even_slopes =
#define CONFIG_EVEN_SLOPES(models) models
#include "core/config/keys.def"
    ;

static const char *const *const head_parts =
#define CONFIG_HEAD_PART(models) models
#include "core/config/keys.def"
    ;

static const char *const *const quotient_heads =
#define CONFIG_QUOTIENT_HEADS(models) models
#include "core/config/keys.def"
    ;

static const struct projected_part {
    const char *const *models;
    double projection_dim;
} projected_part =
#define CONFIG_PROJECTED_PART(models, projection_dim)                                              \
    {                                                                                              \
        models, projection_dim                                                                     \
    }
#include "core/config/keys.def"
    ;

/* Is this a parameter of the encoding without a value? */
static bool is_wanted(const struct pe_config_filling *filling, const char *encoding,
                      const char *param, int *index)
{
    *index = pe_params_find(filling->params, param);
    return strcmp(encoding, filling->reading->family) == 0 && pe_config_is_open(filling, *index);
}

/* The number that a text begins with; 0: none. */
static double number_read(const char *text)
{
    double number = 0;

    return pe_text_number(&text, &number) ? number : 0;
}

/* ---- defaults of the class ------------------------------------------------------------------- */

static const struct part_base {
    const char *model_type, *base;
} part_bases[] = {
#define CONFIG_PART_ROPE(model_type, base, own_rope) {model_type, #base},
#include "core/config/keys.def"
    {0},
};

/* A rope object replaces the scaling of the model's class, and keeps only these defaults, unless
 * they are those of a rope object of the class. */
static bool is_replaced(const struct pe_config_reading *reading, const char *name)
{
    if (reading->scope.rope && reading->model && reading->model->own_rope &&
        strcmp(name, "partial_rotary_factor") == 0)
        return true;
    return reading->scope.rope &&
           !pe_config_lists(NAMES("dim", "base", "rotary_dim", "partial_rotary_factor",
                                  "mrope_section", "mrope_interleaved", "mrope_type", "variant"),
                            name);
}

/* Sizes among the defaults are no parameters. */
static enum pe_status default_fill(const struct pe_config_filling *filling,
                                   const struct pe_class_default *row)
{
    const int index = pe_params_find(filling->params, row->name);

    if (!pe_config_is_open(filling, index) || is_replaced(filling->reading, row->name) ||
        (strcmp(row->name, "partial_rotary_factor") == 0 &&
         pe_param_given(filling->params, "rotary_dim")))
        return PE_OK;
    if (pe_params_set_text(filling->params, (size_t)index, row->value, filling->err))
        return filling->err->status;
    pe_config_source_set(filling->reading, filling->params->list[index].name, PE_CONFIG_MODEL,
                         NULL);
    return PE_OK;
}

/* Sets the base that the class has for a rope object without one, or for its part about text. */
static enum pe_status base_fill(const struct pe_config_filling *filling)
{
    const struct pe_config_reading *reading = filling->reading;
    const struct pe_config_scope *scope = &reading->scope;
    const char *top = pe_config_text(pe_config_member(scope->top, "model_type"));
    const int index = pe_params_find(filling->params, "base");
    char base[32];

    if (!pe_config_is_open(filling, index))
        return PE_OK;
    for (const struct part_base *at = part_bases; top && at->model_type; at++)
        if (scope->text != scope->top && strcmp(at->model_type, top) == 0)
            return default_fill(filling, &(struct pe_class_default){"base", at->base});
    if (!scope->rope || !reading->model || reading->model->plain_base == 0)
        return PE_OK;
    snprintf(base, sizeof(base), "%d", reading->model->plain_base);
    return default_fill(filling, &(struct pe_class_default){"base", base});
}

static enum pe_status defaults_fill(const struct pe_config_filling *filling)
{
    const struct pe_config_model *model = filling->reading->model;

    if (base_fill(filling))
        return filling->err->status;
    for (const struct pe_class_default *at = model ? model->defaults : NULL; at && at->name; at++)
        if (default_fill(filling, at))
            return filling->err->status;
    return PE_OK;
}

/* ---- quotients ------------------------------------------------------------------------------- */

/* A size, and its path for reports. */
struct size {
    double number;                         /* NAN: the member is no number */
    const struct pe_config_member *member; /* NULL: the class's */
    char path[PE_CONFIG_PATH_SIZE];
};

/* A size of the model's class, by the first of its defaults that is among the keys; 0: none. */
static double class_size(const struct pe_config_reading *reading, const char *const *keys)
{
    const struct pe_class_default *at = reading->model ? reading->model->defaults : NULL;

    for (; at && at->name; at++)
        if (pe_config_lists(keys, at->name))
            return number_read(at->value);
    return 0;
}

/* False: neither the config nor the class has it. */
static bool size_find(struct pe_config_reading *reading, const char *const *keys, struct size *size)
{
    const struct pe_config_member *found = pe_config_find(reading, pe_in_text_outer, keys);

    size->member = found;
    if (found) {
        size->number = pe_config_is_number(&found->value) ? pe_config_number(&found->value) : NAN;
        pe_config_path(found, size->path, sizeof(size->path));
        return true;
    }
    size->number = class_size(reading, keys);
    snprintf(size->path, sizeof(size->path), "the %s of the class", *keys);
    return size->number > 0;
}

/* The divisor: a size, times another one. */
static bool under_find(struct pe_config_reading *reading, const struct ratio *ratio,
                       struct size *under)
{
    struct size factor;
    char path[64];

    if (!ratio->factor)
        return size_find(reading, ratio->under, under);
    if (!size_find(reading, NAMES(ratio->factor), &factor) ||
        !size_find(reading, ratio->under, under))
        return false;
    snprintf(path, sizeof(path), "%.60s", under->path);
    snprintf(under->path, sizeof(under->path), "%.100s / %s", factor.path, path);
    under->number *= factor.number;
    return true;
}

static enum pe_status ratio_fill(const struct pe_config_filling *filling, const struct ratio *ratio)
{
    struct pe_config_reading *reading = filling->reading;
    char both[2 * PE_CONFIG_PATH_SIZE + 4];
    struct size over, under;
    double quotient;
    int index;

    if (!is_wanted(filling, ratio->encoding, ratio->param, &index) ||
        !size_find(reading, ratio->over, &over) || !under_find(reading, ratio, &under))
        return PE_OK;
    if (isnan(over.number) || isnan(under.number))
        return pe_config_fail(isnan(over.number) ? over.member : under.member, PE_INVALID,
                              filling->err, "%s must be a number, without quotes",
                              isnan(over.number) ? over.path : under.path);
    quotient = over.number / under.number;
    if (!isfinite(quotient) || quotient != floor(quotient))
        return pe_config_fail(over.member, PE_INVALID, filling->err,
                              "%s must be a whole multiple of %s, for %s is their quotient",
                              over.path, under.path, ratio->param);
    if (pe_params_set_number(filling->params, (size_t)index, quotient, filling->err))
        return filling->err->status;
    snprintf(both, sizeof(both), "%s / %s", over.path, under.path);
    if (over.member || under.member)
        pe_config_source_set(reading, ratio->param, PE_CONFIG_DERIVED, both);
    else
        pe_config_source_set(reading, ratio->param, PE_CONFIG_MODEL, NULL);
    return PE_OK;
}

/* The part of a head that rotates by CONFIG_PROJECTED_PART. */
static enum pe_status projected_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_member *found =
        pe_config_first(&reading->scope, pe_in_text, NAMES("projection_dim"));
    const double least = class_size(reading, NAMES("rotary_dim"));
    struct size heads;
    double over, part;
    int index;

    if (!pe_config_is_among(&reading->scope, projected_part.models) ||
        !is_wanted(filling, "rope", "rotary_dim", &index) ||
        !size_find(reading, ratios[0].under, &heads))
        return PE_OK;
    pe_config_note(reading, found);
    over = found ? pe_config_number(&found->value) : projected_part.projection_dim;
    part = floor(over / (2 * heads.number));
    if (!(part > least) || !isfinite(part))
        return PE_OK;
    pe_config_source_set(reading, "rotary_dim", PE_CONFIG_DERIVED,
                         "projection_dim / (2 num_attention_heads)");
    return pe_params_set_number(filling->params, (size_t)index, part, filling->err);
}

/* ---- slopes ---------------------------------------------------------------------------------- */

struct slopes {
    double most;
    size_t heads;
};

/* 2^(-most (head + 1) / heads) */
static struct pe_wide slope(unsigned bits, const void *context, size_t head)
{
    const struct slopes *slopes = context;

    return pe_wide_exp2(pe_wide_div_uint(
        pe_wide_mul_uint(pe_wide_of(bits, -slopes->most), head + 1), slopes->heads));
}

/* Each slope is rounded from a number of many digits, in about 2 us; no model has as many heads. */
enum { EVEN_SLOPES_MAX = 1024 };

/* Sets the slopes of CONFIG_EVEN_SLOPES where they are not those of alibi, in place of the
 * alibi_bias_max that they are derived from. */
static enum pe_status slopes_fill(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const int index = pe_params_find(filling->params, "slopes"),
              most = pe_params_find(filling->params, "alibi_bias_max");
    double *list;

    if (!pe_config_is_among(&reading->scope, even_slopes) || !pe_config_is_open(filling, index) ||
        !pe_param_given(filling->params, "heads"))
        return PE_OK;
    const struct slopes slopes = {filling->params->values[most].given
                                      ? pe_param_number(filling->params, "alibi_bias_max")
                                      : number_read(filling->params->list[most].fallback),
                                  (size_t)pe_param_number(filling->params, "heads")};
    if ((slopes.heads & (slopes.heads - 1)) == 0)
        return PE_OK;
    if (slopes.heads > EVEN_SLOPES_MAX)
        return pe_fail(filling->err, PE_TOO_LARGE, "key:n_heads",
                       "the slopes of this model are made for at most %d heads, or a power of two; "
                       "got %zu",
                       EVEN_SLOPES_MAX, slopes.heads);
    list = pe_config_take(&reading->memory, slopes.heads * sizeof(*list));
    if (!list)
        return pe_no_memory(filling->err, "the config");
    for (size_t head = 0; head < slopes.heads; head++)
        pe_real_round(slope, &slopes, head, PE_F64, &list[head]);
    filling->params->values[most] = (struct pe_value){0};
    pe_config_source_delete(reading, "alibi_bias_max");
    pe_config_source_set(reading, "slopes", PE_CONFIG_DERIVED, "2^(-alibi_bias_max i / n_heads)");
    return pe_params_set_list(filling->params, (size_t)index, list, slopes.heads, filling->err);
}

/* ---- multiples ------------------------------------------------------------------------------- */

static enum pe_status multiplier_fill(const struct pe_config_filling *filling,
                                      const struct multiplier *row)
{
    char path[PE_CONFIG_PATH_SIZE], product[PE_CONFIG_PATH_SIZE + 40];
    const struct pe_config_member *found;
    double usual;
    int index;

    if (!is_wanted(filling, row->encoding, row->param, &index))
        return PE_OK;
    found = pe_config_find(filling->reading, pe_in_text_top, NAMES(row->key));
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

/* mrope whose three coordinates rotate a third of a head each: as many whole pairs as fit, and the
 * rest of the head does not rotate. */
static enum pe_status thirds_fill(const struct pe_config_filling *filling)
{
    const double third = floor(floor(pe_param_number(filling->params, "dim") / 3) / 2);
    const int sections = pe_params_find(filling->params, "mrope_section"),
              rotary = pe_params_find(filling->params, "rotary_dim");

    if (strcmp(filling->reading->family, "mrope") != 0 || !(third >= 1) ||
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

/* ---- widths that disagree -------------------------------------------------------------------- */

/* The source of dim, where the caller did not give it; NULL: it did, or dim has none. */
static const struct pe_config_source *dim_source(const struct pe_config_reading *reading)
{
    const struct pe_config_source *source = pe_config_source_find(reading, "dim");

    return source && source->from != PE_CONFIG_GIVEN ? source : NULL;
}

/* Refuses heads of one width whose frequencies are made for another one, head_dim. */
static enum pe_status heads_check(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_member *found = pe_config_first(scope, pe_in_text, NAMES("head_dim"));
    struct size over, under;

    if (!pe_config_is_among(scope, quotient_heads) || !found || !dim_source(reading) ||
        !size_find(reading, ratios[0].over, &over) || !under_find(reading, &ratios[0], &under) ||
        !(fabs(floor(over.number / under.number) - pe_config_number(&found->value)) > 0))
        return PE_OK;
    return pe_config_fail(found, PE_UNSUPPORTED, filling->err,
                          "heads of %s are %s / %s wide, and its code makes frequencies alone for "
                          "head_dim, which is another width here: give encoding, dim and "
                          "rotary_dim in place of the config",
                          scope->model->model_type, over.path, under.path);
}

/* The number of columns of frequencies that the class makes. */
static double width_made(const struct pe_config_filling *filling, const struct frequency_width *row,
                         double rotated)
{
    const struct pe_config_reading *reading = filling->reading;
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_member *part =
        pe_config_first(scope, pe_in_rope_text, NAMES("partial_rotary_factor"));
    const struct pe_config_member *head =
        row->reads_head ? pe_config_member(scope->text, "head_dim") : NULL;
    const bool parted = pe_param_number(filling->params, "rope_type") > 0 ||
                        !(reading->model && reading->model->whole_heads);
    const double own = head ? pe_config_number(&head->value) : 0;
    const double both =
        rotated + (*row->beside ? pe_config_effective_number(scope, row->beside) : 0);
    /* The class sets its fraction in rope_parameters, which a rope_scaling replaces later. */
    const bool replaced = *row->beside && scope->rope && scope->rope->owner &&
                          strcmp(scope->rope->owner->name.text, "rope_scaling") == 0;
    const double fraction = part ? pe_config_number(&part->value) : replaced ? 1 : rotated / both;

    return floor((own > 0 ? own : both) * (parted ? fraction : 1));
}

/* Warns where qk_rope_head_dim is not the part of head_dim that the class rotates. */
static void head_part_check(const struct pe_config_filling *filling, double rotated)
{
    struct pe_config_reading *reading = filling->reading;
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_member *head = pe_config_member(scope->text, "head_dim");
    const struct pe_config_member *part =
        pe_config_first(scope, pe_in_rope, NAMES("partial_rotary_factor"));
    double made;

    if (!pe_config_is_among(scope, head_parts) || !head || !part)
        return;
    made = floor(pe_config_number(&head->value) * pe_config_number(&part->value));
    if (made != rotated)
        pe_config_warn(reading,
                       "qk_rope_head_dim is read: the class of %s rotates head_dim times "
                       "partial_rotary_factor elements, which is %g here",
                       reading->model->model_type, made);
}

void pe_config_width_check(const struct pe_config_filling *filling)
{
    struct pe_config_reading *reading = filling->reading;
    const double rotated = pe_param_number(filling->params, "dim");

    if (!dim_source(reading) || !(rotated > 0))
        return;
    head_part_check(filling, rotated);
    for (const struct frequency_width *row = frequency_widths; row->models; row++) {
        const double made = pe_config_is_among(&reading->scope, row->models)
                                ? width_made(filling, row, rotated)
                                : rotated;
        if (made == rotated)
            continue;
        pe_config_warn(reading,
                       "%g elements turn, and the class of %s makes frequencies for %g of "
                       "head_dim and partial_rotary_factor: transformers 5.23 fails there",
                       rotated, reading->model->model_type, made);
    }
}

/* Has the config a size that the width of a head could come from? */
static bool has_size(const struct pe_config_reading *reading)
{
    for (const struct ratio *at = ratios; at->encoding; at++)
        if (strcmp(at->encoding, reading->family) == 0 &&
            (pe_config_first(&reading->scope, pe_in_text_outer, at->over) ||
             pe_config_first(&reading->scope, pe_in_text_outer, at->under)))
            return true;
    return false;
}

void pe_config_defaults_warn(struct pe_config_reading *reading)
{
    const struct pe_config_source *source = dim_source(reading);

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

/* ---- all of it ------------------------------------------------------------------------------- */

enum pe_status pe_config_derive(const struct pe_config_filling *filling)
{
    if (heads_check(filling) || projected_fill(filling) || defaults_fill(filling))
        return filling->err->status;
    for (const struct ratio *at = ratios; at->encoding; at++)
        if (ratio_fill(filling, at))
            return filling->err->status;
    for (const struct multiplier *at = multipliers; at->encoding; at++)
        if (multiplier_fill(filling, at))
            return filling->err->status;
    return slopes_fill(filling) ? filling->err->status : thirds_fill(filling);
}
