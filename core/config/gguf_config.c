/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/errors.h"
#include "core/base/text.h"
#include "core/config/gguf_file.h"
#include "core/config/reading.h"

/* Makes a config from the head of a GGUF file: metadata keys get their names in a config.json, and
 * tensors of frequency factors become lists. */

/* A key of the metadata and its counterpart in a config.json. */
static const struct row {
    const char *key;
    const char *const *architectures; /* that use the key in this sense; NULL: all */
    const char *object, *name;        /* in a config.json; object NULL: at the top */
    enum {
        AS_IT_IS,
        UNLESS_WHOLE, /* left out where whole heads rotate */
        SECTIONS,     /* a list of sections of coordinates */
        ATTENTION_FACTOR,
        RAMP,           /* not stored; a warning, unless 1 (as in this library) or negative */
        ALL_DIM_MSCALE, /* sets mscale_all_dim to the value and mscale to 1 */
        BOTH_MSCALES,   /* sets both to the value, which is times 0.1 in the file */
    } way;              /* of converting the value */
} rows[] = {
#define GGUF_KEY(of, ...) {.key = (of), __VA_ARGS__},
#include "core/config/gguf.def"
    {0},
};

static const struct pe_config_model models[] = {
#define GGUF_MODEL(architecture, ...) {.model_type = (architecture), __VA_ARGS__},
#include "core/config/gguf.def"
    {0},
};

enum {
    NAME_SIZE = 160,
    SECTIONS_MAX = 4,
    NUMBERS_MAX = 1 << 16, /* elements of an array that has one for each layer */
    FACTORS_MAX = 1 << 16,
};

/* One import: the file, its config, and values that decide how other keys are read. */
struct import {
    struct pe_config *config;
    struct pe_gguf file;
    char architecture[64];
    char scaling[32]; /* "linear", "yarn"...; "": the frequencies are not scaled */
    double width, heads, key_length, rotary_dim, factor;
    const char *shown; /* the key or tensor of the member to add, for reports; NULL: its name */
};

/* The part of a key after "ARCHITECTURE."; size 0: the key begins otherwise. */
static struct pe_gguf_text own_key(const struct import *import, struct pe_gguf_text key)
{
    const size_t size = strlen(import->architecture);

    if (size == 0 || key.size < size + 2 || memcmp(key.at, import->architecture, size) != 0 ||
        key.at[size] != '.')
        return (struct pe_gguf_text){0};
    return (struct pe_gguf_text){key.at + size + 1, key.size - size - 1};
}

/* The number of a scalar, or of an array whose elements are all equal; false: none. */
static bool one_number(const struct pe_gguf_value *value, struct pe_config_value *number)
{
    struct pe_config_value other;

    if ((value->is_array && (value->count == 0 || value->count > NUMBERS_MAX)) ||
        !pe_gguf_number(value, 0, number))
        return false;
    for (uint64_t i = 1; value->is_array && i < value->count; i++)
        if (!pe_gguf_number(value, i, &other) || !pe_config_equal(number, &other))
            return false;
    return true;
}

/* ---- adding to the config -------------------------------------------------------------------- */

/* Adds a warning to all readings of the config; `text` is a format with one %s, for `about`. */
static enum pe_status note_add(struct import *import, struct pe_error *err, const char *text,
                               const char *about)
{
    struct pe_config *config = import->config;
    char sentence[240];

    snprintf(sentence, sizeof(sentence), text, about);
    if (config->notes_count == PE_CONFIG_NOTES_MAX)
        return PE_OK;
    config->notes[config->notes_count] = pe_config_copy(&config->memory, sentence);
    return config->notes[config->notes_count++] ? PE_OK : pe_no_memory(err, "the config");
}

/* Sets the name under which reports show the last member. */
static enum pe_status shown_set(struct import *import, const struct pe_config_node *object,
                                struct pe_error *err)
{
    if (!import->shown)
        return PE_OK;
    object->last->shown = pe_config_copy(&import->config->memory, import->shown);
    return object->last->shown ? PE_OK : pe_no_memory(err, "the config");
}

static enum pe_status value_add(struct import *import, struct pe_config_node *object,
                                const char *name, const struct pe_config_value *value,
                                struct pe_error *err)
{
    enum pe_status status;

