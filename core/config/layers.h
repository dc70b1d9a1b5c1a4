/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_LAYERS_H
#define CORE_CONFIG_LAYERS_H

/* What the class of a model leaves unsaid of its layers. */

#include "core/config/reading.h"
#include "posenc/layers.h"

/* A row of model_layers.def. */
struct pe_config_layers {
    const char *model_type, *keys, *traits;
};

/* NULL: there is none of this model. */
const struct pe_config_layers *pe_config_layers_find(const char *model_type);

/* What a key has: in the config, else by the model's class. */
struct pe_config_told {
    struct pe_config_value value;          /* null: nothing, or the config says null */
    const struct pe_config_member *member; /* NULL: the class has it */
};

/* Looks a key up where attention and layers are told: the rope object where it begins with "rope.",
 * else the part about text and the top. A key that the model's code does not read has nothing. */
struct pe_config_told pe_config_tell(const struct pe_config_scope *scope, const char *key);
/* What no key tells: a trait of the model's row. */
struct pe_config_told pe_config_trait(const struct pe_config_scope *scope, const char *trait);

#endif
