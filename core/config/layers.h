/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_LAYERS_H
#define CORE_CONFIG_LAYERS_H

/* The layers of a model, as its config and its class describe them. The class is the code of the
 * model that reads the config: model_layers.def has what it does where the config has no key. */

#include "core/base/text.h"
#include "core/config/reading.h"
#include "posenc/layers.h"

/* ---- rows of model_layers.def ---------------------------------------------------------------- */

/* A key that the class reads, and its value where a config has none; null: the class has none. */
struct pe_class_key {
    const char *key;
    struct pe_config_value value;
};

/* `count` consecutive layers of one type. */
struct pe_layer_run {
    const char *type;
    int count;
};

/* The types of layers of a config that has no layer_types. A layer has the usual type, unless one
 * of the members below gives it the other type. */
struct pe_layer_rule {
    const char *usual; /* NULL: the layers have no types */
    const char *other; /* NULL: all have the usual type */
    int period;        /* of these, each layer i with (i - at) % period == 0; 0: see period_key */
    const char *period_key; /* the key of the period; a text such as "LLLG" names each layer of a
                             * period, where G is the other type */
    int at;
    bool last;              /* the last layer too */
    const char *from_key;   /* the key of the first layer of the other type */
    const char *until_key;  /* the key of the number from which no layer has the other type */
    const char *switch_key; /* no layer has the other type unless this key is true */
    bool by_rotation;       /* the layers that do not rotate */
    const struct pe_layer_run *runs; /* instead of all the above, the types one by one; unknown
                                      * where a config has another number of layers. Ends with a
                                      * NULL type */
};

/* In which of the layers that attend a trait holds. */
struct pe_layer_where {
    enum { PE_WHERE_ALL, PE_WHERE_ROTATING, PE_WHERE_STILL, PE_WHERE_TYPE } which;
    const char *type;
};

enum { PE_ROTATING_TYPES_MAX = 3 };

/* A row of model_layers.def. */
struct pe_config_layers {
    const char *model_type;
    const char *count_key;           /* of the number of layers */
    int count;                       /* that the class has; 0: none */
    const struct pe_class_key *keys; /* NULL: none; ends with a NULL key. All other keys are dead */
    struct pe_layer_rule types;
    const char *rotating[PE_ROTATING_TYPES_MAX]; /* types that rotate; none: all that attend */
    bool all_rotate_without_window;              /* all types, where sliding_window is null */
    bool width_by_layer;                         /* heads of different widths */
    bool both_ways;                              /* the attention is not causal */
    struct {
        bool halved;
        int plus;
    } both_ways_window;    /* what becomes of a window where a key makes attention not causal */
    int64_t long_window;   /* of every second layer of sliding attention, unless the config has
                            * per_layer_config; 0: there is none */
    double scale;          /* of scores; 0: 1 / sqrt(width of a head) */
    double scale_by_width; /* a factor of 1 / sqrt(width of a head); 0: none */
    bool scale_by_mscale;  /* times the square of YaRN's mscale by mscale_all_dim */
    bool scales_bias;      /* the scale multiplies the bias too */
    struct pe_qk_norm qk_norm;
    bool sinks;
    struct pe_layer_where qk_norm_where, sinks_where, temperature_where;
};

/* Of the scope's model; NULL: it has no row. */
const struct pe_config_layers *pe_config_layers_of(const struct pe_config_scope *scope);
/* The same, but a row of zeros for a model that has none. */
const struct pe_config_layers *pe_config_class_of(const struct pe_config_scope *scope);

/* ---- effective values ------------------------------------------------------------------------ */

/* The value of a key in the config, else that of the model's class. */
struct pe_config_effective {
    struct pe_config_value value;          /* null: neither has one, or the config has null */
    const struct pe_config_member *member; /* NULL: the config has no such key */
};

/* Looks up a key about attention and layers: in the rope object where it begins with "rope.", else
 * in the part about text and at the top. A key that the model's code does not read has no value. */
struct pe_config_effective pe_config_effective(const struct pe_config_scope *scope,
                                               const char *key);

/* Keys by which the code of a model chooses the layers that rotate; ends with NULL. */
extern const char *const pe_config_layer_keys[];
/* Notes every key about layers and their attention as read, so that the account of a reading does
 * not depend on the calls that were made. */
void pe_config_layer_keys_note(struct pe_config_reading *reading);

/* ---- the layers one by one ------------------------------------------------------------------- */

struct pe_config_layer {
    struct pe_name type; /* "full_attention"; size 0: the layers have no types */
    bool attends, turns;
    int64_t window; /* where layers of its type have several; 0: that of its type */
};

bool pe_config_is_type(const struct pe_config_layer *layer, const char *type);

struct pe_config_layer_list {
    struct pe_config_layer *layers; /* belongs to the memory */
    size_t count;                   /* 0: the number of layers is unknown */
    bool types_unknown;             /* the model has types of layers, but which is unknown */
};

/* PE_OUT_OF_MEMORY, or a value of a wrong type. */
enum pe_status pe_config_layers_list(const struct pe_config_scope *scope,
                                     struct pe_config_memory *memory,
                                     struct pe_config_layer_list *list, struct pe_error *err);

#endif
