/* SPDX-License-Identifier: MIT */
#ifndef CORE_CONFIG_GGUF_FILE_H
#define CORE_CONFIG_GGUF_FILE_H

/* The head of a GGUF file: keys with values, then names and shapes of tensors. ggml-org/ggml,
 * docs/gguf.md, versions 2 and 3. */

#include "core/config/tree.h"
#include "posenc/dtype.h"

/* As the file numbers them. */
enum pe_gguf_type {
    PE_GGUF_U8,
    PE_GGUF_I8,
    PE_GGUF_U16,
    PE_GGUF_I16,
    PE_GGUF_U32,
    PE_GGUF_I32,
    PE_GGUF_F32,
    PE_GGUF_BOOL,
    PE_GGUF_STRING,
    PE_GGUF_ARRAY,
    PE_GGUF_U64,
    PE_GGUF_I64,
    PE_GGUF_F64,
    PE_GGUF_TYPES,
};

/* Bytes of the file, which do not end with a zero. */
struct pe_gguf_text {
    const char *at;
    size_t size;
};

struct pe_gguf_value {
    enum pe_gguf_type type; /* of an array, that of its elements */
    bool is_array;
    uint64_t count;          /* of an array */
    const unsigned char *at; /* the scalar, or the first element of an array */
    struct pe_gguf_text text;
};

/* The numbers of a tensor of rank 1 and a floating type. */
struct pe_gguf_tensor {
    struct pe_gguf_text name;
    uint64_t count;
    bool is_list;            /* rank 1, and a type that pe_gguf_factor reads */
    enum pe_dtype dtype;     /* of a list */
    uint64_t offset;         /* in the data */
    const unsigned char *at; /* NULL: the bytes end within the tensor */
};

struct pe_gguf {
    const unsigned char *bytes;
    size_t size;
    uint64_t keys, tensors;
    size_t metadata;  /* offset of the keys */
    size_t infos;     /* offset of the list of tensors; 0: not known yet */
    size_t alignment; /* of the data */
};

/* Reads the first bytes. PE_INVALID: no GGUF file, or an unsupported version. */
enum pe_status pe_gguf_open(struct pe_gguf *file, const void *bytes, size_t size,
                            struct pe_error *err);

/* Calls `each` for every key, in order, until it fails, and finds the list of tensors. PE_INVALID:
 * the bytes end within the keys, or a key is malformed. */
enum pe_status pe_gguf_keys(struct pe_gguf *file,
                            enum pe_status (*each)(void *context, struct pe_gguf_text key,
                                                   const struct pe_gguf_value *value,
                                                   struct pe_error *err),
                            void *context, struct pe_work *work, struct pe_error *err);

/* Finds a tensor by name, after pe_gguf_keys. False: not in the list. *complete: the list was
 * searched up to the tensor or to its end, which is not so where the bytes end first or the list is
 * too long. */
bool pe_gguf_tensor(const struct pe_gguf *file, const char *name, struct pe_gguf_tensor *tensor,
                    bool *complete);

bool pe_gguf_text_is(struct pe_gguf_text text, const char *is);

/* An element of a list; tensor->at is set. */
double pe_gguf_factor(const struct pe_gguf_tensor *tensor, uint64_t index);

/* The number of a scalar or of an element of an array: an integer or a bool if that is its type.
 * False: it is no number. */
bool pe_gguf_number(const struct pe_gguf_value *value, uint64_t index,
                    struct pe_config_value *number);

#endif
