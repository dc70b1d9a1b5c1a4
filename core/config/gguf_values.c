/* SPDX-License-Identifier: MIT */
#include "core/config/gguf_making.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/fail.h"
#include "core/base/text.h"

/* Puts what the keys of a GGUF file say under the names that a config.json has for it. */

static const struct row {
    const char *architectures, *key, *place, *name, *way;
} rows[] = {
#define GGUF_KEY(architectures, key, place, name, way) {architectures, key, place, name, way},
#include "core/config/gguf_keys.def"
#undef GGUF_KEY
    {0},
};

/* Numbers of an array: those of layers are fewer, and all are looked at. */
enum { NAME_SIZE = 160, SECTIONS_MAX = 4, NUMBERS_MAX = 1 << 16 };

struct pe_gguf_text pe_gguf_own_key(const struct pe_gguf_making *making, struct pe_gguf_text key)
{
    const size_t size = strlen(making->architecture);

    if (size == 0 || key.size < size + 2 || memcmp(key.at, making->architecture, size) != 0 ||
        key.at[size] != '.')
        return (struct pe_gguf_text){0};
    return (struct pe_gguf_text){key.at + size + 1, key.size - size - 1};
}

bool pe_gguf_one_number(const struct pe_gguf_value *value, struct pe_config_value *number)
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

/* ---- adding ------------------------------------------------------------------------------- */

enum pe_status pe_gguf_note(struct pe_gguf_making *making, struct pe_error *err, const char *text,
                            const char *about)
{
    struct pe_config *config = making->config;
    char sentence[240];

    snprintf(sentence, sizeof(sentence), text, about);
    if (config->notes_count == PE_CONFIG_NOTES_MAX)
        return PE_OK;
    config->notes[config->notes_count] = pe_config_copy(&config->memory, sentence);
    return config->notes[config->notes_count++] ? PE_OK : pe_no_memory(err, "the config");
}

/* Gives what was added last the name that the file has for it. */
static enum pe_status shown_set(struct pe_gguf_making *making, const struct pe_config_node *object,
                                struct pe_error *err)
{
    if (!making->shown)
        return PE_OK;
    object->last->shown = pe_config_copy(&making->config->memory, making->shown);
    return object->last->shown ? PE_OK : pe_no_memory(err, "the config");
}

enum pe_status pe_gguf_value_add(struct pe_gguf_making *making, struct pe_config_node *object,
                                 const char *name, const struct pe_config_value *value,
                                 struct pe_error *err)
{
    enum pe_status status;

    if (pe_config_member(object, name)) /* by an older name of the key; the first counts */
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
    return status ? status : shown_set(making, object, err);
}

enum pe_status pe_gguf_text_add(struct pe_gguf_making *making, struct pe_config_node *object,
                                const char *name, const char *text, struct pe_error *err)
{
    const struct pe_config_value value = {PE_CONFIG_TEXT, {.text = text}};

    return pe_gguf_value_add(making, object, name, &value, err);
}

enum pe_status pe_gguf_numbers_add(struct pe_gguf_making *making, struct pe_config_node *object,
                                   const char *name, const double *numbers, size_t count,
                                   struct pe_error *err)
{
    return pe_config_set_numbers(object, name, numbers, count, err)
               ? err->status
               : shown_set(making, object, err);
}

struct pe_config_node *pe_gguf_place(struct pe_gguf_making *making, const char *place,
                                     struct pe_error *err)
{
    struct pe_config_node *top = pe_config_top(making->config), *object = NULL;
    const struct pe_config_member *member;

    if (!*place)
        return top;
    member = pe_config_member(top, place);
    if (member)
        return member->value.as.node;
    return pe_config_set_object(top, place, &object, err) ? NULL : object;
}

static enum pe_status sections_add(struct pe_gguf_making *making, struct pe_config_node *object,
                                   const char *name, const struct pe_gguf_value *value,
                                   struct pe_error *err)
{
    const bool fourth = strncmp(making->architecture, "qwen3vl", 7) == 0;
    struct pe_config_value number;
    double sections[SECTIONS_MAX];
    size_t count = 0;

    while (count < SECTIONS_MAX && value->is_array && count < value->count &&
           pe_gguf_number(value, count, &number))
        sections[count++] = pe_config_number(&number);
    /* The fourth coordinate is there in ggml whether a section names it or not. */
    if (count == SECTIONS_MAX && sections[3] == 0 && !fourth)
        count--;
    if (pe_gguf_numbers_add(making, object, name, sections, count, err))
        return err->status;
    return fourth ? pe_gguf_text_add(making, object, "mrope_type", "imrope", err) : PE_OK;
}

