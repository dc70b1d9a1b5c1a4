/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_READING_H
#define CORE_CONFIG_READING_H

/* The state of a reading of a config, the rows of the lists about models, and the functions that
 * the files of this folder share. */

#include "core/base/text.h"
#include "core/config/tree.h"
#include "core/scheme/scheme.h"
#include "posenc/layers.h"

/* A list of names that ends with NULL. */
#define NAMES(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* ---- rows of model_types.def and gguf.def ---------------------------------------------------- */

/* How the positions of layers of sliding attention differ from the other layers'. */
enum pe_sliding {
    PE_SLIDING_SAME,
    PE_SLIDING_BASE,     /* another base and no scaling, unless a key names their base */
    PE_SLIDING_UNSCALED, /* the same base, no scaling */
    PE_SLIDING_BY_TYPE,  /* only a rope object for each type of layer describes them */
};

/* What a class whose layers differ makes of a rope_scaling without objects of types of layers. */
enum pe_spread {
    PE_SPREAD_NONE, /* it is read as it is */
    PE_SPREAD_FULL, /* it becomes the rope object of layers of full attention */
    PE_SPREAD_ALL,  /* it becomes the rope object of layers of each type */
};

/* A default of a model's class: of a parameter, or of a size that a parameter is a quotient of. */
struct pe_class_default {
    const char *name, *value;
};

struct pe_config_model {
    const char *model_type;
    const char *encoding;                    /* NULL: refused, with `note` as the reason */
    const char *layout;                      /* of pairs; NULL: nothing rotates */
    const struct pe_class_default *defaults; /* ends with a NULL name; NULL: none */
    bool whole_heads; /* ignores partial_rotary_factor where the rope type is default */
    bool own_rope;    /* has a rope object where a config has none: rope_theta beside it is dead */
    int plain_base;   /* where a rope object has no base, if it is not that of defaults; else 0 */
    enum pe_sliding sliding;
    int sliding_base; /* of PE_SLIDING_BASE */
    enum pe_spread spread;
    const char *sliding_note; /* a warning where rope_theta is not that of sliding attention */
    const char *note;         /* a warning of every reading; NULL: none */
};
extern const struct pe_config_model pe_config_models[]; /* ends with a NULL model_type */

/* The row of a model_type of a config.json, which may be NULL; NULL: there is none. */
const struct pe_config_model *pe_config_model_find(const char *model_type);
/* The class's default of this name; NULL: none. model may be NULL. */
const char *pe_config_class_default(const struct pe_config_model *model, const char *name);

/* ---- rows of diffusers.def ------------------------------------------------------------------- */

/* Widths of axes that are shares of a head of d elements. */
enum pe_diffusers_split {
    PE_SPLIT_NONE,
    PE_SPLIT_SIXTHS,  /* d - 4 floor(d / 6), and twice 2 floor(d / 6) */
    PE_SPLIT_EIGHTHS, /* floor(d / 4), and twice 3 floor(d / 8) */
    PE_SPLIT_HALVES,  /* twice floor(d / 2) */
    PE_SPLIT_ALIKE,   /* three times 2 pairs */
    PE_SPLIT_THIRDS,  /* three times 2 floor(d / 6) */
};

enum { PE_DIFFUSERS_SETS = 7 };