    if (pe_config_member(object, name)) /* the first of two spellings counts */
        return PE_OK;
    if (value->kind == PE_CONFIG_BOOL)
        status = pe_config_set_bool(object, name, value->as.truth, err);
    else if (value->kind == PE_CONFIG_INTEGER)
        status = pe_config_set_integer(object, name, value->as.integer, err);
    else if (value->kind == PE_CONFIG_NUMBER)
        status = pe_config_set_number(object, name, value->as.number, err);
    else if (value->kind == PE_CONFIG_TEXT)
        status = pe_config_set_text(object, name, value->as.text, err);
    else
        status = pe_config_set_null(object, name, err);
    return status ? status : shown_set(import, object, err);
}

static enum pe_status text_add(struct import *import, struct pe_config_node *object,
                               const char *name, const char *text, struct pe_error *err)
{
    const struct pe_config_value value = {PE_CONFIG_TEXT, {.text = text}};

    return value_add(import, object, name, &value, err);
}

static enum pe_status numbers_add(struct import *import, struct pe_config_node *object,
                                  const char *name, const double *numbers, size_t count,
                                  struct pe_error *err)
{
    return pe_config_set_numbers(object, name, numbers, count, err)
               ? err->status
               : shown_set(import, object, err);
}

/* The object `name` of the config, created if absent; name NULL: the top. Returns NULL on failure,
 * and sets err. */
static struct pe_config_node *object_get(struct import *import, const char *name,
                                         struct pe_error *err)
{
    struct pe_config_node *top = pe_config_top(import->config), *object = NULL;
    const struct pe_config_member *member;

    if (!name)
        return top;
    member = pe_config_member(top, name);
    if (member)
        return member->value.as.node;
    return pe_config_set_object(top, name, &object, err) ? NULL : object;
}

/* ---- one key --------------------------------------------------------------------------------- */

static enum pe_status sections_add(struct import *import, struct pe_config_node *object,
                                   const char *name, const struct pe_gguf_value *value,
                                   struct pe_error *err)
{
    const bool is_qwen3_vl = strncmp(import->architecture, "qwen3vl", 7) == 0;
    struct pe_config_value number;
    double sections[SECTIONS_MAX];
    size_t count = 0;

    while (count < SECTIONS_MAX && value->is_array && count < value->count &&
           pe_gguf_number(value, count, &number))
        sections[count++] = pe_config_number(&number);
    /* ggml always has four coordinates; an unused fourth section is 0. */
    if (count == SECTIONS_MAX && sections[3] == 0 && !is_qwen3_vl)
        count--;
    if (numbers_add(import, object, name, sections, count, err))
        return err->status;
    return is_qwen3_vl ? text_add(import, object, "mrope_type", "imrope", err) : PE_OK;
}

static enum pe_status mscales_add(struct import *import, struct pe_config_node *object, bool both,
                                  double value, struct pe_error *err)
{
    /* Conversions of deepseek2 multiply by 0.1, in float32. */
    const double number = both ? (double)((float)value / 0.1F) : value;
    const struct pe_config_value mscale = {PE_CONFIG_NUMBER, {.number = both ? number : 1}};
    const struct pe_config_value all_dim = {PE_CONFIG_NUMBER, {.number = number}};

    if (value == 0)
        return PE_OK;
    return value_add(import, object, "mscale", &mscale, err) ||
                   value_add(import, object, "mscale_all_dim", &all_dim, err)
               ? err->status
               : PE_OK;
}

static enum pe_status attention_factor_add(struct import *import, const struct row *row,
                                           struct pe_config_node *object,
                                           const struct pe_config_value *number,
                                           struct pe_error *err)
{
    const bool longrope = strcmp(import->scaling, "longrope") == 0;

    if (!longrope && pe_config_number(number) == 1)
        return PE_OK;
    if (!*import->scaling)
        return note_add(import, err, "%s is not read: the frequencies are not scaled",
                        import->shown);
    if (value_add(import, object, row->name, number, err))
        return err->status;
    return longrope ? PE_OK
                    : note_add(import, err,
                               "%s was read as the complete attention factor, as conversions write "
                               "it; releases of llama.cpp multiply their own factor by it",
                               import->shown);
}

