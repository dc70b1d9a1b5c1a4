/* SPDX-License-Identifier: MIT */
#ifndef API_ARGUMENTS_WORDS_H
#define API_ARGUMENTS_WORDS_H

/* Vectors for words, where nobody posts embeddings: a word and a seed have one vector. */

#include "api/request/request.h"

/* Reads the member "tokens", a list of strings, or of the query, separated by commas; *list NULL:
 * there is none. */
enum pe_status api_tokens_read(struct api_request *request, const json_t **list,
                               struct pe_error *err);

/* The vectors of a list as a tensor x [1, tokens, dim] of f32, whose data api_tokens_fill makes in
 * the arena: each element is one of the multiples of 2^-23 in [-1, 1), all of them as likely.
 * PE_OUT_OF_MEMORY. */
struct api_tensor api_tokens_tensor(const json_t *list, size_t dim);
enum pe_status api_tokens_fill(struct api_request *request, const json_t *list, uint64_t seed,
                               struct api_tensor *tensor, struct pe_error *err);

#endif
