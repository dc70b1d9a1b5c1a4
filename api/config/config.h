/* SPDX-License-Identifier: MIT */
#ifndef API_CONFIG_CONFIG_H
#define API_CONFIG_CONFIG_H

/* A config.json in a request as a source of parameters. The rules (which keys mean what) are those
 * of the library, posenc/config.h; here they are fed with JSON, and their results become parts of
 * an answer. */

#include "api/request/request.h"
#include "posenc/layers.h"

/* Names that a handler reads by itself where it takes a config. */
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
    size_t told; /* warnings of the reading that are among them */
    bool strict;
    struct pe_config_kinds *kinds; /* of layers; NULL where it was read for one type of them */
};

/* Sets request->config from the body, the query or the metadata; it stays NULL where there is none.
 * A body that is a config.json itself is no longer in request->json then. */
enum pe_status api_config_open(struct api_request *request, struct pe_error *err);

/* Sets it likewise, and reads the whole of it where no layer_type is given: its kinds of layers are
 * found, and where their positions differ it is read for the usual one. */
enum pe_status api_config_open_whole(struct api_request *request, struct pe_error *err);
/* Another reading of the same config, of layers of a type. */
enum pe_status api_config_of_layer(struct api_request *request, const struct api_config *config,
                                   const char *layer_type, struct api_config **out,
                                   struct pe_error *err);
/* Reads an object inside of a config as a config of its own, likewise as a whole. */
enum pe_status api_config_of_part(struct api_request *request, json_t *part,
                                  struct api_config **out, struct pe_error *err);

/* Finds the config in the member `key` of the body: a config.json, or an object with one under
 * "config", beside layer_type, strict and parameters. *config stays NULL where it is neither. */
enum pe_status api_config_open_at(struct api_request *request, const char *key,
                                  struct api_config **config, struct pe_error *err);

/* Sets parameters that the request leaves open from a config, if there is one; once. PE_CONFLICT:
 * it describes another encoding. */
enum pe_status api_config_fill(struct api_config *config, const struct pe_encoding *encoding,
                               struct pe_params *params, struct pe_error *err);

/* Opens the scheme of a request: by its parameters alone where config is NULL, and the work is
 * charged. Else the config fills those that are left open, as api_config_fill does, and its work is
 * charged; keys that its rope type has no use for are left out with a warning. */
enum pe_status api_scheme_open(struct api_config *config, const struct pe_encoding *encoding,
                               struct pe_params *params, struct pe_work *work,
                               struct pe_scheme **scheme, struct pe_error *err);

/* The encoding of a request's config. PE_UNSUPPORTED: this version does not have it. */
enum pe_status api_config_encoding(const struct api_config *config,
                                   const struct pe_encoding **encoding, struct pe_error *err);

/* Traits of attention beside positions in the layers that are meant: of layer_type, else those that
 * rotate, or not where `still`; warns which, where there are others, and of what neither the traits
 * have nor attention does. Once for a config that was not opened as a whole. */
enum pe_status api_config_attention(struct api_request *request, struct api_config *config,
                                    bool still, bool scale_given,
                                    struct pe_attention_traits *traits, struct pe_error *err);

/* Sets the parameter "layout" from the config's model, unless it is given. */
enum pe_status api_config_layout(const struct api_config *config, struct pe_params *params,
                                 struct pe_error *err);

/* ---- for the answer -------------------------------------------------------------------------- */

/* Adds "length" and "dim" of an encoding that is a table of the model's weights. */
enum pe_status api_config_weights(struct api_config *config, json_t *encoding,
                                  struct pe_error *err);

/* {"base": "rope_theta", "dim": "request", ...}: each parameter, and where its value came from. */
json_t *api_config_provenance(const struct api_config *config);
/* {"scale": ..., "window": ..., "provenance": {...}}: what attention does in layers of a kind
 * beside positions, where that is not the usual thing. dim: of a head, where the config tells no
 * other width; 0: not known. */
enum pe_status api_config_traits_told(struct api_config *config, const struct pe_config_kind *kind,
                                      double dim, json_t **traits, struct pe_error *err);
/* {KEY: {ENGINE: {"reads", "source"}}} of keys that engines read differently; NULL: there is none.
 */
json_t *api_config_readers(const struct api_config *config);
/* Paths of keys that were not read. */
json_t *api_config_unused(const struct api_config *config);

/* A validator depends on the config by its warnings too. */
struct api_hash;
void api_config_hash(const struct api_config *config, struct api_hash *hash);

/* ---- among the files of config --------------------------------------------------------------- */

/* A config without a reading, and its reading. */
enum pe_status api_config_make(struct api_request *request, json_t *json, const char *pointer,
                               struct api_config **out, struct pe_error *err);
enum pe_status api_config_read(struct api_request *request, struct api_config *config,
                               const char *layer_type, bool strict, struct pe_error *err);
/* Finds a request's config and what is asked of it; *out stays NULL where there is none. A body
 * that is about nothing but a config is one by fewer keys. */
enum pe_status api_config_find(struct api_request *request, bool is_about_config,
                               struct api_config **out, const char **layer_type, bool *strict,
                               struct pe_error *err);
/* Adds the values of a JSON object to an object of a config. */
enum pe_status api_config_feed(struct pe_config_node *object, json_t *json, struct pe_error *err);
/* The status of a failure of the rules, which left it in *err: a key becomes a pointer into
 * the body. */
enum pe_status api_config_failed(const struct api_config *config, struct pe_error *err);
/* Appends warnings that the reading has had since. */
void api_config_tell(struct api_config *config);

#endif
