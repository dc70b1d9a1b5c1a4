/* SPDX-License-Identifier: MIT */
#include "core/config/reading.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/params.h"
#include "core/base/work.h"

/* The public functions of a reading: its begin, its results, and the scheme of the encoding that
 * the config describes. */

static const char *const weights[] = {
#define CONFIG_WEIGHTS(encoding) encoding,
#include "core/config/keys.def"
    NULL,
};

static const char *const *const base_switches =
#define CONFIG_BASE_SWITCHES(models) models
#include "core/config/keys.def"
    ;

/* Approximate nanoseconds of a reading with its scheme and traits, and more for each key, whose
 * name is searched for words. */
enum { READING_COST = 100000, KEY_COST = 300 };

/* ---- making ---------------------------------------------------------------------------------- */

static struct pe_config_reading *reading_new(const struct pe_config *config)
{
    struct pe_config_reading *reading = calloc(1, sizeof(*reading));

    if (!reading)
        return NULL;
    reading->config = config;
    reading->scope = pe_config_scope_of(config);
    reading->memory.work = config->memory.work;
    if (reading->scope.text->owner)
        pe_config_path(reading->scope.text->owner, reading->text_part, sizeof(reading->text_part));
    reading->read = pe_config_take(&reading->memory, config->members + 1);
    if (!reading->read) {
        pe_config_reading_free(reading);
        return NULL;
    }
    memset(reading->read, 0, config->members + 1);
    return reading;
}

double pe_config_read_work(const struct pe_config *config)
{
    return READING_COST + KEY_COST * (double)config->members;
}

enum pe_status pe_config_read(struct pe_config_reading **out, const struct pe_config *config,
                              const char *layer_type, bool strict, struct pe_error *err)
{
    struct pe_config_reading *reading = reading_new(config);

    *out = NULL;
    if (!reading)
        return pe_no_memory(err, "the config");
    reading->strict = strict;
    if (pe_spend(config->memory.work, pe_config_read_work(config), err) ||
        pe_config_model_choose(reading, err) || pe_config_layers_choose(reading, layer_type, err) ||
        pe_config_memory_check(reading, err)) {
        pe_config_reading_free(reading);
        return err->status;
    }
    *out = reading;
    return PE_OK;
}

void pe_config_reading_free(struct pe_config_reading *reading)
{
    if (!reading)
        return;
    pe_config_memory_free(&reading->memory);
    free(reading);
}

/* ---- results --------------------------------------------------------------------------------- */

const char *pe_config_encoding(const struct pe_config_reading *reading)
{
    return reading->name;
}

const struct pe_config_source *pe_config_source(const struct pe_config_reading *reading,
                                                size_t index)
{
    return index < reading->sources_count ? &reading->sources[index] : NULL;
}

const char *pe_config_layer_meant(const struct pe_config_reading *reading)
{
    return reading->layer_type;
}

const char *pe_config_text_part(const struct pe_config_reading *reading)
{
    return reading->text_part;
}

const char *pe_config_layout(const struct pe_config_reading *reading)
{
    return reading->layout;
}

const struct pe_config_source *pe_config_layout_source(const struct pe_config_reading *reading)
{
    return reading->layout ? &reading->layout_source : NULL;
}

/* model_max_length first, as where it is read as a parameter. */
const char *const pe_config_context_keys[] = {"model_max_length",
                                              "max_position_embeddings",
                                              "n_positions",
                                              "seq_length",
                                              "max_sequence_length",
                                              "max_seq_len",
                                              "n_ctx",
                                              NULL};

int64_t pe_config_context(const struct pe_config_reading *reading)
{
    const struct pe_config_member *found =
        pe_config_first(&reading->scope, pe_in_rope_text_outer, pe_config_context_keys);
    const double number = found ? pe_config_number(&found->value) : 0;

    return number >= 1 && number < 0x1p53 ? (int64_t)number : 0;
}

bool pe_config_is_weights(const struct pe_config_reading *reading)
{
    for (const char *const *name = weights; *name; name++)
        if (strcmp(*name, reading->name) == 0)
            return true;
    return false;
}

void pe_config_read_by(struct pe_config_reading *reading, const struct pe_config_reading *other)
{
    const size_t count = reading->config == other->config ? reading->config->members : 0;

    for (size_t i = 0; i < count; i++)
        reading->read[i] |= other->read[i];
}

static void unused_report(const struct pe_config_reading *reading,
                          const struct pe_config_node *object,
                          void (*each)(void *context, const char *path), void *context)
{
    char path[PE_CONFIG_PATH_SIZE];

    for (const struct pe_config_member *at = object->first; at; at = at->next)
        if (!reading->read[at->number])
            each(context, pe_config_path(at, path, sizeof(path)));
}

