/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_TREE_H
#define CORE_CONFIG_TREE_H

/* The values of a config as the rules see them: a tree of objects, lists and plain values. */

#include "core/config/tree_chunks.h"
#include "posenc/config.h"

enum { PE_CONFIG_DEPTH_MAX = 2048, PE_CONFIG_PATH_SIZE = 200, PE_CONFIG_NOTES_MAX = 8 };

struct pe_config_value {
    enum {
        PE_CONFIG_NULL,
        PE_CONFIG_BOOL,
        PE_CONFIG_INTEGER,
        PE_CONFIG_NUMBER,
        PE_CONFIG_TEXT,
        PE_CONFIG_OBJECT,
        PE_CONFIG_LIST,
    } kind;
    union {
        bool truth;
        int64_t integer;
        double number;
        const char *text;
        struct pe_config_node *node;
    } as;
};

struct pe_config_name {
    const char *text;
    size_t size;
};

/* A key of an object and its value. */
struct pe_config_member {
    struct pe_config_name name; /* first, because the object orders its members by it */
    struct pe_config_value value;
    const struct pe_config_node *in;
    size_t number;     /* of this member among all of the config, from 0 */
    const char *shown; /* its path, for people, where that is not made of names; or NULL */
    struct pe_config_member *next;
};

/* An element of a list. */
struct pe_config_item {
    struct pe_config_value value;
    struct pe_config_item *next;
};

/* An object or a list: small, for a file can be full of empty ones. */
struct pe_config_node {
    struct pe_config *config;
    const struct pe_config_member *owner; /* whose value this is; NULL: the top, or in a list */
    struct pe_config_node *older;         /* of all that the config has */
    size_t count;
    unsigned depth;
    bool is_list;
    union {
        struct {                                   /* of an object */
            struct pe_config_member *first, *last; /* in the order in which they came */
            void *names;                           /* the same as a tsearch tree, by name */
        };
        struct { /* of a list */
            struct pe_config_item *first_item, *last_item;
        };
    };
};

struct pe_config_model;

struct pe_config {
    struct pe_config_memory memory; /* of all below */
    struct pe_config_node *nodes, *top;
    size_t members;
    const struct pe_config_model *models;   /* that model_type names; NULL: of Hugging Face */
    const char *notes[PE_CONFIG_NOTES_MAX]; /* warnings of each reading */
    size_t notes_count;
};

/* Orders struct pe_config_name. */
int pe_config_names_compare(const void *a, const void *b);

/* NULL: there is no such key, or no object. */
const struct pe_config_member *pe_config_member(const struct pe_config_node *object,
                                                const char *key);
/* Finds `size` bytes of keys, where dots lead into objects. */
const struct pe_config_member *pe_config_member_at(const struct pe_config_node *object,
                                                   const char *keys, size_t size);
/* The object under a key; NULL: there is none, or another value. */
const struct pe_config_node *pe_config_object(const struct pe_config_member *member);
const char *pe_config_text(const struct pe_config_member *member); /* NULL: no text */

/* A whole number or another one. */
bool pe_config_is_number(const struct pe_config_value *value);
double pe_config_number(const struct pe_config_value *value); /* 0 where it is none */

/* Are two values equal, whatever the order of keys in objects? */
bool pe_config_equal(const struct pe_config_value *a, const struct pe_config_value *b);

/* The keys from the top to a member, joined by dots, cut at size - 1 bytes. Returns out. */
const char *pe_config_path(const struct pe_config_member *member, char *out, size_t size);

#endif
