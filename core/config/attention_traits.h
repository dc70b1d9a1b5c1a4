/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_ATTENTION_TRAITS_H
#define CORE_CONFIG_ATTENTION_TRAITS_H

#include "core/config/layers.h"

/* A key about attention, and what its value means. */
struct pe_trait_step {
    const char *trait, *key;
    bool by_class;   /* no key of a config but a trait of the model's row */
    bool takes_text; /* else a number or a boolean */
    void (*take)(struct pe_attention_traits *traits, const struct pe_config_value *value);
};

/* A scale of 1 over the width of a head, until that width is known. */
enum { PE_SCALE_BY_WIDTH = -1 };

/* The rows of traits.def; ends with a NULL trait. */
extern const struct pe_trait_step pe_trait_steps[];

#endif
