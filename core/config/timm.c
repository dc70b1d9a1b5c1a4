/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/params.h"
#include "core/config/reading.h"

/* Configs of timm: an architecture is a function that constructs a class with arguments of its own,
 * which those of model_args replace. */

static const char architecture_key[] = "architecture", arguments_key[] = "model_args",
                  weights_key[] = "pretrained_cfg";

const struct pe_timm_model pe_timm_models[] = {
#define TIMM_MODEL(id, ...) {.name = (id), __VA_ARGS__},
#include "core/config/timm.def"
    {0},
};

/* The encoding of each rope_type; NULL: none here. */
static const struct type {
    const char *name, *encoding;
    enum pe_timm_class of; /* PE_TIMM_OTHER: of both */
} types[] = {
    {"cat", "rope-nd", PE_TIMM_EVA},      {"axial", "rope-nd", PE_TIMM_NAFLEX},
    {"dinov3", "rope-nd", PE_TIMM_OTHER}, {"mrope", "mrope", PE_TIMM_OTHER},
    {"mixed", NULL, PE_TIMM_OTHER},
};

/* What the constructor of a class takes. */
struct arguments {
    double width, heads;
    const struct type *type;
    double temperature, offset;
    double reference[2], grid[2]; /* rows, columns; 0: none */
    double section[3];
    bool sectioned; /* the sections are given, or the class has some */
    bool xy, half, learned;
};

struct source {
    struct pe_config_reading *reading;
    struct pe_error *err;
};

bool pe_config_is_timm(const struct pe_config_scope *scope)
{
    const char *type = pe_config_text(pe_config_member(scope->top, "model_type"));

    return pe_config_text(pe_config_member(scope->top, architecture_key)) &&
           (!type || strcmp(type, "timm_wrapper") == 0);
}

const struct pe_timm_model *pe_config_timm_find(const struct pe_config_scope *scope)
{
    const char *name = pe_config_text(pe_config_member(scope->top, architecture_key));

    for (const struct pe_timm_model *row = pe_timm_models; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return row;
    return NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Is it the config of a model of transformers that wraps one of timm? */
static bool is_wrapper(const struct pe_config_scope *scope)
{
    return pe_config_member(scope->top, "model_type") != NULL;
}

/* An argument of the file. timm takes a file without pretrained_cfg for an older one, which has no
 * arguments; those of a wrapper that are null are dropped by timm's create_model. */
static const struct pe_config_member *argument(const struct pe_config_reading *reading,
                                               const char *key)
{
    const struct pe_config_scope *scope = &reading->scope;
    const struct pe_config_member *found;

    if (!is_wrapper(scope) && !pe_config_member(scope->top, weights_key))
        return NULL;
    found = pe_config_member(pe_config_object(pe_config_member(scope->top, arguments_key)), key);
    return found && is_wrapper(scope) && found->value.kind == PE_CONFIG_NULL ? NULL : found;
}

/* The same, noted as read. */
static const struct pe_config_member *taken(const struct source *in, const char *key)
{
    const struct pe_config_member *found = argument(in->reading, key);

    pe_config_note_whole(in->reading, found);
    return found;
}

static enum pe_status number_take(const struct source *in, const char *key, double min,
                                  double *value)
{
    const struct pe_config_member *found = taken(in, key);

    if (!found)
        return PE_OK;
    *value = pe_config_number(&found->value);
    if (!pe_config_is_number(&found->value) || !(*value >= min && *value <= 1e30))
        return pe_config_fail(found, PE_INVALID, in->err, "%s must be a number from %g on", key,
                              min);
    return PE_OK;
}

static enum pe_status size_take(const struct source *in, const char *key, double *value)
{
    if (number_take(in, key, 1, value))
        return in->err->status;
    if (*value != floor(*value) || *value > 1 << 20)
        return pe_config_fail(argument(in->reading, key), PE_INVALID, in->err,
                              "%s must be a whole number above 0", key);
    return PE_OK;
}

static enum pe_status switch_take(const struct source *in, const char *key, bool *value)
{
    const struct pe_config_member *found = taken(in, key);

    if (!found)
        return PE_OK;
    *value = found->value.kind == PE_CONFIG_BOOL && found->value.as.truth;
    if (found->value.kind != PE_CONFIG_BOOL && found->value.kind != PE_CONFIG_NULL)
        return pe_config_fail(found, PE_INVALID, in->err, "%s must be true or false", key);
    return PE_OK;
}

/* Numbers of a list; a single one stands for each, null for none. */
static enum pe_status list_take(const struct source *in, const char *key, double min, size_t count,
                                double *values)
{
    const struct pe_config_member *found = taken(in, key);
    const struct pe_config_item *item = NULL;
    size_t n = 0;

    if (!found)
        return PE_OK;
    for (size_t i = 0; i < count; i++)
        values[i] = pe_config_number(&found->value);
    if (found->value.kind == PE_CONFIG_NULL)
        return PE_OK;
    if (found->value.kind == PE_CONFIG_LIST)
        item = found->value.as.node->first_item;
    for (; item && n < count; item = item->next)
        values[n++] = pe_config_is_number(&item->value) ? pe_config_number(&item->value) : -1;
    if (item || (n != count && !(count == 2 && pe_config_is_number(&found->value))))
        values[0] = -1;
    for (size_t i = 0; i < count; i++)
        if (!(values[i] >= min && values[i] <= 1 << 20 && values[i] == floor(values[i])))
            return pe_config_fail(found, PE_INVALID, in->err,
                                  "%s must be %zu whole numbers from %g on", key, count, min);
    return PE_OK;
}

/* NULL after a failure, or for no rotation. */
static const struct type *type_find(const struct source *in, const char *name)
{
    const enum pe_timm_class of = in->reading->scope.timm->of;

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, name) == 0 && (types[i].of == PE_TIMM_OTHER || types[i].of == of))
            return &types[i];
    pe_config_fail(argument(in->reading, "rope_type"), PE_UNSUPPORTED, in->err,
                   "rope_type %.40s: the code of %s fails", name, in->reading->scope.timm->name);
    return NULL;
}

