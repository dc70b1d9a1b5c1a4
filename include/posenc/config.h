/* SPDX-License-Identifier: MIT */
#ifndef POSENC_CONFIG_H
#define POSENC_CONFIG_H

/* The config of a model (a config.json of Hugging Face, the metadata of a file of weights) as a
 * source of parameters: which encoding it describes, and with which values.
 *
 *   struct pe_error err = {0};
 *   struct pe_params params = {0};
 *   struct pe_config *config = NULL;
 *   struct pe_config_reading *reading = NULL;
 *   struct pe_scheme *scheme = NULL;
 *
 *   if (!pe_config_new(&config, NULL, &err) &&
 *       !pe_config_set_text(pe_config_top(config), "model_type", "llama", &err) && ... &&
 *       !pe_config_read(&reading, config, NULL, false, &err) &&
 *       !pe_config_scheme(&scheme, reading, &params, &err) &&
 *       !pe_scheme_prepare(scheme, NULL, &err))
 *       ... use the scheme; params, config and reading may be freed before it ...
 *
 * A program adds the values of its file; the library maps keys to parameters and has the defaults
 * of each model's class. A value is added to an object under one key, not under a path, because
 * keys of GGUF contain dots.
 *
 * `where` of an error is "key:rope_scaling.factor" (keys joined by dots, for people), "config" for
 * the config in general, or "parameter:NAME". A config that is no longer changed can be read by any
 * number of threads at once; a reading belongs to one thread at a time. */

#include "posenc/schemes.h"

struct pe_config; /* a tree of values */
/* An object of a config, or a list. Belongs to its config and is freed with it. */
struct pe_config_node;
struct pe_config_reading; /* the encoding of a config, and the source of each value */

/* Where the value of a parameter came from. */
enum pe_config_from {
    PE_CONFIG_GIVEN,   /* the caller's params had it */
    PE_CONFIG_KEY,     /* a key of the config */
    PE_CONFIG_DERIVED, /* a calculation with keys of the config: "hidden_size / n_head" */
    PE_CONFIG_MODEL,   /* the class of the model sets it, not the config */
    PE_CONFIG_DEFAULT, /* the encoding's own default */
};

/* A value of an object or of a list. Begins as zeros; texts and nodes are the config's. */
struct pe_config_entry {
    enum pe_config_entry_kind {
        PE_ENTRY_NULL,
        PE_ENTRY_BOOL,
        PE_ENTRY_INTEGER,
        PE_ENTRY_NUMBER,
        PE_ENTRY_TEXT,
        PE_ENTRY_OBJECT,
        PE_ENTRY_LIST
    } kind;
    const char *key; /* of a member of an object; else NULL */
    bool truth;
    int64_t integer;
    double number; /* of an integer too */
    const char *text;
    const struct pe_config_node *node; /* of an object or a list */
    const void *at;                    /* the library's own */
};

/* New members come after the last one. */
struct pe_config_source {
    const char *param; /* "factor" */
    enum pe_config_from from;
    const char *key; /* "rope_scaling.factor"; NULL where no key was read */
};

PE_DECLARATIONS_BEGIN

/* An empty config. work: charged for the memory of it, its readings and their schemes. */
PE_API enum pe_status pe_config_new(struct pe_config **config, struct pe_work *work,
                                    struct pe_error *err);
PE_API void pe_config_free(struct pe_config *config);                  /* NULL: nothing happens */
PE_API struct pe_config_node *pe_config_top(struct pe_config *config); /* all keys are in it */

/* Each adds one value, which is copied: to an object under a key, to a list at its end (key: NULL).
 * Integers and other numbers are different values, as in JSON. PE_CONFLICT: the object has that
 * key. PE_INVALID: no key, or no text. PE_OUT_OF_MEMORY. */
PE_API enum pe_status pe_config_set_null(struct pe_config_node *node, const char *key,
                                         struct pe_error *err);
PE_API enum pe_status pe_config_set_bool(struct pe_config_node *node, const char *key, bool value,
                                         struct pe_error *err);
PE_API enum pe_status pe_config_set_integer(struct pe_config_node *node, const char *key,
                                            int64_t value, struct pe_error *err);
PE_API enum pe_status pe_config_set_number(struct pe_config_node *node, const char *key,
                                           double value, struct pe_error *err);
PE_API enum pe_status pe_config_set_text(struct pe_config_node *node, const char *key,
                                         const char *value, struct pe_error *err);

/* Add an empty object or list, to which the caller adds values. PE_TOO_LARGE: it would be 2048
 * levels deep. */
PE_API enum pe_status pe_config_set_object(struct pe_config_node *node, const char *key,
                                           struct pe_config_node **object, struct pe_error *err);
