/* SPDX-License-Identifier: MIT */
#include "core/engines/rotation.h"

#include <math.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/exact/elementary.h"
#include "core/scheme/scheme.h"
#include "posenc/views.h"

/* The same rules as tools/engines/compare.py, which compares an engine with posenc; a test holds
 * the differences found here against every measured one. */

#define CLOSE        1e-5 /* relative, of frequencies and factors: readings are compared */
#define CONTEXT      4096 /* of a config without one */
#define STEPS_CLOSE  1e-3 /* of logarithms, between neighbouring pairs */
#define FACTOR_CLOSE 1e-3
#define BASE_CLOSE   1e-2

/* ---- one kind of layers ---------------------------------------------------------------------- */

struct reader {
    const struct pe_config *config;
    struct pe_config_memory *memory;
    struct pe_error *err;
};

static bool is_choice(const struct pe_params *params, const char *name, const char *choice)
{
    const int index = pe_params_find(params, name);
    char found[40] = "";

    if (index >= 0 && params->values[index].present)
        pe_choice_name(&params->list[index], (size_t)params->values[index].number, found,
                       sizeof(found));
    return strcmp(found, choice) == 0;
}

static double number_of(const struct pe_params *params, const char *name)
{
    const double number = pe_param_number(params, name);

    return isnan(number) ? 0 : number;
}

/* Are the frequencies those of the length of a sequence? */
static bool is_by_length(const struct pe_params *params)
{
    return is_choice(params, "rope_type", "dynamic") || is_choice(params, "rope_type", "longrope");
}

static void layers_describe(const struct pe_scheme *scheme, struct pe_engine_layers *layers)
{
    const struct pe_params *params = pe_scheme_params(scheme);

    layers->context = number_of(params, "max_position_embeddings");
    layers->reach =
        number_of(params, "factor") * number_of(params, "original_max_position_embeddings");
    if (is_choice(params, "rope_type", "longrope"))
        layers->changes = number_of(params, "original_max_position_embeddings");
}

/* Copies the frequencies that are not 0. */
static enum pe_status frequencies_read(const struct reader *reader, const struct pe_view *view,
                                       struct pe_engine_rotation *rotation)
{
    const size_t count = pe_view_output(view, 0)->shape[0];
    double *all = pe_config_take(reader->memory, (count + 1) * sizeof(*all));
    struct pe_scalar scalar;

    if (!all)
        return pe_no_memory(reader->err, "the frequencies of a config");
    if (pe_view_fill(view, 0, 0, 1, all, reader->memory->work, reader->err))
        return reader->err->status;
    for (size_t i = 0; i < count; i++)
        if (all[i] != 0)
            all[rotation->pairs++] = all[i];
    rotation->frequencies = all;
    rotation->factor = 1;
    for (size_t i = 0; pe_view_scalar(view, i, &scalar); i++)
        if (strcmp(scalar.name, "attention_factor") == 0)
            rotation->factor = scalar.value;
    return PE_OK;
}

static enum pe_status scheme_measure(const struct reader *reader, struct pe_scheme *scheme,
                                     struct pe_engine_rotation *rotation)
{
    const struct pe_view_type *type = pe_encoding_view(pe_scheme_encoding(scheme), "frequencies");
    const struct pe_params *params = pe_scheme_params(scheme);
    const struct pe_view_info *info = pe_view_info(type);
    struct pe_params own = {0};
    struct pe_view *view = NULL;

    rotation->base = number_of(params, "base");
    rotation->is_scaled = !is_choice(params, "rope_type", "default");
    pe_params_init(&own, info->params, info->params_count);
    if (!pe_params_finish(&own, reader->err) &&
        !pe_scheme_prepare(scheme, reader->memory->work, reader->err) &&
        !pe_view_new(&view, scheme, type, &own, PE_F64, reader->memory->work, reader->err))
        frequencies_read(reader, view, rotation);
    pe_view_free(view);
    pe_params_free(&own);
    return reader->err->status;
}

static double scale_of(const struct pe_attention_traits *traits, double dim)
{
    const double width = traits->width != 0 ? (double)traits->width : dim;

    if (!isnan(traits->scale))
        return traits->scale * traits->scale_multiplier;
    return width > 0 ? traits->scale_multiplier / sqrt(width) : 0;
}