void pe_config_unused(const struct pe_config_reading *reading,
                      void (*each)(void *context, const char *path), void *context)
{
    unused_report(reading, reading->scope.top, each, context);
    if (reading->scope.text != reading->scope.top)
        unused_report(reading, reading->scope.text, each, context);
}

/* ---- the scheme ------------------------------------------------------------------------------ */

/* Drops a value that the type of scaling does not use: the config's, or a default that the caller
 * gave. False: the failure has another cause. */
static bool unused_value_drop(const struct pe_config_filling *filling, const struct pe_error *err)
{
    struct pe_config_reading *reading = filling->reading;
    const char *colon = strchr(err->where, ':'), *param = colon ? colon + 1 : "";
    const int index = pe_params_find(filling->params, param);
    const struct pe_config_source *source = pe_config_source_find(reading, param);
    struct pe_value *value;

    if (!source || !source->key)
        return pe_params_forgive(filling->params, err);
    if (err->status != PE_CONFLICT || index < 0 || reading->strict ||
        pe_config_is_rotary_part(param))
        return false;
    pe_config_warn(reading, "%s is left out: %.*s", source->key, (int)strcspn(err->detail, ";"),
                   err->detail);
    value = &filling->params->values[index];
    free(value->list);
    *value = (struct pe_value){0};
    pe_config_source_delete(reading, param);
    return true;
}

/* A value that neither the config nor the caller gave is a default. */
static void defaults_note(struct pe_config_reading *reading, const struct pe_params *resolved)
{
    for (size_t i = 0; i < resolved->count; i++) {
        const char *name = resolved->list[i].name;
        if (resolved->values[i].present && !pe_config_source_find(reading, name))
            pe_config_source_set(reading, name, PE_CONFIG_DEFAULT, NULL);
    }
}

static const struct pe_config_node *list_of_key(const struct pe_config_reading *reading,
                                                const char *key)
{
    const struct pe_config_effective found = pe_config_effective(&reading->scope, key);

    return found.value.kind == PE_CONFIG_LIST ? found.value.as.node : NULL;
}

/* Warns of lists by which layers of one type have different bases or scalings. A base of 0 is a
 * layer that does not rotate. */
static void layer_lists_warn(struct pe_config_reading *reading, const struct pe_params *params)
{
    static const char thetas[] = "layer_rope_theta", scaled[] = "rope_scaling_layers";
    const struct pe_config_node *bases = list_of_key(reading, thetas),
                                *numbers = list_of_key(reading, scaled);
    const double count = pe_config_effective_number(&reading->scope, "num_hidden_layers");
    bool differ = false;

    for (const struct pe_config_item *at = bases ? bases->first_item : NULL; at; at = at->next) {
        const double base = pe_config_number(&at->value);
        differ |= base > 0 && base != pe_param_number(params, "base");
    }
    if (differ && pe_config_is_among(&reading->scope, base_switches))
        pe_config_warn(reading,
                       "%s: the code of %s reads of it only which bases are 0; all layers that "
                       "rotate have the base of the rope object",
                       thetas, reading->model_type);
    else if (differ)
        pe_config_warn(
            reading, "%s: layers have bases of their own, of which only this one is read", thetas);
    if (numbers && (double)numbers->count < count && pe_param_number(params, "rope_type") > 0)
        pe_config_warn(reading, "%s: layers that it does not name turn without the scaling",
                       scaled);
}

enum pe_status pe_config_scheme(struct pe_scheme **scheme, struct pe_config_reading *reading,
                                struct pe_params *params, struct pe_error *err)
{
    const struct pe_config_filling filling = {reading, params, err};
    const struct pe_encoding *encoding = pe_encoding_find(reading->name);
    struct pe_error trial;

    *scheme = NULL;
    if (pe_config_fill(reading, params, err))
        return err->status;
    do {
        trial = (struct pe_error){0};
        pe_scheme_open_as_given(scheme, encoding, params, reading->memory.work, &trial);
    } while (trial.status && unused_value_drop(&filling, &trial));
    if (trial.status)
        return pe_fail(err, trial.status, trial.where, "%s", trial.detail);
    defaults_note(reading, pe_scheme_params(*scheme));
    pe_config_defaults_warn(reading);
    pe_config_unread_warn(reading);
    pe_config_layer_kinds_warn(reading);
    layer_lists_warn(reading, pe_scheme_params(*scheme));
    if (pe_config_memory_check(reading, err)) {
        pe_scheme_free(*scheme);
        *scheme = NULL;
        return err->status;
    }
    return PE_OK;
}