static enum pe_status type_take(const struct source *in, struct arguments *out)
{
    const struct pe_timm_model *row = in->reading->scope.timm;
    const struct pe_config_member *found = taken(in, "rope_type");
    const char *name = found ? pe_config_text(found) : row->rope_type;
    bool rotates = row->use_rot_pos_emb;

    if (found && !name && found->value.kind != PE_CONFIG_NULL)
        return pe_config_fail(found, PE_INVALID, in->err, "rope_type must be text");
    if (row->of == PE_TIMM_NAFLEX)
        rotates = name && *name && strcmp(name, "none") != 0;
    else if (switch_take(in, "use_rot_pos_emb", &rotates))
        return in->err->status;
    out->type = rotates ? type_find(in, name ? name : "null") : NULL;
    return in->err->status;
}

static enum pe_status indexing_take(const struct source *in, struct arguments *out)
{
    const struct pe_config_member *found = taken(in, "rope_grid_indexing");
    const char *name = pe_config_text(found);

    if (!found)
        return PE_OK;
    out->xy = name && strcmp(name, "xy") == 0;
    if (out->xy || (name && strcmp(name, "ij") == 0))
        return PE_OK;
    return pe_config_fail(found, PE_INVALID, in->err, "rope_grid_indexing must be ij or xy");
}

/* The size of images that the weights are for, where it is fixed. A wrapper does not pass it on. */
static enum pe_status input_size_take(const struct source *in, double *image)
{
    const struct pe_config_scope *scope = &in->reading->scope;
    const struct pe_config_member *weights = pe_config_member(scope->top, weights_key);
    const struct pe_config_node *from = weights ? pe_config_object(weights) : scope->top;
    const struct pe_config_member *fixed = pe_config_member(from, "fixed_input_size"),
                                  *size = pe_config_member(from, "input_size");
    const struct pe_config_item *item;
    size_t n = 0;