static enum pe_status not_a_row(struct pe_error *err)
{
    return pe_fail(err, PE_UNSUPPORTED, "config",
                   "engines are measured with rotary encodings along one axis, and this config has "
                   "none");
}

/* The scheme of a reading, for sequences of a length; 0: any. */
static enum pe_status scheme_open(const struct reader *reader, struct pe_config_reading *reading,
                                  int64_t length, struct pe_scheme **scheme)
{
    const char *name = pe_config_encoding(reading);
    const struct pe_encoding *encoding = pe_encoding_find(name);
    struct pe_params params = {0};
    int index;

    *scheme = NULL;
    if (!encoding || (strcmp(name, "rope") != 0 && strcmp(name, "mrope") != 0))
        return not_a_row(reader->err);
    pe_params_init(&params, pe_encoding_info(encoding)->params,
                   pe_encoding_info(encoding)->params_count);
    index = pe_params_find(&params, "seq_len");
    if (length == 0 || index < 0 ||
        !pe_params_set_number(&params, (size_t)index, (double)length, reader->err))
        pe_config_scheme(scheme, reading, &params, reader->err);
    pe_params_free(&params);
    return reader->err->status;
}

/* One reading: length 0 describes the layers, any other measures the rotation. *again: another
 * length gives other frequencies. */
static enum pe_status reading_take(const struct reader *reader, const struct pe_config_kind *kind,
                                   const char *layer_type, int64_t length,
                                   struct pe_engine_layers *layers,
                                   struct pe_engine_rotation *rotation)
{
    struct pe_attention_traits traits = {.size = sizeof(traits)};
    struct pe_config_reading *reading = NULL;
    struct pe_scheme *scheme = NULL;

    if (!pe_config_read(&reading, reader->config, layer_type, false, reader->err) &&
        !scheme_open(reader, reading, length, &scheme) &&
        !pe_config_kind_traits(reading, kind, &traits, reader->err)) {
        layers_describe(scheme, layers);
        layers->window = traits.window;
        if (rotation && !scheme_measure(reader, scheme, rotation)) {
            rotation->scale = scale_of(&traits, (double)pe_scheme_head_dim(scheme));
            rotation->layout = pe_config_layout(reading);
        }
    }
    pe_scheme_free(scheme);
    pe_config_reading_free(reading);
    return reader->err->status;
}

/* Is the length a parameter of the scheme that the layers have? */
static enum pe_status length_of(const struct reader *reader, const char *layer_type, int64_t length,
                                int64_t *given)
{
    struct pe_config_reading *reading = NULL;
    struct pe_scheme *scheme = NULL;

    *given = 0;
    if (!pe_config_read(&reading, reader->config, layer_type, false, reader->err) &&
        !scheme_open(reader, reading, 0, &scheme) && is_by_length(pe_scheme_params(scheme)))
        *given = length;
    pe_scheme_free(scheme);
    pe_config_reading_free(reading);
    return reader->err->status;
}

/* ---- a model --------------------------------------------------------------------------------- */

/* The type to read a kind by; NULL: all layers have the same positions. */
static const char *type_of(const struct pe_config *config, const struct pe_config_kinds *kinds,
                           const struct pe_config_kind *kind)
{
    const bool is_usual = kind == pe_config_kind(kinds, pe_config_kinds_usual(kinds));

    return is_usual && !pe_config_layer_type(config, 0) ? NULL : kind->layer_type;
}

static enum pe_status layers_begin(const struct reader *reader, struct pe_engine_model *model,
                                   const struct pe_config_kind *kind)
{
    struct pe_engine_layers *layers = &model->layers[model->count++];

    *layers = (struct pe_engine_layers){.layer_type = kind->layer_type,
                                        .numbers = kind->layers,
                                        .count = kind->count,
                                        .rotates = kind->turns};
    return kind->turns ? reading_take(reader, kind, type_of(reader->config, model->kinds, kind), 0,
                                      layers, NULL)
                       : PE_OK;
}

void pe_engine_lengths_set(struct pe_engine_model *model)
{
    double longest = 0, changes = 0;

    for (size_t i = 0; i < model->count; i++) {
        longest = fmax(longest, model->layers[i].context);
        changes = fmax(changes, model->layers[i].changes);
    }
    model->lengths[0] = longest > 0 ? (int64_t)longest : CONTEXT;
    model->lengths_count = 1;
    if (changes > 0 && (int64_t)changes != model->lengths[0])
        model->lengths[model->lengths_count++] = (int64_t)changes;
    if (model->lengths_count == 2 && model->lengths[1] > model->lengths[0]) {
        model->lengths[1] = model->lengths[0];
        model->lengths[0] = (int64_t)changes;
    }
}