struct pe_diffusers_class {
    const char *name;
    const char *encoding; /* NULL: refused, with `note` as the reason */
    const char *layout;   /* of pairs */
    const char *width[2]; /* the key of the width of a head, or of two sizes whose quotient it is;
                           * NULL: the axes are the whole head */
    double fallback[2];   /* the constructor's values of these */
    bool together; /* the width is the product of two sizes: heads rotate as one vector, uncut */
    enum pe_diffusers_split split;
    struct {
        const char *key;
        double fallback;
    } pairs; /* of PE_SPLIT_ALIKE */
    struct {
        const char *param, *key, *value; /* key NULL: the value is in the code; value NULL: where
                                          * the key is absent, by the next entry of `param` */
    } sets[PE_DIFFUSERS_SETS];
    struct {
        const char *key;
        double fallback;
    } sizes[3];  /* of a base grid, for axes_size */
    double rate; /* the frames a second that axes_size, where it is given, is a ratio to; 0: none */
    enum {
        PE_AXES_FILL,  /* the axes have as many elements as a head */
        PE_AXES_FIT,   /* they may have fewer */
        PE_AXES_HALVE, /* they may have half as many */
    } partial;
    /* Of sines over a grid, whose width is the product of `width`. */
    struct {
        double sample, patch; /* the constructor's sample_size and patch_size; patch 0: none */
        enum {
            PE_SINES_SCALE_NONE,
            PE_SINES_SCALE_BY_SIZE, /* max(floor(sample_size / 64), 1) */
            PE_SINES_SCALE_KEY,     /* interpolation_scale; where it is null by size */
            PE_SINES_SCALE_NEEDED,  /* interpolation_scale; where it is null nothing is added */
        } scale;
        double max;     /* the constructor's pos_embed_max_size; 0: it has none */
        bool uncropped; /* the first rows and columns of that grid, which nothing scales */
        bool optional;  /* keys of the config decide whether anything is added */
    } sines;
    bool null_is_absent; /* null stands for the constructor's value */
    const char *needs;   /* a key that must be true; NULL: none */
    struct {
        const char *key, *value, *absent;
    } only;                      /* a key that must have a value; absent: its default */
    const char *otherwise;       /* the reason where it is not so */
    const char *note;            /* a warning of every reading; NULL: none */
    const char *const *harmless; /* keys about positions that do not change the rotation */
};
extern const struct pe_diffusers_class pe_diffusers_classes[]; /* ends with a NULL name */

/* ---- rows of timm.def ------------------------------------------------------------------------ */

enum pe_timm_class {
    PE_TIMM_OTHER,  /* refused, with the note as the reason */
    PE_TIMM_EVA,    /* Eva: rotates where use_rot_pos_emb is true */
    PE_TIMM_NAFLEX, /* NaFlexVit: rotates where it has a rope_type, grids of any size */
    PE_TIMM_AXIAL,  /* the towers of Qwen and DeepSeek: halves rotate by row and column */
};

/* The arguments about positions that an architecture gives to the constructor of its class. */
struct pe_timm_model {
    const char *name;
    enum pe_timm_class of;
    double embed_dim, num_heads, patch_size;
    double img_size[2];    /* height, width; 0: those of the weights */
    bool dynamic_img_size; /* grids of any size */
    bool use_rot_pos_emb;
    bool use_abs_pos_emb; /* a learned table is added too */
    const char *rope_type;
    double rope_temperature, rope_grid_offset;
    double ref_feat_shape; /* 0: none */
    bool xy;               /* rope_grid_indexing: columns before rows */
    bool rope_rotate_half;
    double rope_mrope_section[3];
    const char *note; /* the reason of a refusal, else a warning of every reading; NULL: none */
};
extern const struct pe_timm_model pe_timm_models[]; /* ends with a NULL name */

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

/* The layers with attention in which a trait holds. */
struct pe_layer_where {
    enum { PE_WHERE_ALL, PE_WHERE_ROTATING, PE_WHERE_NOPE, PE_WHERE_TYPE } which;
    const char *type;
};

enum { PE_ROTATING_TYPES_MAX = 3 };

