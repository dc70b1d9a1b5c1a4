/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_ARGUMENTS_H
#define API_ARGUMENTS_ARGUMENTS_H

/* Arguments of a request that are more than one value: an encoding, a learned table, lists of
 * numbers, positions of tokens, vectors for tokens. */

#include "api/request/request.h"
#include "api/response/result.h"
#include "api/store/store.h"

/* ---- function.c: the begin of every function ------------------------------------------------- */

/* Is there a tensor, a member of the body, a query parameter or a metadata key of this name? */
bool api_function_posted(const struct api_request *request, const char *name);

/* Refuses parameters that this version does not offer, with a sentence of its own instead of that
 * for unknown names. `names` are separated by spaces. */
enum pe_status api_function_refuse(struct api_request *request, const char *names,
                                   struct pe_error *err);

/* Refuses `names`, adds the stored tables of "tables", and refuses an empty body. A body without
 * tensors is noted as a parameter error, so that api_bind must follow. */
enum pe_status api_function_start(struct api_request *request, const char *names,
                                  struct pe_error *err);

/* ---- encoding_argument.c --------------------------------------------------------------------- */

/* Fails with PE_NOT_FOUND and the name that the encoding has here, the most similar names, or all.
 */
enum pe_status api_encoding_unknown(const char *name, struct pe_error *err);

/* The built-in encoding of a name; or, where a table is stored under it, the encoding that looks
 * rows up, and *stored the name (NULL: built in). PE_NOT_FOUND. */
enum pe_status api_encoding_named(struct api_request *request, const char *name,
                                  const struct pe_encoding **encoding, const char **stored,
                                  struct pe_error *err);

/* Reads "encoding": a name, or an object of a name and parameters, which are set in `params`. With
 * `other` not NULL, the names "none" and "absolute" are allowed too, and exactly one of *encoding
 * and *other is set. A layout in the object, as in answers, is set in `function`, the parameters of
 * the function itself. params is freed with the arena. */
enum pe_status api_function_encoding(struct api_request *request, const char **other,
                                     const struct pe_encoding **encoding, struct pe_params *params,
                                     struct pe_params *function, struct pe_error *err);

/* Likewise for another member than "encoding": "from_encoding", "a". The member may also be a
 * config.json, or an object with one under "config": then *config is that of the scheme, else NULL.
 * `function` may be NULL. */
enum pe_status api_function_encoding_at(struct api_request *request, const char *key,
                                        const struct pe_encoding **encoding,
                                        struct pe_params *params, struct pe_params *function,
                                        struct api_config **config, struct pe_error *err);

/* Is there a member "encoding" in the body? */
bool api_encoding_is_posted(const struct api_request *request);

/* Reads that member where the path names the encoding: PE_CONFLICT where it names another one than
 * that or, not NULL, the stored table. Parameters in it are set. */
enum pe_status api_encoding_again(struct api_request *request, const struct pe_encoding *encoding,
                                  const char *stored, struct pe_params *params,
                                  struct pe_error *err);

/* Sets result->encoding and warnings from a scheme, freed with the arena. */
enum pe_status api_result_describe(const struct api_request *request, struct api_result *result,
                                   const struct pe_scheme *scheme, struct pe_error *err);
/* Likewise, where scheme may be NULL: "none"; layout is added to the encoding, NULL for none. */
enum pe_status api_function_describe(struct api_request *request, struct api_result *result,
                                     const struct pe_scheme *scheme, const char *layout,
                                     struct pe_error *err);

/* Warns, after the description, of positions beyond the sequence that a scheme is intended for. */
void api_result_warn_beyond(struct api_result *result, const struct pe_scheme *scheme,
                            const struct pe_positions *positions);

/* The spellings of enum pe_layout, as the choices of a parameter. */
#define API_LAYOUTS    "half=neox=rotate_half=hf=gpt_neox,interleaved=gptj=meta=gpt_j"
#define API_LAYOUT_DOC "half (HF, NeoX) or interleaved (GPT-J, Meta)"
const char *api_layout_name(enum pe_layout layout);

/* ---- learned_tables.c: tables in requests, stored and posted --------------------------------- */

