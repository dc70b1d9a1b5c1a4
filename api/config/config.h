/* SPDX-License-Identifier: MIT */
#ifndef API_CONFIG_CONFIG_H
#define API_CONFIG_CONFIG_H

/* A config.json in a request as a source of parameters. The rules (which keys mean what) are those
 * of the library, posenc/config.h; this folder makes their tree from JSON, and parts of an answer
 * from their results. */

#include "api/request/request.h"
#include "posenc/layers.h"

/* Names of parameters that a handler with a config reads by itself. */
#define API_CONFIG_OWN "config layer_type strict"
extern const struct pe_param api_config_list[]; /* the same, to describe them */
extern const size_t api_config_count;

struct api_config {
    json_t *top;         /* the config.json; NULL: the metadata of a GGUF file */
    const char *pointer; /* of the config in the body; NULL: it came as text */
    const char *name;    /* of the encoding */
    struct pe_config *values;
    struct pe_config_reading *reading;
    json_t *warnings;
    size_t warnings_taken; /* warnings of the reading that are in the list */
    bool strict;
    struct pe_config_kinds *kinds; /* of layers; NULL where it was read for one type of them */
};

/* ---- config.c -------------------------------------------------------------------------------- */

/* Sets request->config from the body, the query or the metadata; it stays NULL where there is none.
 * Where the body itself is the config.json, request->json becomes NULL. */
enum pe_status api_config_open(struct api_request *request, struct pe_error *err);

/* Likewise, and where no layer_type is given, finds the kinds of layers, and reads the config for
 * the usual one if their positions differ. */
enum pe_status api_config_open_full(struct api_request *request, struct pe_error *err);
/* Another reading of the same config, for layers of a type. */
enum pe_status api_config_of_layer(struct api_request *request, const struct api_config *config,
                                   const char *layer_type, struct api_config **out,
                                   struct pe_error *err);
/* Reads an object inside of a config as a config of its own, with its kinds of layers. */
enum pe_status api_config_of_part(struct api_request *request, json_t *part,
                                  struct api_config **out, struct pe_error *err);

/* Reads the config in the member `key` of the body: a config.json, or an object with one under
 * "config", beside layer_type, strict and parameters. *config stays NULL where it is neither. */
enum pe_status api_config_open_at(struct api_request *request, const char *key,
                                  struct api_config **config, struct pe_error *err);
/* Likewise, with all kinds of layers where no layer_type is given. */
enum pe_status api_config_open_full_at(struct api_request *request, const char *key,
                                       struct api_config **config, struct pe_error *err);

/* Sets config->kinds. */
enum pe_status api_config_kinds_find(struct api_request *request, struct api_config *config,
                                     struct pe_error *err);

/* The encoding of a config. PE_UNSUPPORTED: this version does not have it. */
enum pe_status api_config_encoding(const struct api_config *config,
                                   const struct pe_encoding **encoding, struct pe_error *err);

/* Sets parameters that the request leaves open from a config, if there is one; once. PE_CONFLICT:
 * it describes another encoding. */
enum pe_status api_config_fill(struct api_config *config, const struct pe_encoding *encoding,
                               struct pe_params *params, struct pe_error *err);

/* Opens the scheme of a request. config NULL: by the parameters alone, charged to `work`. Else the
 * config fills the open parameters as api_config_fill does, its own work is charged, and keys
 * without a use for the rope type are left out with a warning. */
enum pe_status api_scheme_open(struct api_config *config, const struct pe_encoding *encoding,
                               struct pe_params *params, struct pe_work *work,
                               struct pe_scheme **scheme, struct pe_error *err);

/* Sets the parameter "layout" from the config's model, unless it is given. */
enum pe_status api_config_layout(const struct api_config *config, struct pe_params *params,
                                 struct pe_error *err);

/* ---- config_report.c ------------------------------------------------------------------------- */

/* Changes the place of an error of the library, a key, to a pointer into the body. Returns the
 * status. */
enum pe_status api_config_fail(const struct api_config *config, struct pe_error *err);
/* Appends the new warnings of the reading to config->warnings. */
void api_config_warnings_take(struct api_config *config);

/* Reads the attention traits other than positions of the layers of layer_type; without layer_type,
 * of the layers that rotate, or with `nope_layers` of those that do not. Warns of which layers
 * these are if there are others, and of traits that the attention operation lacks. A config that
 * was not opened in full can be read once. */
enum pe_status api_config_attention(struct api_request *request, struct api_config *config,
                                    bool nope_layers, bool scale_given,
                                    struct pe_attention_traits *traits, struct pe_error *err);

/* Adds "length" and "dim" of an encoding that is a table of the model's weights. */
enum pe_status api_config_weights(struct api_config *config, json_t *encoding,
                                  struct pe_error *err);

/* {"base": "rope_theta", "dim": "request", ...}: the source of each parameter. */
json_t *api_config_provenance_json(const struct api_config *config);
/* {"scale": ..., "window": ..., "provenance": {...}}: traits of attention in layers of a kind that
 * are not the usual ones. dim: of a head, where the config has no other width; 0: unknown. */
enum pe_status api_config_traits_json(struct api_config *config, const struct pe_config_kind *kind,
                                      double dim, json_t **traits, struct pe_error *err);
/* {KEY: {ENGINE: {"reads", "source"}}} of keys that engines read differently; NULL: none. */
json_t *api_config_readers_json(const struct api_config *config);
/* Paths of keys that were not read. */
json_t *api_config_unused_json(const struct api_config *config);

/* A validator depends on the warnings of a config too. */
struct api_hash;
void api_config_hash(const struct api_config *config, struct api_hash *hash);

#endif