static bool rotates_whole_heads(const struct import *import)
{
    const double head =
        import->key_length > 0 ? import->key_length : floor(import->width / import->heads);

    return import->rotary_dim == head;
}

static enum pe_status number_add(struct import *import, const struct row *row,
                                 struct pe_config_node *object,
                                 const struct pe_config_value *number, struct pe_error *err)
{
    const double value = pe_config_number(number);

    switch (row->way) {
    case UNLESS_WHOLE:
        if (rotates_whole_heads(import))
            return PE_OK;
        break;
    case RAMP:
        return value == 1 || value < 0
                   ? PE_OK
                   : note_add(import, err,
                              "%s is not read: the ramp of yarn is always that of 1 here",
                              import->shown);
    case ATTENTION_FACTOR:
        return attention_factor_add(import, row, object, number, err);
    case ALL_DIM_MSCALE:
    case BOTH_MSCALES:
        return mscales_add(import, object, row->way == BOTH_MSCALES, value, err);
    case AS_IT_IS:
    case SECTIONS:
        break;
    }
    return value_add(import, object, row->name, number, err);
}

static enum pe_status row_add(struct import *import, const struct row *row,
                              const struct pe_gguf_value *value, struct pe_error *err)
{
    struct pe_config_value number = {.kind = PE_CONFIG_NULL};
    const bool is_scaling_key =
        row->object && strcmp(row->object, "rope_scaling") == 0 && row->way != SECTIONS;
    const bool is_unscaled = is_scaling_key && !*import->scaling;
    struct pe_config_node *object;

    if (is_unscaled && row->way != ATTENTION_FACTOR)
        return PE_OK;
    /* An attention factor without scaling is at most a warning: no rope_scaling is created. */
    object = object_get(import, is_unscaled ? NULL : row->object, err);
    if (!object)
        return err->status;
    if (row->way == SECTIONS)
        return sections_add(import, object, row->name, value, err);
    if (row->name && strcmp(row->name, "rope_type") == 0)
        return text_add(import, object, row->name, import->scaling, err);
    if (!one_number(value, &number)) /* an error only of a reading that needs the key */
        number = (struct pe_config_value){PE_CONFIG_TEXT, {.text = "no number"}};
    return number_add(import, row, object, &number, err);
}

static const struct row *row_find(const struct import *import, struct pe_gguf_text own)
{
    for (const struct row *at = rows; at->key; at++)
        if (pe_gguf_text_is(own, at->key) &&
            (!at->architectures || pe_config_lists(at->architectures, import->architecture)))
            return at;
    return NULL;
}

/* A callback of pe_gguf_keys. The members of `import` must be final. */
static enum pe_status key_add(void *context, struct pe_gguf_text key,
                              const struct pe_gguf_value *value, struct pe_error *err)
{
    const struct pe_config_value placeholder = {.kind = PE_CONFIG_BOOL};
    struct import *import = context;
    const struct pe_gguf_text own = own_key(import, key);
    const struct row *row = row_find(import, own);
    enum pe_status status;
    char name[NAME_SIZE];

    if (own.size == 0 || key.size >= sizeof(name))
        return PE_OK;
    memcpy(name, key.at, key.size);
    name[key.size] = '\0';
    import->shown = name;
    /* Of a key without a row only the name is reported: its value does not matter. */
    status = row ? row_add(import, row, value, err)
                 : value_add(import, pe_config_top(import->config), name, &placeholder, err);
    import->shown = NULL;
    return status;
}

/* ---- keys that decide how others are read ---------------------------------------------------- */

/* Copies a text of printable ASCII that fits into `size`; false: the value is not such a text. */
static bool text_copy(const struct pe_gguf_value *value, char *out, size_t size)
{
    if (value->type != PE_GGUF_STRING || value->is_array || value->text.size >= size)
        return false;
    for (size_t i = 0; i < value->text.size; i++)
        if (value->text.at[i] < ' ' || value->text.at[i] > '~')
            return false;
    memcpy(out, value->text.at, value->text.size);
    out[value->text.size] = '\0';
    return true;
}

