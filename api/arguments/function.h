/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_FUNCTION_H
#define API_ARGUMENTS_FUNCTION_H

/* Arguments of the functions over posted tensors: the encoding that is asked for, and lists of
 * numbers that can be given in four ways. */

#include "api/response/result.h"

/* Is there a tensor, a member of the body, a query parameter or a metadata key of this name? */
bool api_function_posted(const struct api_request *request, const char *name);

/* Refuses what is planned and not built, in words, before it would be called unknown. `names` are
 * separated by spaces. */
enum pe_status api_function_refuse(struct api_request *request, const char *names,
                                   struct pe_error *err);

/* Begins every function: refuses `names`, adds the stored tables that "tables" names, and refuses
 * an empty body. A body without tensors is a mistake that is noted, so that api_bind must follow.
 */
enum pe_status api_function_start(struct api_request *request, const char *names,
                                  struct pe_error *err);

/* Reads "encoding": a name, or an object of a name and parameters, which are set. Where `other` is
 * not NULL, "none" and "absolute" may stand there too: *other is that name then and *encoding NULL,
 * else the other way round. A layout in the object, which is where answers tell it, goes to
 * `function`, the parameters of the function itself. params is freed with the arena. */
enum pe_status api_function_encoding(struct api_request *request, const char **other,
                                     const struct pe_encoding **encoding, struct pe_params *params,
                                     struct pe_params *function, struct pe_error *err);

/* Like api_function_encoding, for another member than "encoding": "from_encoding", "a". The member
 * may also be a config.json, or an object with one under "config": *config is then what the scheme
 * is made with, else NULL. `function` may be NULL. */
enum pe_status api_function_encoding_at(struct api_request *request, const char *key,
                                        const struct pe_encoding **encoding,
                                        struct pe_params *params, struct pe_params *function,
                                        struct api_config **config, struct pe_error *err);

/* Is there a member "encoding" in the body? */
bool api_encoding_is_posted(const struct api_request *request);

/* Reads that member where the path says which encoding it is: PE_CONFLICT where it names another
 * one than that or, not NULL, the stored table. Parameters in it are set. */
enum pe_status api_encoding_again(struct api_request *request, const struct pe_encoding *encoding,
                                  const char *stored, struct pe_params *params,
                                  struct pe_error *err);

/* Sets result->encoding and warnings: of a scheme, or of none (NULL); layout is added to the
 * encoding, NULL for none. */
enum pe_status api_function_describe(struct api_request *request, struct api_result *result,
                                     const struct pe_scheme *scheme, const char *layout,
                                     struct pe_error *err);

/* A number for a report; NaN and the infinities are those words, as in tensors. */
json_t *api_number_json(double number);

/* The spellings of enum pe_layout, as the choices of a parameter. */
#define API_LAYOUTS    "half=neox=rotate_half=hf=gpt_neox,interleaved=gptj=meta=gpt_j"
#define API_LAYOUT_DOC "half (HF, NeoX) or interleaved (GPT-J, Meta)"
const char *api_layout_name(enum pe_layout layout);

/* Whole or real numbers within +-(2^53 - 1). */
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
 * ("0,7..9"), or a tensor of that very name beside the others. In two ways at once: PE_CONFLICT.
 */
enum pe_status api_numbers_read(struct api_request *request, const char *name,
                                struct api_numbers *numbers, struct pe_error *err);

#endif