bool pe_engine_lengths_differ(const struct pe_engine_model *model,
                              const struct pe_engine_model *other)
{
    struct pe_engine_model own = *model;

    pe_engine_lengths_set(&own);
    return own.lengths_count > 1 &&
           (other->lengths_count == 1 || own.lengths[1] != other->lengths[1]);
}

static enum pe_status kind_measure(const struct reader *reader, struct pe_engine_model *model,
                                   const struct pe_config_kind *kind,
                                   struct pe_engine_layers *layers)
{
    const char *type = type_of(reader->config, model->kinds, kind);
    int64_t given;

    for (size_t i = 0; layers->rotates && i < model->lengths_count; i++)
        if (length_of(reader, type, model->lengths[i], &given) ||
            reading_take(reader, kind, type, given, layers, &layers->rotations[i]))
            return reader->err->status;
    return PE_OK;
}

enum pe_status pe_engine_model_read(struct pe_engine_model *model, const struct pe_config *config,
                                    const struct pe_engine_model *lengths,
                                    struct pe_config_memory *memory, struct pe_error *err)
{
    const struct reader reader = {config, memory, err};
    const struct pe_config_kind *kind;
    size_t count = 0, at = 0;
    bool rotates = false;

    *model = (struct pe_engine_model){0};
    if (pe_config_kinds_new(&model->kinds, config, err))
        return err->status;
    while (pe_config_kind(model->kinds, count))
        count++;
    model->layers = pe_config_take(memory, (count + 1) * sizeof(*model->layers));
    if (!model->layers)
        return pe_no_memory(err, "the layers of a config");
    for (size_t i = 0; (kind = pe_config_kind(model->kinds, i)); i++)
        if (kind->attends && layers_begin(&reader, model, kind))
            return err->status;
    pe_engine_lengths_set(model);
    if (lengths) {
        memcpy(model->lengths, lengths->lengths, sizeof(model->lengths));
        model->lengths_count = lengths->lengths_count;
    }
    for (size_t i = 0; (kind = pe_config_kind(model->kinds, i)); i++) {
        if (!kind->attends)
            continue;
        rotates |= kind->turns;
        if (kind_measure(&reader, model, kind, &model->layers[at++]))
            return err->status;
    }
    return rotates ? PE_OK : not_a_row(err);
}

void pe_engine_model_release(struct pe_engine_model *model)
{
    pe_config_kinds_free(model->kinds);
    model->kinds = NULL;
}