/* The encoding that the name of a stored table denotes. */
const struct pe_encoding *api_stored_encoding(void);

/* By the path and the query, is the request certain to depend on the stored tables? */
bool api_stored_is_named(const struct api_request *request);

/* Sets the parameter that names the table; stored NULL: nothing to set. */
enum pe_status api_stored_name_set(struct pe_params *params, const char *stored,
                                   struct pe_error *err);

/* True for the posted tensor that is the table of an encoding with these parameters,
 * table=tensor:NAME. */
bool api_table_is_posted(const struct pe_params *params, const char *tensor);

/* Gives a scheme the table that its parameters name, held as long as the request is; *table is it
 * where it is a stored one, else NULL. Does nothing for an encoding without one. */
enum pe_status api_table_give(struct api_request *request, struct pe_scheme *scheme,
                              const struct api_stored_table **table, struct pe_error *err);

/* Adds stored tables to the posted tensors, as copies: tables=weights:my-t5,rel_k:my-keys. */
enum pe_status api_tables_add(struct api_request *request, struct pe_error *err);

/* ---- number_lists.c -------------------------------------------------------------------------- */

/* Numbers within +-(2^53 - 1). */
struct api_numbers {
    bool given;
    unsigned rank; /* 0: one number, 1: [columns], 2: [rows, columns], 3: [planes, rows, columns] */
    size_t planes, rows, columns;
    const double *values; /* in the arena */
    const char *where;    /* for errors */
    const char *tensor;   /* the name of the tensor that held them; NULL: none did */
    json_t *object;       /* {...} is left to the caller, and nothing else is set then */
};

/* Reads a parameter: a number, a list, lists of lists, "tensor:NAME", the text of ranges
 * ("0,7..9"), or a tensor of that very name beside the others. In two ways at once: PE_CONFLICT. */
enum pe_status api_numbers_read(struct api_request *request, const char *name,
                                struct api_numbers *numbers, struct pe_error *err);

/* A number for a report; NaN and the infinities are those words, as in tensors. */
json_t *api_number_json(double number);

/* ---- token_positions.c ----------------------------------------------------------------------- */

/* Positions of the tokens of a rotation, or the distances that they move. */
struct api_token_positions {
    bool from_zero;    /* set by the caller: the default is 0, 1, 2 ... */
    size_t axes_count; /* coordinates of a position, set by the caller; 0: it is one number */
    bool is_delta;
    struct api_numbers numbers; /* not given: start and step */
    double start, step;
    struct api_numbers ends; /* cu_seqlens: the begins of packed sequences, and the end */
};

/* A set of start and step, for api_bind. */
void api_token_positions_params(struct pe_params *params);

/* True for the tensor of positions, delta or cu_seqlens. */
bool api_token_positions_hold(const struct api_token_positions *places, const char *tensor);

/* Reads positions, start, step, delta and cu_seqlens. One way must be given (but for from_zero),
 * and no two. */
enum pe_status api_token_positions_read(struct api_request *request, struct pe_params *params,
                                        struct api_token_positions *places, struct pe_error *err);

/* The positions of one tensor's tokens; `name` is for the error. */
enum pe_status api_token_positions_fit(struct api_request *request,
                                       const struct api_token_positions *places,
                                       const struct pe_axes *axes, const char *name,
                                       struct pe_positions *positions, struct pe_error *err);

/* ---- token_vectors.c ------------------------------------------------------------------------- */

/* Vectors for tokens without posted embeddings: a token and a seed determine the vector. */

/* Reads the member "tokens", a list of strings, or of the query, separated by commas; *list NULL:
 * none. */
enum pe_status api_tokens_read(struct api_request *request, const json_t **list,
                               struct pe_error *err);

/* The vectors of a list as a tensor x [1, tokens, dim] of f32, whose data api_tokens_fill makes in
 * the arena: each element is one of the multiples of 2^-23 in [-1, 1), all equally likely.
 * PE_OUT_OF_MEMORY. */
struct api_tensor api_tokens_tensor(const json_t *list, size_t dim);
enum pe_status api_tokens_fill(struct api_request *request, const json_t *list, uint64_t seed,
                               struct api_tensor *tensor, struct pe_error *err);

#endif