struct pe_config_layers {
    const char *model_type;
    const char *count_key;           /* of the number of layers */
    int count;                       /* the class's; 0: none */
    const struct pe_class_key *keys; /* NULL: none; ends with a NULL key. All other keys are dead */
    struct pe_layer_rule types;
    const char *rotating[PE_ROTATING_TYPES_MAX]; /* types that rotate; none: all with attention */
    bool all_rotate_without_window;              /* all types, where sliding_window is null */
    bool width_by_layer;                         /* heads of different widths */
    bool both_ways;                              /* the attention is not causal */
    struct {
        bool halved;
        int plus;
    } both_ways_window;    /* the change of a window where a key makes attention not causal */
    int64_t long_window;   /* of every second layer of sliding attention, unless the config has
                            * per_layer_config; 0: none */
    double scale;          /* of scores; 0: 1 / sqrt(width of a head) */
    double scale_by_width; /* a factor of 1 / sqrt(width of a head); 0: none */
    bool scale_by_mscale;  /* times the square of YaRN's mscale by mscale_all_dim */
    bool scales_bias;      /* the scale multiplies the bias too */
    struct pe_qk_norm qk_norm;
    bool sinks;
    struct pe_layer_where qk_norm_where, sinks_where, temperature_where;
};

/* ---- the state ------------------------------------------------------------------------------- */

/* The objects in which keys are looked up. */
struct pe_config_scope {
    const struct pe_config_node *top;
    const struct pe_config_node *text; /* the part about text: top, or its text_config */
    const struct pe_config_node *rope; /* rope_parameters or rope_scaling; NULL: neither */
    const struct pe_config_node *rope_by_layer_type; /* the object with a rope object for each layer
                                                      * type; NULL: rope is flat */
    bool class_rope; /* the rope object of the class holds, for the config has none */
    const struct pe_config_node *layer;         /* about the layers described; NULL: none */
    const struct pe_config_model *model;        /* NULL: not in the list */
    const struct pe_diffusers_class *diffusers; /* NULL: none, or not in the list */
    const struct pe_timm_model *timm;           /* likewise */
};

enum { PE_CONFIG_TRAITS_MAX = 16 };

struct pe_config_reading {
    const struct pe_config *config;
    struct pe_config_memory memory; /* of everything the reading allocates */
    struct pe_config_scope scope;
    const char *model_type;              /* NULL: the config has none */
    const struct pe_config_model *model; /* the scope's */
    const char *layer_type; /* whose positions are described; NULL: all layers have the same */
    char text_part[PE_CONFIG_PATH_SIZE]; /* the path to the part about text */
    bool dim_rotates_whole;              /* dim is the width of the rotated part */
    const char *family;                  /* the encoding whose keys are read: "rope" */
    const char *name;                    /* the encoding described: the same, or "mrope" */
    const char *layout;                  /* NULL: unknown */
    struct pe_config_source layout_source;
    struct pe_config_value sliding_base; /* of layers of sliding attention, if these are read */
    const struct pe_config_member *sliding_member; /* its source; NULL: the class of the model */
    bool strict;
    bool filled;
    bool out_of_memory;                                 /* something could not be noted */
    bool *read;                                         /* by number of member */
    struct pe_config_source sources[PE_PARAMS_MAX + 2]; /* of parameters, or of two sizes */
    size_t sources_count;
    struct pe_config_source trait_sources[PE_CONFIG_TRAITS_MAX];
    size_t trait_sources_count;
    const char **warnings;
    size_t warnings_count, warnings_capacity;
};

/* ---- keys.c: finding ------------------------------------------------------------------------- */

/* Where a key is looked for. */
enum pe_config_place {
    PE_PLACES_END,
    PE_PLACE_ROPE,  /* the rope object */
    PE_PLACE_FLAT,  /* the part about text, unless the rope object has one for each type of layer */
    PE_PLACE_LAYER, /* the object of per_layer_config about the first layer described */
    PE_PLACE_TEXT,  /* the part about text */
    PE_PLACE_OUTER, /* the top, unless the part about text is a model of its own */
    PE_PLACE_TOP,
};

/* Places in the order of their names. */
extern const enum pe_config_place pe_in_rope[], pe_in_text[], pe_in_rope_text[], pe_in_text_top[],
    pe_in_text_outer[], pe_in_rope_text_outer[], pe_in_flat_rope[], pe_in_layer_text_outer[];

/* The first of the keys (a dot leads into an object) that has a value, in the order of the places.
 * NULL: none. */
const struct pe_config_member *pe_config_first(const struct pe_config_scope *scope,
                                               const enum pe_config_place *places,
                                               const char *const *keys);
