/* SPDX-License-Identifier: MIT */
#ifndef POSENC_ENCODINGS_H
#define POSENC_ENCODINGS_H

#include "posenc/parameters.h"

/* The catalogue: every encoding that the library has, its parameters, and the views of it. All of
 * it is constant, and any thread may read it. */

struct pe_encoding;
struct pe_view_type;

/* Abilities of an encoding; one may have several. */
enum pe_kind {
    PE_KIND_ROWS,     /* a table of rows at positions, to be added to embeddings */
    PE_KIND_ROTARY,   /* frequencies that rotate pairs of queries and keys */
    PE_KIND_BIAS,     /* numbers to add to attention's logits */
    PE_KIND_RELATIVE, /* a vector for each distance, multiplied with queries */
    PE_KIND_LEARNED,  /* rows of a table that is given to the scheme */
};

/* New members come after the last one, so that existing programs keep working. */
struct pe_encoding_info {
    const char *name;    /* "rope" */
    const char *family;  /* "absolute", "rotary", "bias" or "relative" */
    const char *title;   /* one line */
    const char *formula; /* plain text */
    const char *source;  /* where it was published */
    const struct pe_param *params;
    size_t params_count;
    const char *example; /* parameters that work, small: "dim=8"; NULL: none are needed */
};

/* A view: a table, frequencies, a bias, or an analysis of them. */
struct pe_view_info {
    const char *name;    /* "table" */
    const char *group;   /* "analysis"; NULL: none */
    const char *title;   /* one line */
    const char *doc;     /* a description of its tensors and their shapes */
    const char *note;    /* a sentence to show beside its values; NULL: none */
    const char *example; /* parameters of the view: "length=4"; NULL: none are needed */
    const char *tensor;  /* a tensor that can be given: "weights"; NULL: none */
    const struct pe_param *params;
    size_t params_count;
};

PE_DECLARATIONS_BEGIN

/* In the catalogue's order, from 0; NULL past the last one. */
PE_API const struct pe_encoding *pe_encoding_at(size_t index);
/* NULL: there is none of that name. */
PE_API const struct pe_encoding *pe_encoding_find(const char *name);
PE_API const struct pe_encoding_info *pe_encoding_info(const struct pe_encoding *encoding);
PE_API bool pe_encoding_has(const struct pe_encoding *encoding, enum pe_kind kind);

/* The views of an encoding, its main one first; NULL past the last one. */
PE_API const struct pe_view_type *pe_encoding_view_at(const struct pe_encoding *encoding,
                                                      size_t index);
/* NULL: the encoding has no view of that name. */
PE_API const struct pe_view_type *pe_encoding_view(const struct pe_encoding *encoding,
                                                   const char *name);
PE_API const struct pe_view_info *pe_view_info(const struct pe_view_type *type);

/* Makes `params` those of an encoding, sets "name=value" pairs separated by white space or '&', and
 * fills in defaults: pe_params_free after use. PE_NOT_FOUND for the encoding, else the errors of
 * pe_params_set_pairs and pe_params_finish; nothing is left to free then. */
PE_API enum pe_status pe_params_parse(struct pe_params *params, const char *encoding,
                                      const char *text, struct pe_error *err);

/* Can pe_attention_new use schemes of the encoding? Tables are added to embeddings instead, and
 * multi-axis RoPE is not supported by pe_attention_new. */
PE_API bool pe_attention_takes(const struct pe_encoding *encoding);

PE_DECLARATIONS_END

#endif