static enum pe_status architecture_read(void *context, struct pe_gguf_text key,
                                        const struct pe_gguf_value *value, struct pe_error *err)
{
    struct import *import = context;

    if (!pe_gguf_text_is(key, "general.architecture"))
        return PE_OK;
    if (text_copy(value, import->architecture, sizeof(import->architecture)))
        return PE_OK;
    return pe_fail(err, PE_INVALID, "config",
                   "general.architecture must be a short text of printable ASCII");
}

static enum pe_status shared_key_read(void *context, struct pe_gguf_text key,
                                      const struct pe_gguf_value *value, struct pe_error *err)
{
    struct import *import = context;
    const struct {
        const char *key;
        double *value;
    } shared[] = {{"embedding_length", &import->width},
                  {"attention.head_count", &import->heads},
                  {"attention.key_length", &import->key_length},
                  {"rope.dimension_count", &import->rotary_dim},
                  {"rope.scaling.factor", &import->factor},
                  {"rope.scale_linear", &import->factor}};
    const struct pe_gguf_text own = own_key(import, key);
    struct pe_config_value number;

    (void)err;
    if (pe_gguf_text_is(own, "rope.scaling.type") &&
        !text_copy(value, import->scaling, sizeof(import->scaling)))
        snprintf(import->scaling, sizeof(import->scaling), "unknown");
    for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
        if (pe_gguf_text_is(own, shared[i].key) && one_number(value, &number))
            *shared[i].value = pe_config_number(&number);
    return PE_OK;
}

/* Makes `scaling` final. A factor without a type is linear scaling; linear scaling without a
 * factor, or with factor 0, is none. */
static void scaling_resolve(struct import *import)
{
    const bool linear = !*import->scaling || strcmp(import->scaling, "linear") == 0;

    if (strcmp(import->scaling, "none") == 0 || (linear && import->factor == 0))
        import->scaling[0] = '\0';
    else if (linear)
        snprintf(import->scaling, sizeof(import->scaling), "linear");
}

enum { LONGROPE_TENSORS = 2 };
static const char *const longrope_tensors[LONGROPE_TENSORS] = {"rope_factors_long.weight",
                                                               "rope_factors_short.weight"};

/* Sets the scaling to longrope if the file has both tensors of longrope and no type. Conversions of
 * Phi-3 and PhiMoE write such files (conversion/phi.py, 051139f). llama.cpp reads one of the
 * tensors, by the length of the context, whatever the type (src/llama-model.cpp, get_rope_factors).
 */
static enum pe_status longrope_detect(struct import *import, struct pe_error *err)
{
    struct pe_gguf_tensor tensor;
    bool complete;

    for (size_t i = 0; i < LONGROPE_TENSORS; i++)
        if (*import->scaling ||
            !pe_gguf_tensor(&import->file, longrope_tensors[i], &tensor, &complete))
            return PE_OK;
    snprintf(import->scaling, sizeof(import->scaling), "longrope");
    import->shown = longrope_tensors[0];
    return text_add(import, object_get(import, "rope_scaling", err), "rope_type", import->scaling,
                    err);
}

/* ---- factors among the tensors --------------------------------------------------------------- */

static enum pe_status factors_add(struct import *import, const char *name,
                                  const struct pe_gguf_tensor *tensor, struct pe_error *err)
{
    struct pe_config_node *object = object_get(import, "rope_scaling", err), *list;

    if (!object || numbers_add(import, object, name, NULL, 0, err))
        return err->status;
    list = object->last->value.as.node;
    for (uint64_t i = 0; i < tensor->count; i++)
        if (pe_config_set_number(list, NULL, pe_gguf_factor(tensor, i), err))
            return err->status;
    return PE_OK;
}

/* Adds a tensor of factors, by which llama.cpp divides frequencies, as the list `name`. *found: the
 * file has the tensor, and it was added. */
