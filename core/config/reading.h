/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_READING_H
#define CORE_CONFIG_READING_H

/* The state of a reading of a config, and the functions that the files of the rules share. */

#include "core/config/tree.h"
#include "core/scheme/scheme.h"

/* A row of model_types.def. */
struct pe_config_model {
    const char *model_type, *encoding, *layout, *defaults, *sliding, *note;
};
extern const struct pe_config_model pe_config_models[]; /* ends with a NULL model_type */

/* The objects that keys are looked for in. */
struct pe_config_scope {
    const struct pe_config_node *top;
    const struct pe_config_node *text;   /* the part about text: top, or its text_config */
    const struct pe_config_node *rope;   /* rope_parameters or rope_scaling; NULL: neither */
    const struct pe_config_node *around; /* of which rope is the object of one type of layer;
                                          * NULL: rope is no part of another one */
    const struct pe_config_node *layer;  /* about the layers described; NULL: there is none */
    const struct pe_config_model *model; /* NULL: not in the list */
};

enum { PE_CONFIG_TRAITS_MAX = 16 };

struct pe_config_reading {
    const struct pe_config *config;
    struct pe_config_memory memory; /* of all that the reading keeps */
    struct pe_config_scope scope;
    const char *model_type;              /* NULL: the config has none */
    const struct pe_config_model *model; /* the scope's */
    const char *layer_type;              /* whose positions are described; NULL: all are alike */
    char text_part[PE_CONFIG_PATH_SIZE]; /* the keys that lead to the part about text */
    bool turns_whole;                    /* dim is the width of what turns */
    const char *family;                  /* the encoding whose keys are read: "rope" */
    const char *name;                    /* the encoding described: the same, or "mrope" */
    const char *layout;                  /* "": not known */
    struct pe_config_source layout_source;
    struct pe_config_value sliding_base; /* of layers of sliding attention, where these are read */
    const struct pe_config_member *sliding_member; /* its source; NULL: the class of the model */
    bool strict;
    bool filled;
    bool short_of_memory;                               /* something could not be noted */
    bool *read;                                         /* by number of member: was it read? */
    struct pe_config_source sources[PE_PARAMS_MAX + 2]; /* of parameters, or of two sizes */
    size_t sources_count;
    struct pe_config_source trait_sources[PE_CONFIG_TRAITS_MAX];
    size_t trait_sources_count;
    const char **warnings;
    size_t warnings_count, warnings_room;
};

/* ---- finding --------------------------------------------------------------------------------- */

/* The first of the keys (separated by spaces, with dots into objects) that has a value, in the
 * order of the places ("rope text top"). NULL: none has. */
const struct pe_config_member *pe_config_first(const struct pe_config_scope *scope,
                                               const char *places, const char *keys);
/* Finds it likewise, and notes it as read; the key in a later place too, with a warning where the
 * values differ. */
const struct pe_config_member *pe_config_find(struct pe_config_reading *reading, const char *places,
                                              const char *keys);
/* Does the code of the model not read this key, though its name says so? */
bool pe_config_is_dead(const struct pe_config_scope *scope, const struct pe_config_member *member);
/* Is this a key that the code of other models reads? */
bool pe_config_is_foreign(const struct pe_config_scope *scope,
                          const struct pe_config_member *member);
/* Is the model one of these? An architecture of GGUF is no class of Hugging Face. */
bool pe_config_is_among(const struct pe_config_scope *scope, const char *models);
/* Notes that a member was read, and with it all that it lies in. NULL: nothing. */
void pe_config_note(struct pe_config_reading *reading, const struct pe_config_member *member);
/* Notes a member that was looked at as one value, with all that lies in it. */
void pe_config_note_whole(struct pe_config_reading *reading, const struct pe_config_member *member);

/* ---- reporting ------------------------------------------------------------------------------- */

