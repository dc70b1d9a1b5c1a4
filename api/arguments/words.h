/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_WORDS_H
#define API_ARGUMENTS_WORDS_H

/* Vectors for words, where nobody posts embeddings: a word and a seed have one vector. */

#include "api/request/request.h"

/* Reads the member "tokens", a list of strings, or of the query, separated by commas; *list NULL:
 * there is none. */
enum api_status api_tokens_read(struct api_request *request, const json_t **list,
                                struct api_error *err);

/* The vectors of a list as a tensor x [1, tokens, dim] of f32 in the arena: each element is one of
 * the multiples of 2^-23 in [-1, 1), all of them as likely. */
enum api_status api_tokens_tensor(struct api_request *request, const json_t *list, uint64_t seed,
                                  size_t dim, struct api_tensor *tensor, struct api_error *err);

#endif