/* How the values of core/config/gguf_keys.def are read. */
static enum pe_status mscales_add(struct pe_gguf_making *making, struct pe_config_node *object,
                                  bool both, double value, struct pe_error *err)
{
    /* Conversions of deepseek2 multiply by 0.1, in float32. */
    const double all = both ? (double)((float)value / 0.1F) : value;
    const struct pe_config_value scale = {PE_CONFIG_NUMBER, {.number = both ? all : 1}};
    const struct pe_config_value over = {PE_CONFIG_NUMBER, {.number = all}};

    if (value == 0)
        return PE_OK;
    return pe_gguf_value_add(making, object, "mscale", &scale, err) ||
                   pe_gguf_value_add(making, object, "mscale_all_dim", &over, err)
               ? err->status
               : PE_OK;
}

static enum pe_status attention_factor_add(struct pe_gguf_making *making, const struct row *row,
                                           struct pe_config_node *object,
                                           const struct pe_config_value *number,
                                           struct pe_error *err)
{
    const bool whole = strcmp(making->scaling, "longrope") == 0;

    if (!whole && pe_config_number(number) == 1)
        return PE_OK;
    if (!*making->scaling)
        return pe_gguf_note(making, err, "%s is not read: the frequencies are not scaled",
                            making->shown);
    if (pe_gguf_value_add(making, object, row->name, number, err))
        return err->status;
    return whole
               ? PE_OK
               : pe_gguf_note(making, err,
                              "%s was read as the whole attention factor, which conversions write "
                              "there; releases of llama.cpp multiply their own by it",
                              making->shown);
}

static bool turns_whole(const struct pe_gguf_making *making)
{
    const double head =
        making->key_length > 0 ? making->key_length : floor(making->width / making->heads);

    return making->turning == head;
}

static bool is_way(const struct row *row, const char *way)
{
    return strcmp(row->way, way) == 0;
}

static enum pe_status number_add(struct pe_gguf_making *making, const struct row *row,
                                 struct pe_config_node *object,
                                 const struct pe_config_value *number, struct pe_error *err)
{
    if (is_way(row, "unless whole") && turns_whole(making))
        return PE_OK;
    if (is_way(row, "ramp"))
        return pe_config_number(number) == 1 || pe_config_number(number) < 0
                   ? PE_OK
                   : pe_gguf_note(making, err,
                                  "%s is not read: here the ramp of yarn is as it is with 1",
                                  making->shown);
    if (is_way(row, "attention factor"))
        return attention_factor_add(making, row, object, number, err);
    if (is_way(row, "both mscales") || is_way(row, "one mscale"))
        return mscales_add(making, object, is_way(row, "both mscales"), pe_config_number(number),
                           err);
    return pe_gguf_value_add(making, object, row->name, number, err);
}

static enum pe_status row_add(struct pe_gguf_making *making, const struct row *row,
                              const struct pe_gguf_value *value, struct pe_error *err)
{
    struct pe_config_value number = {.kind = PE_CONFIG_NULL};
    const bool of_scaling = strcmp(row->place, "rope_scaling") == 0 && !is_way(row, "sections");
    struct pe_config_node *object;

    if (of_scaling && !*making->scaling && !is_way(row, "attention factor"))
        return PE_OK;
    object = pe_gguf_place(making, of_scaling && !*making->scaling ? "" : row->place, err);
    if (!object)
        return err->status;
    if (is_way(row, "sections"))
        return sections_add(making, object, row->name, value, err);
    if (strcmp(row->name, "rope_type") == 0)
        return pe_gguf_text_add(making, object, row->name, making->scaling, err);
    if (!pe_gguf_one_number(value, &number)) /* refused where it is needed */
        number = (struct pe_config_value){PE_CONFIG_TEXT, {.text = "no number"}};
    return number_add(making, row, object, &number, err);
}

static const struct row *row_find(const struct pe_gguf_making *making, struct pe_gguf_text own)
{
    const char *architecture = making->architecture;

    for (const struct row *at = rows; at->key; at++)
        if (pe_gguf_text_is(own, at->key) &&
            (!*at->architectures ||
             pe_text_lists(at->architectures, ' ', architecture, strlen(architecture))))
            return at;
    return NULL;
}

enum pe_status pe_gguf_key_add(void *context, struct pe_gguf_text key,
                               const struct pe_gguf_value *value, struct pe_error *err)
{
    const struct pe_config_value nothing = {.kind = PE_CONFIG_BOOL};
    struct pe_gguf_making *making = context;
    const struct pe_gguf_text own = pe_gguf_own_key(making, key);
    const struct row *row = row_find(making, own);
    enum pe_status status;
    char name[NAME_SIZE];

    if (own.size == 0 || key.size >= sizeof(name))
        return PE_OK;
    memcpy(name, key.at, key.size);
    name[key.size] = '\0';
    making->shown = name;
    /* Any value does for a key that nothing reads: it is only told. */
    status = row ? row_add(making, row, value, err)
                 : pe_gguf_value_add(making, pe_config_top(making->config), name, &nothing, err);
    making->shown = NULL;
    return status;
}