    pe_config_note(in->reading, fixed);
    pe_config_note_whole(in->reading, size);
    if (is_wrapper(scope) || !size || size->value.kind != PE_CONFIG_LIST || !fixed ||
        fixed->value.kind != PE_CONFIG_BOOL || !fixed->value.as.truth)
        return PE_OK;
    for (item = size->value.as.node->first_item; item && n < 3; item = item->next, n++)
        if (n > 0)
            image[n - 1] = pe_config_number(&item->value);
    if (n != 3 || item || !(image[0] >= 1 && image[1] >= 1))
        return pe_config_fail(size, PE_INVALID, in->err, "input_size must be three sizes");
    return PE_OK;
}

/* The grid of an image, where the model takes images of one size. */
static enum pe_status grid_take(const struct source *in, struct arguments *out)
{
    const struct pe_timm_model *row = in->reading->scope.timm;
    double image[2] = {row->img_size[0], row->img_size[1]},
           patch[2] = {row->patch_size, row->patch_size};
    bool dynamic = row->dynamic_img_size;

    if ((row->img_size[0] == 0 && input_size_take(in, image)) ||
        list_take(in, "img_size", 1, 2, image) || list_take(in, "patch_size", 1, 2, patch) ||
        switch_take(in, "dynamic_img_size", &dynamic))
        return in->err->status;
    for (size_t i = 0; i < 2; i++)
        out->grid[i] =
            row->of == PE_TIMM_EVA && !dynamic && patch[i] > 0 ? floor(image[i] / patch[i]) : 0;
    return PE_OK;
}

static enum pe_status learned_take(const struct source *in, struct arguments *out)
{
    const struct pe_config_member *found;
    const char *name;

    if (in->reading->scope.timm->of != PE_TIMM_NAFLEX)
        return switch_take(in, "use_abs_pos_emb", &out->learned);
    if ((found = taken(in, "pos_embed"))) {
        name = pe_config_text(found);
        out->learned = name && *name && strcmp(name, "none") != 0;
    }
    return PE_OK;
}

/* Without sections Eva has those of GenLIP, and NaFlexVit fails. */
static enum pe_status section_take(const struct source *in, struct arguments *out)
{
    static const double usual[3] = {8, 12, 12};
    const struct pe_config_member *found = taken(in, "rope_mrope_section");

    if (list_take(in, "rope_mrope_section", 0, 3, out->section))
        return in->err->status;
    if (found ? found->value.kind == PE_CONFIG_NULL : out->section[0] == 0)
        memcpy(out->section, usual, sizeof(usual));
    out->sectioned = in->reading->scope.timm->of == PE_TIMM_EVA ||
                     (found ? found->value.kind != PE_CONFIG_NULL
                            : in->reading->scope.timm->rope_mrope_section[0] > 0);
    return PE_OK;
}

static enum pe_status rope_take(const struct source *in, struct arguments *out)
{
    const struct pe_timm_model *row = in->reading->scope.timm;
    const bool fixed = row->of == PE_TIMM_AXIAL;

    if (size_take(in, "embed_dim", &out->width) || size_take(in, "num_heads", &out->heads) ||
        number_take(in, "rope_temperature", 0, &out->temperature))
        return in->err->status;
    if (fixed)
        return PE_OK;
    return type_take(in, out) || number_take(in, "rope_grid_offset", -1e30, &out->offset) ||
                   indexing_take(in, out) || switch_take(in, "rope_rotate_half", &out->half) ||
                   list_take(in, row->of == PE_TIMM_EVA ? "ref_feat_shape" : "rope_ref_feat_shape",
                             1, 2, out->reference) ||
                   section_take(in, out) || grid_take(in, out) || learned_take(in, out)
               ? in->err->status
               : PE_OK;
}

/* The arguments of each class. */
static const struct {
    const char *key;
    bool eva, naflex, axial;
} known[] = {
#define TIMM_ARGUMENT(name, ...) {#name, __VA_ARGS__},
#include "core/config/timm_arguments.def"
};

static bool has_argument(enum pe_timm_class of, const char *key)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcmp(known[i].key, key) == 0)
            return of == PE_TIMM_EVA      ? known[i].eva
                   : of == PE_TIMM_NAFLEX ? known[i].naflex
                                          : known[i].axial;
    return false;
}

