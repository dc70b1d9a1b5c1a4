/* SPDX-License-Identifier: MIT */
#ifndef API_CONFIG_CONFIG_H
#define API_CONFIG_CONFIG_H

/* A config.json of Hugging Face as a source of parameters. What is read of it, and what models
 * leave out of it, stands in config_keys.def and model_types.def. */

#include "api/request/request.h"

/* Names that a handler reads by itself where it takes a config. */
#define API_CONFIG_OWN "config layer_type strict"
extern const struct pe_param api_config_list[]; /* the same, to describe them */
extern const size_t api_config_count;

struct api_config {
    struct api_arena *arena;            /* of the request */
    json_t *top;                        /* the config.json */
    json_t *text;                       /* its part about text: itself, or its text_config, */
    const char *text_path;              /* "" or "text_config." */
    json_t *rope;                       /* rope_parameters or rope_scaling; NULL: neither */
    const char *rope_path;              /* "text_config.rope_scaling." */
    const char *pointer;                /* of the config in the body; NULL: it came as text */
    const char *model_type;             /* NULL: none is told */
    const struct api_model_type *model; /* NULL: not in the list */
    const char *family;                 /* whose keys are read: "rope" */
    const char *name;                   /* of the encoding: the same, or "mrope" */
    const char *layout;                 /* of its pairs; "" none is known */
    const char *layout_from;            /* which key told it, or "model_type" */
    json_t *sliding_base;               /* of layers of sliding attention, where that is chosen */
    const char *sliding_path;           /* the key that told it, or "model_type" */
    bool sliding;                       /* these layers: no scaling */
    bool strict;                        /* a key of the rope object that means nothing is refused */
    bool filled;
    json_t *read; /* paths that were read, as keys */
    json_t *provenance, *warnings;
};

struct api_model_type {
    const char *model_type, *encoding, *layout, *defaults, *sliding, *note;
};
extern const struct api_model_type api_model_types[]; /* ends with a NULL model_type */

/* Sets request->config from the body, the query or the metadata; it stays NULL where there is none.
 * A body that is a config.json itself is no longer in request->json then. */
enum api_status api_config_open(struct api_request *request, struct api_error *err);

/* The same of the member `key` of the body where that is a config.json, or an object with one under
 * "config", beside layer_type, strict and parameters. *config stays NULL where it is neither. */
enum api_status api_config_open_at(struct api_request *request, const char *key,
                                   struct api_config **config, struct api_error *err);

/* Sets parameters that the request leaves open from a config, if there is one; once. API_CONFLICT:
 * it describes another encoding. */
enum api_status api_config_fill(struct api_config *config, const struct pe_encoding *encoding,
                                struct pe_params *params, struct api_error *err);

/* The same, and then pe_scheme_check; what the config says in vain is left out with a warning. */
enum api_status api_config_scheme(struct api_config *config, const struct pe_encoding *encoding,
                                  struct pe_params *params, struct pe_scheme **scheme,
                                  struct api_error *err);

/* The encoding of a request's config. API_UNSUPPORTED: this version does not have it. */
enum api_status api_config_encoding(const struct api_config *config,
                                    const struct pe_encoding **encoding, struct api_error *err);

/* Sets the parameter "layout" from the config's model, unless it is given. */
enum api_status api_config_layout(const struct api_config *config, struct pe_params *params,
                                  struct api_error *err);

/* Is the encoding a table of the model's weights? Then its size is all there is. */
bool api_config_is_weights(const struct api_config *config);
/* {"name", "length", "dim"} of one. */
enum api_status api_config_weights(struct api_config *config, json_t *encoding,
                                   struct api_error *err);

/* Paths of what was not read. */
json_t *api_config_unused(const struct api_config *config);
/* Warns of keys among them that seem to be about rotary positions. */
void api_config_unused_warn(struct api_config *config);

/* What an answer tells of a config besides the scheme: its warnings. */
struct api_hash;
void api_config_hash(const struct api_config *config, struct api_hash *hash);

/* ---- among the files of config --------------------------------------------------------------- */

/* Finds the rope object; where layers differ, chooses those of layer_type (NULL: none is told). */
enum api_status api_config_layers(struct api_config *config, const char *layer_type,
                                  struct api_error *err);

/* The first of the keys that has a value, in the order of the places; NULL: none has. *path is
 * where. */
json_t *api_config_find(struct api_config *config, const char *places, const char *keys,
                        const char **path);
/* Notes that the value at a path was read, and with it all that it lies in. */
void api_config_note(struct api_config *config, const char *path);
void api_config_warn(struct api_config *config, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Names the place of a failure: a pointer into the body, or config. Returns the status. */
enum api_status api_config_fail(const struct api_config *config, enum api_status status,
                                const char *path, struct api_error *err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