void pe_config_warn(struct pe_config_reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Are there so many warnings that no more are kept? */
bool pe_config_is_full(const struct pe_config_reading *reading);
/* Fails at a key; member NULL: at the config as a whole. Returns the status. */
enum pe_status pe_config_fail(const struct pe_config_member *member, enum pe_status status,
                              struct pe_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* PE_OUT_OF_MEMORY where something could not be noted. */
enum pe_status pe_config_memory_check(const struct pe_config_reading *reading,
                                      struct pe_error *err);

/* The source of a value, with a copy of its key; key NULL: from no key. */
struct pe_config_source pe_config_source_make(struct pe_config_reading *reading, const char *param,
                                              enum pe_config_from from, const char *key);
/* Notes where the value of a parameter came from. */
void pe_config_source_set(struct pe_config_reading *reading, const char *param,
                          enum pe_config_from from, const char *key);
void pe_config_source_delete(struct pe_config_reading *reading, const char *param);
/* NULL: the parameter has none. */
const struct pe_config_source *pe_config_source_find(const struct pe_config_reading *reading,
                                                     const char *param);

/* Warns of every key that nothing read and whose name speaks of positions. */
void pe_config_unread_warn(struct pe_config_reading *reading);
/* Warns where the width that turns is a default of the model's class, in part or in whole. */
void pe_config_defaults_warn(struct pe_config_reading *reading);

/* ---- the steps of pe_config_read ------------------------------------------------------------- */

/* The row of a model_type of a config.json, which may be NULL; NULL: there is none. */
const struct pe_config_model *pe_config_model_find(const char *model_type);
/* Has the class of a model a default of this name? model NULL: no. */
bool pe_config_class_has(const struct pe_config_model *model, const char *key);
/* Top, and the part about text, and the model. */
struct pe_config_scope pe_config_scope_of(const struct pe_config *config);
/* The text under model_type, nearest first; NULL: there is none. */
const char *pe_config_model_type(const struct pe_config_scope *scope);
enum pe_status pe_config_model_choose(struct pe_config_reading *reading, struct pe_error *err);
/* The object rope_parameters, or by its older names; NULL: there is none. */
const struct pe_config_node *pe_config_rope(const struct pe_config_scope *scope);
/* The rope type that the name of a rope object stands for; NULL: none. */
const char *pe_config_named_type(const struct pe_config_node *rope);
/* Finds the rope object and, where layers differ, chooses those of layer_type. */
enum pe_status pe_config_layers_choose(struct pe_config_reading *reading, const char *layer_type,
                                       struct pe_error *err);

/* ---- the steps of pe_config_fill ------------------------------------------------------------- */

struct pe_config_filling {
    struct pe_config_reading *reading;
    struct pe_params *params;
    struct pe_error *err;
};

/* Sets a parameter from a member, with its source. */
enum pe_status pe_config_member_fill(const struct pe_config_filling *filling, size_t index,
                                     const struct pe_config_member *member);
/* Is this parameter left open by what is given and was filled so far? index -1: no. */
bool pe_config_is_open(const struct pe_config_filling *filling, int index);
/* Sets the rope type that the object's name stands for, and parameters by their other names in it.
 */
enum pe_status pe_config_named_fill(const struct pe_config_filling *filling);
/* Sets parameters that have two keys, one for short and one for long sequences. */
enum pe_status pe_config_by_length(const struct pe_config_filling *filling);
/* Sets the parameters that transformers reads at another place than the key's own. */
enum pe_status pe_config_odd_places(const struct pe_config_filling *filling);
/* Is this a key of the rope object that is not read where the object is one of several? Warns. */
bool pe_config_is_misplaced(struct pe_config_reading *reading,
                            const struct pe_config_member *member);
/* Warns where the code of a model makes more or fewer frequencies than its heads turn. */
void pe_config_width_check(const struct pe_config_filling *filling);
/* Sets the base where a list has the same one for each layer, and 0 where it has no positions. */
enum pe_status pe_config_bases(const struct pe_config_filling *filling);
/* Sets the parameters that no key has: the model's defaults, quotients and multiples. */
enum pe_status pe_config_derive(const struct pe_config_filling *filling);
/* rotary_dim and partial_rotary_factor say the same: whoever gives one has given both. */
bool pe_config_is_rotary_part(const char *param);

#endif