/* A constructor fails with an argument that it does not have: one of another class, or a typo. */
static enum pe_status foreign_check(const struct source *in)
{
    const struct pe_timm_model *row = in->reading->scope.timm;
    const struct pe_config_node *object =
        pe_config_object(pe_config_member(in->reading->scope.top, arguments_key));

    for (const struct pe_config_member *at = object ? object->first : NULL; at; at = at->next)
        if (argument(in->reading, at->name.text) && !has_argument(row->of, at->name.text))
            return pe_config_fail(at, PE_UNSUPPORTED, in->err,
                                  "the class of %s has no argument %.60s: its code fails",
                                  row->name, at->name.text);
    return PE_OK;
}

static enum pe_status arguments_take(const struct source *in, struct arguments *out)
{
    const struct pe_timm_model *row = in->reading->scope.timm;
    const struct pe_config_member *object = pe_config_member(in->reading->scope.top, arguments_key);
    bool naflex = false;

    *out = (struct arguments){.width = row->embed_dim,
                              .heads = row->num_heads,
                              .type = row->of == PE_TIMM_AXIAL ? &types[0] : NULL,
                              .temperature = row->rope_temperature,
                              .offset = row->rope_grid_offset,
                              .reference = {row->ref_feat_shape, row->ref_feat_shape},
                              .xy = row->xy,
                              .half = row->rope_rotate_half || row->of == PE_TIMM_AXIAL,
                              .learned = row->use_abs_pos_emb};
    memcpy(out->section, row->rope_mrope_section, sizeof(out->section));
    if (object && !is_wrapper(&in->reading->scope) &&
        !pe_config_member(in->reading->scope.top, weights_key))
        pe_config_warn(in->reading, "model_args is not read: timm reads none in a file without "
                                    "pretrained_cfg");
    if (object && !pe_config_object(object) && object->value.kind != PE_CONFIG_NULL)
        return pe_config_fail(object, PE_INVALID, in->err, "model_args must be an object");
    pe_config_note(in->reading, object);
    if (foreign_check(in) || switch_take(in, "use_naflex", &naflex))
        return in->err->status;
    if (naflex)
        return pe_config_fail(argument(in->reading, "use_naflex"), PE_UNSUPPORTED, in->err,
                              "use_naflex makes another class of %s, whose arguments are not read "
                              "here",
                              row->name);
    return rope_take(in, out);
}

/* ---- the architecture ------------------------------------------------------------------------ */

static enum pe_status architecture_refuse(const struct source *in,
                                          const struct pe_config_member *member)
{
    const struct pe_timm_model *row = in->reading->scope.timm;

    if (!row)
        return pe_config_fail(member, PE_UNSUPPORTED, in->err,
                              "%.60s is no architecture of timm whose rotation is known here; a "
                              "table that it learned (pos_embed) is among its weights",
                              pe_config_text(member));
    return pe_config_fail(member, PE_UNSUPPORTED, in->err, "%s: %s", row->name,
                          row->of == PE_TIMM_OTHER
                              ? row->note
                              : "nothing rotates; where it adds a table (pos_embed), that is "
                                "learned, and its weights have it");
}

static enum pe_status type_check(const struct source *in, const struct arguments *got)
{
    if (!got->type->encoding)
        return pe_config_fail(argument(in->reading, "rope_type"), PE_UNSUPPORTED, in->err,
                              "%s: the frequencies of each head are learned (rope_type mixed): its "
                              "weights have them under rope.freqs",
                              in->reading->scope.timm->name);
    if (fmod(got->width, got->heads) != 0 || fmod(got->width / got->heads, 4) != 0)
        return pe_config_fail(NULL, PE_UNSUPPORTED, in->err,
                              "%g by %g heads is no width of a multiple of 4: the code of %s fails",
                              got->width, got->heads, in->reading->scope.timm->name);
    if (strcmp(got->type->encoding, "mrope") == 0 && !got->sectioned)
        return pe_config_fail(NULL, PE_UNSUPPORTED, in->err,
                              "rope_type mrope without rope_mrope_section: the code of %s fails",
                              in->reading->scope.timm->name);
    if (strcmp(got->type->encoding, "mrope") == 0 && got->xy)
        return pe_config_fail(argument(in->reading, "rope_grid_indexing"), PE_UNSUPPORTED, in->err,
                              "rope_type mrope has no rope_grid_indexing but ij: the code of %s "
                              "fails",
                              in->reading->scope.timm->name);
    return PE_OK;
}

