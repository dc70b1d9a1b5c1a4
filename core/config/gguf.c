/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "core/base/fail.h"
#include "core/config/gguf_making.h"

/* Makes of the head of a GGUF file the config that the rules read. */

static const struct pe_config_model models[] = {
#define GGUF_MODEL(architecture, encoding, layout, sliding, note)                                  \
    {architecture, encoding, layout, "", sliding, note},
#include "core/config/gguf_models.def"
#undef GGUF_MODEL
    {0},
};

enum { FACTORS_MAX = 1 << 16 };

/* ---- the first walk: what several keys tell together ----------------------------------------- */

/* A short plain text; false: it is none. */
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

static enum pe_status architecture_note(void *context, struct pe_gguf_text key,
                                        const struct pe_gguf_value *value, struct pe_error *err)
{
    struct pe_gguf_making *making = context;

    if (!pe_gguf_text_is(key, "general.architecture"))
        return PE_OK;
    if (text_copy(value, making->architecture, sizeof(making->architecture)))
        return PE_OK;
    return pe_fail(err, PE_INVALID, "config", "general.architecture is no short plain text");
}

static enum pe_status fact_note(void *context, struct pe_gguf_text key,
                                const struct pe_gguf_value *value, struct pe_error *err)
{
    struct pe_gguf_making *making = context;
    const struct {
        const char *key;
        double *fact;
    } facts[] = {
        {"embedding_length", &making->width},          {"attention.head_count", &making->heads},
        {"attention.key_length", &making->key_length}, {"rope.dimension_count", &making->turning},
        {"rope.scaling.factor", &making->factor},      {"rope.scale_linear", &making->factor}};
    const struct pe_gguf_text own = pe_gguf_own_key(making, key);
    struct pe_config_value number;

    (void)err;
    if (pe_gguf_text_is(own, "rope.scaling.type") &&
        !text_copy(value, making->scaling, sizeof(making->scaling)))
        snprintf(making->scaling, sizeof(making->scaling), "unknown");
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        if (pe_gguf_text_is(own, facts[i].key) && pe_gguf_one_number(value, &number))
            *facts[i].fact = pe_config_number(&number);
    return PE_OK;
}

/* Without a type a factor is linear; without a factor, or with 0, linear is nothing. */
static void scaling_settle(struct pe_gguf_making *making)
{
    const bool linear = !*making->scaling || strcmp(making->scaling, "linear") == 0;

    if (strcmp(making->scaling, "none") == 0 || (linear && making->factor == 0))
        making->scaling[0] = '\0';
    else if (linear)
        snprintf(making->scaling, sizeof(making->scaling), "linear");
}

enum { FACTORS_COUNT = 2 };
static const char *const factors[FACTORS_COUNT] = {"rope_factors_long.weight",
                                                   "rope_factors_short.weight"};

/* Conversions of Phi-3 and PhiMoE write both tensors of longrope and no type, and llama.cpp takes
 * either by the length of the context whatever the type: conversion/phi.py (051139f),
 * src/llama-model.cpp, get_rope_factors. */
static enum pe_status longrope_find(struct pe_gguf_making *making, struct pe_error *err)
{
    struct pe_gguf_tensor tensor;
    bool whole;

    for (size_t i = 0; i < FACTORS_COUNT; i++)
        if (*making->scaling || !pe_gguf_tensor(&making->file, factors[i], &tensor, &whole))
            return PE_OK;
    snprintf(making->scaling, sizeof(making->scaling), "longrope");
    making->shown = factors[0];
    return pe_gguf_text_add(making, pe_gguf_place(making, "rope_scaling", err), "rope_type",
                            making->scaling, err);
}

/* ---- factors among the tensors --------------------------------------------------------------- */

static enum pe_status factors_add(struct pe_gguf_making *making, const char *name,
                                  const struct pe_gguf_tensor *tensor, struct pe_error *err)
{
    struct pe_config_node *object = pe_gguf_place(making, "rope_scaling", err), *list;

    if (!object || pe_gguf_numbers_add(making, object, name, NULL, 0, err))
        return err->status;
    list = object->last->value.as.node;
    for (uint64_t i = 0; i < tensor->count; i++)
        if (pe_config_set_number(list, NULL, pe_gguf_factor(tensor, i), err))
            return err->status;
    return PE_OK;
}

