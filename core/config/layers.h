/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_LAYERS_H
#define CORE_CONFIG_LAYERS_H

/* Layers, as a config and the class of its model tell of them. */

#include "core/base/text.h"
#include "core/config/reading.h"
#include "posenc/layers.h"

/* A row of model_layers.def. */
struct pe_config_layers {
    const char *model_type, *keys, *layers, *turning, *traits;
};

/* Of the scope's model; NULL: it has no row. */
const struct pe_config_layers *pe_config_layers_of(const struct pe_config_scope *scope);

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

/* Keys that tell which layers rotate; ends with NULL. */
extern const char *const pe_config_layer_keys[];
/* Notes as read every key that tells of layers and of their attention: it does not matter to the
 * account of a reading who looked at a key, nor when. */
void pe_config_layer_keys_note(struct pe_config_reading *reading);

/* What a layer is. */
struct pe_config_layer {
    struct pe_name type; /* "full_attention"; size 0: its layers have no names */
    bool attends, turns;
    int64_t window; /* where layers of its type have several; 0: that of its type */
};

bool pe_config_is_type(const struct pe_config_layer *layer, const char *type);

struct pe_config_layer_list {
    struct pe_config_layer *layers; /* belongs to the memory */
    size_t count;                   /* 0: how many there are is not told */
    bool types_unknown;             /* the model has types of layers, and nothing says which */
};

/* PE_OUT_OF_MEMORY, or a value of a wrong type. */
enum pe_status pe_config_layers_list(const struct pe_config_scope *scope,
                                     struct pe_config_memory *memory,
                                     struct pe_config_layer_list *list, struct pe_error *err);

#endif
