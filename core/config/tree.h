/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_TREE_H
#define CORE_CONFIG_TREE_H

/* A config as a tree of objects, lists and plain values. */

#include "posenc/config.h"
#include "posenc/work.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* An arena of a config or of a reading: small pieces cut from chunks, all freed together. The
 * chunks are charged to a piece of work. One thread at a time. */
struct pe_config_memory {
    struct pe_work *work;
    struct pe_config_chunk *chunks; /* the newest first */
    size_t left;                    /* bytes free in the newest */
    size_t charged;
};

/* `size` bytes at a multiple of 8, not cleared; NULL: no memory. */
void *pe_config_take(struct pe_config_memory *memory, size_t size);
/* A copy of a text; NULL: no memory. */
char *pe_config_copy(struct pe_config_memory *memory, const char *text);
/* Charges bytes that are allocated elsewhere and live as long. False: over the limit. */
bool pe_config_charge(struct pe_config_memory *memory, size_t bytes);
/* Frees every piece and releases the charge. */
void pe_config_memory_free(struct pe_config_memory *memory);

/* ---- the tree -------------------------------------------------------------------------------- */

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
    struct pe_config_name name; /* must be first: tsearch compares members as names */
    struct pe_config_value value;
    const struct pe_config_node *in;
    size_t number;     /* of this member among all of the config, from 0 */
    const char *shown; /* the path to report, where it differs from the names; else NULL */
    struct pe_config_member *next;
};

/* An element of a list. */
struct pe_config_item {
    struct pe_config_value value;
    struct pe_config_item *next;
};

/* An object or a list. Kept small: a file can be full of empty ones. */
struct pe_config_node {
    struct pe_config *config;
    const struct pe_config_member *owner; /* the member that has this value; NULL: the top, or an
                                           * element of a list */
    struct pe_config_node *older;         /* links all nodes of the config */
    size_t count;
    unsigned depth;
    bool is_list;
    union {
        struct {                                   /* of an object */
            struct pe_config_member *first, *last; /* in the order of the file */
            void *names;                           /* the same members as a tsearch tree */
        };
        struct { /* of a list */
            struct pe_config_item *first_item, *last_item;
        };
    };
};

struct pe_config_model;

struct pe_config {
    struct pe_config_memory memory; /* of everything below */
    struct pe_config_node *nodes, *top;
    size_t members;
    const struct pe_config_model *models; /* the models of the file's format; NULL: Hugging Face */
    const char *notes[PE_CONFIG_NOTES_MAX]; /* warnings that begin every reading */
    size_t notes_count;
};

/* NULL: no such key, or object is NULL. */
const struct pe_config_member *pe_config_member(const struct pe_config_node *object,
                                                const char *key);
/* Finds a member by a path of `size` bytes, in which dots lead into objects. */
const struct pe_config_member *pe_config_member_at(const struct pe_config_node *object,
                                                   const char *keys, size_t size);
/* The object under a key; NULL: there is none, or another value. */
const struct pe_config_node *pe_config_object(const struct pe_config_member *member);
const char *pe_config_text(const struct pe_config_member *member); /* NULL: not a text */

bool pe_config_is_number(const struct pe_config_value *value);
double pe_config_number(const struct pe_config_value *value); /* 0: not a number */

/* Compares two values; the order of keys in objects does not matter. */
bool pe_config_equal(const struct pe_config_value *a, const struct pe_config_value *b);

/* Adds a value that is neither an object nor a list. */
enum pe_status pe_config_scalar_set(struct pe_config_node *into, const char *key,
                                    const struct pe_config_value *value, struct pe_error *err);

/* ---- merge.c: copies ------------------------------------------------------------------------- */

/* Adds a copy of a value, which may be of another config. */
enum pe_status pe_config_value_copy(const struct pe_config_value *value,
                                    struct pe_config_node *into, const char *key,
                                    struct pe_error *err);
/* Adds copies of the members of `from` with the changes of `patch` to an empty object; either may
 * be NULL. */
enum pe_status pe_config_merge(const struct pe_config_node *from,
                               const struct pe_config_node *patch, struct pe_config_node *into,
                               struct pe_error *err);

/* ---- paths ----------------------------------------------------------------------------------- */

/* The keys from the top to a member, joined by dots, cut at size - 1 bytes. Returns out. */
const char *pe_config_path(const struct pe_config_member *member, char *out, size_t size);

#endif