/* Likewise, and notes it as read, and the same key in later places too, with a warning where the
 * values differ. */
const struct pe_config_member *pe_config_find(struct pe_config_reading *reading,
                                              const enum pe_config_place *places,
                                              const char *const *keys);
/* The keys of pe_config_context, in its order; ends with NULL. */
extern const char *const pe_config_context_keys[];
/* True for a key that the model's code ignores, in spite of its name. */
bool pe_config_is_dead(const struct pe_config_scope *scope, const struct pe_config_member *member);
/* True for a key that the model's code reads at another place: within the rope object, or beside
 * it. */
bool pe_config_is_displaced(const struct pe_config_scope *scope,
                            const struct pe_config_member *member);
/* True for a key that only the code of other models reads. */
bool pe_config_is_foreign(const struct pe_config_scope *scope,
                          const struct pe_config_member *member);
/* Is the model one of these? Never for an architecture of GGUF, which is no class of Hugging Face.
 */
bool pe_config_is_among(const struct pe_config_scope *scope, const char *const *models);
/* Is the class among those of CONFIG_REBUILT_ROPE in keys.def? */
bool pe_config_rebuilds_rope(const struct pe_config_scope *scope);
bool pe_config_lists(const char *const *names, const char *name);
/* Notes that a member was read, and with it the members that contain it. NULL: nothing. */
void pe_config_note(struct pe_config_reading *reading, const struct pe_config_member *member);
/* Notes a member as read with everything inside of it. */
void pe_config_note_whole(struct pe_config_reading *reading, const struct pe_config_member *member);

/* The value of a key in the config, else that of the model's class. */
struct pe_config_effective {
    struct pe_config_value value;          /* null: neither has one, or the config has null */
    const struct pe_config_member *member; /* NULL: the config has no such key */
};

/* Looks up a key about attention and layers: in the rope object where it begins with "rope.", else
 * in the part about text and at the top. A key that the model's code does not read has no value. */
struct pe_config_effective pe_config_effective(const struct pe_config_scope *scope,
                                               const char *key);
/* Its value as a number; 0: none. */
double pe_config_effective_number(const struct pe_config_scope *scope, const char *key);

/* The row of the scope's model in model_layers.def; NULL: none. */
const struct pe_config_layers *pe_config_layers_of(const struct pe_config_scope *scope);
/* The same, but a row of zeros for a model that has none. */
const struct pe_config_layers *pe_config_class_of(const struct pe_config_scope *scope);

/* ---- report.c: warnings, failures, sources --------------------------------------------------- */