static void notes_report(struct pe_config_reading *reading, const struct arguments *got)
{
    if (reading->scope.timm->note)
        pe_config_warn(reading, "%s", reading->scope.timm->note);
    if (strcmp(got->type->encoding, "mrope") == 0)
        pe_config_warn(reading, "the coordinates are 0, row and column of the patch; tokens before "
                                "the patches do not rotate");
    else
        pe_config_warn(reading,
                       "the coordinates are %s of the patch; tokens before the patches do not "
                       "rotate",
                       got->xy ? "column and row, in this order," : "row and column");
    if (got->offset != 0 && strcmp(got->type->encoding, "rope-nd") == 0)
        pe_config_warn(reading,
                       "rows and columns begin at rope_grid_offset, %g: a table has origin=%g,%g",
                       got->offset, got->offset, got->offset);
    if (got->learned)
        pe_config_warn(reading, "a learned table (pos_embed) is added to the patches too: its "
                                "weights have it");
}

enum pe_status pe_config_timm_choose(struct pe_config_reading *reading, struct pe_error *err)
{
    static const char *const training[] = {"rope_shift_coords", "rope_jitter_coords",
                                           "rope_rescale_coords", "pos_drop_rate", NULL};
    const struct pe_config_member *member = pe_config_member(reading->scope.top, architecture_key);
    const struct source in = {reading, err};
    struct arguments got;

    pe_config_note(reading, member);
    pe_config_note(reading, pe_config_member(reading->scope.top, "model_type"));
    pe_config_note_whole(reading, pe_config_member(reading->scope.top, "pretrained_cfg"));
    if (!reading->scope.timm || reading->scope.timm->of == PE_TIMM_OTHER)
        return architecture_refuse(&in, member);
    if (arguments_take(&in, &got))
        return err->status;
    if (!got.type)
        return architecture_refuse(&in, member);
    if (type_check(&in, &got))
        return err->status;
    for (const char *const *key = training; *key; key++)
        taken(&in, *key);
    reading->family = reading->name = got.type->encoding;
    reading->layout = got.half || strcmp(got.type->encoding, "mrope") == 0 ? "half" : "interleaved";
    reading->layout_source = pe_config_source_make(
        reading, "layout", PE_CONFIG_KEY,
        argument(reading, "rope_rotate_half") ? "model_args.rope_rotate_half" : architecture_key);
    notes_report(reading, &got);
    return PE_OK;
}

/* ---- its parameters -------------------------------------------------------------------------- */

/* The source of a parameter: a key of model_args, or of two, else the architecture. */
static void source_put(const struct pe_config_filling *filling, const char *param, const char *key,
                       const char *other)
{
    const bool from_key = argument(filling->reading, key),
               from_other = other && argument(filling->reading, other);
    char path[80];

    snprintf(path, sizeof(path), "model_args.%s", from_key ? key : other ? other : "");
    if (from_key && from_other)
        snprintf(path, sizeof(path), "model_args.%s / model_args.%s", key, other);
    if (from_key || from_other)
        pe_config_source_set(filling->reading, param, other ? PE_CONFIG_DERIVED : PE_CONFIG_KEY,
                             path);
    else
        pe_config_source_set(filling->reading, param, PE_CONFIG_KEY, architecture_key);
}

static enum pe_status list_fill(const struct pe_config_filling *filling, const char *param,
                                const double *values, size_t count, const char *key,
                                const char *other)
{
    const int index = pe_params_find(filling->params, param);

    if (!pe_config_is_open(filling, index))
        return PE_OK;
    if (count == 1
            ? pe_params_set_number(filling->params, (size_t)index, *values, filling->err)
            : pe_params_set_list(filling->params, (size_t)index, values, count, filling->err))
        return filling->err->status;
    source_put(filling, param, key, other);
    return PE_OK;
}

