/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_GGUF_MAKING_H
#define CORE_CONFIG_GGUF_MAKING_H

#include "core/config/gguf_file.h"

/* A config in the making out of the head of a GGUF file, shared by the files that do it. */

/* The file, and what several of its keys tell together. */
struct pe_gguf_making {
    struct pe_config *config;
    struct pe_gguf file;
    char architecture[64];
    char scaling[32]; /* "linear", "yarn"...; "": the frequencies are not scaled */
    double width, heads, key_length, turning, factor;
    const char *shown; /* the key in the file of what is added; NULL: its name */
};

/* The rest of a key behind "ARCHITECTURE."; size 0: it is about something else. */
struct pe_gguf_text pe_gguf_own_key(const struct pe_gguf_making *making, struct pe_gguf_text key);

/* The number of a scalar, or of an array of up to 65536 elements that are all the same; false:
 * there is none. */
bool pe_gguf_one_number(const struct pe_gguf_value *value, struct pe_config_value *number);

/* Adds a sentence that every reading of the config begins with; `text` has one %s, for `about`. */
enum pe_status pe_gguf_note(struct pe_gguf_making *making, struct pe_error *err, const char *text,
                            const char *about);

/* The object that a name belongs into, "" for the top, made when first needed; NULL: err says why
 * not. */
struct pe_config_node *pe_gguf_place(struct pe_gguf_making *making, const char *place,
                                     struct pe_error *err);

/* Add to an object, unless it has the name, and show it by making->shown. */
enum pe_status pe_gguf_value_add(struct pe_gguf_making *making, struct pe_config_node *object,
                                 const char *name, const struct pe_config_value *value,
                                 struct pe_error *err);
enum pe_status pe_gguf_text_add(struct pe_gguf_making *making, struct pe_config_node *object,
                                const char *name, const char *text, struct pe_error *err);
enum pe_status pe_gguf_numbers_add(struct pe_gguf_making *making, struct pe_config_node *object,
                                   const char *name, const double *numbers, size_t count,
                                   struct pe_error *err);

/* For pe_gguf_keys, once the facts are settled: adds what a key says under the name that a
 * config.json has for it. */
enum pe_status pe_gguf_key_add(void *making, struct pe_gguf_text key,
                               const struct pe_gguf_value *value, struct pe_error *err);

#endif