static bool is_same_type(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Do two ascending lists of layers have one in common? */
static bool overlaps(const struct pe_engine_layers *a, const struct pe_engine_layers *b)
{
    for (size_t i = 0, j = 0; i < a->count && j < b->count;) {
        if (a->numbers[i] == b->numbers[j])
            return true;
        *(a->numbers[i] < b->numbers[j] ? &i : &j) += 1;
    }
    return false;
}

const struct pe_engine_layers *pe_engine_layers_match(const struct pe_engine_layers *layers,
                                                      const struct pe_engine_model *other)
{
    for (size_t i = 0; i < other->count; i++)
        if (is_same_type(layers->layer_type, other->layers[i].layer_type) &&
            layers->rotates == other->layers[i].rotates)
            return &other->layers[i];
    for (size_t i = 0; i < other->count; i++)
        if (is_same_type(layers->layer_type, other->layers[i].layer_type))
            return &other->layers[i];
    for (size_t i = 0; i < other->count && layers->numbers; i++)
        if (other->layers[i].numbers && overlaps(layers, &other->layers[i]))
            return &other->layers[i];
    for (size_t i = 0; i < other->count; i++)
        if (other->layers[i].rotates == layers->rotates)
            return &other->layers[i];
    return other->count > 0 ? &other->layers[0] : NULL;
}

/* ---- differences ----------------------------------------------------------------------------- */

/* Are the frequencies base^(-i / n) / factor? */
static bool geometric(const struct pe_engine_rotation *rotation, double *base, double *factor)
{
    const size_t n = rotation->pairs;
    double mean;

    if (n < 3)
        return false;
    for (size_t i = 0; i < n; i++)
        if (rotation->frequencies[i] <= 0)
            return false;
    mean =
        (pe_log(rotation->frequencies[n - 1]) - pe_log(rotation->frequencies[0])) / (double)(n - 1);
    for (size_t i = 0; i + 1 < n; i++)
        if (fabs(pe_log(rotation->frequencies[i + 1]) - pe_log(rotation->frequencies[i]) - mean) >
            STEPS_CLOSE * fmax(fabs(mean), 1e-9))
            return false;
    *base = pe_exp(-mean * (double)n);
    *factor = 1 / rotation->frequencies[0];
    return true;
}

static bool is_reversed(const struct pe_engine_rotation *ours,
                        const struct pe_engine_rotation *theirs)
{
    for (size_t i = 0; i < ours->pairs; i++)
        if (fabs(ours->frequencies[i] + theirs->frequencies[i]) >
            CLOSE * fabs(ours->frequencies[i]))
            return false;
    return true;
}

static const char *code_of(const struct pe_engine_rotation *ours,
                           const struct pe_engine_rotation *theirs)
{
    double base, factor;
    bool same_base;

    if (is_reversed(ours, theirs))
        return "direction";
    if (!geometric(theirs, &base, &factor))
        return "scaling";
    same_base = fabs(base / (ours->base > 0 ? ours->base : 10000) - 1) < BASE_CLOSE;
    if (ours->is_scaled && fabs(factor - 1) <= FACTOR_CLOSE)
        return same_base ? "scaling-ignored" : "base-and-scaling";
    return same_base ? "scaling" : "base";
}

static bool frequencies_differ(const struct pe_engine_rotation *ours,
                               const struct pe_engine_rotation *theirs, int64_t length,
                               struct pe_engine_difference *difference)
{
    double worst = 0;
    size_t wrong = 0;

    for (size_t i = 0; i < ours->pairs; i++) {
        const double a = ours->frequencies[i], b = theirs->frequencies[i];
        wrong += fabs(a - b) > CLOSE * fmax(a, fabs(b));
        worst = fmax(worst, fabs(a - b));
    }
    if (wrong == 0)
        return false;
    difference->code = code_of(ours, theirs);
    difference->pairs = wrong;
    difference->of = ours->pairs;
    difference->radians = worst * (double)(length - 1);
    difference->at = length - 1;
    return true;
}

static bool rotations_differ(const struct pe_engine_rotation *ours,
                             const struct pe_engine_rotation *theirs, int64_t length,
                             struct pe_engine_difference *difference)
{
    if (ours->pairs != theirs->pairs) {
        difference->code = "width";
        return true;
    }
    if (frequencies_differ(ours, theirs, length, difference))
        return true;
    if (!ours->layout || !theirs->layout || strcmp(ours->layout, theirs->layout) == 0)
        return false;
    difference->code = "layout";
    return true;
}

/* A score depends on the product of factor and softmax scale alone. NULL: the same. */
static const char *scales_differ(const struct pe_engine_rotation *ours,
                                 const struct pe_engine_rotation *theirs)
{
    const double factor = theirs->factor / ours->factor;
    const double scale = ours->scale > 0 && theirs->scale > 0 ? theirs->scale / ours->scale : 1;

    if (fabs(factor * factor * scale - 1) <= 4 * CLOSE)
        return NULL;
    return fabs(factor - 1) > CLOSE ? "attention-factor" : "softmax-scale";
}

bool pe_engine_layers_differ(const struct pe_engine_model *ours,
                             const struct pe_engine_layers *layers,
                             const struct pe_engine_layers *theirs,
                             struct pe_engine_difference *difference)
{
    *difference = (struct pe_engine_difference){0};
    if (layers->rotates != theirs->rotates) {
        difference->code = layers->rotates ? "not-rotated" : "rotated";
        return true;
    }
    for (size_t i = 0; layers->rotates && i < ours->lengths_count; i++) {
        const struct pe_engine_rotation *own = &layers->rotations[i],
                                        *other = &theirs->rotations[i];
        const bool differs = rotations_differ(own, other, ours->lengths[i], difference);
        const char *also = scales_differ(own, other);
        if (!differs && !also)
            continue;
        *(differs ? &difference->also : &difference->code) = also;
        difference->length = ours->lengths_count > 1 ? ours->lengths[i] : 0;
        return true;
    }
    return false;
}