PE_API enum pe_status pe_config_set_list(struct pe_config_node *node, const char *key,
                                         struct pe_config_node **list, struct pe_error *err);

/* A list and its elements in one call. */
PE_API enum pe_status pe_config_set_numbers(struct pe_config_node *node, const char *key,
                                            const double *values, size_t count,
                                            struct pe_error *err);

/* Sets `entry` to the next value of an object or of a list, in the order in which they were added.
 * False past the last one. */
PE_API bool pe_config_next(const struct pe_config_node *node, struct pe_config_entry *entry);

/* Adds the metadata of a GGUF file to a config without keys, under the names that a config.json has
 * for them; the sources of a reading are the keys of the file. `bytes` are the file, or its first
 * `size` bytes, and are not kept. The library has the defaults of architectures in llama.cpp's code
 * as it has those of model classes. Factors that divide frequencies (rope_freqs.weight, those of
 * longrope) are read if they are among the bytes, else each reading warns. PE_INVALID: no GGUF file
 * of version 2 or 3, or one that ends within its metadata. PE_CONFLICT: the config has keys.
 * PE_CANCELLED, PE_OUT_OF_MEMORY. After an error, free the config. */
PE_API enum pe_status pe_config_set_gguf(struct pe_config *config, const void *bytes, size_t size,
                                         struct pe_error *err);

/* Decides which encoding the config describes. layer_type: one of pe_config_layer_type; may be NULL
 * if there is at most one. strict: an unused key in the rope object is an error of pe_config_scheme
 * instead of a warning. The config must outlive the reading.
 * PE_UNSUPPORTED: nothing in it is about positions, or they are of a kind that this library lacks.
 * PE_MISSING, PE_INVALID, PE_CONFLICT: layer_type. PE_INVALID: a value of a wrong type. */
PE_API enum pe_status pe_config_read(struct pe_config_reading **reading,
                                     const struct pe_config *config, const char *layer_type,
                                     bool strict, struct pe_error *err);
PE_API void pe_config_reading_free(struct pe_config_reading *reading); /* NULL: nothing happens */

/* The name of the encoding: "rope". Text of a reading lives as long as the reading. */
PE_API const char *pe_config_encoding(const struct pe_config_reading *reading);

/* Sets the parameters that are open in `params` from the config; given ones stay. Zeroed params
 * become those of the encoding; the caller frees them. Later calls for the reading do nothing.
 * PE_INVALID: the params are those of another encoding. PE_INVALID, PE_OUT_OF_RANGE,
 * PE_UNSUPPORTED: a value of the config. PE_UNKNOWN_PARAMETER: strict. */
PE_API enum pe_status pe_config_fill(struct pe_config_reading *reading, struct pe_params *params,
                                     struct pe_error *err);

/* Fills, and opens the scheme as pe_scheme_open does, with its errors too; prepare it before use. A
 * key that the type of scaling does not use is left out with a warning, unless strict. */
PE_API enum pe_status pe_config_scheme(struct pe_scheme **scheme, struct pe_config_reading *reading,
                                       struct pe_params *params, struct pe_error *err);

/* The source of each parameter that has a value, in the order in which they were set; NULL past the
 * last one. Defaults are there after pe_config_scheme. */
PE_API const struct pe_config_source *pe_config_source(const struct pe_config_reading *reading,
                                                       size_t index);

/* The layout of pairs in the model's code, "half" or "interleaved"; NULL: unknown, or nothing
 * rotates. And its source. */
PE_API const char *pe_config_layout(const struct pe_config_reading *reading);
PE_API const struct pe_config_source *
pe_config_layout_source(const struct pe_config_reading *reading);

/* Is the encoding a learned table, of which a config has only the size? */
PE_API bool pe_config_is_weights(const struct pe_config_reading *reading);
/* Its "length" or "dim", 1 or more. PE_MISSING: no key. PE_INVALID: no such number. PE_NOT_FOUND: a
 * name for which the encoding has no key. */
PE_API enum pe_status pe_config_size(struct pe_config_reading *reading, const char *name,
                                     int64_t *size, struct pe_error *err);

/* The context that the config names, in positions: max_position_embeddings, or another publisher's
 * key for it; 0: none, or no number above 0. */
PE_API int64_t pe_config_context(const struct pe_config_reading *reading);

/* Warnings, as sentences, in the order of the reading; NULL past the last one. */
PE_API const char *pe_config_warning(const struct pe_config_reading *reading, size_t index);

/* Calls `each` for every unread key of the top and of the part about text. The path is cut at 199
 * bytes and valid during the call. */
PE_API void pe_config_unused(const struct pe_config_reading *reading,
                             void (*each)(void *context, const char *path), void *context);

PE_DECLARATIONS_END

#endif