static enum pe_status factors_read(struct import *import, const char *tensor_name, const char *name,
                                   bool *found, struct pe_error *err)
{
    struct pe_gguf_tensor tensor;
    bool complete;

    *found = false;
    import->shown = tensor_name;
    if (!pe_gguf_tensor(&import->file, tensor_name, &tensor, &complete))
        return complete
                   ? PE_OK
                   : note_add(import, err,
                              "the list of tensors is cut off or too long: if %s is in the part "
                              "that was not read, the frequencies lack its factors",
                              tensor_name);
    if (!tensor.is_list)
        return note_add(import, err,
                        "%s divides the frequencies and is not read: it is no list of F32, "
                        "F16, BF16 or F64",
                        tensor_name);
    if (!tensor.at || tensor.count > FACTORS_MAX)
        return note_add(import, err,
                        "%s divides the frequencies and is not read: the body ends before its "
                        "elements, or they are too many",
                        tensor_name);
    *found = true;
    return factors_add(import, name, &tensor, err);
}

/* Warns of each tensor of longrope in a file without longrope: it has another scaling, or only one
 * of the two tensors. */
static enum pe_status unused_factors_warn(struct import *import, struct pe_error *err)
{
    struct pe_gguf_tensor tensor;
    bool complete;

    for (size_t i = 0; i < LONGROPE_TENSORS; i++)
        if (pe_gguf_tensor(&import->file, longrope_tensors[i], &tensor, &complete) &&
            note_add(import, err,
                     "the file has %s, and frequencies that are not those of longrope: it is "
                     "not read",
                     longrope_tensors[i]))
            return err->status;
    return PE_OK;
}

static enum pe_status tensors_read(struct import *import, struct pe_error *err)
{
    const bool longrope = strcmp(import->scaling, "longrope") == 0;
    bool found, complete;

    if (longrope)
        return factors_read(import, longrope_tensors[0], "long_factor", &found, err) ||
                       factors_read(import, longrope_tensors[1], "short_factor", &found, err)
                   ? err->status
                   : PE_OK;
    if (unused_factors_warn(import, err))
        return err->status;
    if (*import->scaling) {
        struct pe_gguf_tensor tensor;
        return pe_gguf_tensor(&import->file, "rope_freqs.weight", &tensor, &complete)
                   ? note_add(
                         import, err,
                         "%s is not read: its factors would divide frequencies that are scaled "
                         "already",
                         "rope_freqs.weight")
                   : PE_OK;
    }
    if (factors_read(import, "rope_freqs.weight", "freq_factors", &found, err) || !found)
        return err->status;
    return text_add(import, object_get(import, "rope_scaling", err), "rope_type", "custom", err);
}

/* ---- the import ------------------------------------------------------------------------------ */

static enum pe_status default_type_add(struct import *import, struct pe_error *err)
{
    import->shown = NULL;
    /* A factor without a type is linear, by the default of load_hparams. */
    if (strcmp(import->scaling, "linear") == 0)
        return text_add(import, object_get(import, "rope_scaling", err), "rope_type", "linear",
                        err);
    return PE_OK;
}

enum pe_status pe_config_set_gguf(struct pe_config *config, const void *bytes, size_t size,
                                  struct pe_error *err)
{
    struct import import = {.config = config};
    struct pe_work *work = config->memory.work;

    if (config->members > 0)
        return pe_fail(err, PE_CONFLICT, "config",
                       "a GGUF file goes into a config that has no keys yet");
    if (pe_gguf_open(&import.file, bytes, size, err) ||
        pe_gguf_keys(&import.file, architecture_read, &import, work, err))
        return err->status;
    if (!*import.architecture)
        return pe_fail(err, PE_INVALID, "config",
                       "the GGUF file has no general.architecture, the prefix of all other keys");
    config->models = models;
    import.shown = "general.architecture";
    if (text_add(&import, pe_config_top(config), "model_type", import.architecture, err) ||
        pe_gguf_keys(&import.file, shared_key_read, &import, work, err))
        return err->status;
    scaling_resolve(&import);
    return longrope_detect(&import, err) ||
                   pe_gguf_keys(&import.file, key_add, &import, work, err) ||
                   default_type_add(&import, err) || tensors_read(&import, err) ||
                   note_add(&import, err,
                            "of attention only the keys of %s are read: scales, masks and "
                            "which layers have a window are in llama.cpp's code",
                            "this file")
               ? err->status
               : PE_OK;
}