static enum pe_status text_fill(const struct pe_config_filling *filling, const char *param,
                                const char *text, const char *key)
{
    const int index = pe_params_find(filling->params, param);

    if (!pe_config_is_open(filling, index))
        return PE_OK;
    if (pe_params_set_text(filling->params, (size_t)index, text, filling->err))
        return filling->err->status;
    source_put(filling, param, key, NULL);
    return PE_OK;
}

/* The strided pairs of mrope, of which a section that is too long has fewer. */
static enum pe_status section_fill(const struct pe_config_filling *filling, double width,
                                   const struct arguments *got)
{
    double counts[3] = {width / 2};

    for (size_t axis = 1; axis < 3; axis++) {
        const double strided = ceil((width / 2 - (double)axis) / 3);
        counts[axis] = fmin(strided, got->section[axis]);
        counts[0] -= counts[axis];
    }
    return list_fill(filling, "mrope_section", counts, 3, "rope_mrope_section", NULL) ||
                   text_fill(filling, "mrope_type", "interleaved", "rope_type")
               ? filling->err->status
               : PE_OK;
}

/* In the order of the axes. */
static enum pe_status sizes_fill(const struct pe_config_filling *filling,
                                 const struct arguments *got)
{
    const int index = pe_params_find(filling->params, "axes_size");
    const double sizes[2] = {got->grid[got->xy], got->grid[!got->xy]};

    if (!pe_config_is_open(filling, index))
        return PE_OK;
    if (!(sizes[0] >= 1 && sizes[1] >= 1))
        return pe_fail(filling->err, PE_MISSING, "parameter:axes_size",
                       "axes_size is required: the numbers of %s of patches, which this config of "
                       "%s does not have",
                       got->xy ? "columns and rows" : "rows and columns",
                       filling->reading->scope.timm->name);
    if (list_fill(filling, "axes_size", sizes, 2, "img_size", "patch_size"))
        return filling->err->status;
    if (filling->reading->scope.timm->img_size[0] == 0 && !argument(filling->reading, "img_size"))
        pe_config_source_set(filling->reading, "axes_size", PE_CONFIG_DERIVED,
                             "pretrained_cfg.input_size");
    return PE_OK;
}

static enum pe_status coordinates_fill(const struct pe_config_filling *filling,
                                       const struct arguments *got)
{
    const bool centres = strcmp(got->type->name, "dinov3") == 0;
    const double reference[2] = {got->reference[got->xy], got->reference[!got->xy]};
    const char *key =
        filling->reading->scope.timm->of == PE_TIMM_EVA ? "ref_feat_shape" : "rope_ref_feat_shape";

    if (centres)
        return text_fill(filling, "unit", "turn", "rope_type") ||
                       text_fill(filling, "axes_coordinates", "centres", "rope_type") ||
                       sizes_fill(filling, got)
                   ? filling->err->status
                   : PE_OK;
    if (reference[0] == 0)
        return PE_OK;
    return text_fill(filling, "axes_coordinates", "ratio", key) ||
                   list_fill(filling, "axes_reference", reference, 2, key, NULL) ||
                   sizes_fill(filling, got)
               ? filling->err->status
               : PE_OK;
}

enum pe_status pe_config_timm_fill(const struct pe_config_filling *filling)
{
    const struct source in = {filling->reading, filling->err};
    struct arguments got;
    double width, halves[2];

    if (arguments_take(&in, &got))
        return filling->err->status;
    width = got.width / got.heads;
    halves[0] = halves[1] = width / 2;
    if (list_fill(filling, "dim", &width, 1, "embed_dim", "num_heads") ||
        list_fill(filling, "base", &got.temperature, 1, "rope_temperature", NULL))
        return filling->err->status;
    if (strcmp(got.type->encoding, "mrope") == 0)
        return section_fill(filling, width, &got);
    return list_fill(filling, "axes_dim", halves, 2, "embed_dim", "num_heads") ||
                   coordinates_fill(filling, &got)
               ? filling->err->status
               : PE_OK;
}