/* A tensor of factors that llama.cpp divides frequencies by, if the file has it. */
static enum pe_status factors_read(struct pe_gguf_making *making, const char *tensor_name,
                                   const char *name, bool *there, struct pe_error *err)
{
    struct pe_gguf_tensor tensor;
    bool whole;

    *there = false;
    making->shown = tensor_name;
    if (!pe_gguf_tensor(&making->file, tensor_name, &tensor, &whole))
        return whole ? PE_OK
                     : pe_gguf_note(making, err,
                                    "the list of tensors is cut, or very long: if %s is in the "
                                    "rest, its factors divide "
                                    "the frequencies, and are not read",
                                    tensor_name);
    if (!tensor.is_list)
        return pe_gguf_note(making, err,
                            "the file has %s, whose factors divide the frequencies, and they are "
                            "no list of F32, F16, BF16 or F64: they are not read",
                            tensor_name);
    if (!tensor.at || tensor.count > FACTORS_MAX)
        return pe_gguf_note(
            making, err,
            "the file has %s, whose factors divide the frequencies, and the body ends "
            "before them: they are not read",
            tensor_name);
    *there = true;
    return factors_add(making, name, &tensor, err);
}

/* Factors of longrope beside another scaling, or one of the two alone. */
static enum pe_status strays_note(struct pe_gguf_making *making, struct pe_error *err)
{
    struct pe_gguf_tensor tensor;
    bool whole;

    for (size_t i = 0; i < FACTORS_COUNT; i++)
        if (pe_gguf_tensor(&making->file, factors[i], &tensor, &whole) &&
            pe_gguf_note(making, err,
                         "the file has %s, and frequencies that are not those of longrope: it is "
                         "not read",
                         factors[i]))
            return err->status;
    return PE_OK;
}

static enum pe_status tensors_read(struct pe_gguf_making *making, struct pe_error *err)
{
    const bool longrope = strcmp(making->scaling, "longrope") == 0;
    bool there;

    if (longrope)
        return factors_read(making, factors[0], "long_factor", &there, err) ||
                       factors_read(making, factors[1], "short_factor", &there, err)
                   ? err->status
                   : PE_OK;
    if (strays_note(making, err))
        return err->status;
    if (*making->scaling) {
        struct pe_gguf_tensor tensor;
        return pe_gguf_tensor(&making->file, "rope_freqs.weight", &tensor, &there)
                   ? pe_gguf_note(
                         making, err,
                         "the file has %s beside scaled frequencies, which it divides further: "
                         "it is not read",
                         "rope_freqs.weight")
                   : PE_OK;
    }
    if (factors_read(making, "rope_freqs.weight", "freq_factors", &there, err) || !there)
        return err->status;
    return pe_gguf_text_add(making, pe_gguf_place(making, "rope_scaling", err), "rope_type",
                            "custom", err);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static enum pe_status defaults_add(struct pe_gguf_making *making, struct pe_error *err)
{
    making->shown = NULL;
    /* A factor without a type: load_hparams begins with linear. */
    if (strcmp(making->scaling, "linear") == 0)
        return pe_gguf_text_add(making, pe_gguf_place(making, "rope_scaling", err), "rope_type",
                                "linear", err);
    return PE_OK;
}

enum pe_status pe_config_set_gguf(struct pe_config *config, const void *bytes, size_t size,
                                  struct pe_error *err)
{
    struct pe_gguf_making making = {.config = config};
    struct pe_work *work = config->memory.work;

    if (config->members > 0)
        return pe_fail(err, PE_CONFLICT, "config",
                       "a GGUF file goes into a config that has no keys yet");
    if (pe_gguf_open(&making.file, bytes, size, err) ||
        pe_gguf_keys(&making.file, architecture_note, &making, work, err))
        return err->status;
    if (!*making.architecture)
        return pe_fail(err, PE_INVALID, "config",
                       "the GGUF file has no general.architecture, which names all other keys");
    config->models = models;
    making.shown = "general.architecture";
    if (pe_gguf_text_add(&making, pe_config_top(config), "model_type", making.architecture, err) ||
        pe_gguf_keys(&making.file, fact_note, &making, work, err))
        return err->status;
    scaling_settle(&making);
    return longrope_find(&making, err) ||
                   pe_gguf_keys(&making.file, pe_gguf_key_add, &making, work, err) ||
                   defaults_add(&making, err) || tensors_read(&making, err) ||
                   pe_gguf_note(&making, err,
                                "of attention only the keys of %s are told: scales, masks and "
                                "which layers have a window are in llama.cpp's code",
                                "this file")
               ? err->status
               : PE_OK;
}