void pe_config_warn(struct pe_config_reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Fails at a key; member NULL: at the config in general. Returns the status. */
enum pe_status pe_config_fail(const struct pe_config_member *member, enum pe_status status,
                              struct pe_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* PE_OUT_OF_MEMORY where something could not be noted. */
enum pe_status pe_config_memory_check(const struct pe_config_reading *reading,
                                      struct pe_error *err);

/* The source of a value, with a copy of its key; key NULL: from no key. */
struct pe_config_source pe_config_source_make(struct pe_config_reading *reading, const char *param,
                                              enum pe_config_from from, const char *key);
void pe_config_source_set(struct pe_config_reading *reading, const char *param,
                          enum pe_config_from from, const char *key);
void pe_config_source_delete(struct pe_config_reading *reading, const char *param);
/* NULL: the parameter has none. */
const struct pe_config_source *pe_config_source_find(const struct pe_config_reading *reading,
                                                     const char *param);

/* Warns of every unread key whose name is about positions. */
void pe_config_unread_warn(struct pe_config_reading *reading);

/* ---- model.c and layers.c: the steps of pe_config_read --------------------------------------- */

/* The top, the part about text, and the model. */
struct pe_config_scope pe_config_scope_of(const struct pe_config *config);
/* The text under model_type, nearest first; NULL: none. */
const char *pe_config_model_type(const struct pe_config_scope *scope);
/* Decides the encoding and the layout. */
enum pe_status pe_config_model_choose(struct pe_config_reading *reading, struct pe_error *err);

/* The object rope_parameters, or by its older names; NULL: none. */
const struct pe_config_node *pe_config_rope(const struct pe_config_scope *scope);
/* The rope type denoted by the name of a rope object; NULL: none. */
const char *pe_config_named_type(const struct pe_config_node *rope);
/* Finds the rope object and, where layers differ, chooses those of layer_type. */
enum pe_status pe_config_layers_choose(struct pe_config_reading *reading, const char *layer_type,
                                       struct pe_error *err);
/* Notes every key about layers and attention as read, so that the unused keys do not depend on
 * which calls were made. */
void pe_config_layer_keys_note(struct pe_config_reading *reading);
/* Warns of values of keys about layers that are of another kind than the keys have: a fraction of
 * layers, a text instead of a list. They are not read. */
void pe_config_layer_kinds_warn(struct pe_config_reading *reading);
/* The keys of attention_traits.c; ends with NULL. */
const char *pe_config_trait_key(size_t index);

/* ---- parameters.c and derived.c: the steps of pe_config_fill --------------------------------- */

struct pe_config_filling {
    struct pe_config_reading *reading;
    struct pe_params *params;
    struct pe_error *err;
};

/* Sets a parameter from a member, with its source. */
enum pe_status pe_config_member_fill(const struct pe_config_filling *filling, size_t index,
                                     const struct pe_config_member *member);
/* Has this parameter no value yet? index -1: false. */
bool pe_config_is_open(const struct pe_config_filling *filling, int index);
/* Sets the parameters that no key has: the model's defaults, quotients and multiples. */
enum pe_status pe_config_derive(const struct pe_config_filling *filling);
/* Warns where the code of a model makes more or fewer frequencies than its heads rotate. */
void pe_config_width_check(const struct pe_config_filling *filling);
/* Warns where the width that rotates is a default of the model's class, in part or in full. */
void pe_config_defaults_warn(struct pe_config_reading *reading);
/* rotary_dim and partial_rotary_factor are two spellings of one value: giving one gives both. */
bool pe_config_is_rotary_part(const char *param);

/* ---- diffusers.c ----------------------------------------------------------------------------- */

/* Has the config the key _class_name of diffusers? */
bool pe_config_is_diffusers(const struct pe_config_scope *scope);
/* The row of its class; NULL: not in the list. */
const struct pe_diffusers_class *pe_config_diffusers_find(const struct pe_config_scope *scope);
/* Decides the encoding and the layout by the class. */
enum pe_status pe_config_diffusers_choose(struct pe_config_reading *reading, struct pe_error *err);
/* Sets the parameters as the constructor of the class reads the config. */
enum pe_status pe_config_diffusers_fill(const struct pe_config_filling *filling);
/* A whole number above 0 under a key, or the constructor's. */
enum pe_status pe_config_diffusers_size(const struct pe_config_filling *filling, const char *key,
                                        double fallback, double *size);

/* ---- timm.c ---------------------------------------------------------------------------------- */

/* Is it a config of timm, which names an architecture? */
bool pe_config_is_timm(const struct pe_config_scope *scope);
/* The row of its architecture; NULL: not in the list. */
const struct pe_timm_model *pe_config_timm_find(const struct pe_config_scope *scope);
/* Decides the encoding and the layout by the architecture and model_args. */
enum pe_status pe_config_timm_choose(struct pe_config_reading *reading, struct pe_error *err);
/* Sets the parameters as the constructor reads them. PE_MISSING without axes_size where coordinates
 * depend on the size of a grid that the config does not have. */
enum pe_status pe_config_timm_fill(const struct pe_config_filling *filling);

/* ---- diffusers_sines.c ----------------------------------------------------------------------- */

/* Fills the parameters of sines over a grid. PE_MISSING without height and width, which the caller
 * gives. */
enum pe_status pe_config_diffusers_sines(const struct pe_config_filling *filling);

#endif
